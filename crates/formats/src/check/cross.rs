//! What only shows when files are read together: names that nobody has, names that two have, circles.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use domain::agent::{Spec, Workspace};
use domain::budget::Budgets;
use domain::context::{Grant, Grantee, Hidden};
use domain::id::{AgentId, TaskId};
use domain::layout;
use domain::review;
use domain::session::Status;
use domain::settings::{Embeddings, Provider, Settings};
use serde_json::Value;

use super::{Home, SourceFile, cycle, stem};
use crate::diagnostic::{Notes, suggest};
use crate::document;
use crate::yaml::Node;

/// The assignee that is a person.
const PERSON: &str = "human";

pub(super) fn check(home: &Home, files: &[SourceFile<'_>], notes: &mut [Notes<'_>]) {
    let known = Known::of(home);
    agents(home, files, notes, &known);
    if let Some((index, settings)) = &home.settings {
        check_settings(settings, &files[*index], &mut notes[*index], &known);
    }
    tasks(home, notes, &known);
    sessions(home, files, notes, &known);
    scripts(home, files, notes, &known);
    acls(home, files, notes, &known);
}

/// All names that can be referred to.
struct Known {
    agents: BTreeSet<String>,
    /// Some file of an agent cannot be read, so an unknown name may be its.
    agents_open: bool,
    roles: BTreeSet<String>,
    /// The settings cannot be read, so an unknown role may be theirs.
    roles_open: bool,
    models: Option<BTreeSet<String>>,
    tools: BTreeSet<String>,
}

impl Known {
    fn of(home: &Home) -> Self {
        let settings = home.settings.as_ref().map(|(_, s)| s);
        let builtin = domain::role::builtin();
        let named = settings.map(|s| &s.roles).into_iter().flatten();
        let role_tools = builtin.values().chain(named.clone().map(|(_, r)| r)).flat_map(|r| r.tools.clone());
        let tools = domain::tool::ALL
            .iter()
            .map(|f| f.name.to_owned())
            .chain(role_tools.filter(|t| !t.contains('*')))
            .collect();
        let models = settings.filter(|s| !s.models.is_empty()).map(|s| {
            s.models.iter().flat_map(|(alias, model)| [alias.clone(), model.model.clone()]).collect()
        });
        Self {
            agents: home.agents.iter().map(|(_, a)| a.id.to_string()).collect(),
            agents_open: home.broken_agents,
            roles_open: home.broken_settings,
            roles: builtin.keys().cloned().chain(named.map(|(name, _)| name.clone())).collect(),
            models,
            tools,
        }
    }

    fn agent(&self, name: &str, span: Range<usize>, notes: &mut Notes<'_>) {
        if !self.agents.contains(name) && !self.agents_open && !notes.is_full() {
            let help = suggest(name, self.agents.iter().map(String::as_str));
            notes.error_with(span, format!("there is no agent `{name}`"), help);
        }
    }

    fn tool(&self, name: &str, span: Range<usize>, notes: &mut Notes<'_>) {
        // What a foreign server offers stands in no file.
        let is_open = name.contains(['*', ':']) || domain::tool::foreign::server_of(name).is_some();
        if !is_open && !self.tools.contains(name) && !notes.is_full() {
            let help = suggest(name, self.tools.iter().map(String::as_str));
            notes.warning(span, format!("there is no tool `{name}`"), help);
        }
    }
}

pub(super) fn tree(file: &SourceFile<'_>) -> Option<Node> {
    document::tree(file.path, file.text, &mut Notes::new(file.path, file.text))
}

/// The span of a value below a node, by keys.
pub(super) fn span(root: Option<&Node>, keys: &[&str]) -> Range<usize> {
    let mut node = root;
    for key in keys {
        node = node.and_then(|n| n.get(key));
    }
    node.map_or(0..0, |n| n.span.clone())
}

/// The span of a key in the map below a node.
fn key_span(root: Option<&Node>, keys: &[&str], key: &str) -> Range<usize> {
    let mut node = root;
    for key in keys {
        node = node.and_then(|n| n.get(key));
    }
    node.and_then(|n| n.entry(key)).map_or(0..0, |entry| entry.key_span.clone())
}

