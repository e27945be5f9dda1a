//! Agents that are made while the team works: who may, how many, what they may do, and that nothing of them is left
//! when they end.

use std::collections::BTreeSet;

use domain::agent;
use domain::approval::Answer;
use domain::budget::Cap;
use domain::effect::Effect;
use domain::event::Event;
use domain::event::{AgentEvent, CallEvent};
use domain::id::{AgentId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput, ToolInput};
use domain::label::Label;
use domain::lifecycle::Lifecycle;
use domain::message::Kind;
use domain::pending;
use domain::role::{Permission, Role};
use domain::settings::Settings;
use domain::spawn::{Order, Origin};
use domain::state::{Session, State};
use domain::task::End;
use domain::tool::{Act, GitCommit, SendMessage, SpawnAgent, TerminateAgent, WriteFile};
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

use crate::delegation::delegate;
use crate::home::{Home, create, no, read, reply, run, tell, written};

fn spawn(role: &str) -> Act {
    let (role, goal) = (role.to_owned(), "Look after the disk".to_owned());
    Act::SpawnAgent(SpawnAgent { role, name: None, goal, responsibilities: vec!["ops:*".to_owned()] })
}

fn terminate(agent: &str) -> Act {
    Act::TerminateAgent(TerminateAgent { agent: AgentId::new(agent), reason: "it is done".to_owned() })
}

/// A role that may do everything, so that what a spawned agent may not do is not for want of that.
fn settle(settings: &mut Settings) {
    let role = Role { permissions: Permission::ALL.into(), tools: vec!["*".to_owned()] };
    settings.roles.insert("boss".to_owned(), role);
    settings.limits.turns_max = 1_000;
    settings.limits.same_call_max = 1_000;
}

fn able(spec: &mut agent::Spec) {
    spec.responsibilities = vec!["ops:*".to_owned()];
    spec.permissions.delegation.can_delegate = true;
    spec.permissions.spawn.roles = Some(vec!["boss".to_owned(), "executor".to_owned()]);
    spec.permissions.concurrency.task_timeout_ms = 600_000;
}

fn team() -> Home {
    Home::with(&["boss-001", "boss-002", "executor-001"], settle, able)
}

/// The agent that the last event of its kind made.
fn made(home: &Home) -> String {
    let made = home.events.iter().rev().find_map(|event| match event {
        Event::Agent(AgentEvent::Spawned { spec, .. }) => Some(spec.id.to_string()),
        _ => None,
    });
    made.expect("an agent was spawned")
}

/// The boss spawns one of this role and goes on thinking.
fn spawned(home: &mut Home, by: &str, role: &str) -> String {
    home.wants(by, &[spawn(role)]);
    made(home)
}

fn last(home: &Home, agent: &str) -> String {
    home.results(agent).last().cloned().unwrap_or_default()
}

/// An agent with a task, thinking.
fn at_work() -> Home {
    let mut home = team();
    home.task("Mind the disk", "boss-001");
    home
}

#[test]
fn who_terminates_the_agent_that_it_works_for_ends_with_that_work() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "boss");
    home.says("boss-001", "done");
    home.write(&child, "look");
    home.wants(&child, &[delegate("boss-001", "look")]);
    let (own, _) = home.thinking("boss-001");
    let acts = [create("look", "executor-001", &[]), terminate(&child), run("touch counter")];
    let events = home.wants("boss-001", &acts);
    let results = events
        .iter()
        .filter(|event| matches!(event, Event::Call(CallEvent::Finished { session, .. }) if *session == own));
    assert_eq!(results.count(), 3, "one for each call");
    let gone = &home.state.team.agents[&AgentId::new(child)];
    assert!(gone.terminated.is_some() && gone.sessions.is_empty());
    for task in ["task-002", "task-003"] {
        assert_eq!(home.end(&TaskId::new(task)), Some(End::Cancelled));
    }
    assert!(home.state.sessions.values().all(|session| session.lifecycle == Lifecycle::Complete));
}

