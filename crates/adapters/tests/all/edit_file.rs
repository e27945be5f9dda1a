//! `edit_file`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use domain::id::{AgentId, LockName, Seq, Ticket};
use domain::lock::Grant;
use domain::tool::{Act, EditFile};
use ports::tools::{Order, Outcome, Tools as _};
use testkit::tools::order;

use crate::home::Home;

const PATH: &str = "memory/a.rs";

fn edit(old: &str, new: &str) -> Act {
    edit_at(PATH, old, new, false)
}

fn edit_at(path: &str, old: &str, new: &str, all: bool) -> Act {
    let (path, old, new) = (path.to_owned(), old.to_owned(), new.to_owned());
    Act::EditFile(EditFile { path, old, new, all })
}

fn again(act: Act) -> Order {
    Order { ticket: Ticket { effect: Seq(1), attempt: 2 }, ..order(1, "coder-001", act) }
}

#[tokio::test]
async fn the_only_occurrence_is_replaced_and_the_rest_is_kept() {
    let home = Home::new();
    home.write(PATH, "one\ntwo\nthree");
    fs::set_permissions(home.path(PATH), fs::Permissions::from_mode(0o751)).unwrap();
    let outcome = home.run(order(1, "coder-001", edit("two\nth", "2\n\nTh"))).await;
    let expected = Outcome::done(format!("edited {PATH}: 1 replacement, line 2")).reading(PATH).writing(PATH);
    assert_eq!(outcome, expected);
    assert_eq!(home.read(PATH), "one\n2\n\nThree");
    assert_eq!(fs::metadata(home.path(PATH)).unwrap().permissions().mode() & 0o777, 0o751);
}

#[tokio::test]
async fn several_occurrences_are_replaced_only_on_demand() {
    let home = Home::new();
    home.write(PATH, "x = 1\ny = 1\nz = 2, 1\n");
    let refused = home.failed(edit("1", "3")).await;
    assert_eq!(
        refused,
        format!(
            "old occurs 3 times in {PATH}, at lines 1, 2 and 3; give more of the text around the one you mean, or all: true"
        )
    );
    assert_eq!(home.read(PATH), "x = 1\ny = 1\nz = 2, 1\n");
    let done = home.done(edit_at(PATH, "1", "3", true)).await;
    assert_eq!(done, format!("edited {PATH}: 3 replacements, lines 1, 2 and 3"));
    assert_eq!(home.read(PATH), "x = 3\ny = 3\nz = 2, 3\n");
}

#[tokio::test]
async fn a_text_that_is_not_there_is_answered_with_the_most_similar_lines() {
    let home = Home::new();
    home.write(PATH, "fn main() {\n    let total = sum(items);\n}\n");
    let refused = home.failed(edit("let total = sum(item);", "x")).await;
    assert_eq!(
        refused,
        format!("old does not occur in {PATH}; the most similar lines:\n     2\t    let total = sum(items);")
    );
    assert!(home.failed(edit("@@@@", "x")).await.contains("no line of it is similar"));
    let shown = home.done(Act::read_file(PATH)).await;
    assert!(home.failed(edit(&shown, "x")).await.contains("leave out the line numbers"));
}

#[tokio::test]
async fn similar_lines_are_shown_without_credentials() {
    let home = Home::new();
    home.write(PATH, "user = root\npassword = hunter2hunter2\n");
    let refused = home.failed(edit("passwort = [redacted: a pasword]", "x")).await;
    assert!(refused.contains("password = [redacted: ") && !refused.contains("hunter2"), "{refused}");
    // Likeness to the credential would tell how close a guess is.
    let refused = home.failed(edit("passwort = hunted2hunted2", "x")).await;
    assert!(refused.contains("no line of it is similar"), "{refused}");
}

#[tokio::test]
async fn edits_that_say_nothing_are_refused() {
    let home = Home::new();
    home.write(PATH, "a")
        .write("memory/image.png", [0xff, 0, 1])
        .write("memory/large.txt", vec![b'a'; (8 << 20) + 1]);
    assert!(home.failed(edit("", "x")).await.contains("write_file"));
    assert!(home.failed(edit("a", "a")).await.contains("would change nothing"));
    for (path, why) in [
        ("memory/none.md", "does not exist"),
        ("memory", "not a file"),
        ("memory/image.png", "not a text file"),
        ("memory/large.txt", "larger than 8 MiB"),
        ("../out", "'..'"),
        ("/etc/passwd", "starts with a slash"),
    ] {
        let refused = home.failed(edit_at(path, "a", "b", false)).await;
        assert!(refused.contains(why), "{path}: {refused}");
    }
    assert!(!home.path("memory/none.md").exists());
}