fn agents(home: &Home, files: &[SourceFile<'_>], notes: &mut [Notes<'_>], known: &Known) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut places = BTreeMap::new();
    let settings = home.settings.as_ref().map(|(_, settings)| settings.clone()).unwrap_or_default();
    for (index, spec) in &home.agents {
        let (file, notes) = (&files[*index], &mut notes[*index]);
        let root = tree(file);
        let id = spec.id.as_str();
        if let Some(other) = seen.insert(id, file.path) {
            notes.error(
                span(root.as_ref(), &["id"]),
                format!("the agent id `{id}` is already used in {other}"),
            );
        }
        agent(spec, root.as_ref(), notes, known);
        if let Some(workspace) = &spec.workspace {
            check_workspace(spec, workspace, root.as_ref(), notes, &mut places);
        }
        if !home.broken_settings {
            check_commands(spec, &settings, root.as_ref(), notes);
        }
    }
}

/// Who looks at the work of others makes the checks that must pass, so it needs a command for each.
fn check_commands(spec: &Spec, settings: &Settings, root: Option<&Node>, notes: &mut Notes<'_>) {
    let checks = &settings.review.checks;
    if review::may_look(spec, settings.role(&spec.role), checks).is_err() {
        return;
    }
    for check in review::without_command(spec, checks) {
        let (id, check) = (&spec.id, check.as_str());
        let message =
            format!("{id} has no command for `{check}`, so it can approve nothing: `review.checks` wants it");
        let help = format!(
            "give it one: `workspace: {{{check}: …}}`, or leave `{check}` out of `review.checks` in synod.yaml"
        );
        notes.warning(key_span(root, &[], "workspace"), message, Some(help));
    }
}

/// Two agents never work in one place: the same branch of the same repository, or one in the other's folder.
fn check_workspace(
    spec: &Spec,
    workspace: &Workspace,
    root: Option<&Node>,
    notes: &mut Notes<'_>,
    places: &mut BTreeMap<(String, String), AgentId>,
) {
    let Some(repo) = &workspace.repo else { return };
    let mut parts: Vec<&str> = Vec::new();
    for part in repo.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    let at = span(root, &["workspace", "repo"]);
    let help = Some("give it a repository outside the home, such as ../service".to_owned());
    if !repo.starts_with('/') && parts.is_empty() {
        notes.error_with(at, format!("`{repo}` is the home itself, which no agent works in"), help);
        return;
    }
    if !repo.starts_with('/') && parts.first() == Some(&layout::WORKSPACES) {
        notes.error_with(at, format!("`{repo}` is the workspace of an agent; two never share one"), help);
        return;
    }
    let branch = workspace.branch.clone().unwrap_or_else(|| format!("agent/{}", spec.id));
    let absolute = if repo.starts_with('/') { "/" } else { "" };
    let key = (format!("{absolute}{}", parts.join("/")), branch);
    if let Some(other) = places.get(&key) {
        let inner = span(root, &["workspace", "branch"]);
        let at = if inner.is_empty() { at } else { inner };
        let message = format!("the branch `{}` of {repo} is already the one of {other}", key.1);
        notes.error_with(at, message, Some("two agents never share a branch; name another".to_owned()));
        return;
    }
    places.insert(key, spec.id.clone());
}

/// Says that an agent's role does not exist, where the file names it.
pub(super) fn note_role<'a>(
    role: &str,
    root: Option<&Node>,
    notes: &mut Notes<'_>,
    roles: impl Iterator<Item = &'a str> + Clone,
) {
    let key = if root.is_some_and(|r| r.get("type").is_some()) { "type" } else { "role" };
    let help = suggest(role, roles.clone());
    let roles = roles.collect::<Vec<_>>().join(", ");
    let message = format!("there is no role `{role}`");
    notes.error_with(span(root, &[key]), message, help.or(Some(format!("roles: {roles}"))));
}

