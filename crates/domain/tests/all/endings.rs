//! Ends that somebody waits for: whoever does is told, once, whichever way they come.

use domain::event::{DelegationEvent, TaskEvent};
use domain::event::{Event, Found, FoundCall, Tail};
use domain::id::{AgentId, CallId, DelegationId, SessionId, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::lifecycle::Lifecycle;
use domain::message::Kind;
use domain::play;
use domain::session::{Head, Status};
use domain::state::State;
use domain::task::{Change, End, Mark, Spec};
use domain::tool::{Act, Call, FinishStatus, FinishTask, SendMessage, Want};

use crate::delegation::{able, delegate, delegate_with};
use crate::home::{Home, create, line, run, tell};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

/// A conversation of the agent about its task, as its file has it.
fn found(agent: &str, task: &str, status: Status, tail: Tail) -> Input {
    let head = Head {
        session: SessionId::new(format!("{agent}-abcdef")),
        agent: AgentId::new(agent),
        role: "executor".to_owned(),
        model: "m".to_owned(),
        system_prompt: String::new(),
        task: Some(id(task)),
        created: Time(5),
    };
    let (label, approvals) = (Default::default(), Vec::new());
    Input::File(FileInput::SessionRead {
        head: Box::new(head),
        status,
        next_message: 3,
        tail,
        label,
        approvals,
    })
}

/// A task as its file has it.
fn written(task: &str, title: &str, agent: &str, mark: Mark, say: impl FnOnce(&mut Spec)) -> Input {
    let mut spec = Spec::new(id(task), "tasks/x.task.md", title);
    spec.assignee = Some(AgentId::new(agent));
    say(&mut spec);
    Input::File(FileInput::TaskRead { spec: Box::new(spec), mark, result: String::new() })
}

/// A home of which only the files are left: an agent had asked for these calls and has no result.
fn with_calls(acts: &[Act], files: Vec<Input>) -> Home {
    let mut home = Home::with(&["executor-001", "executor-002"], |_| {}, able);
    home.live = false;
    home.give(written("task-001", "is all fine?", "executor-001", Mark::Running, |_| {}));
    files.into_iter().for_each(|file| _ = home.give(file));
    let call = |(n, act): (usize, &Act)| FoundCall {
        call: Call {
            id: CallId::new(format!("c-{}", n + 1)),
            arguments: String::new(),
            want: Want::Act(act.clone()),
            seen: None,
        },
        found: Found::Nothing,
    };
    let calls = acts.iter().enumerate().map(call).collect();
    let tail = Tail::Calls { said: "I need this".to_owned(), calls };
    home.give(found("executor-001", "task-001", Status::Active, tail));
    home.live = true;
    home.give(Input::Started);
    home
}

#[test]
fn two_calls_that_delegate_the_same_in_a_found_session_both_hear_of_their_end() {
    let twice = [(); 2].map(|()| delegate_with("executor-002", "ops:check", "look", Some(5_000)));
    let mut home = with_calls(&twice, Vec::new());
    let tasks: Vec<&str> = home.state.work.tasks.keys().map(TaskId::as_str).collect();
    assert_eq!(tasks, ["task-001", "task-002", "task-003"]);
    home.says("executor-002", "fine");
    home.says("executor-002", "fine too");
    assert_eq!(
        home.results("executor-001"),
        ["executor-002 has done task-002: fine", "executor-002 has done task-003: fine too"]
    );
    assert_eq!(home.calls_to_model("executor-001").len(), 1, "it goes on");
    assert_eq!(home.pass(10_000), [], "nothing is too late");
}

#[test]
fn of_two_calls_that_delegate_the_same_each_takes_up_its_own_task() {
    let asked = |spec: &mut Spec| {
        spec.text = "look".to_owned();
        spec.properties.insert("requested_by".to_owned(), "executor-001-abcdef".to_owned());
    };
    // One of the two had been printed; or both, of which one was done.
    for (marks, tasks) in [(&[Mark::Open][..], 3), (&[Mark::Done, Mark::Open], 3)] {
        let name = |n: usize| format!("task-{:03}", n + 2);
        let file = |(n, mark): (usize, &Mark)| written(&name(n), "look", "executor-002", *mark, asked);
        let files = marks.iter().enumerate().map(file).collect();
        let mut home = with_calls(&[(); 2].map(|()| delegate("executor-002", "look")), files);
        assert_eq!(home.state.work.tasks.len(), tasks, "{marks:?}");
        while !home.calls_to_model("executor-002").is_empty() {
            home.says("executor-002", "fine");
        }
        let mut results = home.results("executor-001");
        results.sort();
        assert!(results[0].starts_with("executor-002 has done task-002: "), "{marks:?} {results:?}");
        assert_eq!(results[1..], ["executor-002 has done task-003: fine"], "{marks:?}");
    }
}

#[test]
fn what_is_due_and_leads_to_nothing_is_dropped_and_what_is_due_later_happens() {
    let mut home = Home::with(&["executor-001", "executor-002"], |_| {}, able);
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate_with("executor-002", "ops:check", "look", Some(5_000))]);
    // As a version before this one could leave it: nobody is told, and nothing takes it away.
    let mut state: State = home.state.clone();
    let first = &state.delegations.by_id[&DelegationId::new("delegation-0001")];
    let mut lost = first.clone();
    (lost.id, lost.task) = (DelegationId::new("delegation-0002"), id("task-999"));
    (lost.call, lost.deadline) = (CallId::new("c-9"), Some(home.at.plus_ms(1_000)));
    state.apply(home.at, &Event::Delegation(DelegationEvent::Made { delegation: Box::new(lost) }));
    let at = home.at.plus_ms(6_000);
    let mut happened = Vec::new();
    while state.next_deadline().is_some_and(|due| due <= at) {
        let before = state.seq;
        play(&mut state, at, &Input::Ticked, true, &mut |_, event| happened.push(event)).unwrap();
        assert_ne!(state.seq, before, "it does not stand still");
    }
    assert!(line(&happened).starts_with("deadline_dropped "), "{}", line(&happened));
    assert_eq!(state.work.tasks[&id("task-002")].end(), Some(End::Failed));
}

