//! `synod agent`: who is there and what they may do.

use std::path::Path;

use domain::agent::Spec;
use domain::gate::{self, Asker, Ruling, Verdict};
use domain::label::Label;
use domain::role::{Permission, Role};
use domain::settings::Settings;
use domain::tool::{self, Examples};
use policy::Policy;
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::text;
use crate::view::activity::{Overview, state};
use crate::view::tasks::Task;
use crate::view::{self, spent, team};

/// So many commands of the policy are shown to people.
const COMMANDS_MAX: usize = 20;

pub fn list(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let overview = Overview::read(home);
    overview.team.tell_unread(out);
    if out.json {
        let agents = overview.team.agents.iter().map(|agent| {
            let activity = overview.activity(&agent.id);
            let open: Vec<Option<&str>> = overview.open_tasks(&agent.id).map(Task::id).collect();
            json!({
                "id": agent.id,
                "role": agent.role,
                "spawned_by": agent.spawned_by,
                "model": agent.model.primary,
                "description": agent.description,
                "state": state(activity.state),
                "task": activity.task,
                "why": activity.why,
                "open_tasks": open.into_iter().flatten().collect::<Vec<_>>(),
                "unread": overview.team.unread.get(&agent.id),
            })
        });
        out.value(json!({ "agents": agents.collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if overview.team.agents.is_empty() {
        out.line("No agents; write agents/<id>.agent.yaml (`synod schema agent` says how).");
        return Ok(Exit::Ok);
    }
    let is_spawned = overview.team.agents.iter().any(|agent| agent.spawned_by.is_some());
    let rows = overview.team.agents.iter().map(|agent| {
        let mut row = vec![agent.id.to_string(), text::line(&agent.role)];
        row.extend(is_spawned.then(|| team::spawned_by(agent)));
        row.extend([
            text::line(&agent.model.primary),
            state(overview.activity(&agent.id).state).to_owned(),
            overview.open_tasks(&agent.id).count().to_string(),
            text::line(&agent.description),
        ]);
        row
    });
    let mut heads = vec!["AGENT", "ROLE", "MODEL", "STATE", "OPEN", "DESCRIPTION"];
    if is_spawned {
        heads.insert(2, "SPAWNED BY");
    }
    for (number, line) in text::table(&heads, rows.collect()).iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    Ok(Exit::Ok)
}

pub fn show(home: &Path, id: &str, why: bool, out: &Out) -> anyhow::Result<Exit> {
    let overview = Overview::read(home);
    let agent = overview.team.employed(home, id)?;
    if let Some(why) = overview.team.unread.get(&agent.id) {
        out.say(format!("its file does not read: {why}; this is what it said last (see `synod check`)"));
    }
    let ((settings, unread), policy) = (view::team::settings(home), view::team::policy(home));
    view::team::tell_settings(unread.as_deref(), out);
    let roles = view::roles(&settings);
    let role = roles.get(&agent.role);
    let cases = cases(agent, role, &policy);
    if out.json {
        out.value(json(&overview, agent, role, &cases));
        return Ok(Exit::Ok);
    }
    describe(&overview, agent, role, &settings, out);
    out.line("");
    tools(&cases, why, out);
    Ok(Exit::Ok)
}

/// What the gate says to one thing that the agent could ask for.
struct Case {
    tool: &'static str,
    /// Which acts of the tool are meant; empty for all.
    when: String,
    ruling: Ruling,
}

/// Asks the gate itself, with an act of each kind that it tells apart.
fn cases(agent: &Spec, role: Option<&Role>, policy: &Policy) -> Vec<Case> {
    let label = Label::owner();
    let asker = Asker::at_rest(agent, role, &label);
    let mut cases = Vec::new();
    let commands: Vec<&str> = policy.commands.keys().map(String::as_str).collect();
    let at = Examples { agent: &agent.id, commands: &commands };
    for facts in tool::ALL {
        let examples = tool::examples(facts.name, &at).into_iter();
        let judged =
            |(when, act)| Case { tool: facts.name, when, ruling: gate::judge(&asker, policy, &act, None) };
        let mut found: Vec<Case> = examples.map(judged).collect();
        // An answer that does not depend on the arguments is given once.
        if found.windows(2).all(|pair| pair[0].ruling == pair[1].ruling) {
            found.truncate(1);
            found.iter_mut().for_each(|case| case.when.clear());
        }
        cases.append(&mut found);
    }
    cases
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

fn describe(overview: &Overview, agent: &Spec, role: Option<&Role>, settings: &Settings, out: &Out) {
    let name = agent.name.as_ref().map_or_else(String::new, |name| format!("  {}", text::line(name)));
    out.line(out.bold(&format!("{}{name}", agent.id)));
    let field = |key: &str, value: String| {
        if !value.is_empty() {
            out.line(format!("  {:<18}{}", format!("{key}:"), text::line(&value)));
        }
    };
    field("description", agent.description.clone());
    field(
        "role",
        match role {
            Some(role) => format!("{} ({})", agent.role, permissions(role).join(", ")),
            None => format!("{}, which does not exist", agent.role),
        },
    );
    field("spawned by", agent.spawned_by.as_ref().map_or_else(String::new, ToString::to_string));
    field("model", model(agent, settings));
    for (model, spent) in overview.spending().agent(&agent.id).into_iter().flatten() {
        field("spent", format!("{model}: {}", spent::line(spent)));
    }
    let activity = overview.activity(&agent.id);
    let task = activity.task.map_or_else(String::new, |task| format!(" on {task}"));
    let why = activity.why.map_or_else(String::new, |why| format!(" ({})", text::line(&why)));
    field("state", format!("{}{task}{why}", state(activity.state)));
    let open: Vec<&str> = overview.open_tasks(&agent.id).filter_map(Task::id).collect();
    field("open tasks", open.join(", "));
    field("responsibilities", agent.responsibilities.join(", "));
    field("expertise", agent.expertise.join(", "));
    field("channels", agent.channels.join(", "));
    field("capabilities", agent.capabilities.join(", "));
    field("priority", agent.priority.to_string());
    let c = &agent.permissions.concurrency;
    field("at once", format!("{} tasks, {} ms each", c.max_parallel_tasks, c.task_timeout_ms));
    if !agent.system_prompt.trim().is_empty() {
        out.line("  system prompt:");
        for line in text::visible(agent.system_prompt.trim_end()).split('\n') {
            out.line(format!("    {line}").trim_end());
        }
    }
}

fn model(agent: &Spec, settings: &Settings) -> String {
    let model = &agent.model;
    let stands_for = settings.models.get(&model.primary);
    let stands_for = stands_for.map_or_else(String::new, |m| format!(" ({} of {})", m.model, m.provider));
    let fallback = model.fallback.as_ref().map_or_else(String::new, |f| format!(", else {f}"));
    format!("{}{stands_for}{fallback}", model.primary)
}

fn permissions(role: &Role) -> Vec<&'static str> {
    role.permissions.iter().copied().map(Permission::as_str).collect()
}

fn tools(cases: &[Case], why: bool, out: &Out) {
    let commands = |case: &&Case| case.tool == "execute_command" && !case.when.is_empty();
    let hidden = cases.iter().filter(commands).count().saturating_sub(COMMANDS_MAX);
    let mut skip = hidden;
    let mut shown = Vec::new();
    for case in cases {
        if commands(&case) && skip > 0 {
            skip -= 1;
            continue;
        }
        shown.push(case);
    }
    let rows = shown.iter().enumerate().map(|(i, case)| {
        let again = i.checked_sub(1).is_some_and(|before| shown[before].tool == case.tool);
        let tool = if again { "" } else { case.tool };
        vec![format!("  {tool}"), word(&case.ruling.verdict).to_owned(), text::line(&case.when)]
    });
    let lines = text::table(&["  TOOL", "SAYS", "WHEN"], rows.collect());
    for (number, line) in lines.iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
        if let Some(case) = number.checked_sub(1).map(|i| shown[i]).filter(|_| why) {
            out.line(out.dim(&format!("      by: {}", text::line(&case.ruling.named_rule()))));
        }
    }
    if hidden > 0 {
        out.line(format!("  … and {hidden} more commands; see policy/commands.yaml"));
    }
}

fn json(overview: &Overview, agent: &Spec, role: Option<&Role>, cases: &[Case]) -> Value {
    let activity = overview.activity(&agent.id);
    let tools = cases.iter().map(|case| {
        let (risk, factors, advice) = match &case.ruling.verdict {
            Verdict::Allow => (None, None, None),
            Verdict::Ask { risk, factors } => (Some(risk.as_str()), Some(factors), None),
            Verdict::Deny { advice } => (None, None, Some(advice)),
        };
        json!({
            "tool": case.tool,
            "when": case.when,
            "verdict": word(&case.ruling.verdict),
            "inspector": case.ruling.inspector.as_str(),
            "rule": case.ruling.rule,
            "risk": risk,
            "factors": factors,
            "advice": advice,
        })
    });
    let open: Vec<&str> = overview.open_tasks(&agent.id).filter_map(Task::id).collect();
    let spent = overview.spending().agent(&agent.id).into_iter().flatten();
    let spent: serde_json::Map<String, Value> =
        spent.map(|(model, s)| (model.clone(), spent::json(s))).collect();
    json!({
        "agent": agent,
        "spent": spent,
        "permissions": role.map(permissions),
        "state": state(activity.state),
        "task": activity.task,
        "why": activity.why,
        "open_tasks": open,
        "unread": overview.team.unread.get(&agent.id),
        "tools": tools.collect::<Vec<_>>(),
    })
}
