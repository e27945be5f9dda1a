//! Locks through the domain's own door: who has one, who waits, who is told what, and what is left when somebody ends.

use domain::approval::Answer;
use domain::effect::Effect;
use domain::event::Event;
use domain::event::LockEvent;
use domain::id::{AgentId, LockName, SessionId};
use domain::input::Input;
use domain::input::{PersonInput, ToolInput};
use domain::lifecycle::Lifecycle;
use domain::tool::{Act, Delegate, GitCommit, Lock, MoveFile, SendMessage, Unlock, WriteFile};
use domain::waits::edges;
use proptest::prelude::*;

use crate::home::{Home, answered, create, no, tell};

const TEAM: [&str; 3] = ["coder-001", "coder-002", "planner-001"];

fn lock(name: &str) -> Act {
    Act::Lock(Lock { name: name.to_owned(), wait_ms: None })
}

fn unlock(name: &str) -> Act {
    Act::Unlock(Unlock { name: name.to_owned() })
}

fn write(path: &str) -> Act {
    Act::WriteFile(WriteFile { path: path.to_owned(), content: "x".to_owned() })
}

fn free(name: &str) -> Input {
    Input::Person(PersonInput::FreeLock { name: name.to_owned(), by: "dana".to_owned() })
}

/// Both coders have a task and think.
fn two() -> Home {
    let mut home = Home::new(&TEAM);
    home.task("one", "coder-001");
    home.task("two", "coder-002");
    home
}

fn holder(home: &Home, name: &str) -> Option<String> {
    let holder = home.state.locks.get(&LockName::new(name))?.holder.as_ref()?;
    Some(home.state.sessions[&holder.session].agent.to_string())
}

fn last(home: &Home, agent: &str) -> String {
    home.results(agent).pop().unwrap_or_default()
}

fn fences(home: &Home) -> Vec<u64> {
    let fence = |event: &Event| match event {
        Event::Lock(LockEvent::Granted { grant, .. }) => Some(grant.fence),
        _ => None,
    };
    home.events.iter().filter_map(fence).collect()
}

#[test]
fn who_asks_for_a_lock_that_another_has_waits_and_gets_it_next() {
    let mut home = two();
    home.wants("coder-001", &[lock("deploy")]);
    assert!(last(&home, "coder-001").starts_with("deploy is yours, with the fencing number "));
    home.wants("coder-002", &[lock("deploy")]);
    assert_eq!(home.results("coder-002"), Vec::<String>::new());
    assert_eq!(home.session_of("coder-002").1.lifecycle, Lifecycle::Blocked, "it leaves its slot");
    home.wants("coder-001", &[unlock("deploy")]);
    assert_eq!(last(&home, "coder-001"), "deploy is given back");
    assert_eq!(holder(&home, "deploy").as_deref(), Some("coder-002"));
    assert!(last(&home, "coder-002").starts_with("deploy is yours"));
    let numbers = fences(&home);
    assert!(numbers[0] < numbers[1], "{numbers:?}");
    home.thinking("coder-002");
}

#[test]
fn a_lock_that_is_not_ones_own_is_not_given_back() {
    let mut home = two();
    home.wants("coder-001", &[lock("deploy")]);
    home.wants_each("coder-002", &[unlock("deploy"), unlock("nothing")]);
    let (first, _) = home.session_of("coder-001");
    let results = home.results("coder-002");
    assert_eq!(
        results[0],
        format!("deploy is not yours to give back: the lock deploy is held by coder-001 in {first} for 0 ms")
    );
    assert_eq!(results[1], "nothing is not yours to give back: nobody has the lock nothing");
}

#[test]
fn who_does_not_want_to_wait_is_told_who_has_it_and_who_waits_too_long_too() {
    let mut home = two();
    home.wants("coder-001", &[lock("deploy")]);
    home.wants("coder-002", &[Act::Lock(Lock { name: "deploy".to_owned(), wait_ms: Some(0) })]);
    assert!(last(&home, "coder-002").starts_with("the lock deploy is held by coder-001"));
    home.wants("coder-002", &[Act::Lock(Lock { name: "deploy".to_owned(), wait_ms: Some(500) })]);
    home.pass(499);
    assert_eq!(home.session_of("coder-002").1.lifecycle, Lifecycle::Blocked);
    home.pass(1);
    assert!(last(&home, "coder-002").starts_with("time-out: the lock deploy is held by coder-001"));
    assert_eq!(home.state.locks.get(&LockName::new("deploy")).unwrap().queue.len(), 0);
    home.thinking("coder-002");
}

