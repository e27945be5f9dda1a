//! People edit files while the team works, or while nothing runs: each edit is noticed, and none is lost.

use domain::session::Speaker;
use domain::task::Mark;

use crate::team::{Team, until, until_so};

const TASKS: &str = "tasks/work.task.md";

/// Repeats what it hears.
const HEARS: &str = "rules:\n  - text: \"Heard: {last}\"\n";

fn is_done(team: &Team, id: &str) -> bool {
    team.mark(TASKS, id) == Some(Mark::Done)
}

fn result(team: &Team, id: &str) -> String {
    team.task(TASKS, id).unwrap().property("result").unwrap_or_default().to_owned()
}

#[test]
fn a_task_written_by_hand_gets_an_id_and_is_worked_on() {
    let team = Team::scripted(HEARS);
    let up = team.up();
    team.write(TASKS, "# My work\n\n- [ ] @worker-1 \"Say hello\"\n");
    until_so("it is done", || is_done(&team, "task-001"));
    team.edit(TASKS, "# My work\n", "# My work\n\n- [ ] Say goodbye\n");
    until_so("the one for nobody is done, too", || is_done(&team, "task-002"));
    up.stop();
    assert_eq!(result(&team, "task-001"), "Heard: Task task-001: Say hello");
    assert!(
        team.read(TASKS).starts_with("# My work\n\n- [x] @worker-1 Say goodbye\n  id: task-002\n"),
        "{}",
        team.read(TASKS)
    );
    assert_eq!(team.sessions("worker-1").len(), 2);
    team.is_in_order();
}

#[test]
fn tasks_with_one_title_are_all_named_and_done_in_one_pass() {
    let team = Team::scripted(HEARS);
    let again = "- [ ] @worker-1 \"Water the plants\"\n  description: in the hall\n";
    team.write(TASKS, format!("{again}{}{again}", again.replace("hall", "yard")));
    assert_eq!(team.pump(), 0);
    for (id, place) in [("task-001", "hall"), ("task-002", "yard"), ("task-003", "hall")] {
        assert!(is_done(&team, id), "{id}: {}", team.read(TASKS));
        assert!(result(&team, id).contains(&format!("in the {place}")), "{}", team.read(TASKS));
    }
    assert_eq!((team.tasks(TASKS).len(), team.sessions("worker-1").len()), (3, 3));
    team.is_in_order();
}

#[test]
fn a_mark_ends_a_task_and_what_waits_for_it_begins() {
    let team = Team::scripted(HEARS);
    team.write(TASKS, "- [ ] @human \"Buy a disk\"\n  id: task-001\n- [ ] @worker-1 \"Use it\"\n  id: task-002\n  depends_on: task-001\n");
    let up = team.up();
    team.edit(TASKS, "- [ ] @human", "- [x] @human");
    until_so("the other is done", || is_done(&team, "task-002"));
    up.stop();
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
}

#[test]
fn a_cancelled_task_takes_its_parts_with_it() {
    let team = Team::scripted(HEARS);
    team.write(TASKS, "- [ ] @human \"Move\"\n  id: task-001\n  - [ ] @human \"Pack\"\n    id: task-002\n    - [ ] @human \"Buy boxes\"\n      id: task-003\n  - [x] @human \"Decide\"\n    id: task-004\n");
    let up = team.up();
    team.edit(TASKS, "- [ ] @human \"Move\"", "- [-] @human \"Move\"");
    until_so("all parts are cancelled", || {
        ["task-002", "task-003"].iter().all(|id| team.mark(TASKS, id) == Some(Mark::Cancelled))
    });
    up.stop();
    let marks: Vec<Mark> = team.tasks(TASKS).iter().map(|t| t.mark).collect();
    assert_eq!(marks, [Mark::Cancelled, Mark::Cancelled, Mark::Cancelled, Mark::Done]);
}

#[test]
fn an_open_box_opens_a_task_again() {
    let team = Team::scripted(HEARS);
    team.write(TASKS, "- [ ] @worker-1 \"Say hello\"\n  id: task-001\n");
    assert_eq!(team.pump(), 0);
    // Once while it watches, once while nothing runs.
    let up = team.up();
    team.edit(TASKS, "- [x]", "- [ ]");
    until_so("it is worked on again", || team.sessions("worker-1").len() == 2 && is_done(&team, "task-001"));
    up.stop();
    team.edit(TASKS, "- [x]", "- [ ]");
    assert_eq!(team.pump(), 0);
    assert!(is_done(&team, "task-001"));
    assert_eq!(team.sessions("worker-1").len(), 3);
    team.is_in_order();
}