#[test]
fn an_agent_makes_another_that_works_for_it() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "executor");
    let hex = child.strip_prefix("executor-").unwrap();
    assert!(hex.len() == 8 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "{child}");
    assert!(
        last(&home, "boss-001")
            .starts_with(&format!("{child} is there, with the rights of the role executor")),
        "{}",
        last(&home, "boss-001")
    );
    let spec = &home.state.team.agents[&AgentId::new(child.as_str())].spec;
    assert_eq!(spec.spawned_by, Some(Origin::Agents(vec![AgentId::new("boss-001")])));
    assert_eq!(
        spec.permissions.delegation,
        home.state.team.agents[&AgentId::new("boss-001")].spec.permissions.delegation
    );
    home.wants("boss-001", &[delegate(&child, "How full is it?")]);
    home.says(&child, "92 %");
    assert_eq!(last(&home, "boss-001"), format!("{child} has done task-002: 92 %"));
}

#[test]
fn only_who_has_the_permission_spawns_and_only_a_role_that_there_is() {
    let mut home = team();
    home.task("Look", "executor-001");
    home.wants_each("executor-001", &[spawn("executor"), terminate("boss-001")]);
    for result in home.results("executor-001") {
        assert!(result.starts_with("denied by the rule: role executor lacks spawn_agents"), "{result}");
    }
    let mut home = at_work();
    home.wants("boss-001", &[spawn("wizard")]);
    assert!(last(&home, "boss-001").starts_with("there is no role wizard; there are: boss, builder, "));
}

#[test]
fn depth_and_number_of_spawned_agents_are_bounded() {
    let mut home = Home::with(
        &["boss-001"],
        |settings| {
            settle(settings);
            settings.limits.spawn_depth_max = 2;
            settings.limits.spawned_max = 3;
        },
        able,
    );
    home.task("Mind the disk", "boss-001");
    let mut at = "boss-001".to_owned();
    for _ in 0..2 {
        let child = spawned(&mut home, &at, "boss");
        home.task("Go on", &child);
        at = child;
    }
    home.wants(&at, &[spawn("boss")]);
    assert!(last(&home, &at).starts_with("limits.spawn_depth_max: "), "{}", last(&home, &at));
    let third = spawned(&mut home, "boss-001", "executor");
    home.wants("boss-001", &[spawn("executor")]);
    assert!(last(&home, "boss-001").starts_with("limits.spawned_max: 3 "), "{}", last(&home, "boss-001"));
    home.wants("boss-001", &[terminate(&third)]);
    let fourth = spawned(&mut home, "boss-001", "executor");
    assert_ne!(third, fourth, "an id is given once");
}

fn write(agent: &str) -> Act {
    Act::WriteFile(WriteFile { path: format!("workspaces/{agent}/a"), content: "x".to_owned() })
}

#[test]
fn a_coordinator_that_may_not_write_spawns_a_coder_that_writes() {
    let mut home = Home::with(
        &["coordinator-001"],
        |_| {},
        |spec| {
            spec.permissions.delegation.can_delegate = true;
            // The list names other agents; what it spawned it may delegate to anyway, by any tag.
            spec.permissions.delegation.allowed_targets = Some(vec!["planner-001".to_owned()]);
        },
    );
    home.task("Fix the login", "coordinator-001");
    home.wants("coordinator-001", &[write("coordinator-001")]);
    let denied = "denied by the rule: role coordinator lacks write_files";
    assert!(last(&home, "coordinator-001").starts_with(denied));
    let (role, goal) = ("coder".to_owned(), "Fix the login".to_owned());
    home.wants(
        "coordinator-001",
        &[Act::SpawnAgent(SpawnAgent { role, name: None, goal, responsibilities: Vec::new() })],
    );
    let coder = made(&home);
    home.wants("coordinator-001", &[delegate(&coder, "Fix it")]);
    let commit = Act::GitCommit(GitCommit { message: "fix the login".to_owned(), paths: Vec::new() });
    for act in [write(&coder), commit] {
        home.wants(&coder, &[act]);
        assert_eq!(home.calls_to_tools(&coder).len(), 1, "nobody is asked: {:?}", home.results(&coder));
        home.tool_ends(&coder, true, "done");
    }
    home.says(&coder, "fixed");
    assert!(last(&home, "coordinator-001").starts_with(&format!("{coder} has done task-002: fixed")));
}