#[test]
fn the_queue_of_a_lock_is_bounded() {
    let team = ["coder-001", "coder-002", "coder-003", "coder-004"];
    let mut home = Home::with(&team, |settings| settings.limits.locks.queue_max = 2, |_| {});
    for agent in team {
        home.task("x", agent);
        home.wants(agent, &[lock("deploy")]);
    }
    assert_eq!(home.state.locks.get(&LockName::new("deploy")).unwrap().queue.len(), 2);
    let told = last(&home, "coder-004");
    assert!(told.starts_with("limits.lock_queue_max: ") && told.ends_with("2 wait for it already"), "{told}");
}

#[test]
fn a_file_is_written_by_one_at_a_time_and_costs_no_event_more_than_its_grant() {
    let mut home = two();
    let events = home.wants("coder-001", &[write("workspaces/coder-001/a")]);
    assert_eq!(crate::home::line(&events), "replied lock_granted call_cleared");
    assert!(
        matches!(&home.effects[..], [.., Effect::Fence(_), Effect::RunTool { locks, .. }] if locks.len() == 1)
    );
    home.tool_ends("coder-001", true, "done");
    assert_eq!(home.state.locks.all().count(), 0);
    // The same file of a shared place, by another spelling; both were approved.
    home.wants("coder-001", &[write("memory/a")]);
    home.answer("approval-0001", Answer::Approved);
    home.wants("coder-002", &[write("memory/./A")]);
    home.answer("approval-0002", Answer::Approved);
    assert_eq!(home.calls_to_tools("coder-002"), [], "it waits");
    assert_eq!(home.session_of("coder-002").1.lifecycle, Lifecycle::Blocked);
    home.tool_ends("coder-001", true, "done");
    assert_eq!(
        home.calls_to_tools("coder-002").len(),
        1,
        "and runs by its approval when the first has ended"
    );
    home.tool_ends("coder-002", true, "done");
    assert_eq!(home.state.locks.all().count(), 0);
}

#[test]
fn a_move_has_the_locks_of_both_files_and_waits_for_the_one_that_another_has() {
    let mut home = two();
    home.wants("coder-001", &[write("memory/b")]);
    home.answer("approval-0001", Answer::Approved);
    let (from, to) = ("memory/a".to_owned(), "memory/b".to_owned());
    home.wants("coder-002", &[Act::MoveFile(MoveFile { from, to, replace: false })]);
    home.answer("approval-0002", Answer::Approved);
    assert_eq!(home.calls_to_tools("coder-002"), [], "it waits");
    assert_eq!(holder(&home, "file:memory/a").as_deref(), Some("coder-002"));
    home.tool_ends("coder-001", true, "done");
    let names = |effect: &Effect| match effect {
        Effect::RunTool { locks, .. } => locks.iter().map(|grant| grant.name.to_string()).collect(),
        _ => Vec::new(),
    };
    assert_eq!(home.effects.iter().flat_map(names).last().as_deref(), Some("file:memory/b"));
    home.tool_ends("coder-002", true, "done");
    assert_eq!(home.state.locks.all().count(), 0);
}