fn agent(spec: &Spec, root: Option<&Node>, notes: &mut Notes<'_>, known: &Known) {
    if !known.roles.contains(&spec.role) && !known.roles_open {
        note_role(&spec.role, root, notes, known.roles.iter().map(String::as_str));
    }
    let model = [(Some(&spec.model.primary), "primary"), (spec.model.fallback.as_ref(), "fallback")];
    for (name, key) in model {
        let (Some(name), Some(models)) = (name, &known.models) else { continue };
        if !models.contains(name) {
            let inner = span(root, &["model", key]);
            let at = if inner.is_empty() { span(root, &["model"]) } else { inner };
            let help = suggest(name, models.iter().map(String::as_str));
            notes.error_with(at, format!("synod.yaml has no model `{name}`"), help);
        }
    }
    if spec.model.fallback.as_ref() == Some(&spec.model.primary) {
        let message = "the fallback is the primary model itself, so it helps nobody";
        notes.warning(span(root, &["model", "fallback"]), message.to_owned(), None);
    }
    let permissions = root.and_then(|r| r.get("permissions"));
    for key in ["allow", "deny"] {
        let list = permissions.and_then(|p| p.get("tools")).and_then(|t| t.get(key));
        for item in list.map(Node::items).unwrap_or_default() {
            known.tool(item.text().unwrap_or_default(), item.span.clone(), notes);
        }
    }
    let targets = permissions.and_then(|p| p.get("delegation")).and_then(|d| d.get("allowed_targets"));
    for item in targets.map(Node::items).unwrap_or_default() {
        let name = item.text().unwrap_or_default();
        if !name.contains('*') && !known.agents.contains(name) && !known.agents_open {
            let help = suggest(name, known.agents.iter().map(String::as_str));
            notes.warning(item.span.clone(), format!("there is no agent `{name}`"), help);
        }
    }
}

/// A cap in money does not bound a model whose price nobody knows.
fn check_prices(settings: &Settings, root: Option<&Node>, notes: &mut Notes<'_>) {
    let Budgets { day, month, run, agents } = &settings.budgets;
    let shares = agents.values().flat_map(|share| [&share.day, &share.month]);
    if shares.chain([day, month, run]).all(|cap| cap.money.is_none()) {
        return;
    }
    for (alias, model) in &settings.models {
        let is_scripted = matches!(settings.providers.get(&model.provider), Some(Provider::Scripted { .. }));
        let is_priced = [alias, &model.model].iter().any(|name| settings.prices.contains_key(*name));
        if !is_scripted && !is_priced {
            let help = Some(format!("give `{}` a price in `prices`, or cap tokens, too", model.model));
            let message = format!("`{alias}` has no price, so no budget in money bounds it");
            notes.warning(key_span(root, &["models"], alias), message, help);
        }
    }
}

fn check_settings(settings: &Settings, file: &SourceFile<'_>, notes: &mut Notes<'_>, known: &Known) {
    let root = tree(file);
    for (alias, model) in &settings.models {
        if !settings.providers.contains_key(&model.provider) {
            let help = suggest(&model.provider, settings.providers.keys().map(String::as_str));
            let at = span(root.as_ref(), &["models", alias, "provider"]);
            notes.error_with(at, format!("there is no provider `{}`", model.provider), help);
        }
    }
    for (name, provider) in &settings.providers {
        let Provider::Record { of, .. } = provider else { continue };
        let at = || span(root.as_ref(), &["providers", name, "of"]);
        match settings.providers.get(of) {
            None => {
                let help = suggest(of, settings.providers.keys().map(String::as_str));
                notes.error_with(at(), format!("there is no provider `{of}`"), help);
            }
            Some(Provider::Record { .. } | Provider::Replay { .. }) => {
                notes.error(at(), format!("`{of}` is a tape itself: name the provider that answers"));
            }
            Some(Provider::Scripted { .. } | Provider::OpenAi(_) | Provider::Anthropic(_)) => {}
        }
    }
    if let Some(Embeddings { provider, .. }) = &settings.search.embeddings {
        let at = || span(root.as_ref(), &["search", "embeddings", "provider"]);
        match settings.providers.get(provider) {
            Some(Provider::OpenAi(_)) => {}
            Some(_) => notes.error(at(), format!("the provider `{provider}` is not of the kind openai")),
            None => {
                let help = suggest(provider, settings.providers.keys().map(String::as_str));
                notes.error_with(at(), format!("there is no provider `{provider}`"), help);
            }
        }
    }
    let priced: BTreeSet<&str> =
        settings.models.iter().flat_map(|(alias, model)| [alias.as_str(), &model.model]).collect();
    for name in settings.prices.keys().filter(|name| !priced.contains(name.as_str())) {
        let help = suggest(name, priced.iter().copied());
        let at = key_span(root.as_ref(), &["prices"], name);
        notes.warning(at, format!("no model is called `{name}`, so its price is never used"), help);
    }
    check_prices(settings, root.as_ref(), notes);
    for (inbox, agent) in &settings.routing.inbox {
        known.agent(agent.as_str(), span(root.as_ref(), &["routing", "inbox", inbox]), notes);
    }
    for (tag, agent) in &settings.routing.tags {
        known.agent(agent.as_str(), span(root.as_ref(), &["routing", "tags", tag]), notes);
    }
    for agent in settings.budgets.agents.keys() {
        known.agent(agent.as_str(), span(root.as_ref(), &["budgets", "agents", agent.as_str()]), notes);
    }
    for (key, agent) in [("planner", &settings.routing.planner), ("fallback", &settings.routing.fallback)] {
        let Some(agent) = agent else { continue };
        if file.path != domain::layout::EVE {
            known.agent(agent.as_str(), span(root.as_ref(), &["routing", key]), notes);
        } else if !known.agents.contains(agent.as_str()) && !known.agents_open {
            let help = Some(format!("write agents/{agent}.agent.yaml"));
            notes.warning(span(root.as_ref(), &["eve", key]), format!("there is no agent `{agent}`"), help);
        }
    }
}