#[test]
fn an_agent_spawns_only_the_roles_that_its_file_lists() {
    let mut home = Home::with(&["coordinator-001"], settle, |_| {});
    home.task("Mind the disk", "coordinator-001");
    for (role, is_spawned) in [("planner", true), ("coder", true), ("reviewer", true), ("boss", false)] {
        home.wants("coordinator-001", &[spawn(role)]);
        let told = last(&home, "coordinator-001");
        assert_eq!(told.contains("is there, with the rights of the role"), is_spawned, "{told}");
    }
    assert_eq!(
        last(&home, "coordinator-001"),
        "permissions.spawn.roles of coordinator-001 has no boss: \
         coordinator-001 may spawn planner, coder, reviewer, tester"
    );
    let mut spec = home.state.team.agents[&AgentId::new("coordinator-001")].spec.clone();
    spec.permissions.spawn.roles = Some(Vec::new());
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    home.wants("coordinator-001", &[spawn("coder")]);
    assert!(last(&home, "coordinator-001").ends_with("coordinator-001 may spawn nobody"));
}

#[test]
fn a_spawned_agent_keeps_the_rights_of_its_role_when_its_maker_loses_its_own() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "executor");
    home.task("Write", &child);
    let mut boss = home.state.team.agents[&AgentId::new("boss-001")].spec.clone();
    boss.permissions.tools.deny = vec!["write_file".to_owned()];
    home.give(Input::File(FileInput::AgentRead(Box::new(boss))));
    home.wants(&child, &[write(&child)]);
    assert_eq!(home.calls_to_tools(&child).len(), 1);
}

#[test]
fn what_a_spawned_agent_spends_counts_as_its_makers_too() {
    let mut home = Home::with(
        &["boss-001"],
        |settings| {
            settle(settings);
            let share = settings.budgets.agents.entry(AgentId::new("boss-001")).or_default();
            share.day = Cap { tokens: Some(12_000), money: None };
        },
        able,
    );
    home.task("Mind the disk", "boss-001");
    let child = spawned(&mut home, "boss-001", "executor");
    home.says("boss-001", "That is all");
    home.write(&child, &"long ".repeat(6_000));
    let parked = home.state.parked().next().expect("it is parked").parked;
    assert_eq!(parked.limit, "budgets.agents.boss-001.day");
}

#[test]
fn text_from_outside_makes_no_agent_and_a_secret_is_told_to_none() {
    for (label, is_asked) in [(Label::outside("inbox/mail.jsonl:1"), true), (Label::owner(), false)] {
        let mut home = team();
        home.task_with("Mind the disk", "boss-001", |spec| {
            spec.properties.insert("label".to_owned(), label.to_string());
        });
        home.wants("boss-001", &[spawn("executor")]);
        assert_eq!(home.state.people.approvals.len(), usize::from(is_asked));
        if is_asked {
            home.answer("approval-0001", Answer::Approved);
        }
        assert_eq!(made(&home).split_once('-').unwrap().0, "executor");
    }
    let mut home = Home::with(
        &["boss-001"],
        |settings| {
            settle(settings);
            settings.trust.secret.insert("memory/secret.md".to_owned(), [AgentId::new("boss-001")].into());
        },
        able,
    );
    home.task("Mind the disk", "boss-001");
    home.wants("boss-001", &[read("memory/secret.md")]);
    let (session, call, ticket) = home.calls_to_tools("boss-001").remove(0);
    let (text, read) = ("the code is 4711".to_owned(), vec!["memory/secret.md".to_owned()]);
    home.give(Input::Tool(ToolInput::Finished {
        session,
        call,
        ticket,
        ok: true,
        text,
        read,
        wrote: Vec::new(),
        finding: None,
    }));
    home.wants("boss-001", &[spawn("executor")]);
    assert!(
        last(&home, "boss-001").starts_with("denied by the rule: trust.secret: readers"),
        "{}",
        last(&home, "boss-001")
    );
}