#[test]
fn who_keeps_the_lock_of_a_file_writes_it_and_others_wait() {
    let mut home = two();
    home.wants("coder-001", &[lock("file:workspaces/coder-001/x/../a")]);
    home.wants("coder-001", &[write("workspaces/coder-001/a"), write("workspaces/coder-001/a")]);
    assert_eq!(home.calls_to_tools("coder-001").len(), 1, "two calls of one turn follow each other");
    home.tool_ends("coder-001", true, "first");
    home.tool_ends("coder-001", true, "second");
    assert_eq!(holder(&home, "file:workspaces/coder-001/a").as_deref(), Some("coder-001"), "it is kept");
    assert_eq!(fences(&home).into_iter().collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[test]
fn agents_that_share_a_repository_commit_one_after_the_other() {
    let share = |agent: &mut domain::agent::Spec| {
        let repo = Some("code".to_owned());
        agent.workspace = Some(domain::agent::Workspace { repo, ..Default::default() });
    };
    let mut home = Home::with(&TEAM, |_| {}, share);
    home.task("one", "coder-001");
    home.task("two", "coder-002");
    let commit = Act::GitCommit(GitCommit { message: "x".to_owned(), paths: Vec::new() });
    home.wants("coder-001", std::slice::from_ref(&commit));
    home.wants("coder-002", &[commit]);
    assert_eq!(holder(&home, "git:code").as_deref(), Some("coder-001"));
    assert_eq!(home.calls_to_tools("coder-002"), []);
    home.tool_ends("coder-001", true, "committed");
    assert_eq!(home.calls_to_tools("coder-002").len(), 1);
}

#[test]
fn who_may_not_write_a_file_does_not_lock_it() {
    let mut home = two();
    home.task("plan", "planner-001");
    home.wants_each("planner-001", &[lock("file:memory/a"), lock("deploy")]);
    assert!(home.results("planner-001")[0].starts_with("denied by the rule: role planner lacks write_files"));
    assert!(home.results("planner-001")[1].starts_with("deploy is yours"));
    home.wants("coder-001", &[lock("file:policy/../synod.yaml")]);
    assert!(last(&home, "coder-001").starts_with("denied by the rule: control file"));
}

#[test]
fn a_circle_of_locks_is_named_to_who_closes_it_at_once() {
    let mut home = two();
    home.wants("coder-001", &[lock("x")]);
    home.wants("coder-002", &[lock("y")]);
    home.wants("coder-001", &[lock("y")]);
    home.wants("coder-002", &[lock("x")]);
    let ((first, _), (second, _)) = (home.session_of("coder-001"), home.session_of("coder-002"));
    assert_eq!(
        last(&home, "coder-002"),
        format!(
            "waiting would never end: {second} → lock x → {first} → lock y → {second}; give back what others wait for with unlock, then ask again"
        )
    );
    home.wants("coder-002", &[unlock("y")]);
    assert_eq!(holder(&home, "y").as_deref(), Some("coder-001"), "and nobody stands still");
}

#[test]
fn who_would_wait_behind_one_that_waits_for_it_is_told_so() {
    let team = ["coder-001", "coder-002", "coder-003"];
    let mut home = Home::with(&team, |_| {}, |_| {});
    team.iter().for_each(|agent| _ = home.task("x", agent));
    home.wants("coder-001", &[lock("x")]);
    home.wants("coder-003", &[lock("z")]);
    // The second waits for x; the third stands behind it and has what the second also asks for.
    home.wants("coder-002", &[lock("x"), write("memory/a")]);
    home.wants("coder-003", &[lock("x")]);
    home.wants("coder-001", &[unlock("x")]);
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-002"));
    home.looks();
    home.answer("approval-0001", no());
    home.wants("coder-002", &[lock("z")]);
    assert!(
        last(&home, "coder-002").starts_with("waiting would never end: "),
        "{}",
        last(&home, "coder-002")
    );
}

#[test]
fn running_calls_close_no_circle_because_they_end_by_themselves() {
    let mut home = two();
    let (a, b) = ("workspaces/coder-001/a", "workspaces/coder-002/b");
    home.wants("coder-001", &[write(a), write(b)]);
    home.tool_ends("coder-001", true, "a is written");
    home.looks();
    home.answer("approval-0001", Answer::Approved);
    // Now the first has b, while the second asks for b and keeps nothing.
    home.wants("coder-002", &[write(b)]);
    assert_eq!(home.calls_to_tools("coder-002"), []);
    home.tool_ends("coder-001", true, "b is written");
    assert_eq!(home.calls_to_tools("coder-002").len(), 1);
}

#[test]
fn a_circle_of_a_lock_and_an_answer_is_named_from_both_sides() {
    let ask = |to: &str| match tell(to, "how far are you?") {
        Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, approved, issues, .. }) => {
            Act::SendMessage(SendMessage {
                to,
                content,
                kind,
                priority,
                reply_to,
                wait_ms: Some(9_000),
                approved,
                issues,
            })
        }
        other => other,
    };
    // The lock comes last.
    let mut home = Home::new(&TEAM);
    home.write("coder-002", "begin");
    home.says("coder-002", "I listen");
    home.task("one", "coder-001");
    home.wants("coder-001", &[lock("x")]);
    home.wants("coder-001", &[ask("coder-002")]);
    home.wants("coder-002", &[lock("x")]);
    let told = last(&home, "coder-002");
    assert!(told.starts_with("waiting would never end: ") && told.contains("lock x"), "{told}");
    // The question comes last.
    let mut home = Home::new(&TEAM);
    home.write("coder-002", "begin");
    home.task("one", "coder-001");
    home.wants("coder-001", &[lock("x")]);
    home.wants("coder-002", &[lock("x")]);
    home.wants("coder-001", &[ask("coder-002")]);
    let told = last(&home, "coder-001");
    assert!(told.starts_with("waiting would never end: ") && told.contains("lock x"), "{told}");
}

