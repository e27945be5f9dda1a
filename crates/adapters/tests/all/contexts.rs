//! Shared contexts by tool: what is granted and nothing else, written whole or not at all, and never at the cost of
//! what the writer does not see.

use std::os::unix::fs::symlink;

use domain::id::{Seq, Ticket};
use domain::tool::{Act, ContextGet, ContextPut};
use ports::tools::{Order, Outcome, Tools as _};
use serde_json::{Value, json};
use testkit::tools::order;

use crate::home::Home;

const CUSTOMERS: &str = r#"{
  "zone": "eu",
  "customer": {"name": "Dana", "email": "dana@example.org"},
  "orders": [{"n": 1, "card": "4111"}, {"n": 2, "card": "4222"}]
}
"#;

fn get(context: &str, field: Option<&str>) -> Act {
    Act::ContextGet(ContextGet { context: context.to_owned(), field: field.map(str::to_owned) })
}

fn put(context: &str, content: &str) -> Act {
    Act::ContextPut(ContextPut {
        context: context.to_owned(),
        content: Some(content.to_owned()),
        field: None,
        value: None,
    })
}

fn set(context: &str, field: &str, value: Value) -> Act {
    Act::ContextPut(ContextPut {
        context: context.to_owned(),
        content: None,
        field: Some(field.to_owned()),
        value: Some(value),
    })
}

/// A home with customers, granted so to coder-001.
fn granted(grant: &str) -> Home {
    let home = Home::new();
    home.write("contexts/customers.json", CUSTOMERS);
    home.write("contexts/customers.acl.yaml", format!("grants:\n  - {{agent: coder-001{grant}}}\n"));
    home
}

const HIDDEN: &str = ", access: read_write, redact: [customer.email, orders.card]";

#[tokio::test]
async fn what_nobody_granted_nobody_gets() {
    let home = granted("");
    home.write("contexts/alone.json", "{}");
    for act in [get("customers", None), set("customers", "zone", json!("us")), get("no", None)] {
        let name = if act == get("no", None) { "no" } else { "customers" };
        let refused = home.run(order(1, "planner-001", act)).await;
        let words = format!("refused: contexts/{name}.acl.yaml grants planner-001 nothing; ask the owner");
        assert!(!refused.ok && refused.text.starts_with(&words), "{}", refused.text);
    }
    for act in [get("alone", None), put("alone", "{}")] {
        assert!(home.failed(act).await.contains("alone.acl.yaml grants coder-001 nothing"));
    }
    assert_eq!(home.done(get("customers", None)).await, CUSTOMERS);
    let closed = home.run(Order { role: None, ..order(1, "coder-001", get("customers", None)) }).await;
    assert!(closed.text.contains("permissions.can_access_context: false of coder-001"), "{}", closed.text);
    let closed = home.run(Order { role: None, ..order(1, "coder-001", put("new", "{}")) }).await;
    assert!(!closed.ok && !home.path("contexts/new.acl.yaml").exists());
}

#[tokio::test]
async fn reading_is_not_writing_and_an_end_is_an_end() {
    let home = granted(", access: read");
    let refused = home.failed(set("customers", "zone", json!("us"))).await;
    assert!(refused.contains("grants coder-001 read, not read_write"), "{refused}");
    assert!(refused.contains("--access read_write"), "{refused}");
    // The clock of these homes stands at 2023-11-14.
    let home = granted(", expires: '2023-11-14T00:00:00Z'");
    let refused = home.failed(get("customers", None)).await;
    assert!(refused.contains("has ended (at 2023-11-14T00:00:00.000Z)"), "{refused}");
    let home = granted(", expires: '2023-11-15T00:00:00Z'");
    home.done(get("customers", None)).await;
    let home = Home::new();
    home.write("contexts/a.md", "words\n").write("contexts/a.acl.yaml", "grants: [{role: coder}]\n");
    assert_eq!(home.done(get("a", None)).await, "words\n");
}