#[test]
fn a_task_that_waits_is_edited() {
    let team = Team::scripted(HEARS);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team.write(TASKS, "- [ ] @human \"First\"\n  id: task-001\n- [ ] @worker-1 \"Then\"\n  id: task-002\n  depends_on: task-001\n");
    let up = team.up();
    team.edit(TASKS, "- [ ] @worker-1 \"Then\"", "- [ ] B @worker-2 #soon \"And then this\"");
    team.edit(TASKS, "- [ ] @human", "- [x] @human");
    until_so("it is done", || is_done(&team, "task-002"));
    up.stop();
    assert_eq!(team.sessions("worker-1"), [""; 0]);
    assert_eq!(team.talk("worker-2")[0].content.lines().next(), Some("Task task-002: And then this"));
    assert!(team.read(TASKS).contains("- [x] B @worker-2 #soon \"And then this\"\n"), "{}", team.read(TASKS));
}

#[test]
fn a_message_at_the_end_of_a_session_is_answered() {
    let team = Team::scripted(HEARS);
    let up = team.up();
    team.fine(&["session", "send", "worker-1", "hello"]);
    until_so("it answers", || team.sessions("worker-1").len() == 1 && team.talk("worker-1").len() == 2);
    let session = team.sessions("worker-1").remove(0);
    team.append(&session, "  - role: user\n    content: and now?\n");
    until_so("it answers again", || team.talk("worker-1").len() == 4);
    let said = team.talk("worker-1");
    assert_eq!(said[3].content.trim_end(), "Heard: and now?");
    assert!(said.iter().all(|m| m.id.is_some()));
    // Changed words are what the agent reads from now on.
    team.edit(&session, "content: hello", "content: good morning");
    team.fine(&["session", "send", "worker-1", "again"]);
    until_so("it answers a third time", || team.talk("worker-1").len() == 6);
    up.stop();
    assert_eq!(team.talk("worker-1")[0].content, "good morning");
    team.is_in_order();
}

#[test]
fn an_agent_goes_on_from_where_its_session_was_cut() {
    let team = Team::scripted(
        "rules:\n  - matches: \"*again*\"\n    text: Once more.\n  - text: \"Heard: {last}\"\n",
    );
    team.fine(&["session", "send", "worker-1", "hello"]);
    assert_eq!(team.pump(), 0);
    team.fine(&["session", "send", "worker-1", "and you?"]);
    assert_eq!(team.pump(), 0);
    let session = team.sessions("worker-1").remove(0);
    let cut_to = |words: &str, new: &str| {
        let text = team.read(&session);
        let at = text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
        team.write(&session, text[..at].replace("hello", new));
    };
    assert_eq!(team.messages(&session).len(), 4);
    // While it watches.
    let up = team.up();
    cut_to("  - id: m-0002", "hello");
    until_so("it answers from there", || team.messages(&session).len() == 2);
    assert_eq!(team.messages(&session)[1].content.trim_end(), "Heard: hello");
    up.stop();
    // While nothing runs. No number is given twice.
    cut_to("  - id: m-0005", "again");
    assert_eq!(team.pump(), 0);
    let said = team.messages(&session);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!((said[1].speaker, said[1].content.trim_end()), (Speaker::Assistant, "Once more."));
    team.is_in_order();
}

#[test]
fn what_was_cut_off_and_is_put_back_stands_in_nobodys_way() {
    let team = Team::scripted(HEARS);
    let say = |words: &str| {
        team.fine(&["message", "send", "worker-1", words]);
        assert_eq!(team.pump(), 0);
    };
    ["one", "two", "three"].iter().for_each(|words| say(words));
    let session = team.sessions("worker-1").remove(0);
    let whole = team.read(&session);
    let at = whole.find("  - id: m-0003").unwrap();
    team.write(&session, &whole[..at]);
    assert_eq!(team.pump(), 0);
    say("after the cut");
    team.write(&session, &whole);
    assert_eq!(team.pump(), 0);
    say("after all of it is back");
    let said = team.messages(&session);
    let last: Vec<&str> = said.iter().rev().take(2).map(|m| m.content.trim_end()).collect();
    assert_eq!(last, ["Heard: after all of it is back", "after all of it is back"]);
    assert_eq!(said.len(), 8, "{said:?}");
    team.is_in_order();
}