fn leaves(home: &mut Home, agent: &str) -> Vec<Event> {
    home.give(Input::File(FileInput::AgentGone(AgentId::new(agent))))
}

/// The planner has made two parts for an executor that is busy, and one for the retriever, and waits.
fn parted() -> Home {
    let slow = |spec: &mut domain::agent::Spec| spec.permissions.concurrency.max_parallel_tasks = 1;
    let mut home = Home::with(&TEAM, |_| {}, slow);
    home.task("something else", "executor-001");
    home.task("is the disk fine?", "planner-001");
    home.wants(
        "planner-001",
        &[
            create("look", "executor-001", &[]),
            create("look again", "executor-001", &[]),
            create("explain", "retriever-001", &[]),
        ],
    );
    home.says("planner-001", "I wait");
    home
}

#[test]
fn who_asked_for_parts_of_an_agent_that_leaves_before_it_began_is_told() {
    let mut home = parted();
    home.says("retriever-001", "old logs");
    assert_eq!(home.heard("planner-001").len(), 1, "the others go on");
    leaves(&mut home, "executor-001");
    assert_eq!(
        (home.end(&id("task-003")), home.end(&id("task-004"))),
        (Some(End::Failed), Some(End::Failed))
    );
    let gone = "executor-001 is no longer in the team and had not begun";
    let last = format!(
        "synod: All parts of your task have ended.\n\
         - task-003 (@executor-001) \"look\" is failed:\n  {gone}\n\
         - task-004 (@executor-001) \"look again\" is failed:\n  {gone}\n\
         - task-005 (@retriever-001) \"explain\" is done:\n  old logs"
    );
    assert_eq!(home.heard("planner-001").last(), Some(&last));
    assert_eq!(home.calls_to_model("planner-001").len(), 1, "it decides what to do");
    assert_eq!(home.calls_to_model("executor-001").len(), 1, "what it has begun it finishes");
}

#[test]
fn what_people_asked_of_an_agent_that_leaves_stays_open() {
    let slow = |spec: &mut domain::agent::Spec| spec.permissions.concurrency.max_parallel_tasks = 1;
    let mut home = Home::with(&TEAM, |_| {}, slow);
    home.task("something else", "executor-001");
    let task = home.task("look", "executor-001");
    assert_eq!(line(&leaves(&mut home, "executor-001")), "agent_retired");
    assert_eq!(home.end(&task), None);
    // A part of what an agent is at is waited for, whoever wrote it.
    let whole = home.task("is all fine?", "planner-001");
    let part = |spec: &mut Spec| spec.parent = Some(whole.clone());
    home.give(written("task-009", "part", "retriever-001", Mark::Open, part));
    home.task("more", "retriever-001");
    home.give(written("task-010", "part too", "retriever-001", Mark::Open, part));
    home.says("planner-001", "I wait");
    leaves(&mut home, "retriever-001");
    assert_eq!(home.end(&id("task-010")), Some(End::Failed));
    assert!(home.heard("planner-001").last().unwrap().contains("retriever-001 is no longer in the team"));
}

