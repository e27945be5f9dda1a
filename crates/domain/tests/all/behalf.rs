//! On whose behalf a conversation acts that no task of its own binds: who asks by a message hands on no more than by a
//! delegation, and a conversation that serves somebody else is free of it.

use domain::context::{Access, Acl, Denied, Grant, Granted, Grantee};
use domain::delegation::Status;
use domain::event::{Event, Finish};
use domain::id::{AgentId, DelegationId, TaskId, Time};
use domain::message::Kind;
use domain::task::Mark;
use domain::tool::Act;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use crate::delegation::{able, delegate, with_context};
use crate::home::{Home, create, run, tell, update};

const TEAM: [&str; 6] =
    ["retriever-001", "executor-001", "executor-002", "executor-003", "executor-004", "planner-001"];
const REFUSED: &str = "chain: role retriever lacks execute_tools";

/// A retriever, who may run nothing, has handed its work to the first executor.
fn handed_on() -> Home {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("is the disk fine?", "retriever-001");
    home.wants("retriever-001", &[delegate("executor-001", "look")]);
    home
}

fn waiting(to: &str, content: &str) -> Act {
    match tell(to, content) {
        Act::SendMessage { to, content, kind, priority, reply_to, approved, issues, .. } => {
            Act::SendMessage {
                to,
                content,
                kind,
                priority,
                reply_to,
                wait_ms: Some(60_000),
                approved,
                issues,
            }
        }
        other => other,
    }
}

fn notify(to: &str, content: &str) -> Act {
    match tell(to, content) {
        Act::SendMessage { to, content, priority, reply_to, wait_ms, approved, issues, .. } => {
            let kind = Some(Kind::Notification);
            Act::SendMessage { to, content, kind, priority, reply_to, wait_ms, approved, issues }
        }
        other => other,
    }
}

/// Whether the last call of an agent was refused because of the retriever.
fn is_refused(home: &Home, agent: &str) -> bool {
    home.results(agent).last().is_some_and(|text| text.contains(REFUSED))
}

#[test]
fn who_is_asked_by_a_message_has_no_more_rights_than_the_chain_that_asks() {
    for ask in [tell, waiting, notify] {
        let mut home = handed_on();
        home.wants("executor-001", &[ask("executor-002", "please run df")]);
        home.wants("executor-002", &[run("df -h")]);
        assert!(is_refused(&home, "executor-002"), "{:?}", home.results("executor-002"));
        home.wants("executor-002", &[ask("executor-003", "please run df for me")]);
        home.wants("executor-003", &[run("df -h")]);
        assert!(is_refused(&home, "executor-003"), "also over two messages");
        home.wants("executor-003", &[create("run df", "executor-004", &[])]);
        home.wants("executor-004", &[run("df -h")]);
        assert!(is_refused(&home, "executor-004"), "also by a task that is made there");
    }
}

#[test]
fn a_yes_that_a_task_demands_is_demanded_of_all_that_is_done_for_it() {
    let way: [fn(&str) -> Act; 5] = [
        |to| tell(to, "write it"),
        |to| waiting(to, "write it"),
        |to| notify(to, "write it"),
        |to| create("write it", to, &[]),
        |to| delegate(to, "write it"),
    ];
    for first in way {
        for second in way {
            let mut home = Home::with(&TEAM, |_| {}, able);
            home.task_with("write it", "executor-001", |spec| spec.approval_required = true);
            home.wants("executor-001", &[first("executor-002")]);
            home.wants("executor-002", &[second("executor-003")]);
            home.wants("executor-003", &[write("executor-003")]);
            assert!(home.calls_to_tools("executor-003").is_empty(), "nobody said yes");
            let asked: Vec<&str> = home.state.approvals.values().map(|asked| asked.agent.as_str()).collect();
            assert_eq!(asked, ["executor-003"]);
        }
    }
}

#[test]
fn a_yes_that_a_task_demands_is_demanded_of_the_steps_of_its_plan() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task_with("plan it", "planner-001", |spec| spec.approval_required = true);
    let step =
        serde_json::json!({"id": "a", "title": "write", "tag": "ops:write", "assignee": "executor-001"});
    home.wants("planner-001", &[Act::CreatePlan { tasks: vec![serde_json::from_value(step).unwrap()] }]);
    home.wants("executor-001", &[write("executor-001")]);
    assert!(home.calls_to_tools("executor-001").is_empty());
    assert_eq!(home.state.approvals.len(), 1);
}

