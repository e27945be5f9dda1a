//! Agents that ask each other, pass results on and have texts summed up, with the real binary.

use crate::team::Team;

const RULES: &str = r##"rules:
  - tool_result: "*"
    text: "It says: {last}"
  - {agent: worker-1, matches: "*ASK*", calls: [{tool: ask_agent, arguments: {to: worker-2, question: "how full is the disk?"}}]}
  - {agent: worker-1, matches: "*MAKE*", calls: [{tool: create_task, arguments: {title: FIND the size, assignee: worker-2}}]}
  - {agent: worker-1, matches: "*PASS*", calls: [{tool: create_task, arguments: {title: Sum up, assignee: worker-2, with_results: [task-001]}}]}
  - {agent: worker-1, matches: "*SHORT*", calls: [{tool: summarize, arguments: {paths: [memory/notes.md], focus: sizes}}]}
  - {matches: "*The file memory/notes.md:*80 GB*", text: "The disk has 80 GB."}
  - {agent: worker-2, matches: "*how full*", text: "92 %"}
  - {agent: worker-2, matches: "*FIND*", text: "it has 80 GB"}
  - text: "Heard: {last}"
"##;

fn team() -> Team {
    let team = Team::scripted(RULES);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team
}

fn says(team: &Team, words: &str) -> String {
    team.fine(&["message", "send", "worker-1", words]);
    team.to_the_end();
    team.talk("worker-1").last().unwrap().content.clone()
}

#[test]
fn the_answer_of_a_colleague_is_the_result_of_ask_agent() {
    let team = team();
    assert_eq!(says(&team, "ASK it"), "It says: 92 %");
}

#[test]
fn a_result_goes_along_with_a_new_task_and_stands_in_its_first_message() {
    let team = team();
    says(&team, "MAKE it");
    says(&team, "PASS it on");
    // Each task has a conversation of its own.
    let talks = team.sessions("worker-2").into_iter().map(|path| team.messages(&path));
    let heard: Vec<String> = talks.map(|talk| talk[0].content.clone()).collect();
    let along =
        "Results that go along with it:\n- task-001 (@worker-2) \"FIND the size\" is done:\n  it has 80 GB";
    assert!(heard.iter().any(|text| text.contains(along)), "{heard:?}");
}

#[test]
fn a_summary_is_made_by_a_model_beside_the_conversation() {
    let team = team();
    team.write("memory/notes.md", "# Notes\n\nThe disk of the server has 80 GB, and it is old.\n");
    assert_eq!(says(&team, "SHORT please"), "It says: The disk has 80 GB.");
}
