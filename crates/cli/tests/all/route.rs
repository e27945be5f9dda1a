//! `synod route`: who would get a request, without giving it.

use serde_json::json;

use crate::home::Home;

fn home() -> Home {
    Home::fine().write(
        "synod.yaml",
        "routing: {tags: {'gone:*': ghost-001, 'ops:*': executor-001}, fallback: slack-001}\n",
    )
}

#[test]
fn each_rule_is_named_in_its_order_with_the_one_that_decides() {
    let ran = home().run(&["route", "--explain", "Is there enough space?", "--tag", "gone:x"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        ran.stdout,
        "    RULE                             AGENT          WHY
    assignee                         -              none is named
    routing.tags: gone:*             ghost-001      it fits, but there is no agent ghost-001
    routing.tags: ops:*              executor-001   no tag fits
    responsibilities: executor:*     executor-001   no tag fits
    responsibilities: planner:*      planner-001    no tag fits
    responsibilities: retriever:*    retriever-001  no tag fits
    responsibilities: coordinator:*  slack-001      no tag fits
    words of planning                planner-001    it has none of them
    words of coding                  -              it has none of them
    words of review                  -              it has none of them
->  planner                          planner-001    the planner gets what nobody else does

planner-001: the planner gets what nobody else does
"
    );
}

#[test]
fn without_the_explanation_there_is_one_line_and_programs_get_all() {
    let ran = home().run(&["route", "Look at the disk", "--tag", "ops:disk"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "executor-001: routing.tags has ops:*\n"));
    let value = home().json(&["route", "Plan the move"]);
    assert_eq!(
        (&value["agent"], &value["why"]),
        (&json!("planner-001"), &json!("`plan` is a word of planning"))
    );
    let last = value["tried"].as_array().unwrap().last().unwrap();
    assert_eq!(last["fits"], json!(true));
}

#[test]
fn nobody_is_an_error_that_says_what_to_do() {
    let home = Home::empty();
    let ran = home.run(&["route", "--explain", "anything"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("routing.fallback"), "{}", ran.stdout);
    assert!(ran.stderr.contains("nobody takes this") && ran.stderr.contains("--to"), "{}", ran.stderr);
    let ran = Home::fine().run(&["route", "anything", "--to", "planner-01"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("did you mean planner-001"), "{}", ran.stderr);
}

#[test]
fn the_rules_in_the_manual_can_be_used_as_they_stand() {
    let page = include_str!("../../../../docs/manual/src/routing.md");
    let mut blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let rules =
        blocks.find(|block| block.starts_with("routing:\n  tags:\n")).expect("an example of routing.tags");
    let home = Home::fine();
    let settings = std::fs::read_to_string(home.path().join("synod.yaml")).unwrap();
    let models = settings.split("routing:").next().unwrap();
    home.put("synod.yaml", format!("{models}{rules}"));
    for agent in ["coder-001", "coder-002", "reviewer-001", "planner-001"] {
        let text = format!("id: {agent}\ntype: {}\nmodel: small\n", &agent[..agent.len() - 4]);
        home.put(&format!("agents/{agent}.agent.yaml"), text);
    }
    for (tag, agent) in [
        ("code:web", "coder-002"),
        ("code:db", "coder-001"),
        ("review:x", "reviewer-001"),
        ("odd", "planner-001"),
    ] {
        let ran = home.run(&["route", "Have a look", "--tag", tag]);
        assert!(ran.stdout.starts_with(&format!("{agent}: ")), "{tag}: {} {}", ran.stdout, ran.stderr);
    }
}