#[test]
fn a_person_makes_an_agent_with_the_rights_of_its_role() {
    let mut home = team();
    let order = Order { role: "executor".to_owned(), ..Order::default() };
    home.give(Input::Person(PersonInput::Spawn { order: Box::new(order), by: "dana".to_owned() }));
    let id = made(&home);
    home.task("Look", &id);
    home.wants(&id, &[run("df -h")]);
    assert_eq!(home.calls_to_tools(&id).len(), 1);
    let order = Order { role: "voter".to_owned(), ..Order::default() };
    let why =
        home.refusal(Input::Person(PersonInput::Spawn { order: Box::new(order), by: "dana".to_owned() }));
    assert_eq!(why, "no model is given for it, and no other voter has one; there are: ");
}

#[test]
fn an_order_with_a_model_or_a_responsibility_that_cannot_be_is_refused() {
    let mut home = team();
    let order = |model: Option<&str>, responsibility: &str| {
        let responsibilities = vec![responsibility.to_owned()];
        let (role, model) = ("executor".to_owned(), model.map(str::to_owned));
        Box::new(Order { role, model, responsibilities, ..Order::default() })
    };
    let by = "dana".to_owned();
    let why = home
        .refusal(Input::Person(PersonInput::Spawn { order: order(Some("nope"), "ops:*"), by: by.clone() }));
    assert_eq!(why, "there is no model nope; there are: ");
    for bad in ["", "  ", "ops:*\nx"] {
        let why = home.refusal(Input::Person(PersonInput::Spawn { order: order(None, bad), by: by.clone() }));
        assert!(why.starts_with("a responsibility is a tag or a pattern of tags on one line"), "{why}");
    }
    home.give(Input::Person(PersonInput::Spawn { order: order(None, "ops:*"), by }));
}

#[test]
fn nothing_of_a_terminated_agent_is_left_and_who_waits_is_told() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "boss");
    home.wants(
        "boss-001",
        &[
            create("Go on", &child, &[]),
            create("Later", &child, &["task-002"]),
            create("After", "executor-001", &["task-002"]),
        ],
    );
    let grandchild = spawned(&mut home, &child, "executor");
    home.wants(&child, &[delegate(&grandchild, "Do it")]);
    home.write(&child, "build it");
    home.wants(&child, &[run("make")]);
    home.wants(&grandchild, &[run("touch counter")]);
    home.task("Ask", "boss-002");
    home.wants("boss-002", &[ask(&child)]);
    assert_eq!(home.state.people.approvals.len(), 1, "a person is asked");
    home.effects.clear();
    home.wants("boss-001", &[terminate(&child)]);
    assert_eq!(
        last(&home, "boss-001"),
        format!("{child} is terminated, with all that it did and all that it spawned")
    );
    nothing_is_left(&home);
    assert_eq!(home.effects.iter().filter(|e| matches!(e, Effect::Stop { .. })).count(), 3);
    for agent in [&child, &grandchild] {
        assert!(home.state.team.agents[&AgentId::new(agent.as_str())].terminated.is_some(), "{agent}");
    }
    let task = |number: u32| TaskId::new(format!("task-{number:03}"));
    for ended in [2, 3, 5] {
        assert_eq!(home.end(&task(ended)), Some(End::Cancelled), "task {ended}");
    }
    assert_eq!(
        last(&home, "boss-002"),
        format!("{child} cannot answer: {child} was terminated by agent:boss-001: it is done")
    );
    assert_eq!(home.begun().last().unwrap(), "task-004", "who waited for it goes on");
    // Whoever speaks to it now is told at once.
    home.wants_each("boss-001", &[tell(&child, "hello"), delegate(&child, "Do it"), terminate(&child)]);
    let results = home.results("boss-001");
    let [.., told, delegated, again] = &results[..] else { panic!("{results:?}") };
    assert!(told.starts_with(&format!("{child} was terminated by agent:boss-001")), "{told}");
    assert!(delegated.starts_with("Target agent not in allowed list"), "{delegated}");
    assert_eq!(*again, format!("{child} was terminated"));
    let why = home.refusal(written(None, &child, "hello"));
    assert!(why.starts_with(&format!("{child} was terminated by agent:boss-001")), "{why}");
    let spec = home.state.team.agents[&AgentId::new(child.as_str())].spec.clone();
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    assert!(home.state.employed(&AgentId::new(child.as_str())).is_none(), "its file does not bring it back");
}

