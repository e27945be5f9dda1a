//! Files of agents that Synod prints read as what was to be said.

use domain::agent::{Spec, Workspace};
use domain::id::AgentId;
use domain::spawn::Origin;
use formats::agent::{print, read};
use proptest::prelude::{Strategy, any, proptest};

fn spec() -> Spec {
    Spec::new(AgentId::new("coder-1a2b3c4d"), "coder", "sonnet")
}

fn back(spec: &Spec) -> Spec {
    let text = print(spec);
    let read = read("agents/coder-1a2b3c4d.agent.yaml", &text);
    assert_eq!(read.diagnostics, [], "{text}");
    read.value.unwrap()
}

#[test]
fn a_spawned_agent_has_a_file_that_a_person_would_write() {
    let mut made = spec();
    made.spawned_by = Origin::parse("planner-001 → coordinator-001").ok();
    made.description = "Fixes the login".to_owned();
    made.system_prompt = "You are coder-1a2b3c4d.\nYour goal:\nFix the login.\n".to_owned();
    made.responsibilities = vec!["code:*".to_owned()];
    made.permissions.delegation.can_delegate = true;
    made.permissions.spawn.roles = Some(vec!["coder".to_owned()]);
    made.workspace = Some(Workspace { repo: Some("../service".to_owned()), ..Workspace::default() });
    assert_eq!(back(&made), made);
    let text = print(&made);
    let (modeline, rest) = text.split_once('\n').unwrap();
    assert!(modeline.starts_with("# yaml-language-server"), "{modeline}");
    assert_eq!(
        rest,
        "id: coder-1a2b3c4d
type: coder
spawned_by: 'planner-001 → coordinator-001'
description: Fixes the login
model: sonnet
system_prompt: |
  You are coder-1a2b3c4d.
  Your goal:
  Fix the login.
responsibilities: ['code:*']
permissions:
  delegation: {can_delegate: true}
  spawn: {roles: [coder]}
workspace: {repo: '../service'}
"
    );
}

#[test]
fn an_origin_that_names_nobody_is_told_with_its_place() {
    let read = read("agents/a.agent.yaml", "id: a\ntype: coder\nmodel: m\nspawned_by: Bob!\n");
    assert_eq!(read.diagnostics.len(), 1);
    assert_eq!((read.diagnostics[0].line, read.diagnostics[0].column), (4, 13));
    assert!(read.value.is_none());
}

#[test]
fn no_agent_is_called_like_a_person_a_channel_or_synod() {
    for (name, may) in [("human", false), ("broadcast", false), ("synod", false), ("person", false)]
        .into_iter()
        .chain([("state", false), ("help", false), ("humans", true), ("human-1", true)])
    {
        let read =
            read(&format!("agents/{name}.agent.yaml"), &format!("id: {name}\ntype: coder\nmodel: m\n"));
        assert_eq!(read.value.is_some(), may, "{name}");
        let told = format!("`{name}` is a word of Synod's own; name the agent otherwise");
        let wrong: Vec<_> = read.diagnostics.iter().map(|d| (d.line, d.column, d.message.as_str())).collect();
        assert_eq!(wrong, if may { vec![] } else { vec![(1, 5, told.as_str())] });
    }
}

fn words() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(any::<String>(), 0..3)
}

proptest! {
    #[test]
    fn any_words_read_as_they_were_printed(
        texts in (any::<String>(), any::<String>(), any::<Option<String>>(), any::<String>()),
        lists in (words(), words(), words(), proptest::option::of(words())),
        numbers in (1u32..=10, 1u32..=50, 1_000u64..1_000_000, any::<Option<u32>>()),
        flags in (any::<bool>(), any::<Option<bool>>(), any::<bool>()),
    ) {
        let mut made = spec();
        (made.description, made.system_prompt, made.name, made.role) = texts;
        (made.capabilities, made.expertise, made.responsibilities, made.permissions.tools.allow) = lists.clone();
        made.permissions.tools.deny = lists.0.clone();
        made.permissions.delegation.allowed_targets = lists.3;
        made.permissions.delegation.can_delegate = flags.0;
        made.permissions.can_access_context = flags.1;
        made.channels = if flags.2 { vec!["ops".to_owned(), "true-north".to_owned()] } else { Vec::new() };
        made.priority = numbers.0;
        made.permissions.concurrency.max_parallel_tasks = numbers.1;
        made.permissions.concurrency.task_timeout_ms = numbers.2;
        made.permissions.max_tokens_per_call = numbers.3;
        made.model.fallback = flags.2.then(|| made.description.clone());
        made.metadata.insert("key".to_owned(), made.system_prompt.clone());
        made.workspace = flags.2.then(|| Workspace { test: Some(made.description.clone()), ..Workspace::default() });
        assert_eq!(back(&made), made);
    }
}
