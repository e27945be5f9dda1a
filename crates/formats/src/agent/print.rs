//! The file of an agent that Synod makes: as a person would write it, with nothing in it that is so anyway.

use domain::agent::{Concurrency, Delegation, Model, Permissions, Spec, Workspace, bounds};

use crate::modeline::modeline;
use crate::scalar::{self, Around};
use crate::yaml::Style;

/// A whole file that says what `spec` says.
pub fn print(spec: &Spec) -> String {
    let mut text = modeline("agent", 1);
    let mut line = |key: &str, value: String| text.push_str(&format!("{key}:{value}\n"));
    line("id", format!(" {}", spec.id));
    if let Some(name) = &spec.name {
        line("name", scalar::print(name, 0));
    }
    line("type", scalar::print(&spec.role, 0));
    if let Some(origin) = &spec.spawned_by {
        line("spawned_by", scalar::print(&origin.to_string(), 0));
    }
    if !spec.description.is_empty() {
        line("description", scalar::print(&spec.description, 0));
    }
    line("model", model(&spec.model));
    if !spec.system_prompt.is_empty() {
        line("system_prompt", scalar::print_block(&spec.system_prompt, 0));
    }
    for (key, words) in [
        ("capabilities", &spec.capabilities),
        ("expertise", &spec.expertise),
        ("responsibilities", &spec.responsibilities),
        ("channels", &spec.channels),
    ] {
        if !words.is_empty() {
            line(key, format!(" {}", list(words)));
        }
    }
    if spec.priority != bounds::PRIORITY.2 {
        line("priority", format!(" {}", spec.priority));
    }
    let parts = permissions(&spec.permissions);
    if !parts.is_empty() {
        line("permissions", parts.iter().map(|part| format!("\n  {part}")).collect());
    }
    if let Some(workspace) = &spec.workspace {
        line("workspace", format!(" {}", of_workspace(workspace)));
    }
    if !spec.metadata.is_empty() {
        let entries = spec.metadata.iter().map(|(key, value)| format!("{}: {}", word(key), word(value)));
        line("metadata", format!(" {}", map(entries.collect())));
    }
    text
}

fn model(model: &Model) -> String {
    let Model { primary, fallback, temperature, max_tokens, thinking } = model;
    let mut parts = vec![format!("primary: {}", word(primary))];
    parts.extend(fallback.as_ref().map(|name| format!("fallback: {}", word(name))));
    parts.extend(temperature.map(|number| format!("temperature: {number}")));
    parts.extend(max_tokens.map(|number| format!("max_tokens: {number}")));
    parts.extend(thinking.as_ref().map(|how| format!("thinking: {}", word(how))));
    if parts.len() == 1 { scalar::print(primary, 0) } else { format!(" {}", map(parts)) }
}

/// One line for each part that is not as it is anyway.
fn permissions(permissions: &Permissions) -> Vec<String> {
    let Permissions { tools, delegation, spawn, concurrency, can_access_context, max_tokens_per_call } =
        permissions;
    let mut lines = Vec::new();
    let mut part = |key: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(format!("{key}: {}", map(entries)));
        }
    };
    let mut entries: Vec<String> =
        tools.allow.iter().map(|allow| format!("allow: {}", list(allow))).collect();
    if !tools.deny.is_empty() {
        entries.push(format!("deny: {}", list(&tools.deny)));
    }
    part("tools", entries);
    let Delegation { can_delegate, allowed_targets, allowed_tags, max_delegation_depth } = delegation;
    let mut entries: Vec<String> =
        can_delegate.then(|| "can_delegate: true".to_owned()).into_iter().collect();
    entries.extend(allowed_targets.iter().map(|all| format!("allowed_targets: {}", list(all))));
    entries.extend(allowed_tags.iter().map(|all| format!("allowed_tags: {}", list(all))));
    entries.extend(max_delegation_depth.map(|depth| format!("max_delegation_depth: {depth}")));
    part("delegation", entries);
    part("spawn", spawn.roles.iter().map(|roles| format!("roles: {}", list(roles))).collect());
    let usual = Concurrency::default();
    let mut entries = Vec::new();
    if concurrency.max_parallel_tasks != usual.max_parallel_tasks {
        entries.push(format!("max_parallel_tasks: {}", concurrency.max_parallel_tasks));
    }
    if concurrency.max_pending_queue != usual.max_pending_queue {
        entries.push(format!("max_pending_queue: {}", concurrency.max_pending_queue));
    }
    if concurrency.task_timeout_ms != usual.task_timeout_ms {
        entries.push(format!("task_timeout_ms: {}", concurrency.task_timeout_ms));
    }
    part("concurrency", entries);
    lines.extend(can_access_context.map(|may| format!("can_access_context: {may}")));
    lines.extend(max_tokens_per_call.map(|most| format!("max_tokens_per_call: {most}")));
    lines
}

fn of_workspace(workspace: &Workspace) -> String {
    let Workspace { repo, branch, test, lint } = workspace;
    let named = [("repo", repo), ("branch", branch), ("test", test), ("lint", lint)];
    let given =
        named.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", word(value.as_ref()?))));
    map(given.collect())
}

fn map(entries: Vec<String>) -> String {
    format!("{{{}}}", entries.join(", "))
}

fn list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|text| word(text)).collect::<Vec<_>>().join(", "))
}

/// A text within brackets or braces.
fn word(text: &str) -> String {
    scalar::print_inline(text, Style::Plain, Around::Brackets)
}