#[test]
fn an_author_whose_reviewer_leaves_before_it_began_is_told() {
    let slow = |spec: &mut domain::agent::Spec| spec.permissions.concurrency.max_parallel_tasks = 1;
    let mut home = Home::with(&["coder-001", "reviewer-001", "reviewer-002"], |_| {}, slow);
    home.task("something else", "reviewer-001");
    home.task("greet by name", "coder-001");
    home.submits("c1");
    assert_eq!(home.session_of("coder-001").1.lifecycle, Lifecycle::Blocked);
    leaves(&mut home, "reviewer-001");
    assert_eq!(
        home.results("coder-001"),
        [
            "review-0001 ended without a verdict: reviewer-001 is no longer in the team and had not begun\nAsk again with request_review."
        ]
    );
    home.submits("c1");
    let review = home.state.reviews.by_id.values().next().unwrap();
    assert_eq!(review.reviewer.as_str(), "reviewer-002", "somebody else looks at it");
}

fn moved(home: &Home, task: &str, to: Option<&str>) -> Input {
    let mut spec = home.get(&id(task)).spec.clone();
    spec.parent = to.map(id);
    Input::File(FileInput::TaskRead { spec: Box::new(spec), mark: Mark::Open, result: String::new() })
}

#[test]
fn a_parent_whose_last_open_part_is_moved_elsewhere_is_told_of_the_others() {
    for to in [None, Some("task-002")] {
        let mut home = Home::new(&TEAM);
        home.task("is the disk fine?", "planner-001");
        home.task("something else", "human");
        let parts = [create("look", "executor-001", &[]), create("explain", "retriever-001", &[])];
        home.wants("planner-001", &parts);
        home.says("planner-001", "I wait");
        home.says("executor-001", "92 % full");
        let events = home.give(moved(&home, "task-004", to));
        assert!(matches!(&events[0], Event::Task(TaskEvent::Edited { change: Change::Parent(_), .. })));
        assert_eq!(
            home.heard("planner-001")[1..],
            ["synod: task-004 is no longer a part of your task.\n\
             task-003 has ended.\n- task-003 (@executor-001) \"look\" is done:\n  92 % full"]
        );
        home.says("planner-001", "it is fine");
        assert_eq!(home.end(&id("task-001")), Some(End::Done));
    }
}

#[test]
fn a_parent_whose_only_part_is_moved_elsewhere_goes_on_and_one_with_others_waits() {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("explain", "retriever-001", &[])],
    );
    home.says("planner-001", "I wait");
    assert_eq!(line(&home.give(moved(&home, "task-003", None))), "task_edited");
    home.give(moved(&home, "task-002", None));
    assert_eq!(home.heard("planner-001")[1..], ["synod: task-002 is no longer a part of your task."]);
    home.says("planner-001", "then it is fine");
    assert_eq!(home.end(&id("task-001")), Some(End::Done));
}

#[test]
fn delegated_work_that_is_made_a_part_of_something_else_is_told_to_both() {
    let mut home = Home::with(&["executor-001", "executor-002", "executor-003"], |_| {}, able);
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.task("is the rest fine?", "executor-003");
    home.give(moved(&home, "task-002", Some("task-003")));
    assert_eq!(line(&home.says("executor-003", "I wait for that")), "replied waiting");
    home.says("executor-002", "fine");
    assert_eq!(home.results("executor-001"), ["executor-002 has done task-002: fine"]);
    let told = "synod: task-002 has ended.\n- task-002 (@executor-002) \"look\" is done:\n  fine";
    assert_eq!(home.heard("executor-003").last().unwrap(), told);
    home.says("executor-003", "the rest is fine");
    assert_eq!(home.end(&id("task-003")), Some(End::Done));
}

#[test]
fn delegated_work_that_is_made_a_part_of_something_else_ends_with_who_delegated_it() {
    let mut home = Home::with(&["executor-001", "executor-002", "executor-003"], |_| {}, able);
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.task("is the rest fine?", "executor-003");
    home.give(moved(&home, "task-002", Some("task-003")));
    home.says("executor-003", "I wait for that");
    home.give(Input::Person(PersonInput::Cancel { what: "task-001".to_owned(), by: "dana".to_owned() }));
    assert_eq!(home.end(&id("task-002")), Some(End::Cancelled));
    let told = home.heard("executor-003").pop().unwrap();
    assert!(told.contains("executor-001 gave it up: task-001 is cancelled"), "{told}");
    assert!(home.state.delegations.by_id.values().all(|delegation| delegation.status.is_over()));
}

