//! Laws of the small parts: patterns, paths between states, edits of tasks, routing.

use domain::agent;
use domain::id::{AgentId, TaskId};
use domain::input::FileInput;
use domain::input::Input;
use domain::lifecycle::Lifecycle;
use domain::route;
use domain::state::State;
use domain::task::{Change, Priority, Spec};
use policy::glob;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use crate::home::Home;

/// The definition of a pattern, slow and plain.
fn fits(pattern: &[char], text: &[char]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some('*'), _) => fits(&pattern[1..], text) || (!text.is_empty() && fits(pattern, &text[1..])),
        (Some(p), Some(t)) if p == t => fits(&pattern[1..], &text[1..]),
        _ => false,
    }
}

fn spec() -> impl Strategy<Value = Spec> {
    let words = || "[a-z]{0,3}";
    let letter = option::of(select(vec![Priority::A, Priority::C, Priority::F]));
    let id = || option::of(select(vec!["a-1", "b-2", "c-3"]));
    let tags = vec(words(), 0..3);
    let on = vec(select(vec!["task-001", "task-002"]), 0..3);
    let rest = (any::<bool>(), btree_map(words(), words(), 0..3));
    (words(), words(), id(), letter, tags, option::of(words()), id(), on, rest).prop_map(
        |(title, text, assignee, priority, tags, tag, parent, on, (approval_required, properties))| {
            let mut spec = Spec::new(TaskId::new("task-009"), "tasks/x.task.md", title);
            spec.text = text;
            spec.assignee = assignee.map(AgentId::new);
            spec.priority = priority;
            spec.tags = tags;
            spec.tag = tag;
            spec.parent = parent.map(TaskId::new);
            spec.depends_on = on.into_iter().map(TaskId::new).collect();
            spec.approval_required = approval_required;
            spec.properties = properties;
            spec
        },
    )
}

/// Homes with some of three agents, with rules and a fallback or without.
fn team() -> impl Strategy<Value = State> {
    let agents =
        vec((select(vec!["planner", "executor", "coder"]), 1..10u32, "[a-z]{0,2}[*]?", any::<bool>()), 0..4);
    (agents, vec("[a-z]{0,2}[*]?", 0..3), option::of(0..4usize)).prop_map(|(agents, rules, fallback)| {
        let mut home = Home::new(&[]);
        let name = |number: usize| AgentId::new(format!("agent-{number}"));
        for (number, (role, priority, duty, gone)) in agents.into_iter().enumerate() {
            let mut spec = agent::Spec::new(name(number), role, "m");
            spec.priority = priority;
            spec.responsibilities = vec![duty];
            home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
            if gone {
                home.give(Input::File(FileInput::AgentGone(name(number))));
            }
        }
        let mut settings = home.state.config.settings.clone();
        settings.routing.tags =
            rules.into_iter().enumerate().map(|(number, rule)| (rule, name(number))).collect();
        settings.routing.fallback = fallback.map(name);
        home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
        home.state
    })
}

proptest! {
    #[test]
    fn a_pattern_means_what_its_definition_says(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
        let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        prop_assert_eq!(glob(&pattern, &text), fits(&p, &t));
    }

    #[test]
    fn a_text_fits_itself_and_every_pattern_made_of_its_ends(text in "[^*]{0,12}", at in any::<proptest::sample::Index>()) {
        let cuts: Vec<usize> = text.char_indices().map(|(n, _)| n).chain([text.len()]).collect();
        let (head, tail) = text.split_at(cuts[at.index(cuts.len())]);
        for pattern in [text.clone(), "*".to_owned(), format!("{head}*"), format!("*{tail}"), format!("{head}*{tail}")] {
            prop_assert!(glob(&pattern, &text), "{} on {}", pattern, text);
        }
        prop_assert_eq!(glob(&text, &format!("{text}x")), false);
    }

    #[test]
    fn the_changes_between_two_versions_of_a_task_make_one_of_the_other(from in spec(), to in spec()) {
        let mut made = from.clone();
        for change in Change::between(&from, &to) {
            change.apply(&mut made);
        }
        prop_assert_eq!(&made, &to);
        prop_assert_eq!(Change::between(&to, &to), vec![]);
    }

    #[test]
    fn routing_always_answers_the_same_and_names_only_who_is_there(state in team(), mut spec in spec(), named in any::<bool>()) {
        if !named {
            spec.assignee = None;
        }
        let chosen = route(&state, &spec, Some("slack"));
        prop_assert_eq!(&route(&state, &spec, Some("slack")), &chosen);
        let anybody = state.team.agents.values().any(|a| !a.retired && a.spec.role == "planner");
        match (chosen, &spec.assignee) {
            (Some((agent, _)), Some(assignee)) => prop_assert_eq!(&agent, assignee),
            (Some((agent, rule)), None) => {
                prop_assert!(state.employed(&agent).is_some(), "{} is gone", agent);
                prop_assert!(!rule.is_empty());
            }
            (None, _) => prop_assert!(!anybody && spec.assignee.is_none()),
        }
    }
}

#[test]
fn a_path_is_the_shortest_way_and_only_leads_where_there_is_one() {
    for from in Lifecycle::ALL {
        for to in Lifecycle::ALL {
            let path = from.path(to);
            let mut at = from;
            for next in &path {
                at = at.go(*next).unwrap();
            }
            let arrives = at == to;
            assert_eq!(arrives, from == to || !path.is_empty(), "{from:?} to {to:?}: {path:?}");
            assert!(path.len() <= 3, "{from:?} to {to:?}: {path:?}");
            assert_eq!(path.is_empty(), from == to || from == Lifecycle::Complete || to == Lifecycle::Idle);
        }
    }
}