#[tokio::test]
async fn grants_that_do_not_read_grant_nothing() {
    for broken in ["grants:\n  - {agnt: coder-001}\n", "grants: [", "\u{0}"] {
        let home = granted("");
        home.write("contexts/customers.acl.yaml", broken);
        for act in [get("customers", None), put("customers", "{}")] {
            let refused = home.failed(act).await;
            assert!(refused.contains("contexts/customers.acl.yaml"), "{refused}");
        }
        assert_eq!(home.read("contexts/customers.json"), CUSTOMERS);
    }
    let home = granted("");
    home.write("contexts/customers.acl.yaml", "grants:\n  - {agnt: coder-001}\n");
    assert!(home.failed(get("customers", None)).await.contains("customers.acl.yaml:2:5"));
}

#[tokio::test]
async fn hidden_fields_are_not_shown_and_survive_every_put() {
    let home = granted(HIDDEN);
    let seen: Value = serde_json::from_str(&home.done(get("customers", None)).await).unwrap();
    assert_eq!(
        seen,
        json!({
            "zone": "eu",
            "customer": {"name": "Dana", "email": "[redacted]"},
            "orders": [{"n": 1, "card": "[redacted]"}, {"n": 2, "card": "[redacted]"}]
        })
    );
    assert_eq!(home.done(get("customers", Some("customer.email"))).await, "\"[redacted]\"");
    assert_eq!(home.done(get("customers", Some("orders.1.n"))).await, "2");
    assert!(home.failed(get("customers", Some("customer.phone"))).await.contains("no field customer.phone"));

    // One field: no other byte changes.
    home.done(set("customers", "customer.name", json!("Eve"))).await;
    assert_eq!(home.read("contexts/customers.json"), CUSTOMERS.replace("Dana", "Eve"));

    // All of it, as it was seen and without what was hidden.
    let mut all = seen.clone();
    all["zone"] = json!({"a": [1, 2]});
    all["customer"] = json!({"name": "Fay"});
    all["orders"].as_array_mut().unwrap().insert(0, json!({"n": 3}));
    home.done(put("customers", &all.to_string())).await;
    let now: Value = serde_json::from_str(&home.read("contexts/customers.json")).unwrap();
    assert_eq!(
        now,
        json!({
            "zone": {"a": [1, 2]},
            "customer": {"name": "Fay", "email": "dana@example.org"},
            "orders": [{"n": 3}, {"n": 1, "card": "4111"}, {"n": 2, "card": "4222"}]
        })
    );

    let before = home.read("contexts/customers.json");
    for act in [
        set("customers", "customer.email", json!("x")),
        set("customers", "customer.email.x", json!("x")),
        set("customers", "customer", json!("x")),
        set("customers", "orders", json!([])),
        put("customers", "{}"),
        put("customers", "not JSON"),
    ] {
        home.failed(act).await;
        assert_eq!(home.read("contexts/customers.json"), before, "whole or not at all");
    }
}