#[test]
fn delegated_work_that_needs_a_lock_of_who_asked_is_told_so() {
    let able = |agent: &mut domain::agent::Spec| {
        agent.permissions.delegation.can_delegate = true;
        agent.responsibilities = vec!["code:*".to_owned()];
    };
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("whole", "coder-001");
    home.wants("coder-001", &[lock("x")]);
    home.wants(
        "coder-001",
        &[Act::Delegate(Delegate {
            to: AgentId::new("coder-002"),
            tag: "code:part".to_owned(),
            task: "a part".to_owned(),
            payload: None,
            callback: None,
            with_results: Vec::new(),
            deadline_ms: None,
            contexts: Vec::new(),
        })],
    );
    let (first, _) = home.session_of("coder-001");
    assert!(
        edges(&home.state)
            .iter()
            .any(|w| w.from.to_string() == first.as_str() && w.to.to_string() == "task-002"),
        "who delegated waits for the task: {:?}",
        edges(&home.state)
    );
    home.wants("coder-002", &[lock("x")]);
    let told = last(&home, "coder-002");
    assert!(told.contains(&format!("lock x → {first} → task-002 → ")), "{told}");
}

#[test]
fn who_would_rest_for_one_that_waits_for_its_lock_is_told_to_give_it_back() {
    let mut home = Home::new(&TEAM);
    home.task("whole", "coder-001");
    home.wants("coder-001", &[lock("x"), create("part", "coder-002", &[])]);
    home.wants("coder-002", &[lock("x")]);
    assert_eq!(home.session_of("coder-002").1.lifecycle, Lifecycle::Blocked, "the first still works");
    home.says("coder-001", "I wait for the part");
    let told = home.heard("coder-001").pop().unwrap();
    assert!(told.starts_with("synod: you wait for who waits for you: ") && told.contains("lock x"), "{told}");
    home.wants("coder-001", &[unlock("x")]);
    assert!(last(&home, "coder-002").starts_with("x is yours"));
}

#[test]
fn a_lock_lapses_when_its_owner_does_nothing_and_the_owner_is_told() {
    let mut home = Home::with(&TEAM, |settings| settings.limits.locks.lease_ms = 1000, |_| {});
    home.task("one", "coder-001");
    home.task("two", "coder-002");
    home.wants("coder-001", &[lock("x"), write("memory/a")]);
    home.wants("coder-002", &[lock("x")]);
    home.pass(999);
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-001"));
    home.pass(1);
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-002"));
    assert!(home.heard("coder-001").pop().unwrap().contains("the lock x is no longer yours"));
    // Who works keeps it.
    for n in 0..5 {
        home.pass(600);
        home.wants("coder-002", &[write(&format!("workspaces/coder-002/{n}"))]);
        home.pass(600);
        home.tool_ends("coder-002", true, "fine");
    }
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-002"));
}