fn tasks(home: &Home, notes: &mut [Notes<'_>], known: &Known) {
    let mut places: HashMap<TaskId, (usize, usize, usize)> = HashMap::new();
    for (at, (index, file)) in home.tasks.iter().enumerate() {
        for (number, item) in file.tasks().iter().enumerate() {
            let Some(id) = item.id.clone() else { continue };
            match places.get(&id) {
                // Two in one file are the parser's finding.
                Some((other, _, _)) if other != index => {
                    let message = format!(
                        "the task id `{id}` is already used in {}",
                        home.tasks[places[&id].1].1.path()
                    );
                    notes[*index].error(item.property_span("id"), message);
                }
                Some(_) => {}
                None => drop(places.insert(id, (*index, at, number))),
            }
        }
    }
    let mut edges: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for (index, file) in &home.tasks {
        let notes = &mut notes[*index];
        for (number, item) in file.tasks().iter().enumerate() {
            // What has ended needs nobody any more: its agent may be gone since.
            let needs = item.assignee.as_ref().filter(|a| a.as_str() != PERSON && !item.mark.is_ended());
            if let Some(agent) = needs {
                known.agent(agent.as_str(), item.parts.assignee.clone().unwrap_or_default(), notes);
            }
            let spec = item.spec(file.path(), TaskId::new(""));
            let needs = spec.depends_on.iter().map(|d| (d, "depends_on"));
            for (other, key) in needs.chain(spec.parent.iter().map(|p| (p, "parent"))) {
                if !places.contains_key(other) && !home.broken_tasks && !notes.is_full() {
                    let help = suggest(other.as_str(), places.keys().map(TaskId::as_str));
                    notes.error_with(item.property_span(key), format!("there is no task `{other}`"), help);
                }
            }
            if let Some(id) = item.id.as_ref().filter(|_| !item.mark.is_ended()) {
                edges.entry(id.clone()).or_default().extend(spec.depends_on);
                // The whole ends only when its parts have.
                if let Some(whole) = file.spec(number, TaskId::new("")).and_then(|spec| spec.parent) {
                    edges.entry(whole).or_default().push(id.clone());
                }
            }
        }
    }
    for circle in cycle::find(&edges) {
        let Some((index, at, number)) = circle.first().and_then(|id| places.get(id)) else { continue };
        let names: Vec<&str> = circle.iter().chain(circle.first()).map(TaskId::as_str).collect();
        let item = &home.tasks[*at].1.tasks()[*number];
        item.note_cycle(&names.join(" → "), &mut notes[*index]);
    }
}

fn sessions(home: &Home, files: &[SourceFile<'_>], notes: &mut [Notes<'_>], known: &Known) {
    for (index, session) in &home.sessions {
        let (file, notes) = (&files[*index], &mut notes[*index]);
        let head = session.head();
        let (name, id) = (stem(file.path, layout::SESSION_END), head.session.as_str());
        // An agent may be gone; that counts only where somebody could still wait for its answer.
        let is_over = matches!(session.status(), Status::Completed | Status::Error);
        let stranger = !is_over && !known.agents.contains(head.agent.as_str()) && !known.agents_open;
        if name == id && !stranger {
            continue;
        }
        let root = tree(file);
        if name != id {
            let message = format!("the file is named `{name}`, its session `{id}`");
            notes.error_with(
                span(root.as_ref(), &["session_id"]),
                message,
                Some("rename the file".to_owned()),
            );
        }
        if stranger {
            let help = suggest(head.agent.as_str(), known.agents.iter().map(String::as_str));
            let message = format!("there is no agent `{}`: nobody will answer here", head.agent);
            notes.warning(span(root.as_ref(), &["agent_id"]), message, help);
        }
    }
}

fn acls(home: &Home, files: &[SourceFile<'_>], notes: &mut [Notes<'_>], known: &Known) {
    for (index, acl) in &home.acls {
        let (file, notes) = (&files[*index], &mut notes[*index]);
        let root = tree(file);
        let nodes = root.as_ref().and_then(|r| r.get("grants")).map(Node::items).unwrap_or_default();
        let is_text =
            files.iter().any(|f| f.path == format!("contexts/{}.md", stem(file.path, layout::GRANTS_END)));
        let content =
            files.iter().find(|f| f.path == format!("contexts/{}.json", stem(file.path, layout::GRANTS_END)));
        let content: Option<Value> = content.and_then(|f| serde_json::from_str(f.text).ok());
        for (grant, node) in acl.grants.iter().zip(nodes) {
            match &grant.to {
                Grantee::Agent(id) => known.agent(id.as_str(), span(Some(node), &["agent"]), notes),
                Grantee::Role(role) if !known.roles.contains(role) && !known.roles_open => {
                    let help = suggest(role, known.roles.iter().map(String::as_str));
                    notes.error_with(span(Some(node), &["role"]), format!("there is no role `{role}`"), help);
                }
                Grantee::Role(_) => {}
            }
            if let Some(content) = &content {
                idle_redactions(grant, node, content, notes);
            }
            if is_text && !grant.redact.is_empty() {
                let help = "leave `redact` out, or keep the context as JSON".to_owned();
                let message = "fields of a text cannot be hidden, so this grant shows nothing of it";
                notes.warning(span(Some(node), &["redact"]), message, Some(help));
            }
        }
    }
}

/// A field that is not there may yet come; more likely it is called otherwise, and everybody sees it.
fn idle_redactions(grant: &Grant, node: &Node, content: &Value, notes: &mut Notes<'_>) {
    let nodes = node.get("redact").map(Node::items).unwrap_or_default();
    for (field, node) in grant.redact.iter().zip(nodes) {
        if !Hidden::fits(field, content) {
            let message = format!("`{field}` fits nothing in the context as it is now, so it hides nothing");
            let help = "write it as in `customer.email`: names of fields, `*` for any, a number for one item";
            notes.warning(node.span.clone(), message, Some(help.to_owned()));
        }
    }
}

fn scripts(home: &Home, files: &[SourceFile<'_>], notes: &mut [Notes<'_>], known: &Known) {
    for (index, script) in &home.scripts {
        let (file, notes) = (&files[*index], &mut notes[*index]);
        let starts: Vec<usize> =
            std::iter::once(0).chain(file.text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        for rule in &script.rules {
            let at = starts.get(rule.line - 1).copied().unwrap_or(0);
            for call in rule.answers.iter().flat_map(|a| &a.calls) {
                known.tool(&call.tool, at..at, notes);
            }
            let literal = rule.agent.as_deref().filter(|a| !a.contains('*'));
            if let Some(name) = literal.filter(|a| !known.agents.contains(*a) && !known.agents_open) {
                let help = suggest(name, known.agents.iter().map(String::as_str));
                notes.warning(at..at, format!("there is no agent `{name}`"), help);
            }
        }
    }
}
