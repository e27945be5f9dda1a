//! The gate: the one function that says whether an agent may do something. Allow, ask or deny, always with
//! the rule that said so. It decides on data alone; no model and no text of a conversation has a say.

use crate::agent;
use crate::context;
use crate::delegation;
use crate::evidence::Evidence;
use crate::id::LockName;
use crate::label::{Integrity, Label, Readers};
use crate::lock;
use crate::role::{CONTEXT_TOOLS, COORDINATION_TOOLS, Permission, Role};
use crate::state::Requester;
use crate::tool::{self, Act, Permit, Seen};
use policy::command::{self, Judgement, Place};
use policy::path::{CONTROL, CONTROL_ANYWHERE, CONTROL_FILES, beneath, folded, parts};
use policy::{CommandVerdict, Nature, Policy, Risk, glob};

/// What the gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Yes, ask, or no.
    pub verdict: Verdict,
    /// The rule that decided, in words that can be searched for.
    pub rule: String,
    /// What repeating the act would do.
    pub nature: Nature,
    /// What a command would get: of what is allowed nothing beyond reading, of what is asked for what it needs.
    pub permit: Permit,
}

/// Yes, ask, or no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Do it.
    Allow,
    /// Ask a person first.
    Ask {
        /// How much harm a wrong yes could do.
        risk: Risk,
        /// Why.
        factors: Vec<String>,
    },
    /// Never; the text tells the agent why and what else it can do.
    Deny {
        /// For the agent.
        advice: String,
    },
}

/// Who wants it, and what is known of them.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The agent.
    pub spec: &'a agent::Spec,
    /// Its role; `None` if there is no such role.
    pub role: Option<&'a Role>,
    /// Whether its task demands a person's yes for every effect.
    pub approval_required: bool,
    /// The worst of what was read in the conversation.
    pub label: &'a Label,
    /// What its file and its role say now, where that differs from what they said when the conversation began: what was
    /// taken from the agent since is taken from the conversation too.
    pub now: Option<Rights<'a>>,
}

impl<'a> Asker<'a> {
    /// An agent as its file is now, that has read nothing and works on nothing.
    pub fn at_rest(spec: &'a agent::Spec, role: Option<&'a Role>, label: &'a Label) -> Self {
        Self { spec, role, approval_required: false, label, now: None }
    }
}

/// What an agent may do: its file, and its role if there is such a role.
pub type Rights<'a> = (&'a agent::Spec, Option<&'a Role>);

/// How files end by which people say who may see a shared context.
const GRANTS_END: &str = ".acl.yaml";
/// Folders that Synod prints; agents change them through their own tools.
pub const PRINTED: [(&str, &str); 3] =
    [("tasks", "create_task and update_task"), ("sessions", "send_message"), ("inbox", "slack_send")];

/// Says whether `asker` may do `act`.
pub fn judge(asker: &Asker<'_>, policy: &Policy, act: &Act, seen: Option<&Seen>) -> Ruling {
    let needs = tool::facts(act.tool()).and_then(|f| f.needs);
    match may_use(asker, act.tool(), needs) {
        Ok(()) => judge_act(asker, policy, act, seen),
        Err((rule, advice)) => {
            Ruling { verdict: Verdict::Deny { advice }, rule, nature: Nature::Read, permit: Permit::NONE }
        }
    }
}

