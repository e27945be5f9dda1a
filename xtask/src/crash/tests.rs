//! The comparison, on small samples.

use super::compare::{differences, faults, normal};
use super::home::{Home, Message, Task, session, tasks};

const TASKS: &str = "\
## TODO

- [x] A @planner-001 #disk \"Is there enough space?\"
  id: task-001
  result: |
    - [ ] no task: id: x
- [_] @executor-001 Look at the disk
  id: task-002
  tag: ops:check
  parent: task-001
  depends_on: task-001
  - [?] below
    id: task-003
";

const SESSION: &str = "\
# yaml-language-server: $schema=session
session_id: executor-001-3f9a2c
agent_id: executor-001
system_prompt: |
  status: none
task: task-002
created: '2026-01-01T10:00:00Z'
status: completed
metadata: {}
messages:
  - id: m-0001
    role: user
    from: synod
    content: |-
      Look at the disk.

      role: nobody
    timestamp: '2026-01-01T10:00:00Z'
  - id: m-0002
    role: assistant
    content: 'I look: now'
    tool_calls:
      - id: call-1
        type: function
        function:
          name: execute_command
          arguments: '{\"command\":\"df -h\"}'
      - id: call-2
        type: function
        function:
          name: read_file
          arguments: '{\"path\":\"a\"}'
    timestamp: '2026-01-01T10:00:01Z'
  - id: m-0003
    role: tool_result
    content: |-
      overlay  9.9G  1% /
    tool_call_id: call-1
    timestamp: '2026-01-01T10:00:02Z'
  - id: m-0004
    role: tool_result
    content: hello
    tool_call_id: call-2
    timestamp: '2026-01-01T10:00:02Z'
  - id: m-0005
    role: assistant
    content: There is space.
    timestamp: '2026-01-01T10:00:03Z'
";

fn home(session_text: &str) -> Home {
    let mut home = Home::default();
    home.tasks.push(Task { id: "task-001".to_owned(), mark: "x".to_owned(), ..Task::default() });
    home.sessions.push(session("executor-001-3f9a2c.session.yaml", session_text));
    home.outbox.push("{\"id\":\"17-1\",\"text\":\"There is space: 9.9G\"}".to_owned());
    home
}

/// The sample with `from` replaced; it must be there.
fn with(from: &str, to: &str) -> Home {
    assert!(SESSION.contains(from), "{from}");
    home(&SESSION.replacen(from, to, 1))
}

#[test]
fn a_task_file_is_read() {
    let task = |id: &str, mark: &str, assignee: &str, title: &str, parent: &str, depends_on: &str| {
        let [id, mark, assignee, title, parent, depends_on] =
            [id, mark, assignee, title, parent, depends_on].map(str::to_owned);
        Task { file: "a.task.md".to_owned(), id, mark, assignee, title, parent, depends_on }
    };
    assert_eq!(
        tasks("a.task.md", TASKS),
        [
            task("task-001", "x", "planner-001", "\"Is there enough space?\"", "", ""),
            task("task-002", "", "executor-001", "Look at the disk", "task-001", "task-001"),
            task("task-003", "?", "", "below", "task-002", ""),
        ]
    );
}

#[test]
fn a_session_file_is_read() {
    let session = session("s", SESSION);
    assert_eq!(
        (session.agent.as_str(), session.status.as_str(), session.task.as_str()),
        ("executor-001", "completed", "task-002")
    );
    let roles: Vec<(&str, &str)> =
        session.messages.iter().map(|m| (m.id.as_str(), m.role.as_str())).collect();
    assert_eq!(
        roles,
        [
            ("m-0001", "user"),
            ("m-0002", "assistant"),
            ("m-0003", "tool_result"),
            ("m-0004", "tool_result"),
            ("m-0005", "assistant")
        ]
    );
    assert_eq!(session.messages[0].content, " |-\n      Look at the disk.\n\n      role: nobody\n");
    let calls = [("call-1", "execute_command"), ("call-2", "read_file")];
    assert_eq!(session.messages[1].calls(), calls.map(|(id, tool)| (id.to_owned(), tool.to_owned())));
    assert_eq!(session.messages[2].call, "call-1");
    assert_eq!(
        session.messages[3],
        Message {
            id: "m-0004".to_owned(),
            role: "tool_result".to_owned(),
            content: " hello\n".to_owned(),
            calls: String::new(),
            call: "call-2".to_owned(),
        }
    );
}

#[test]
fn numbers_times_and_ids_do_not_count() {
    assert_eq!(normal("/dev/sda1   9.9G  12%"), normal("/dev/sda2 10G 9%"));
    assert_eq!(normal("executor-001-3f9a2c said 3."), "executor-#-# said #.");
    assert_eq!(normal("2026-01-01T10:00:00.5Z"), normal("2027-11-21T01:10:10Z"));
    assert_ne!(normal("done"), normal("gone"));
}

#[test]
fn the_same_run_has_no_faults_and_no_differences() {
    let again = with("9.9G  1%", "10G   12%");
    assert_eq!(faults(&again), [""; 0]);
    assert_eq!(differences(&home(SESSION), &again), [""; 0]);
}