#[test]
fn what_a_terminated_agent_has_not_read_is_given_back() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "executor");
    home.task("Look", &child);
    home.task("Talk", "boss-002");
    // Nobody else gets a slot, so it has not come to read it.
    let mut settings = home.state.config.settings.clone();
    settings.limits.parallel_max = 3;
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
    let Act::SendMessage(SendMessage { to, content, priority, .. }) = tell(&child, "by the way") else {
        panic!("a message")
    };
    let (kind, reply_to, wait_ms, approved, issues) =
        (Some(Kind::Notification), None, None, None, Vec::new());
    let tells =
        Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, wait_ms, approved, issues });
    home.wants("boss-002", &[tells, tell("executor-001", "hello")]);
    home.wants("boss-001", &[terminate(&child)]);
    let back = format!(
        "synod: {child} has not read what you wrote: {child} was terminated by agent:boss-001: it is done"
    );
    assert_eq!(home.heard("boss-002").last().unwrap(), &back);
    nothing_is_left(&home);
}

#[test]
fn what_was_given_back_is_not_given_back_once_more() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "executor");
    home.task("Look", &child);
    home.task("Talk", "boss-002");
    let mut tells = tell(&child, "by the way");
    if let Act::SendMessage(SendMessage { kind, .. }) = &mut tells {
        *kind = Some(Kind::Notification);
    }
    home.wants("boss-002", &[tells]);
    let is_told = |session: &Session| session.agent.as_str() == child && session.task.is_none();
    let told = home.state.sessions.iter().find(|(_, session)| is_told(session));
    let what = told.map(|(id, _)| id.to_string()).unwrap();
    home.give(Input::Person(PersonInput::Cancel { what, by: "dana".to_owned() }));
    let is_back = |said: &&String| said.contains("has not read what you wrote");
    assert_eq!(home.heard("boss-002").iter().filter(is_back).count(), 1);
    home.says("boss-002", "so be it");
    home.says("boss-002", "that is all");
    home.wants("boss-001", &[terminate(&child)]);
    assert_eq!(home.heard("boss-002").iter().filter(is_back).count(), 1, "{:?}", home.heard("boss-002"));
}

#[test]
fn who_ended_an_agent_hears_what_is_kept_of_its_workspace() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "executor");
    home.wants("boss-001", &[terminate(&child)]);
    let id = AgentId::new(child.as_str());
    assert!(
        home.effects.iter().any(|effect| matches!(effect, Effect::CleanUp { agent, .. } if *agent == id))
    );
    assert!(
        pending(&home.state).iter().any(|effect| matches!(effect, Effect::CleanUp { .. })),
        "also after a crash"
    );
    assert!(!home.state.is_idle());
    home.effects.clear();
    home.give(Input::Started);
    assert!(
        home.effects.iter().any(|effect| matches!(effect, Effect::CleanUp { .. })),
        "a start takes it up"
    );
    let kept = vec!["workspaces/x is kept: it has files that are nowhere else".to_owned()];
    home.give(Input::Tool(ToolInput::CleanedUp { agent: id.clone(), kept: kept.clone() }));
    assert!(home.heard("boss-001").last().unwrap().ends_with(&kept[0]));
    assert_eq!(home.give(Input::Tool(ToolInput::CleanedUp { agent: id, kept })), [], "once");
    assert!(home.state.team.cleaning.is_empty());
}

