//! Ten thousand messages at once.

use crate::home::Home;

const LINES: usize = 10_000;
/// Each look takes what fits into its time, which on a busy machine is little; but never nothing.
const LOOKS_MAX: usize = 400;

#[test]
fn a_burst_of_messages_becomes_as_many_tasks_in_files() {
    let home = Home::fine();
    let settings = std::fs::read_to_string(home.path().join("synod.yaml")).unwrap();
    home.put("synod.yaml", format!("{settings}\nlimits: {{tasks_max: 20000}}\n"));
    let lines: String =
        (1..=LINES).map(|n| format!("{{\"user\": \"dana\", \"text\": \"Question {n}\"}}\n")).collect();
    home.put("inbox/slack-messages.jsonl", lines);
    let tasks = || {
        let files = std::fs::read_dir(home.path().join("tasks")).unwrap();
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect::<String>()
    };
    let (mut looks, mut taken) = (0, 0);
    // A command that only leaves a mark looks at the files for a bounded time; the next goes on where it stopped.
    while taken < LINES {
        let ran = home.run(&["task", "add", "one more", "--to", "executor-001"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        looks += 1;
        taken = tasks().matches("\"Question ").count();
        assert!(looks <= LOOKS_MAX, "{taken} of {LINES} lines after {looks} looks");
    }
    let text = tasks();
    for n in [1, 2, LINES / 2, LINES - 1, LINES] {
        assert_eq!(text.lines().filter(|line| line.contains(&format!("Question {n}\""))).count(), 1, "{n}");
    }
    assert_eq!(text.matches("\"Question ").count(), LINES, "each line is one task");
}