#[test]
fn a_person_can_take_a_lock_away_and_the_next_has_it() {
    let mut home = two();
    home.wants("coder-001", &[lock("x")]);
    home.wants("coder-002", &[lock("x")]);
    assert_eq!(home.refusal(free("y")), "nobody holds the lock y");
    home.give(free(" x"));
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-002"));
    assert_eq!(
        home.heard("coder-001").pop().unwrap(),
        "synod: dana took the lock x away; it is no longer yours"
    );
}

#[test]
fn whoever_ends_leaves_no_lock_and_no_place_in_a_queue_behind() {
    let team = ["coder-001", "coder-002", "coder-003"];
    let mut home = Home::with(&team, |_| {}, |_| {});
    let tasks: Vec<_> = team.iter().map(|agent| home.task("x", agent)).collect();
    home.wants("coder-001", &[lock("x"), write("workspaces/coder-001/a")]);
    home.wants("coder-002", &[lock("x")]);
    home.wants("coder-003", &[lock("x")]);
    let cancel = |task: &domain::id::TaskId| {
        Input::Person(PersonInput::Cancel { what: task.to_string(), by: "dana".to_owned() })
    };
    home.give(cancel(&tasks[1]));
    assert_eq!(home.state.locks.get(&LockName::new("x")).unwrap().queue.len(), 1);
    home.give(cancel(&tasks[0]));
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-003"));
    home.says("coder-003", "done");
    assert_eq!(home.state.locks.all().count(), 0);
    assert_eq!(home.state.next_deadline(), None, "and nothing is due any more");
}

#[test]
fn a_restart_keeps_locks_and_queues_and_counts_no_time_that_nothing_ran() {
    let mut home = two();
    home.wants("coder-001", &[lock("x"), write("workspaces/coder-001/a")]);
    home.wants(
        "coder-002",
        &[
            write("workspaces/coder-002/b"),
            Act::Lock(Lock { name: "x".to_owned(), wait_ms: Some(3_000_000) }),
        ],
    );
    home.at = home.at.plus_ms(1_000_000);
    home.give(Input::Started);
    home.pass(0);
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-001"), "its lease begins anew");
    assert_eq!(
        holder(&home, "file:workspaces/coder-001/a").as_deref(),
        Some("coder-001"),
        "the call runs again"
    );
    home.tool_ends("coder-001", true, "written");
    home.wants("coder-001", &[unlock("x")]);
    home.tool_ends("coder-002", true, "written");
    assert_eq!(holder(&home, "x").as_deref(), Some("coder-002"));
}

#[derive(Debug, Clone)]
enum Deed {
    Model(Vec<(u8, u8)>),
    Say,
    Tool,
    Answer(bool),
    Time(u64),
    Restart,
    Cancel,
    Free(u8),
    Task,
}

fn deed() -> impl Strategy<Value = (Deed, usize)> {
    let deed = prop_oneof![
        12 => proptest::collection::vec((0..6_u8, 0..3_u8), 1..4).prop_map(Deed::Model),
        2 => Just(Deed::Say),
        6 => Just(Deed::Tool),
        2 => any::<bool>().prop_map(Deed::Answer),
        2 => (0..40_000u64).prop_map(Deed::Time),
        1 => Just(Deed::Restart),
        1 => Just(Deed::Cancel),
        1 => (0..3_u8).prop_map(Deed::Free),
        3 => Just(Deed::Task),
    ];
    (deed, any::<usize>())
}