#[test]
fn a_review_is_no_part_and_holds_back_none() {
    let mut home = Home::new(&["coder-001", "coder-002", "reviewer-001"]);
    home.task("greet by name", "coder-001");
    home.wants("coder-001", &[create("translate", "coder-002", &[]), crate::reviews::ask()]);
    let place = domain::review::Place {
        branch: "agent/coder-001".to_owned(),
        target: "main".to_owned(),
        commit: "c1".to_owned(),
        base: "ba5e".to_owned(),
    };
    home.finds("coder-001", true, domain::review::Finding::Submitted(place));
    home.says("coder-002", "bonjour");
    let heard = home.heard("coder-001");
    assert!(heard.last().unwrap().starts_with("synod: task-002 has ended."), "{heard:?}");
}

#[test]
fn a_parent_whose_last_open_part_is_taken_out_of_its_file_is_told() {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("explain", "retriever-001", &[])],
    );
    home.says("planner-001", "I wait");
    home.says("executor-001", "92 % full");
    home.give(Input::File(FileInput::TaskGone { task: id("task-003") }));
    assert!(home.heard("planner-001").last().unwrap().contains("92 % full"));
}

/// Starts again, and says how much was said to the agent by that.
fn restarts(home: &mut Home, agent: &str) -> usize {
    let before = home.heard(agent).len();
    home.give(Input::Started);
    home.heard(agent).len() - before
}

#[test]
fn a_parent_that_was_told_and_waits_for_an_answer_is_not_told_again_at_each_start() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("is the disk fine?", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    home.says("planner-001", "I wait");
    home.says("executor-001", "92 % full");
    home.wants("planner-001", &[tell("retriever-001", "why?")]);
    home.says("planner-001", "I wait for the answer");
    assert_eq!((restarts(&mut home, "planner-001"), restarts(&mut home, "planner-001")), (0, 0));
    assert_eq!(home.calls_to_model("planner-001"), [], "no turn is paid for");
    home.says("retriever-001", "old logs");
    home.says("planner-001", "delete them");
    assert_eq!(home.end(&id("task-001")), Some(End::Done));
    // What was delegated was told as the result of the call.
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("is the disk fine?", "planner-001");
    home.wants("planner-001", &[delegate("executor-001", "look"), tell("retriever-001", "why?")]);
    home.says("executor-001", "92 % full");
    home.says("planner-001", "I wait for the answer");
    assert_eq!((restarts(&mut home, "planner-001"), restarts(&mut home, "planner-001")), (0, 0));
}

#[test]
fn a_found_parent_is_told_once_however_often_synod_starts() {
    let mut home = Home::new(&TEAM);
    home.live = false;
    home.give(written("task-001", "is the disk fine?", "planner-001", Mark::Running, |_| {}));
    let part = |spec: &mut Spec| spec.parent = Some(id("task-001"));
    home.give(written("task-002", "look", "executor-001", Mark::Done, part));
    home.give(found("planner-001", "task-001", Status::Sleeping, Tail::Answered));
    home.live = true;
    assert_eq!(restarts(&mut home, "planner-001"), 1);
    assert_eq!(restarts(&mut home, "planner-001"), 0);
    home.wants("planner-001", &[tell("retriever-001", "why?")]);
    home.says("planner-001", "I wait for the answer");
    assert_eq!((restarts(&mut home, "planner-001"), restarts(&mut home, "planner-001")), (0, 0));
}

fn awaiting(to: &str) -> Act {
    match tell(to, "how full is the disk?") {
        Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, approved, issues, .. }) => {
            let wait_ms = Some(60_000);
            Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, wait_ms, approved, issues })
        }
        other => other,
    }
}