#[test]
fn agents_come_change_and_go_while_it_works() {
    let team = Team::scripted(HEARS);
    let up = team.up();
    team.write(TASKS, "- [ ] @worker-2 \"One\"\n  id: task-001\n");
    until_so("the task is known", || team.synod(&["task", "list"]).stdout.contains("task-001"));
    team.write(
        "agents/worker-2.agent.yaml",
        "id: worker-2\ntype: executor\nmodel: m\nsystem_prompt: Be kind.\n",
    );
    until_so("the new agent works", || is_done(&team, "task-001"));
    team.edit("agents/worker-2.agent.yaml", "Be kind.", "Be quick.");
    // There is no sign in the files that an agent was read: ask until a session has the new words.
    let mut asked = 0;
    until("the agent has changed", || {
        asked += 1;
        let id = team.fine(&["task", "add", "Again", "--to", "worker-2", "--file", "work.task.md"]);
        let id = id.split(' ').next().unwrap().to_owned();
        until_so("it is done", || is_done(&team, &id));
        team.sessions("worker-2").iter().any(|s| team.read(s).contains("Be quick.")).then_some(())
    });
    std::fs::remove_file(team.at("agents/worker-2.agent.yaml")).unwrap();
    until("the agent is gone", || {
        let ran = team.synod(&["task", "add", "Again", "--to", "worker-2", "--file", "work.task.md"]);
        (ran.code == 1 && ran.stderr.contains("worker-2")).then_some(())
    });
    up.stop();
}

#[test]
fn a_broken_file_is_told_once_and_its_last_good_version_stays() {
    let team = Team::scripted(HEARS);
    team.write("policy/commands.yaml", "commands:\n  uptime: allow\n");
    let up = team.up();
    let mut number = 0;
    let mut works = |what: &str| {
        number += 1;
        let id = team.fine(&["task", "add", what, "--to", "worker-1", "--file", "work.task.md"]);
        let id = id.split(' ').next().unwrap().to_owned();
        until_so("it is done", || is_done(&team, &id));
    };
    for (path, broken, place) in [
        (
            "agents/worker-1.agent.yaml",
            "id: worker-1\ntype: executor\nmodle: m\n",
            "agents/worker-1.agent.yaml:3:1",
        ),
        ("synod.yaml", "providers: {script: {kind: scripted\nmodels: {\n", "synod.yaml:"),
        ("policy/commands.yaml", "commands:\n  uptime: maybe\n", "policy/commands.yaml:2:11"),
    ] {
        let good = team.read(path);
        team.write(path, broken);
        up.tells(&format!("--> {place}"));
        works("with the last good one");
        team.write(path, broken);
        works("still with it");
        assert_eq!(up.stderr().matches(&format!("--> {place}")).count(), 1, "{}", up.stderr());
        team.write(path, good);
        works("mended");
    }
    up.stop();
    team.is_in_order();
}

#[test]
fn a_broken_task_file_holds_back_only_itself() {
    let team = Team::scripted(HEARS);
    team.write(TASKS, "- [ ] @human \"One\"\n  id: task-001\n");
    let up = team.up();
    team.write(TASKS, "- [y] @human \"One\"\n  id: task-001\n- [ ] @worker-1 \"Two\"\n");
    up.tells(&format!("--> {TASKS}:1:3"));
    team.write("tasks/other.task.md", "- [ ] @worker-1 \"Three\"\n  id: task-003\n");
    until_so("the other file works", || team.mark("tasks/other.task.md", "task-003") == Some(Mark::Done));
    assert_eq!(team.tasks(TASKS).iter().filter(|t| t.id.is_none()).count(), 1, "{}", team.read(TASKS));
    team.edit(TASKS, "- [y]", "- [ ]");
    until_so("mended, it works", || {
        team.tasks(TASKS).iter().any(|t| t.title == "Two" && t.mark == Mark::Done)
    });
    up.stop();
    team.is_in_order();
}

#[test]
fn a_broken_session_holds_back_only_itself() {
    let team = Team::scripted(HEARS);
    team.fine(&["session", "send", "worker-1", "hello"]);
    assert_eq!(team.pump(), 0);
    let session = team.sessions("worker-1").remove(0);
    let up = team.up();
    let good = team.read(&session);
    team.write(&session, good.replacen("status: ", "status: [", 1));
    up.tells(&format!("--> {session}:"));
    let name = session.strip_prefix("sessions/").unwrap().strip_suffix(".session.yaml").unwrap();
    team.fine(&["session", "send", name, "are you there?"]);
    team.fine(&["task", "add", "Something else", "--to", "worker-1", "--file", "work.task.md"]);
    until_so("other work goes on", || is_done(&team, "task-001"));
    assert_eq!(
        team.read(&session).matches("are you there?").count(),
        0,
        "a file that does not read is left alone"
    );
    team.write(&session, good);
    until_so("mended, it answers", || team.messages(&session).len() == 4);
    up.stop();
    assert_eq!(team.messages(&session)[3].content.trim_end(), "Heard: are you there?");
    team.is_in_order();
}