#[test]
fn who_is_asked_without_such_a_demand_afterwards_writes_unasked() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task_with("write it", "executor-001", |spec| spec.approval_required = true);
    home.wants("executor-001", &[tell("executor-002", "are you there?")]);
    home.says("executor-002", "yes");
    home.write("executor-002", "write it");
    home.wants("executor-002", &[write("executor-002")]);
    assert_eq!(home.calls_to_tools("executor-002").len(), 1);
}

#[test]
fn who_gets_work_back_as_a_task_has_come_no_nearer_to_its_beginning() {
    let mut home = Home::with(
        &TEAM,
        |_| {},
        |spec| {
            able(spec);
            spec.permissions.delegation.max_delegation_depth = 2;
        },
    );
    home.task("look", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.wants("executor-002", &[create("look", "executor-001", &[])]);
    home.wants("executor-001", &[delegate("executor-003", "look")]);
    let told = home.results("executor-001").pop().unwrap();
    assert!(told.starts_with("Max delegation depth exceeded: the work was handed on 2 times"), "{told}");
}

/// A file in the agent's own workspace: nobody is asked for that.
fn write(agent: &str) -> Act {
    Act::WriteFile { path: format!("workspaces/{agent}/x"), content: "x".to_owned() }
}

#[test]
fn a_delegation_of_who_was_asked_goes_on_with_the_chain_and_the_request() {
    let mut home = handed_on();
    home.wants("executor-001", &[waiting("executor-002", "please look")]);
    home.wants("executor-002", &[delegate("retriever-001", "look")]);
    assert_eq!(
        home.results("executor-002"),
        ["Circular delegation detected: retriever-001 → executor-001 → executor-002 → retriever-001; \
          do it yourself or ask somebody else"]
    );
    home.wants("executor-002", &[delegate("executor-003", "look")]);
    let record = &home.state.delegations.by_id[&DelegationId::new("delegation-0002")];
    assert_eq!(record.status, Status::Running);
    assert_eq!((record.request.as_str(), record.depth()), ("task-001", 3));
    assert_eq!(record.parent, Some(TaskId::new("task-002")), "it stands below what it was asked for");
    home.wants("executor-003", &[run("df -h")]);
    assert!(is_refused(&home, "executor-003"));
    home.wants("executor-003", &[delegate("executor-004", "look")]);
    let told = home.results("executor-003").pop().unwrap();
    assert!(told.starts_with("Max delegation depth exceeded: the work was handed on 3 times"), "{told}");
}

#[test]
fn who_serves_a_person_afterwards_is_free_again() {
    let mut home = handed_on();
    home.wants("executor-001", &[waiting("executor-002", "please run df")]);
    home.write("executor-002", "what are you doing?");
    home.wants("executor-002", &[run("df -h")]);
    assert!(is_refused(&home, "executor-002"), "as long as the other waits for its answer");
    home.says("executor-002", "I may not");
    home.write("executor-002", "run df for me");
    home.wants("executor-002", &[run("df -h")]);
    assert_eq!(home.calls_to_tools("executor-002").len(), 1);
}

#[test]
fn what_was_made_before_stays_bound_when_its_maker_serves_somebody_else() {
    let mut home = handed_on();
    home.task("first", "executor-003");
    home.wants("executor-001", &[tell("executor-002", "please let somebody run df")]);
    home.wants("executor-002", &[create("run df", "executor-004", &[])]);
    home.says("executor-002", "it is under way");
    home.write("executor-002", "hello");
    home.wants("executor-004", &[run("df -h")]);
    assert!(is_refused(&home, "executor-004"));
    home.says("executor-002", "hello");
    home.wants("executor-004", &[update(&TaskId::new("task-004"), Mark::Failed, "I may not")]);
    let heard = home.heard("executor-002");
    assert!(heard.last().unwrap().contains("task-004"), "{heard:?}");
    home.wants("executor-002", &[run("df -h")]);
    assert_eq!(home.calls_to_tools("executor-002").len(), 1, "it serves the person");
}

#[test]
fn a_notice_of_what_was_made_does_not_free_who_made_it() {
    let mut home = handed_on();
    home.wants("executor-001", &[tell("executor-002", "please let somebody look")]);
    home.wants("executor-002", &[create("look", "executor-004", &[])]);
    home.says("executor-002", "it is under way");
    home.says("executor-004", "looked");
    home.wants("executor-002", &[run("df -h")]);
    assert!(is_refused(&home, "executor-002"));
}

#[test]
fn who_is_asked_by_several_has_what_all_of_them_have_and_the_depth_of_the_deepest() {
    let mut home = handed_on();
    home.task("is the net fine?", "planner-001");
    home.wants("planner-001", &[delegate("executor-003", "look")]);
    // Free of the retriever, but a planner runs nothing either.
    home.wants("executor-003", &[tell("executor-002", "please run df")]);
    home.wants("executor-001", &[tell("executor-002", "please run df")]);
    home.wants("executor-002", &[run("df -h")]);
    assert!(home.results("executor-002")[0].contains("chain: role"), "{:?}", home.results("executor-002"));
    for above in ["retriever-001", "executor-001", "planner-001", "executor-003"] {
        home.wants("executor-002", &[delegate(above, "look")]);
        let told = home.results("executor-002").pop().unwrap();
        assert!(told.starts_with("Circular delegation detected"), "{above}: {told}");
    }
    home.wants("executor-002", &[delegate("executor-004", "look")]);
    let record = home.state.delegations.by_id.values().next_back().unwrap();
    assert_eq!(
        (record.source.as_str(), record.depth()),
        ("executor-002", 3),
        "two chains are not one long one"
    );
    home.wants("executor-004", &[run("df -h")]);
    assert!(home.results("executor-004")[0].contains("chain: role"));
    for above in ["retriever-001", "planner-001"] {
        let bound = domain::delegation::chain(&home.state, home.session_of("executor-004").1);
        assert!(bound.all().contains(&AgentId::new(above)), "{above} binds what both asked for");
    }
}

/// Those of two chains, whom both ask by a message, and to whom that one hands on, and so on.
const ASKED: [&str; 7] = [
    "executor-001",
    "executor-002",
    "executor-003",
    "executor-004",
    "executor-005",
    "executor-006",
    "executor-007",
];

/// What the sixth and the seventh see of a context that went along to them, because the fifth was asked for the same by
/// the second, to whom the first handed it, and the fourth, to whom the third did: in one order and in the other.
fn seen_along(acl: &Acl, is_second_first: bool) -> [Result<Granted, Denied>; 2] {
    let mut home = Home::with(
        &ASKED,
        |_| {},
        |spec| {
            able(spec);
            spec.permissions.delegation.max_delegation_depth = 10;
        },
    );
    for (first, second) in [(ASKED[0], ASKED[1]), (ASKED[2], ASKED[3])] {
        home.task("is the disk fine?", first);
        home.wants(first, &[delegate(second, "look")]);
    }
    let asks = if is_second_first { [ASKED[1], ASKED[3]] } else { [ASKED[3], ASKED[1]] };
    for asks in asks {
        home.wants(asks, &[tell(ASKED[4], "please look")]);
    }
    for pair in ASKED[4..].windows(2) {
        home.wants(pair[0], &[with_context(pair[1], "plan")]);
    }
    [ASKED[5], ASKED[6]].map(|name| {
        let session = &home.session_of(name).0;
        acl.passed("plan", &domain::delegation::line(&home.state, session), Time(0))
    })
}

fn granted(agent: &str, access: Access, redact: &[&str]) -> Grant {
    let redact = redact.iter().map(|field| (*field).to_owned()).collect();
    Grant { to: Grantee::Agent(AgentId::new(agent)), access, redact, expires: None }
}

#[test]
fn a_context_goes_along_only_as_far_as_all_who_asked_for_the_work_see_it() {
    let to = |names: &[&str]| Acl {
        owner: None,
        grants: names.iter().map(|name| granted(name, Access::Read, &[])).collect(),
    };
    let seen = || Ok(Granted { access: Access::Read, redact: Default::default() });
    for order in [true, false] {
        assert_eq!(seen_along(&to(&ASKED[..5]), order), [seen(), seen()]);
        for without in ASKED[..5].iter().copied() {
            let others: Vec<&str> = ASKED[..5].iter().copied().filter(|name| *name != without).collect();
            let above = || Err(Denied::Above(AgentId::new(without)));
            assert_eq!(seen_along(&to(&others), order), [above(), above()], "{without}");
        }
    }
}

/// What an agent does next.
#[derive(Debug, Clone)]
enum Deed {
    Says,
    Tells(u8, usize),
    Hands(usize),
    Makes(usize),
    Runs,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        2 => proptest::prelude::Just(Deed::Says),
        4 => (0..3u8, any::<usize>()).prop_map(|(how, whom)| Deed::Tells(how, whom)),
        2 => any::<usize>().prop_map(Deed::Hands),
        2 => any::<usize>().prop_map(Deed::Makes),
        4 => proptest::prelude::Just(Deed::Runs),
    ]
}