#[tokio::test]
async fn control_files_are_not_edited() {
    let home = Home::new();
    home.write("agents/coder-001.agent.yaml", "id: coder-001");
    home.failed(edit_at("agents/coder-001.agent.yaml", "coder", "other", false)).await;
    assert_eq!(home.read("agents/coder-001.agent.yaml"), "id: coder-001");
}

#[tokio::test]
async fn a_file_keeps_its_line_endings() {
    let home = Home::new();
    home.write(PATH, "one\r\ntwo\r\nthree\r\n");
    home.done(edit("one\ntwo", "1\n2\n3")).await;
    assert_eq!(home.read(PATH), "1\r\n2\r\n3\r\nthree\r\n");
    home.write(PATH, "one\r\ntwo\nthree");
    home.done(edit("two", "2\n3")).await;
    assert_eq!(home.read(PATH), "one\r\n2\n3\nthree");
}

#[tokio::test]
async fn an_edit_that_a_crash_cut_off_is_made_once() {
    let home = Home::new();
    home.write(PATH, "one\ntwo\n");
    let act = edit("two", "2");
    assert!(home.run(again(act.clone())).await.ok, "it was not made before");
    assert_eq!(home.read(PATH), "one\n2\n");
    let outcome = home.run(again(act)).await;
    assert_eq!((outcome.ok, outcome.text), (true, format!("edited {PATH} already")));
    assert_eq!(home.read(PATH), "one\n2\n");
    assert_eq!(fs::read_dir(home.path("memory")).unwrap().count(), 1, "nothing is left beside it");
}

#[tokio::test]
async fn a_repeated_edit_whose_result_could_be_edited_again_asks_the_agent_to_look() {
    let home = Home::new();
    home.write(PATH, "one\n");
    let act = edit("one", "one\ntwo");
    home.done(act.clone()).await;
    let outcome = home.run(again(act.clone())).await;
    assert!(!outcome.ok && outcome.text.contains("read the file"), "{}", outcome.text);
    assert_eq!(home.read(PATH), "one\ntwo\n");
    // The file is as it was when the call was judged, so the edit was not made.
    let seen = home.tools.look(&AgentId::new("coder-001"), &act).await;
    let outcome = home.run(Order { seen, ..again(act) }).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(home.read(PATH), "one\ntwo\ntwo\n");
}

#[tokio::test]
async fn an_approval_is_for_the_file_as_it_was_and_a_made_edit_is_not_void() {
    let home = Home::new();
    home.write(PATH, "one\n");
    let act = edit("one", "two");
    let seen = home.tools.look(&AgentId::new("coder-001"), &act).await;
    assert!(seen.is_some());
    let first = Order { seen: seen.clone(), ..order(1, "coder-001", act.clone()) };
    assert!(home.run(first.clone()).await.ok);
    assert!(home.run(Order { seen: seen.clone(), ..again(act.clone()) }).await.ok);
    home.write(PATH, "one and more\n");
    let outcome = home.run(first).await;
    assert!(!outcome.ok && outcome.text.starts_with("void: file memory/a.rs changed"), "{}", outcome.text);
    assert_eq!(home.read(PATH), "one and more\n");
}

#[tokio::test]
async fn a_link_stands_for_what_it_leads_to_when_it_is_judged_and_is_refused_when_it_runs() {
    let home = Home::new();
    home.write(PATH, "one\n").write("workspaces/coder-001/b", "b");
    symlink("../../memory/a.rs", home.path("workspaces/coder-001/a.rs")).unwrap();
    let act = edit_at("workspaces/coder-001/a.rs", "one", "two", false);
    let seen = home.tools.look(&AgentId::new("coder-001"), &act).await.unwrap();
    assert_eq!(seen.paths[0].real, PATH);
    home.failed(act).await;
    assert_eq!(home.read(PATH), "one\n");
}

#[tokio::test]
async fn who_lost_its_lock_edits_nothing() {
    let home = Home::new();
    home.write(PATH, "one");
    let grant = |fence| Grant { name: LockName::new("file:memory/a.rs"), fence };
    home.tools.fence(&grant(9));
    let late = Order { locks: vec![grant(7)], ..order(1, "coder-001", edit("one", "two")) };
    assert!(home.run(late).await.text.contains("the lock file:memory/a.rs was lost"));
    assert_eq!(home.read(PATH), "one");
}