fn input(home: &Home, deed: &Deed, number: usize) -> Option<Input> {
    let agent = TEAM[number % 2];
    let act = |(kind, of): &(u8, u8)| match kind {
        0 | 1 => lock(&format!("l{of}")),
        2 => unlock(&format!("l{of}")),
        3 => write(&format!("workspaces/{agent}/{of}")),
        4 => write(&format!("memory/{of}")),
        _ => tell(TEAM[(number + 1) % 2], "hello"),
    };
    let think = || home.calls_to_model(agent).into_iter().next();
    Some(match deed {
        Deed::Model(kinds) => {
            let (session, ticket) = think()?;
            crate::home::reply(session, ticket, "words", &kinds.iter().map(act).collect::<Vec<_>>())
        }
        Deed::Say => {
            let (session, ticket) = think()?;
            crate::home::reply(session, ticket, "done", &[])
        }
        Deed::Tool => {
            let (session, call, ticket) = home.calls_to_tools(agent).into_iter().next()?;
            let (ok, text) = (number.is_multiple_of(2), "x".to_owned());
            let (read, wrote) = (Vec::new(), Vec::new());
            Input::Tool(ToolInput::Finished { session, call, ticket, ok, text, read, wrote, finding: None })
        }
        Deed::Answer(yes) => {
            let id = home.state.people.approvals.keys().next()?;
            answered(id.as_str(), if *yes { Answer::Approved } else { no() })
        }
        Deed::Time(_) => return None,
        Deed::Restart => Input::Started,
        Deed::Cancel => {
            let ids: Vec<&SessionId> = home.state.sessions.keys().collect();
            let what = ids.get(number % ids.len().max(1))?.to_string();
            Input::Person(PersonInput::Cancel { what, by: "dana".to_owned() })
        }
        Deed::Free(of) => free(&format!("l{of}")),
        Deed::Task => {
            let mut spec = domain::task::Spec::new(domain::id::TaskId::new(""), "tasks/x.task.md", "x");
            spec.assignee = Some(AgentId::new(agent));
            Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
        }
    })
}

proptest! {
    /// Replay of every event into a second state is part of `Home`.
    #[test]
    fn no_lock_is_shared_lost_or_left_behind(deeds in proptest::collection::vec(deed(), 1..70)) {
        let mut home = Home::with(&TEAM, |settings| settings.limits.locks.queue_max = 3, |_| {});
        let mut highest = std::collections::BTreeMap::<LockName, u64>::new();
        let mut read = 0;
        for (deed, number) in &deeds {
            match deed {
                Deed::Time(ms) => _ = home.pass(*ms),
                deed => if let Some(input) = input(&home, deed, *number) { _ = home.try_give(input) },
            }
            for event in &home.events[read..] {
                if let Event::Lock(LockEvent::Granted { grant, .. }) = event {
                    let before = highest.insert(grant.name.clone(), grant.fence).unwrap_or(0);
                    prop_assert!(before <= grant.fence, "numbers never go back");
                }
            }
            read = home.events.len();
            for (name, lock) in home.state.locks.all() {
                prop_assert!(lock.queue.len() <= 3, "{} has a bounded queue", name);
                let holder = lock.holder.as_ref().expect("who waits for a free lock has it");
                let session = &home.state.sessions[&holder.session];
                prop_assert!(session.lifecycle != Lifecycle::Complete, "{} of one that has ended", name);
                for waiter in &lock.queue {
                    let waits = home.state.sessions[&waiter.session].pending(&waiter.call).map(|p| &p.step);
                    prop_assert!(matches!(waits, Some(domain::state::Step::Waiting { on: domain::state::On::Lock { .. } })), "{:?}", waits);
                }
            }
            let running = home.calls_to_tools(TEAM[0]).into_iter().chain(home.calls_to_tools(TEAM[1]));
            let held: Vec<_> = running.flat_map(|(session, call, _)| home.state.locks.of_call(&session, &call)).collect();
            let names: std::collections::BTreeSet<_> = held.iter().map(|grant| &grant.name).collect();
            prop_assert_eq!(names.len(), held.len(), "no two calls that run have the same lock");
        }
        let open: Vec<SessionId> = home.state.sessions.keys().cloned().collect();
        for session in open {
            _ = home.try_give(Input::Person(PersonInput::Cancel { what: session.to_string(), by: "dana".to_owned() }));
        }
        let left: Vec<_> = home.state.locks.all().map(|(name, _)| name.to_string())
            .filter(|_| home.state.team.agents.values().all(|agent| agent.sessions.is_empty())).collect();
        prop_assert_eq!(left, Vec::<String>::new());
    }
}