fn ask(to: &str) -> Act {
    let Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, approved, issues, .. }) =
        tell(to, "are you there?")
    else {
        panic!("tell sends a message");
    };
    Act::SendMessage(SendMessage {
        to,
        content,
        kind,
        priority,
        reply_to,
        wait_ms: Some(60_000),
        approved,
        issues,
    })
}

#[test]
fn only_those_above_and_people_end_an_agent() {
    let mut home = at_work();
    let child = spawned(&mut home, "boss-001", "boss");
    home.task("Go on", &child);
    let grandchild = spawned(&mut home, &child, "executor");
    home.task("Look", "boss-002");
    home.wants_each("boss-002", &[terminate(&grandchild), terminate("boss-001"), terminate("ghost-1")]);
    assert_eq!(
        home.results("boss-002"),
        [
            format!("{grandchild} was spawned by {child}; only those who made it, and people, end it"),
            "boss-001 was not spawned: a person wrote its file, and a person takes it away".to_owned(),
            "there is no agent ghost-1".to_owned(),
        ]
    );
    home.wants(&child, &[terminate(&child)]);
    assert!(last(&home, &child).contains("only those who made it"), "nobody ends itself");
    home.wants("boss-001", &[terminate(&grandchild)]);
    assert!(last(&home, "boss-001").contains("is terminated"));
    let end = |agent: &str| {
        Input::Person(PersonInput::Terminate {
            agent: AgentId::new(agent),
            reason: String::new(),
            by: "dana".to_owned(),
        })
    };
    home.give(end(&child));
    assert_eq!(
        home.state.team.agents[&AgentId::new(child.as_str())].terminated,
        Some(domain::Actor::person("dana"))
    );
    assert!(home.refusal(end("boss-001")).contains("was not spawned"));
    nothing_is_left(&home);
}

/// Who is over has no work, no place in a queue, and nobody who is there was made by one.
fn nothing_is_left(home: &Home) {
    let state = &home.state;
    let gone: BTreeSet<&AgentId> =
        state.team.agents.iter().filter(|(_, agent)| agent.terminated.is_some()).map(|(id, _)| id).collect();
    for id in &gone {
        let agent = &state.team.agents[*id];
        assert_eq!((agent.busy, agent.sessions.len(), agent.pending()), (0, 0, 0), "{id}");
    }
    let lives = |id: &AgentId| !gone.contains(id);
    for (id, session) in &state.sessions {
        assert!(session.lifecycle == Lifecycle::Complete || lives(&session.agent), "{id} goes on");
    }
    for (id, agent) in state.team.agents.iter().filter(|(id, _)| lives(id)) {
        let parent = agent.spec.spawned_by.as_ref().and_then(Origin::parent);
        assert!(parent.is_none_or(lives), "{id} outlives who made it");
    }
    for request in state.people.approvals.values() {
        assert!(
            state.sessions[&request.session].lifecycle != Lifecycle::Complete,
            "{} waits for nobody",
            request.id
        );
    }
    for delegation in state.delegations.by_id.values().filter(|d| !d.status.is_over()) {
        assert!(lives(&delegation.target) && lives(&delegation.source), "{} goes on", delegation.id);
    }
}

/// What an agent or a person does, to whom, by numbers.
#[derive(Debug, Clone)]
enum Deed {
    Model(Vec<(u8, usize)>),
    Tool,
    Answer(bool),
    Write,
    Want,
    Terminate,
    Restart,
    Time(u64),
}

fn deed() -> impl Strategy<Value = (Deed, usize)> {
    let deed = prop_oneof![
        10 => proptest::collection::vec((0..9u8, any::<usize>()), 0..4).prop_map(Deed::Model),
        3 => proptest::strategy::Just(Deed::Tool),
        2 => any::<bool>().prop_map(Deed::Answer),
        2 => proptest::strategy::Just(Deed::Write),
        2 => proptest::strategy::Just(Deed::Want),
        1 => proptest::strategy::Just(Deed::Terminate),
        1 => proptest::strategy::Just(Deed::Restart),
        1 => (0..100_000u64).prop_map(Deed::Time),
    ];
    (deed, any::<usize>())
}