#[test]
fn who_asked_in_a_conversation_that_is_cut_to_an_answer_hears_that_none_comes() {
    for (ask, waits) in
        [(tell("executor-001", "how full is the disk?"), false), (awaiting("executor-001"), true)]
    {
        let mut home = Home::new(&TEAM);
        home.write("executor-001", "hello");
        home.says("executor-001", "hello");
        home.task("is the disk fine?", "planner-001");
        home.wants("planner-001", &[ask]);
        if !waits {
            home.says("planner-001", "I wait for the answer");
        }
        let (session, _) = home.session_of("executor-001");
        home.give(Input::File(FileInput::SessionCut {
            session: session.clone(),
            next_message: 3,
            tail: Tail::Answered,
        }));
        let told = if waits { home.results("planner-001") } else { home.heard("planner-001") };
        assert!(
            told.last().unwrap().ends_with("executor-001 cannot answer: a person cut the session"),
            "{told:?}"
        );
        assert!(home.session_of("planner-001").1.ties.asked.is_empty());
        assert!(home.state.sessions[&session].ties.askers.is_empty(), "it is told once");
        home.says("planner-001", "nobody knows");
        assert_eq!(home.end(&id("task-001")), Some(End::Done));
        home.write("executor-001", "and now?");
        assert_eq!(line(&home.says("executor-001", "fine")), "replied waiting");
    }
}

#[test]
fn a_cut_after_which_the_agent_answers_anew_leaves_who_asked_waiting_for_that() {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    home.says("planner-001", "I wait for the answer");
    let (session, _) = home.session_of("executor-001");
    home.give(Input::File(FileInput::SessionCut { session, next_message: 2, tail: Tail::Unanswered }));
    assert_eq!(home.heard("planner-001").len(), 1);
    home.says("executor-001", "92 %");
    assert_eq!(home.heard("planner-001").last().unwrap(), "agent:executor-001: 92 %");
}

fn finish(status: FinishStatus, result: &str) -> Act {
    Act::FinishTask(FinishTask { status, result: result.to_owned() })
}

#[test]
fn finish_task_ends_the_task_and_nobody_is_asked_again() {
    for (status, end, result) in [
        (FinishStatus::Done, End::Done, "the disk is full"),
        (FinishStatus::Failed, End::Failed, "the disk is full"),
        (FinishStatus::Blocked, End::Failed, "blocked: the disk is full"),
    ] {
        let mut home = Home::new(&TEAM);
        let task = home.task("is all fine?", "executor-001");
        let acts = [finish(status, "the disk is full"), tell("planner-001", "look")];
        let events = home.wants("executor-001", &acts);
        assert_eq!(home.end(&task), Some(end));
        assert_eq!(home.get(&task).result, result);
        assert!(home.calls_to_model("executor-001").is_empty(), "{}", line(&events));
        let behind = home.results("executor-001").pop().unwrap();
        assert_eq!(behind, "not run: the task was finished before it");
        assert!(home.heard("planner-001").is_empty());
        assert!(home.state.is_idle());
    }
}

#[test]
fn what_is_reported_done_still_needs_its_evidence_and_its_parts() {
    let mut home = Home::new(&TEAM);
    let proven =
        |spec: &mut Spec| _ = spec.properties.insert("done_when".to_owned(), "file: a.md".to_owned());
    let task = home.task_with("write a.md", "executor-001", proven);
    home.wants("executor-001", &[finish(FinishStatus::Done, "it is there")]);
    assert_eq!(home.end(&task), None, "Synod looks first");
    home.tool_ends("executor-001", false, "there is no a.md");
    home.wants("executor-001", &[create("write it", "retriever-001", &[])]);
    home.wants("executor-001", &[finish(FinishStatus::Done, "it will be there")]);
    assert_eq!(
        home.results("executor-001").pop().unwrap(),
        "open parts: task-002; wait for them, or cancel them with update_task"
    );
    home.wants("executor-001", &[finish(FinishStatus::Failed, "nobody can write it")]);
    assert_eq!((home.end(&task), home.end(&id("task-002"))), (Some(End::Failed), Some(End::Cancelled)));
}

#[test]
fn who_asked_hears_that_a_task_failed() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate("retriever-001", "look")]);
    home.wants("retriever-001", &[finish(FinishStatus::Failed, "there is no disk")]);
    let told = home.results("executor-001").pop().unwrap();
    assert!(told.starts_with("retriever-001 could not do task-002: there is no disk"), "{told}");
}

#[test]
fn who_works_on_no_task_ends_none() {
    let mut home = Home::new(&TEAM);
    home.write("executor-001", "hello");
    home.wants("executor-001", &[finish(FinishStatus::Done, "hello")]);
    assert!(home.results("executor-001")[0].starts_with("you work on no task"));
}