/// The same for whoever has the tool.
fn judge_act(asker: &Asker<'_>, policy: &Policy, act: &Act, seen: Option<&Seen>) -> Ruling {
    let facts = tool::facts(act.tool());
    let mut nature = facts.map_or(Nature::Once, |f| f.nature);
    let mut wants_network = false;
    let deny = |rule: String, advice: String| Ruling {
        verdict: Verdict::Deny { advice },
        rule,
        nature: Nature::Read,
        permit: Permit::NONE,
    };
    let may = may_reach(asker.label, act).and_then(|()| lockable(asker, act));
    let path = match path_of(act).and_then(|path| may.map(|()| path)) {
        Ok(path) => path,
        Err((rule, advice)) => return deny(rule, advice),
    };
    let (verdict, rule) = match act {
        Act::WriteFile { .. } | Act::CreateDirectory { .. } => {
            of_writing(&path, &format!("workspaces/{}", asker.spec.id))
        }
        Act::ExecuteCommand { command } => {
            let place = Place { notes: seen.map_or(&[], |seen| &seen.notes) };
            let judgement = command::judge(policy, &place, command);
            nature = judgement.nature;
            wants_network = judgement.wants_network;
            (of_command(&judgement, command), judgement.rule)
        }
        Act::RunTests {} | Act::Lint {} => match seen.map_or(&[][..], |seen| &seen.notes) {
            [] => (Verdict::Allow, "the owner of the home wrote the command".to_owned()),
            notes => {
                let verdict = Verdict::Ask { risk: Risk::High, factors: notes.to_vec() };
                (verdict, "what was found in the world asks".to_owned())
            }
        },
        Act::SlackSend { channel: whom, .. } | Act::EmailSend { to: whom, .. } => {
            let factors = vec![format!("speaks to people outside the home: {whom}")];
            (Verdict::Ask { risk: Risk::Medium, factors }, format!("{} always asks", act.tool()))
        }
        Act::ReadFile { .. }
        | Act::ListDirectory { .. }
        | Act::SearchFiles { .. }
        | Act::ContextGet { .. }
        | Act::ContextPut { .. }
        | Act::GitCommit { .. }
        | Act::GitDiff { .. }
        | Act::GitUpdate { .. }
        | Act::RequestReview { .. }
        | Act::ApproveWork { .. }
        | Act::MergeBranch { .. }
        | Act::CreatePlan { .. }
        | Act::CreateTask { .. }
        | Act::UpdateTask { .. }
        | Act::QueryTasks { .. }
        | Act::SendMessage { .. }
        | Act::Delegate { .. }
        | Act::SpawnAgent { .. }
        | Act::TerminateAgent { .. }
        | Act::Lock { .. }
        | Act::Unlock { .. }
        | Act::MemorySearch { .. }
        | Act::Extract { .. }
        | Act::ListSessions { .. }
        | Act::ReadSession { .. }
        | Act::SlackRead { .. } => (Verdict::Allow, asks_nobody(act.tool())),
        Act::RaiseBudget { .. } => {
            return deny(
                "raise_budget is Synod's own".to_owned(),
                "there is no tool raise_budget".to_owned(),
            );
        }
        Act::Check { .. } => {
            return deny("check is Synod's own".to_owned(), "there is no tool check".to_owned());
        }
    };
    // An agent's file is what the owner trusts, so what is written there is not on the word of anybody either.
    let is_definition = matches!(act, Act::SpawnAgent { .. });
    let changes = is_definition || nature != Nature::Read && !facts.is_some_and(|f| f.inside);
    let is_outward = wants_network || matches!(act, Act::SlackSend { .. } | Act::EmailSend { .. });
    let (verdict, rule) =
        if changes { trusted(asker.label, is_outward, verdict, rule) } else { (verdict, rule) };
    if verdict == Verdict::Allow && changes && asker.approval_required {
        let factors = vec!["the task says approval_required: true".to_owned()];
        return Ruling {
            verdict: Verdict::Ask { risk: Risk::Low, factors },
            rule: "approval_required".to_owned(),
            nature,
            permit: Permit::NONE,
        };
    }
    let asked = matches!(verdict, Verdict::Ask { .. });
    let permit = match act {
        Act::ExecuteCommand { .. } if asked => Permit { writes: true, network: wants_network },
        Act::RunTests {} | Act::Lint {} => Permit { writes: true, network: false },
        _ => Permit::NONE,
    };
    Ruling { verdict, rule, nature, permit }
}

/// Whether whom or what an act names may be reached with what was read before it.
fn may_reach(label: &Label, act: &Act) -> Result<(), (String, String)> {
    let readers = "trust.secret: readers".to_owned();
    match act {
        Act::SendMessage { to: other, .. }
        | Act::CreateTask { assignee: Some(other), .. }
        | Act::Delegate { to: other, .. }
            if !label.readers.include(other) =>
        {
            Err((readers, format!("{other} may not see what was read here ({label}); leave it to who may")))
        }
        // What it is told stands in its file, for everybody to read.
        Act::SpawnAgent { .. } if label.readers != Readers::Home => {
            Err((readers, format!("what was read here is not for a new agent to see ({label})")))
        }
        // So does why somebody was ended, and whoever waited for an answer is told.
        Act::TerminateAgent { reason, .. } if label.readers != Readers::Home && !reason.trim().is_empty() => {
            Err((
                readers,
                format!("what was read here is not for all who are told the reason ({label}); leave it out"),
            ))
        }
        Act::ContextGet { context: name, .. } | Act::ContextPut { context: name, .. }
            if !context::is_name(name) =>
        {
            let advice = format!("{name:?} is no name of a context: use letters, digits, - and _ only");
            Err(("contexts are named, not found by path".to_owned(), advice))
        }
        _ => Ok(()),
    }
}

/// The path that an act names, in its plain form, if agents may do that there at all.
fn path_of(act: &Act) -> Result<String, (String, String)> {
    match act {
        Act::ReadFile { path, .. } | Act::ListDirectory { path } | Act::Extract { path, .. } => {
            readable(path)
        }
        Act::SearchFiles { path, .. } => readable(path.as_deref().unwrap_or("memory")),
        Act::WriteFile { path, .. } | Act::CreateDirectory { path } => writable(path),
        _ => Ok(String::new()),
    }
}