#[test]
fn edits_made_while_nothing_ran_are_found() {
    let team = Team::scripted(HEARS);
    team.write(TASKS, "- [ ] @human \"First\"\n  id: task-001\n- [ ] @worker-1 \"Then\"\n  id: task-002\n  depends_on: task-001\n");
    assert_eq!(team.pump(), 3, "the first is for a person");
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team.edit(TASKS, "- [ ] @human", "- [x] @human");
    team.edit(TASKS, "@worker-1 \"Then\"", "@worker-2 \"Then\"");
    team.append(TASKS, "- [ ] @worker-1 \"New\"\n");
    team.append("inbox/mail.jsonl", "{\"text\": \"From outside\"}\n");
    assert_eq!(team.pump(), 0);
    assert!(is_done(&team, "task-002"));
    assert_eq!((team.sessions("worker-1").len(), team.sessions("worker-2").len()), (2, 1));
    assert!(team.tasks(TASKS).iter().all(|t| t.mark == Mark::Done), "{}", team.read(TASKS));
    assert_eq!(team.tasks("tasks/inbox.task.md").len(), 1);
}

#[test]
fn an_agent_whose_file_went_while_nothing_ran_gets_no_work() {
    let team = Team::scripted(HEARS);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    assert_eq!(team.pump(), 0);
    std::fs::remove_file(team.at("agents/worker-2.agent.yaml")).unwrap();
    team.write(TASKS, "- [ ] @worker-2 \"Hello\"\n  id: task-001\n");
    assert_eq!(team.pump(), 3, "a person must name another");
    assert_eq!((team.mark(TASKS, "task-001"), team.sessions("worker-2").len()), (Some(Mark::Open), 0));
}

#[test]
fn line_ends_tabs_and_a_byte_order_mark_stay() {
    let team = Team::scripted(HEARS);
    let before = "\u{feff}# Work\r\n\r\nSome words.\r\n\r\n- [ ] @worker-1 \"One\"\r\n\tid: task-001\r\n\tnote: \u{a0}kept \r\n\r\n\t- [ ] @human \"Two\"\r\n\t\tid: task-002\r\n";
    team.write(TASKS, before);
    let up = team.up();
    team.edit(TASKS, "- [ ] @human", "- [x] @human");
    until_so("it is done", || is_done(&team, "task-001"));
    up.stop();
    let after = team.read(TASKS);
    assert!(after.starts_with('\u{feff}') && after.ends_with("\r\n"), "{after:?}");
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
    let kept = before.replace("- [ ]", "- [x]");
    let lost: Vec<&str> = kept.lines().filter(|line| !after.lines().any(|l| l == *line)).collect();
    assert_eq!(lost, [""; 0], "{after:?}");
    team.is_in_order();
}

#[test]
fn every_line_of_a_burst_is_taken_once() {
    const LINES: usize = 500;
    let team = Team::nothing();
    // Nobody is there to answer: each line ends at once, and only the taking is measured.
    team.write("synod.yaml", "");
    let up = team.up();
    let line = |n: usize| format!("{{\"user\": \"dana\", \"text\": \"message {n} of many\"}}\n");
    for chunk in 0..10 {
        let lines: String = (0..LINES / 10).map(|n| line(chunk * (LINES / 10) + n)).collect();
        team.append("inbox/burst.jsonl", &lines);
    }
    until_so("all are taken", || team.read("tasks/inbox.task.md").matches("  result: ").count() == LINES);
    up.stop();
    let titles: Vec<String> = team.tasks("tasks/inbox.task.md").into_iter().map(|t| t.title).collect();
    let expected: Vec<String> = (0..LINES).map(|n| format!("message {n} of many")).collect();
    assert_eq!(titles.len(), LINES);
    assert!(titles == expected, "each once, in order");
    assert_eq!(team.pump(), 0);
    assert_eq!(team.tasks("tasks/inbox.task.md").len(), LINES);
}

/// Lines in an ordinary test run; `SYNOD_BURST_LINES=10000` for the long one.
const BURST_LINES: usize = 1_500;