/// The executor was told that its task is open, and says more words.
fn words_twice(home: &mut Home) {
    home.says_only("executor-001", "I looked around.");
    assert_eq!(
        home.heard("executor-001").last().map(String::as_str),
        Some(
            "synod: task-002 is still open: words alone do not end it. Go on with it, or end it with finish_task: done, failed or blocked, and what came of it."
        )
    );
    assert_eq!(home.end(&id("task-002")), None, "it was told once");
    home.says_only("executor-001", "There is no disk.");
}

const WORDS_ONLY: &str = "executor-001 answered 2 times in words and did not end the task with finish_task; its last words: There is no disk.";

#[test]
fn words_alone_do_not_end_delegated_work_and_its_caller_hears_so() {
    let mut home = Home::with(&["planner-001", "executor-001"], |_| {}, able);
    let own = home.task("is all fine?", "planner-001");
    home.wants("planner-001", &[delegate("executor-001", "look")]);
    words_twice(&mut home);
    assert_eq!(home.end(&id("task-002")), Some(End::Failed));
    assert_eq!(home.results("planner-001"), [format!("executor-001 could not do task-002: {WORDS_ONLY}")]);
    home.says("planner-001", "it is not");
    assert_eq!(home.end(&own), Some(End::Done));
}

#[test]
fn words_alone_do_not_end_a_part_and_whoever_made_it_hears_so() {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    home.says("planner-001", "I wait");
    words_twice(&mut home);
    assert_eq!(
        home.heard("planner-001").last(),
        Some(&format!(
            "synod: task-002 has ended.\n- task-002 (@executor-001) \"look\" is failed:\n  {WORDS_ONLY}"
        ))
    );
    assert_eq!(home.calls_to_model("planner-001").len(), 1, "it decides what to do");
}

/// A question that its asker waits for.
fn how_far(to: &str) -> Act {
    Act::SendMessage(SendMessage {
        to: AgentId::new(to),
        content: "how far are you?".to_owned(),
        kind: Some(Kind::Request),
        priority: Default::default(),
        reply_to: None,
        wait_ms: Some(60_000),
        approved: None,
        issues: Vec::new(),
    })
}

#[test]
fn words_answer_who_asks_an_agent_at_its_task_and_the_task_goes_on() {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    let own = id("task-002");
    home.wants("planner-001", &[how_far("executor-001")]);
    // The first answer is to what it was asked before; the second to the planner.
    home.wants("executor-001", &[run("df -h")]);
    home.tool_ends("executor-001", true, "full");
    home.says_only("executor-001", "half done");
    assert_eq!(home.results("planner-001").last().map(String::as_str), Some("half done"));
    assert_eq!((home.end(&own), home.calls_to_model("executor-001").len()), (None, 1));
    home.says_only("executor-001", "well");
    assert_eq!(home.end(&own), None, "an answer to others is no attempt at an end");
    home.says_only("executor-001", "well");
    assert_eq!(home.end(&own), Some(End::Failed));
}

#[test]
fn words_do_not_fail_a_task_before_who_asks_is_answered() {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    let own = id("task-002");
    home.says_only("executor-001", "I looked around.");
    // It was told that its task is open, and thinks already when the question comes.
    home.wants("planner-001", &[how_far("executor-001")]);
    home.says_only("executor-001", "There is no disk.");
    assert_eq!(home.end(&own), None, "the question is open");
    home.says_only("executor-001", "half done");
    assert_eq!(home.results("planner-001").last().map(String::as_str), Some("half done"));
    home.says_only("executor-001", "well");
    assert_eq!(home.end(&own), Some(End::Failed));
}

#[test]
fn an_agent_that_goes_on_after_words_is_told_again() {
    let mut home = Home::new(&TEAM);
    let task = home.task("look", "executor-001");
    for _ in 0..3 {
        home.says_only("executor-001", "I shall look");
        home.wants("executor-001", &[run("df -h")]);
        home.tool_ends("executor-001", true, "full");
    }
    home.says("executor-001", "it is full");
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn evidence_is_looked_at_when_finish_task_reports_the_task_done() {
    let mut home = Home::new(&TEAM);
    let task = home.task_with("look", "executor-001", |spec| {
        spec.properties.insert("done_when".to_owned(), "command: df -h".to_owned());
    });
    home.says("executor-001", "it is full");
    assert_eq!(home.end(&task), None, "the evidence is looked at first");
    home.tool_ends("executor-001", true, "exit code 0");
    assert_eq!((home.end(&task), home.get(&task).result.as_str()), (Some(End::Done), "it is full"));
}