fn is_running(event: &Event) -> bool {
    matches!(event, Event::CallCleared { .. })
}

proptest! {
    // Each case is long.
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever is granted to whom: who asked first changes nothing, and nobody sees along with work what one of those who
    /// asked for it does not.
    #[test]
    fn what_goes_along_does_not_depend_on_who_asked_first(
        grants in proptest::collection::vec(
            proptest::option::weighted(0.9, (any::<bool>(), proptest::sample::subsequence(vec!["a", "b", "c"], 0..=2))),
            5,
        ),
    ) {
        let access = |writes| if writes { Access::ReadWrite } else { Access::Read };
        let named = ASKED.iter().zip(&grants);
        let grants: Vec<Grant> = named
            .filter_map(|(name, grant)| grant.as_ref().map(|(writes, redact)| granted(name, access(*writes), redact)))
            .collect();
        let acl = Acl { owner: None, grants };
        let seen = seen_along(&acl, true);
        // Who is named as the one that may not see it may be another.
        prop_assert_eq!(seen.clone().map(Result::ok), seen_along(&acl, false).map(Result::ok));
        for seen in seen.into_iter().flatten() {
            prop_assert_eq!(acl.grants.len(), 5, "each one has a grant");
            for grant in &acl.grants {
                prop_assert!(seen.access <= grant.access);
                prop_assert!(grant.redact.iter().all(|field| seen.redact.contains(field)));
            }
        }
    }

    /// However work that a retriever handed on is delegated further, asked for by messages and made into tasks: nobody
    /// runs a command for it, since the retriever may not. Who then hears of a person only has its own rights back.
    #[test]
    fn no_way_from_hand_to_hand_and_from_mouth_to_mouth_has_more_rights_than_its_root(
        deeds in proptest::collection::vec((any::<usize>(), deed()), 1..40),
    ) {
        let mut home = handed_on();
        for (who, deed) in deeds {
            // The root itself may ask for what it likes: that is no work that was handed on.
            let able: Vec<&str> =
                TEAM[1..].iter().copied().filter(|name| !home.calls_to_model(name).is_empty()).collect();
            if able.is_empty() {
                break;
            }
            let who = able[who % able.len()];
            let whom = |number: usize| TEAM[number % TEAM.len()];
            match deed {
                Deed::Says => _ = home.says(who, "well"),
                Deed::Tells(how, to) => _ = home.wants(who, &[[tell, waiting, notify][how as usize](whom(to), "go on")]),
                Deed::Hands(to) => _ = home.wants(who, &[delegate(whom(to), "look")]),
                Deed::Makes(to) => _ = home.wants(who, &[create("look", whom(to), &[])]),
                Deed::Runs => {
                    let events = home.wants(who, &[run("df -h")]);
                    prop_assert!(!events.iter().any(is_running), "{} runs it", who);
                    let refused = |event: &Event| matches!(event, Event::CallFinished { finish: Finish::Refused { .. }, .. });
                    prop_assert!(events.iter().any(refused));
                }
            }
        }
        let rests: Vec<&str> = TEAM[1..5].iter().copied().filter(|name| {
            let agent = &home.state.agents[&AgentId::new(*name)];
            agent.busy == 0 && agent.pending() == 0 && agent.sessions.iter().all(|id| {
                let session = &home.state.sessions[id];
                session.task.is_none() && session.askers.is_empty() && session.asked.is_empty()
            })
        }).collect();
        for name in rests {
            home.write(name, "run df");
            let Some(_) = home.calls_to_model(name).first() else { continue };
            let events = home.wants(name, &[run("df -h")]);
            prop_assert!(events.iter().any(is_running), "{} is still bound", name);
        }
    }
}