#[test]
fn a_burst_is_taken_once_also_when_the_daemon_is_killed_in_the_middle_of_it() {
    let lines = std::env::var("SYNOD_BURST_LINES").ok().and_then(|n| n.parse().ok()).unwrap_or(BURST_LINES);
    let team = Team::nothing();
    team.write("synod.yaml", "");
    let taken = || team.read("tasks/inbox.task.md").matches("  result: ").count();
    let burst: String = (0..lines).map(|n| format!("{{\"text\": \"message {n} of many\"}}\n")).collect();
    let mut up = team.up();
    team.append("inbox/x.jsonl", &burst);
    for part in 1..=3 {
        until_so("some more are taken", || taken() >= lines * part / 5);
        up.kill();
        up = team.up();
    }
    until_so("all are taken", || taken() == lines);
    up.stop();
    let tasks = team.tasks("tasks/inbox.task.md");
    let titles: Vec<String> = tasks.iter().map(|task| task.title.clone()).collect();
    let expected: Vec<String> = (0..lines).map(|n| format!("message {n} of many")).collect();
    assert_eq!(titles.len(), lines);
    assert!(titles == expected, "each once, in order");
    let ids: std::collections::BTreeSet<_> = tasks.iter().map(|task| task.id.clone()).collect();
    assert_eq!(ids.len(), lines, "each has its own id");
    assert_eq!(team.pump(), 0);
    assert_eq!(team.tasks("tasks/inbox.task.md").len(), lines);
}

#[test]
fn a_torn_line_waits_nonsense_is_skipped_and_a_shorter_file_is_told() {
    const INBOX: &str = "inbox/mail.jsonl";
    let team = Team::scripted(HEARS);
    let up = team.up();
    let done = |count: usize| {
        let tasks = team.tasks("tasks/inbox.task.md");
        tasks.len() == count && tasks.iter().all(|t| t.mark == Mark::Done)
    };
    team.write(INBOX, "{\"text\": \"one\"}\n{\"text\": \"tw");
    until_so("the first is taken", || done(1));
    team.append(INBOX, "o\"}\nnonsense\n{\"user\": \"dana\"}\n\n{\"text\": \"three\"}\n");
    until_so("the others are taken", || done(3));
    up.tells(&format!("--> {INBOX}:3:"));
    up.tells(&format!("--> {INBOX}:4:1"));
    team.write(INBOX, "{\"text\": \"anew\"}\n");
    up.tells("of which 6 were taken before");
    up.stop();
    assert_eq!(team.pump(), 0);
    let titles: Vec<String> = team.tasks("tasks/inbox.task.md").into_iter().map(|t| t.title).collect();
    assert_eq!(titles, ["one", "two", "three"]);
    let told = &team.messages(&team.sessions("worker-1")[0])[0].content;
    assert!(!told.contains("It came from"), "the line does not say from whom: {told}");
}

#[test]
fn a_task_that_is_put_back_is_told_of_and_taking_it_out_again_is_meant() {
    const FILE: &str = "tasks/requests.task.md";
    let team = Team::scripted("rules: [{text: never, delay_ms: 600000}]\n");
    let up = team.up();
    team.fine(&["task", "add", "First"]);
    team.fine(&["task", "add", "Second", "--after", "task-001"]);
    let without = |text: &str| {
        let (before, task) = text.split_at(text.rfind("- [").unwrap());
        let rest = task.lines().skip(1).skip_while(|line| line.starts_with("  "));
        rest.fold(before.to_owned(), |text, line| text + line + "\n")
    };
    let line = |text: &str| text.lines().position(|line| line.contains("Second")).unwrap() + 1;
    until_so("the first is begun", || team.mark(FILE, "task-001") == Some(Mark::Running));
    let whole = team.read(FILE);
    let told = || up.stderr().matches("task-002 stands here again").count();
    team.write(FILE, without(&whole));
    until_so("it is put back", || team.mark(FILE, "task-002") == Some(Mark::Open));
    until_so("that is told", || told() == 1);
    let place = format!("{FILE}:{}:1", line(&team.read(FILE)));
    assert!(up.stderr().contains(&place) && up.stderr().contains("help: if you meant"), "{}", up.stderr());
    // An old copy in which somebody wrote on is still an old copy.
    team.write(FILE, without(&whole) + "<!-- a note -->\n");
    until_so("it is put back again", || told() == 2 && team.mark(FILE, "task-002") == Some(Mark::Open));
    team.write(FILE, without(&team.read(FILE)));
    up.says("cancels task-002: it was taken out of its file");
    assert_eq!(team.mark(FILE, "task-002"), None, "{}", team.read(FILE));
    assert_eq!(told(), 2);
    // What has begun is never ended by that.
    team.write(FILE, "");
    until_so("it is put back", || team.mark(FILE, "task-001") == Some(Mark::Running));
    until_so("that is told", || up.stderr().contains("if you meant to end it, mark it [-]"));
    team.write(FILE, "");
    until_so("it is put back", || team.mark(FILE, "task-001") == Some(Mark::Running));
    up.stop();
}