/// Who locks a file keeps others from writing it, so it must be a file that it could write itself.
fn lockable(asker: &Asker<'_>, act: &Act) -> Result<(), (String, String)> {
    let Act::Lock { name, .. } = act else { return Ok(()) };
    let Some(path) = name.trim().strip_prefix(lock::FILE) else { return Ok(()) };
    if !asker.role.is_some_and(|role| role.permissions.contains(&Permission::WriteFiles)) {
        let rule = format!("role {} lacks {}", asker.spec.role, Permission::WriteFiles.as_str());
        return Err((rule, "who may not write files does not lock them".to_owned()));
    }
    let plain = lock::name(name).unwrap_or_else(|_| LockName::new(path));
    writable(plain.as_str().trim_start_matches(lock::FILE)).map(|_| ())
}

fn of_writing(path: &str, own: &str) -> (Verdict, String) {
    if beneath(path, own) {
        return (Verdict::Allow, "its own workspace".to_owned());
    }
    let factors = vec![format!("writes {path}, outside the agent's workspace {own}/")];
    (Verdict::Ask { risk: Risk::Medium, factors }, "write_file outside the workspace asks".to_owned())
}

/// Says whether Synod may look at evidence. What the owner demanded is looked at as it stands; a command that an agent
/// made a condition is a command like any other.
pub fn judge_evidence(
    asker: &Asker<'_>,
    policy: &Policy,
    evidence: &Evidence,
    by: Option<&Requester>,
) -> Ruling {
    let allow = |nature: Nature, permit: Permit| Ruling {
        verdict: Verdict::Allow,
        rule: "done_when".to_owned(),
        nature,
        permit,
    };
    match (evidence, by) {
        (Evidence::File(_) | Evidence::Schema { .. }, _) => allow(Nature::Read, Permit::NONE),
        (Evidence::Approval, _) => Ruling {
            verdict: Verdict::Ask {
                risk: Risk::Low,
                factors: vec!["the task is done when a person says so".to_owned()],
            },
            rule: "done_when: approval".to_owned(),
            nature: Nature::Read,
            permit: Permit::NONE,
        },
        (Evidence::Command(_), Some(Requester::Person { .. } | Requester::Inbox { .. })) => {
            allow(Nature::Idempotent, Permit { writes: true, network: false })
        }
        (Evidence::Command(command), Some(Requester::Session { .. }) | None) => {
            let act = Act::ExecuteCommand { command: command.clone() };
            let ruling = judge_act(asker, policy, &act, None);
            Ruling { rule: format!("done_when: {}", ruling.rule), ..ruling }
        }
    }
}

/// What changes something is not done on the word of anybody, and what leaves the home is not what only some may
/// see: text from outside may lead to reading and thinking, and to asking a person.
fn trusted(label: &Label, is_outward: bool, verdict: Verdict, rule: String) -> (Verdict, String) {
    let because = match label.integrity {
        Integrity::Outside => "what was read here came from outside, where anybody may have written it",
        Integrity::Owner | Integrity::Team if is_outward && label.readers != Readers::Home => {
            "what was read here is not for everybody to see"
        }
        Integrity::Owner | Integrity::Team => return (verdict, rule),
    };
    let factor = format!("{because}: {label}");
    match verdict {
        Verdict::Allow => {
            let rule = "trust: text from outside changes nothing by itself".to_owned();
            (Verdict::Ask { risk: Risk::High, factors: vec![factor] }, rule)
        }
        Verdict::Ask { risk, mut factors } => {
            factors.push(factor);
            (Verdict::Ask { risk: risk.max(Risk::High), factors }, rule)
        }
        deny @ Verdict::Deny { .. } => (deny, rule),
    }
}

/// The rule by which a tool is allowed to all who have it.
pub fn asks_nobody(tool: &str) -> String {
    format!("tool {tool} asks nobody")
}

/// Whether the agent has the tool at all. That is what its own file and role say, whoever asked it to work.
pub fn may_use(asker: &Asker<'_>, name: &str, needs: Option<Permission>) -> Result<(), (String, String)> {
    has_tool(asker.spec, asker.role, name, needs)?;
    asker.now.map_or(Ok(()), |(spec, role)| has_tool(spec, role, name, needs))
}