#[tokio::test]
async fn fields_are_hidden_however_they_are_written() {
    for (text, seen) in [
        (r#"{"a":"one","a":"two"}"#, "{\n  \"a\": \"[redacted]\"\n}"),
        (r#"{"\u0061":"one"}"#, "{\n  \"a\": \"[redacted]\"\n}"),
    ] {
        let home = granted(", redact: [a]");
        home.write("contexts/customers.json", text);
        assert_eq!(home.done(get("customers", None)).await, seen);
    }
}

#[tokio::test]
async fn a_put_leaves_numbers_as_they_are_that_it_does_not_change() {
    const LONG: &str = "123456789012345678901234567890";
    const FINE: &str = "0.1000000000000000055511151231257827";
    let text =
        format!(r#"{{"pay": {{"iban": {LONG}}}, "amount": {FINE}, "rows": [{{"n": 1, "key": {LONG}}}]}}"#);
    let home = granted(", access: read_write, redact: [pay.iban, rows.key]");
    home.write("contexts/customers.json", &text);
    let seen = home.done(get("customers", None)).await;
    assert!(seen.contains(&format!(r#""amount": {FINE}"#)) && !seen.contains(LONG), "{seen}");
    assert_eq!(home.done(get("customers", Some("amount"))).await, FINE);
    for act in [
        set("customers", "note", json!({"a": [{"b": 1.5}]})),
        set("customers", "rows.0.n", json!(2)),
        put("customers", &seen.replace("\"n\": 1", "\"n\": 3")),
        put("customers", &seen.replace("\"amount\"", "\"sum\"")),
    ] {
        home.write("contexts/customers.json", &text);
        home.done(act.clone()).await;
        let now = home.read("contexts/customers.json");
        assert_eq!((now.matches(LONG).count(), now.matches(FINE).count()), (2, 1), "{act:?}: {now}");
        assert!(
            now.contains(&format!(r#""iban": {LONG}"#)) && now.contains(&format!(r#""key": {LONG}"#)),
            "{now}"
        );
    }
}

#[tokio::test]
async fn of_a_text_nothing_can_be_hidden_so_nothing_is_shown() {
    let home = Home::new();
    home.write("contexts/a.md", "words\n");
    home.write("contexts/a.acl.yaml", "grants: [{agent: coder-001, access: read_write, redact: [x]}]\n");
    for act in [get("a", None), put("a", "other\n"), set("a", "x", json!(1))] {
        assert!(home.failed(act).await.contains("contexts/a.md is text"));
    }
    assert_eq!(home.read("contexts/a.md"), "words\n");
}

#[tokio::test]
async fn a_put_makes_what_is_not_there_for_its_writer_alone() {
    let home = Home::new();
    let made = home.run(order(1, "coder-001", put("plan", "{\"step\":1}"))).await;
    assert_eq!(made.wrote, ["contexts/plan.acl.yaml", "contexts/plan.json"]);
    assert!(made.text.contains("only you see it"), "{}", made.text);
    assert_eq!(
        home.read("contexts/plan.acl.yaml"),
        "# yaml-language-server: $schema=../schemas/acl.json\nowner: coder-001\ngrants:\n  \
         - {agent: coder-001, access: read_write}\n"
    );
    // The same once more, as after a crash: the same.
    let again = home.run(order(1, "coder-001", put("plan", "{\"step\":1}"))).await;
    assert!(again.ok && again.wrote.is_empty(), "{again:?}");
    assert!(!home.run(order(2, "coder-002", get("plan", None))).await.ok);
    home.done(put("notes", "# Notes\n")).await;
    assert_eq!(home.read("contexts/notes.md"), "# Notes\n");
    home.done(set("facts", "a.b", json!({"c": null}))).await;
    assert_eq!(home.done(get("facts", Some("a.b.c"))).await, "null");
    // A crash between grants and content.
    std::fs::remove_file(home.path("contexts/plan.json")).unwrap();
    home.done(put("plan", "{\"step\":1}")).await;
    // No put ever touches grants that are there, and none leaves anything else behind.
    let mut names: Vec<_> = home
        .path("contexts")
        .read_dir()
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["facts.acl.yaml", "facts.json", "notes.acl.yaml", "notes.md", "plan.acl.yaml", "plan.json"]
    );
}

#[tokio::test]
async fn no_name_and_no_link_leads_anywhere_else() {
    let home = granted(", access: read_write");
    home.write("memory/secret.json", "{\"a\":1}").write("contexts/other.json", "{\"b\":2}");
    for name in ["../memory/secret", "..", "a/b", "customers.acl", "", "/etc/passwd"] {
        for act in [get(name, None), put(name, "{}")] {
            assert!(home.failed(act).await.contains("is no name of a context"), "{name}");
        }
    }
    for target in ["../memory/secret.json", "other.json", "/etc/hostname", "nowhere.json"] {
        let link = home.path("contexts/customers.json");
        std::fs::remove_file(&link).unwrap();
        symlink(target, &link).unwrap();
        for act in [get("customers", None), put("customers", "{}")] {
            let outcome: Outcome = home.run(order(1, "coder-001", act)).await;
            assert!(!outcome.ok, "{target}: {outcome:?}");
        }
        assert!(link.is_symlink(), "{target}");
    }
    assert_eq!(home.read("memory/secret.json"), "{\"a\":1}");
    assert!(!home.path("contexts/nowhere.json").exists());
    // A link in the place of the grants, or of the folder.
    let home = granted("");
    home.write("workspaces/coder-001/mine.yaml", "grants: [{agent: coder-001, access: read_write}]\n");
    std::fs::remove_file(home.path("contexts/customers.acl.yaml")).unwrap();
    symlink("../workspaces/coder-001/mine.yaml", home.path("contexts/customers.acl.yaml")).unwrap();
    assert!(home.failed(get("customers", None)).await.contains("is a link"));
    let home = Home::new();
    std::fs::create_dir_all(home.path("workspaces/coder-001")).unwrap();
    symlink("workspaces/coder-001", home.path("contexts")).unwrap();
    home.failed(put("plan", "{}")).await;
    assert_eq!(home.path("workspaces/coder-001").read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn a_context_has_a_size() {
    let home = granted(", access: read_write");
    let huge = "x".repeat(1 << 20);
    let refused = home.failed(set("customers", "zone", json!(huge))).await;
    assert!(refused.contains("at most 1048576"), "{refused}");
    assert_eq!(home.read("contexts/customers.json"), CUSTOMERS);
    home.write("contexts/customers.json", format!("\"{huge}\""));
    for act in [get("customers", None), put("customers", "{}")] {
        assert!(home.failed(act).await.contains("at most 1048576"));
    }
    home.write("contexts/customers.json", format!("\"{}\"", "x".repeat(60_000)));
    let shown = home.done(get("customers", None)).await;
    assert!(shown.len() < 33_000 && shown.ends_with("of 60002 bytes]"), "cut to what a session takes");
    let folder = home.path("contexts");
    (0..255).for_each(|n| std::fs::write(folder.join(format!("c{n}.md")), "x").unwrap());
    assert!(home.failed(put("one-more", "x")).await.contains("there are 256 contexts already"));
    assert!(!home.path("contexts/one-more.acl.yaml").exists());
}

#[tokio::test]
async fn credentials_that_were_not_shown_are_not_replaced_by_their_marks() {
    let home = granted(", access: read_write");
    let text = r#"{"api": {"password": "hunter2-hunter2-hunter2"}, "n": 1}"#;
    home.write("contexts/customers.json", text);
    let seen = testkit_redacted(&home.done(get("customers", None)).await);
    assert!(seen.contains("[redacted: "), "{seen}");
    home.done(put("customers", &seen.replace("\"n\": 1", "\"n\": 2"))).await;
    let now: Value = serde_json::from_str(&home.read("contexts/customers.json")).unwrap();
    assert_eq!(now, json!({"api": {"password": "hunter2-hunter2-hunter2"}, "n": 2}));
    let moved = seen.replace("\"api\"", "\"web\"");
    assert!(home.failed(put("customers", &moved)).await.contains("credentials that are not shown"));
}

/// As the hands pass it on.
fn testkit_redacted(text: &str) -> String {
    adapters::redact::redact(text).into_owned()
}

#[tokio::test]
async fn labels_go_along_with_what_was_read_and_written() {
    let home = granted(HIDDEN);
    let got = home.run(order(1, "coder-001", get("customers", None))).await;
    assert_eq!((got.read, got.wrote), (vec!["contexts/customers.json".to_owned()], vec![]));
    let set = home.run(order(2, "coder-001", set("customers", "zone", json!(1)))).await;
    assert_eq!((set.read, set.wrote), (vec![], vec!["contexts/customers.json".to_owned()]));
    let refused = home.run(order(3, "coder-001", put("customers", "{}"))).await;
    assert_eq!(refused.read, ["contexts/customers.json"], "even a refusal tells of fields");
}

#[tokio::test]
async fn what_changed_since_it_was_asked_for_is_not_overwritten() {
    let home = granted(", access: read_write");
    let act = put("customers", "{\"mine\":1}");
    let agent = domain::id::AgentId::new("coder-001");
    let seen = home.tools.look(&agent, &act).await;
    assert!(seen.is_some());
    home.write("contexts/customers.json", "{\"theirs\":1}");
    let asked = Order { seen, ..order(1, "coder-001", act.clone()) };
    let void = home.run(asked.clone()).await;
    assert!(void.text.starts_with("void: the context customers changed"), "{}", void.text);
    assert_eq!(home.read("contexts/customers.json"), "{\"theirs\":1}");
    // Done already, and asked for again after a crash.
    home.write("contexts/customers.json", "{\"mine\":1}");
    assert!(home.run(asked).await.ok);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_the_same_time_lose_nothing() {
    let home = std::sync::Arc::new(granted(", access: read_write"));
    let writers = (0..16).map(|n| {
        let home = std::sync::Arc::clone(&home);
        tokio::spawn(async move {
            let act = set("customers", &format!("field{n}"), json!(n));
            // Whoever is told to try again does.
            while !home.run(order(n, "coder-001", act.clone())).await.ok {}
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let now: Value = serde_json::from_str(&home.read("contexts/customers.json")).unwrap();
    assert!((0..16).all(|n| now[format!("field{n}")] == n), "{now}");
}

#[tokio::test]
async fn what_a_killed_put_left_aside_goes() {
    let home = granted(", access: read_write");
    // Killed when the new text had its place, and the old one was still beside it.
    home.write("contexts/.synod-write-5-1.tmp", "{\"zone\": \"old\"}").write("contexts/.own", "a person's");
    let ticket = Ticket { effect: Seq(5), attempt: 2 };
    let again = Order { ticket, ..order(5, "coder-001", put("customers", CUSTOMERS)) };
    let outcome = home.run(again).await;
    assert!(outcome.ok && outcome.text.contains("is so already"), "{}", outcome.text);
    let names = std::fs::read_dir(home.path("contexts")).unwrap();
    let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".own", "customers.acl.yaml", "customers.json"]);
}

#[tokio::test]
async fn what_a_killed_put_wrote_is_told_by_the_next_try() {
    let home = granted(", access: read_write");
    let ticket = Ticket { effect: Seq(5), attempt: 2 };
    let outcome = home.run(Order { ticket, ..order(5, "coder-001", put("customers", CUSTOMERS)) }).await;
    assert_eq!(outcome.wrote, ["contexts/customers.json"], "perhaps by the try before");
    // Who only finds it so wrote nothing.
    let first = home.run(order(6, "coder-001", put("customers", CUSTOMERS))).await;
    assert_eq!((first.ok, first.wrote), (true, Vec::new()));
}

#[tokio::test]
async fn grants_that_a_killed_put_made_are_told_with_what_it_wrote() {
    let home = Home::new();
    assert!(home.run(order(5, "coder-001", put("mine", "{}"))).await.ok);
    let ticket = Ticket { effect: Seq(5), attempt: 2 };
    let again = home.run(Order { ticket, ..order(5, "coder-001", put("mine", "{}")) }).await;
    assert_eq!(again.wrote, ["contexts/mine.acl.yaml", "contexts/mine.json"]);
    // Killed between the two.
    std::fs::remove_file(home.path("contexts/mine.json")).unwrap();
    let again = home.run(Order { ticket, ..order(5, "coder-001", put("mine", "{}")) }).await;
    assert_eq!(again.wrote, ["contexts/mine.acl.yaml", "contexts/mine.json"]);
}