#[test]
fn results_of_calls_side_by_side_have_no_order() {
    let mut other = home(SESSION);
    other.sessions[0].messages.swap(2, 3);
    assert_eq!(differences(&home(SESSION), &other), [""; 0]);
}

#[test]
fn another_word_is_a_difference() {
    let found = differences(&home(SESSION), &with("There is space.", "There is none."));
    assert_eq!(
        found,
        [
            "sessions/executor-001-3f9a2c.session.yaml, part 4:\n  expected assistant [\"There is space.\"]\n  found    assistant [\"There is none.\"]"
        ]
    );
}

#[test]
fn a_missing_or_repeated_message_is_a_difference() {
    let cut = SESSION.find("  - id: m-0005").unwrap();
    let shorter = differences(&home(SESSION), &home(&SESSION[..cut]));
    assert!(shorter[0].ends_with("found    nothing"), "{shorter:?}");
    let longer = format!("{SESSION}{}", SESSION[cut..].replace("m-0005", "m-0006"));
    assert_eq!(faults(&home(&longer)), [""; 0]);
    assert_eq!(differences(&home(SESSION), &home(&longer)).len(), 1);
}

#[test]
fn another_status_task_or_owner_is_a_difference() {
    assert_eq!(
        differences(&home(SESSION), &with("status: completed", "status: error")),
        ["sessions/executor-001-3f9a2c.session.yaml: status error, expected completed"]
    );
    assert_eq!(
        differences(&home(SESSION), &with("task: task-002", "task: task-004")),
        [
            "sessions of executor-001 for \"task-002\": 1 expected, 0 found",
            "sessions of executor-001 for \"task-004\": 0 expected, 1 found"
        ]
    );
    let mut open = home(SESSION);
    open.tasks = [Task { id: "task-001".to_owned(), ..Task::default() }].into();
    assert_eq!(differences(&home(SESSION), &open).len(), 2);
}

#[test]
fn a_task_is_there_once_and_its_title_may_quote_what_was_printed() {
    let titled = |title: &str| {
        let mut home = home(SESSION);
        home.tasks[0].title = title.to_owned();
        home
    };
    assert_eq!(differences(&titled("Approve: 77G free"), &titled("Approve: 9.5G free")), [""; 0]);
    let mut twice = titled("");
    twice.tasks.push(twice.tasks[0].clone());
    assert_eq!(faults(&twice), ["tasks/: the task id \"task-001\" is there twice"]);
}

#[test]
fn an_unknown_outcome_excuses_only_what_comes_after_it() {
    let unknown = " outcome unknown: execute_command was under way\n";
    let mut excused = home(SESSION);
    excused.sessions[0].messages[2].content = unknown.to_owned();
    excused.sessions[0].messages[4].content = " I cannot say.\n".to_owned();
    excused.outbox[0] = "I cannot say.".to_owned();
    assert_eq!(faults(&excused), [""; 0]);
    assert_eq!(differences(&home(SESSION), &excused), [""; 0]);

    let mut before = excused.clone();
    before.sessions[0].messages[1].content = " I do not look\n".to_owned();
    assert_eq!(differences(&home(SESSION), &before).len(), 1);

    let mut beside = excused.clone();
    beside.sessions[0].messages[3].content = " another file\n".to_owned();
    assert_eq!(differences(&home(SESSION), &beside).len(), 1);
}

#[test]
fn only_what_must_not_run_twice_has_an_unknown_outcome() {
    assert_eq!(
        faults(&with("content: hello", "content: 'outcome unknown: read_file was under way'")),
        [
            "sessions/executor-001-3f9a2c.session.yaml: m-0004 says \"outcome unknown\" of read_file, which may be repeated"
        ]
    );
}

#[test]
fn ids_are_unique_and_every_call_has_one_result() {
    let of = |home: &Home| {
        faults(home).iter().filter_map(|f| f.split_once(": ")).map(|(_, f)| f.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&with("id: m-0005", "id: m-0004")), ["the message id m-0004 is there twice"]);
    assert_eq!(
        of(&with("tool_call_id: call-2", "tool_call_id: call-1")),
        ["the call call-1 has 2 results, 1 was expected", "the call call-2 has 0 results, 1 was expected"]
    );
    assert_eq!(
        of(&with("tool_call_id: call-2", "tool_call_id: call-3")),
        [
            "m-0004 is the result of \"call-3\", which nobody asked for",
            "the call call-2 has 0 results, 1 was expected"
        ]
    );
}

#[test]
fn one_answer_goes_out_and_nobody_is_kept_waiting() {
    let mut bad = home(SESSION);
    bad.outbox.push(bad.outbox[0].clone());
    bad.pending.push("approval-0001.approval.md".to_owned());
    let file = "approvals.task.md".to_owned();
    bad.tasks.push(Task { file, id: "approval-0001".to_owned(), ..Task::default() });
    assert_eq!(
        faults(&bad),
        [
            "inbox/slack-outbox.jsonl has 2 lines, 1 was expected",
            "approvals/pending/approval-0001.approval.md still waits",
            "tasks/approvals.task.md: approval-0001 still waits",
        ]
    );
    assert_eq!(differences(&home(SESSION), &bad).len(), 2);
}