/// Deny wins, then the list that is given, then the role.
fn has_tool(
    spec: &agent::Spec,
    role: Option<&Role>,
    name: &str,
    needs: Option<Permission>,
) -> Result<(), (String, String)> {
    let id = &spec.id;
    let tools = &spec.permissions.tools;
    if let Some(pattern) = tools.deny.iter().find(|p| glob(p, name)) {
        return Err((
            format!("permissions.tools.deny of {id} has {pattern}"),
            format!("{id} may not use {name}: its file denies {pattern}"),
        ));
    }
    let can_delegate = spec.permissions.delegation.can_delegate;
    if name == delegation::TOOL && !can_delegate {
        let rejected = delegation::Rejected::Source(id.clone());
        return Err((rejected.rule().to_owned(), rejected.to_string()));
    }
    if CONTEXT_TOOLS.contains(&name) && context::role_for_grants(spec).is_none() {
        let denied = context::Denied::Closed;
        let rule = denied.rule(id, "");
        return Err((rule.clone(), format!("{id} may not use {name}: {rule}; {}", denied.advice(id, ""))));
    }
    let Some(role) = role else {
        return Err((
            format!("role {} does not exist", spec.role),
            format!("{id} has the role {}, which does not exist; it may use nothing", spec.role),
        ));
    };
    if let Some(needed) = needs
        && !role.permissions.contains(&needed)
    {
        return Err((
            format!("role {} lacks {}", spec.role, needed.as_str()),
            format!(
                "{id} is a {}, which has no permission {}; ask an agent that has it",
                spec.role,
                needed.as_str()
            ),
        ));
    }
    let listed = spec.capabilities.iter().any(|c| tool::facts(c).is_some());
    let (granted, whose): (bool, &str) = match &tools.allow {
        Some(allow) => (allow.iter().any(|p| glob(p, name)), "permissions.tools.allow"),
        None if listed => (spec.capabilities.iter().any(|c| c == name), "capabilities"),
        None => (role.tools.iter().any(|p| glob(p, name)), "the role's tools"),
    };
    // Moving work about is open to all whose lists do not say otherwise in so many words, and `can_delegate` says it in
    // so many words.
    let coordination = COORDINATION_TOOLS.contains(&name) && tools.allow.is_none();
    if granted || coordination || name == delegation::TOOL {
        return Ok(());
    }
    Err((
        format!("{whose} of {id} lacks {name}"),
        format!("{id} does not have the tool {name}: {whose} does not list it"),
    ))
}

/// A judgement of the command policy as a verdict of the gate.
fn of_command(judgement: &Judgement, command: &str) -> Verdict {
    match judgement.verdict {
        CommandVerdict::Allow => Verdict::Allow,
        CommandVerdict::Ask => Verdict::Ask { risk: judgement.risk, factors: judgement.factors.clone() },
        CommandVerdict::Deny => Verdict::Deny { advice: judgement.advice(command) },
    }
}

fn readable(path: &str) -> Result<String, (String, String)> {
    let clean = clean(path)?;
    if beneath(&clean, ".synod") {
        return Err((
            ".synod is closed to agents".to_owned(),
            "the folder .synod belongs to Synod alone; read the files of the home instead".to_owned(),
        ));
    }
    Ok(clean)
}

fn writable(path: &str) -> Result<String, (String, String)> {
    let clean = clean(path)?;
    let control = CONTROL
        .iter()
        .find(|folder| beneath(&clean, folder))
        .or_else(|| CONTROL_FILES.iter().find(|f| beneath(&clean, f)));
    if let Some(what) = control {
        return Err((
            format!("control file {what}"),
            format!("{clean} is one of the files by which people keep control; no agent may write it"),
        ));
    }
    let folded_path = folded(&clean);
    let is_grants = parts(&folded_path).last().is_some_and(|name| name.ends_with(GRANTS_END));
    if is_grants && beneath(&clean, "contexts") {
        return Err((
            "control file contexts/*.acl.yaml".to_owned(),
            format!("{clean} says who may see a shared context, which people decide; no agent may write it"),
        ));
    }
    if parts(&folded_path).any(|part| CONTROL_ANYWHERE.contains(&part)) {
        return Err((
            "control folder .git".to_owned(),
            format!("{clean} is in a folder whose files git runs; no agent may write it"),
        ));
    }
    if let Some((folder, instead)) = PRINTED.iter().find(|(folder, _)| beneath(&clean, folder)) {
        return Err((
            format!("{folder}/ is printed by synod"),
            format!("{clean} is printed by Synod; use {instead} instead"),
        ));
    }
    Ok(clean)
}

/// The path in its plain form, relative to the home. Compared without case, because some file systems do.
fn clean(path: &str) -> Result<String, (String, String)> {
    let refuse = |why: &str| {
        Err((
            "paths stay beneath the home".to_owned(),
            format!("{path:?} {why}; give a path relative to the home, such as memory/notes.md"),
        ))
    };
    if path.starts_with('/') || path.starts_with('~') {
        return refuse("is not relative");
    }
    if path.contains('\\') || policy::hidden_character(path).is_some() || path.contains('\n') {
        return refuse("has characters that paths here do not have");
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return refuse("has a '..'"),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests;