fn act(state: &State, kind: u8, number: usize) -> Act {
    let agents: Vec<&AgentId> = state.team.agents.keys().collect();
    let who = agents[number % agents.len()].as_str();
    match kind {
        0 | 1 => spawn(if number.is_multiple_of(3) { "executor" } else { "boss" }),
        2 | 3 => delegate(who, "Do it"),
        4 => create("part", who, &[]),
        5 => tell(who, "hello"),
        6 => ask(who),
        7 => run(if number.is_multiple_of(2) { "touch counter" } else { "make" }),
        _ => terminate(who),
    }
}

proptest! {
    #[test]
    fn whoever_is_made_and_ended_nothing_is_left_of_those_who_are_over(deeds in proptest::collection::vec(deed(), 1..60)) {
        let mut home = Home::with(&["boss-001", "executor-001"], |settings| {
            settle(settings);
            settings.limits.spawned_max = 6;
            settings.limits.turns_max = 20;
        }, able);
        home.task("Mind the disk", "boss-001");
        for (deed, number) in deeds {
            let number = number % 1_000;
            let agents: Vec<String> = home.state.team.agents.keys().map(ToString::to_string).collect();
            let who = agents[number % agents.len()].clone();
            let thinks: Vec<String> = agents.into_iter().filter(|a| !home.calls_to_model(a).is_empty()).collect();
            match deed {
                Deed::Model(kinds) if !thinks.is_empty() => {
                    let agent = &thinks[number % thinks.len()];
                    let acts: Vec<Act> = kinds.iter().map(|(kind, n)| act(&home.state, *kind, *n)).collect();
                    let (session, ticket) = home.thinking(agent);
                    home.give(reply(session, ticket, "words", &acts));
                }
                Deed::Model(_) => {}
                Deed::Tool => {
                    if !home.calls_to_tools(&who).is_empty() {
                        home.tool_ends(&who, true, "x");
                    }
                }
                Deed::Answer(yes) => {
                    if let Some(id) = home.state.people.approvals.keys().next().cloned() {
                        home.answer(id.as_str(), if yes { Answer::Approved } else { no() });
                    }
                }
                Deed::Write => _ = home.try_give(written(None, &who, "hello")),
                Deed::Want => {
                    let mut spec = domain::task::Spec::new(TaskId::new(""), "tasks/x.task.md", "more");
                    spec.assignee = Some(AgentId::new(who));
                    _ = home.try_give(Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() }));
                }
                Deed::Terminate => {
                    let agent = AgentId::new(who);
                    _ = home.try_give(Input::Person(PersonInput::Terminate { agent, reason: String::new(), by: "dana".to_owned() }));
                }
                Deed::Restart => _ = home.give(Input::Started),
                Deed::Time(ms) => _ = home.pass(ms),
            }
            nothing_is_left(&home);
            let working = home.state.sessions.values().filter(|s| s.lifecycle == Lifecycle::Working).count();
            assert_eq!(working, home.state.schedule.busy as usize);
            let here = home.state.team.agents.values().filter(|a| !a.retired && a.spec.spawned_by.is_some()).count();
            assert!(here <= 6, "{here} spawned agents");
            assert!(home.state.is_settled());
            let ended = home.state.work.tasks.values().filter(|t| t.is_ended()).count();
            assert_eq!(home.state.work.tasks.len() - ended, home.state.work.open_tasks as usize);
        }
        let made: Vec<&AgentId> = home.events.iter().filter_map(|event| match event {
            Event::Agent(AgentEvent::Spawned { spec, .. }) => Some(&spec.id),
            _ => None,
        }).collect();
        assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), made.len(), "no id is given twice");
        let results: Vec<_> = home.events.iter().filter_map(|event| match event {
            Event::Call(CallEvent::Finished { session, message, .. }) => Some((session, message.id.clone())),
            _ => None,
        }).collect();
        assert_eq!(results.iter().collect::<BTreeSet<_>>().len(), results.len(), "no call has two results");
    }
}
