//! `synod agent`: who is there and what they may do.

use std::path::Path;

use domain::agent::Spec;
use domain::gate::{self, Asker, Ruling, Verdict};
use domain::id::{AgentId, ReviewId, SessionId, TaskId};
use domain::label::Label;
use domain::layout;
use domain::role::{Permission, Role};
use domain::settings::Settings;
use domain::tool::{
    self, Act, ApproveWork, ContextGet, ContextPut, CreateDirectory, CreatePlan, CreateTask, Delegate,
    EmailSend, ExecuteCommand, Extract, GitCommit, GitDiff, GitUpdate, Lint, ListDirectory, ListSessions,
    Lock, MemorySearch, MergeBranch, QueryTasks, ReadSession, RequestReview, RunTests, SearchFiles,
    SlackRead, SlackSend, SpawnAgent, TerminateAgent, Unlock, UpdateTask, WriteFile,
};
use policy::Policy;
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::view::activity::{Overview, state};
use crate::view::tasks::Task;
use crate::view::{self, spent, team, text};

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
    for facts in tool::ALL {
        let samples = samples(facts.name, &agent.id, policy).into_iter();
        let judged =
            |(when, act)| Case { tool: facts.name, when, ruling: gate::judge(&asker, policy, &act, None) };
        let mut found: Vec<Case> = samples.map(judged).collect();
        // An answer that does not depend on the arguments is given once.
        if found.windows(2).all(|pair| pair[0].ruling == pair[1].ruling) {
            found.truncate(1);
            found.iter_mut().for_each(|case| case.when.clear());
        }
        cases.append(&mut found);
    }
    cases
}

fn samples(tool: &str, agent: &AgentId, policy: &Policy) -> Vec<(String, Act)> {
    let anything = |act: Act| vec![(String::new(), act)];
    let path = || "memory/notes.md".to_owned();
    let own = layout::workspace(agent);
    let other = "elsewhere in the home".to_owned();
    let control = "what people control by, as agents/".to_owned();
    let write = |path: String| Act::WriteFile(WriteFile { path, content: String::new() });
    match tool {
        "read_file" => anything(Act::read_file(path())),
        "list_directory" => anything(Act::ListDirectory(ListDirectory { path: path() })),
        "search_files" => anything(Act::SearchFiles(SearchFiles { query: "word".to_owned(), path: None })),
        "write_file" => vec![
            (format!("in {own}/"), write(format!("{own}/notes.md"))),
            (other, write(path())),
            (control, write("agents/notes.md".to_owned())),
        ],
        "create_directory" => vec![
            (format!("in {own}/"), Act::CreateDirectory(CreateDirectory { path: format!("{own}/notes") })),
            (other, Act::CreateDirectory(CreateDirectory { path: path() })),
            (control, Act::CreateDirectory(CreateDirectory { path: "agents/notes".to_owned() })),
        ],
        "execute_command" => {
            let listed = policy
                .commands
                .keys()
                .map(|c| (c.clone(), Act::ExecuteCommand(ExecuteCommand { command: c.clone() })));
            let reads = Act::ExecuteCommand(ExecuteCommand { command: "ls".to_owned() });
            let rest = Act::ExecuteCommand(ExecuteCommand { command: "(any other command)".to_owned() });
            let others = [("those that only read, as ls", reads), ("any other command", rest)];
            listed.chain(others.map(|(when, act)| (when.to_owned(), act))).collect()
        }
        "git_commit" => {
            anything(Act::GitCommit(GitCommit { message: "a change".to_owned(), paths: Vec::new() }))
        }
        "git_diff" => anything(Act::GitDiff(GitDiff { path: None, against: None })),
        "git_update" => anything(Act::GitUpdate(GitUpdate { take_back: false })),
        domain::review::ASK => {
            anything(Act::RequestReview(RequestReview { summary: "a change".to_owned(), to: None }))
        }
        domain::review::ANSWER => {
            anything(Act::ApproveWork(ApproveWork { approved: true, issues: Vec::new() }))
        }
        domain::review::MERGE => {
            anything(Act::MergeBranch(MergeBranch { review: ReviewId::new("review-0001") }))
        }
        "run_tests" => anything(Act::RunTests(RunTests {})),
        "lint" => anything(Act::Lint(Lint {})),
        domain::plan::TOOL => anything(Act::CreatePlan(CreatePlan { tasks: Vec::new() })),
        "create_task" => anything(Act::CreateTask(CreateTask {
            title: "a task".to_owned(),
            description: String::new(),
            assignee: None,
            depends_on: Vec::new(),
            parent: None,
            tags: Vec::new(),
            tag: None,
            priority: None,
            approval_required: false,
            done_when: None,
        })),
        "update_task" => anything(Act::UpdateTask(UpdateTask {
            id: TaskId::new("task-001"),
            status: None,
            result: None,
            title: None,
            assignee: None,
            priority: None,
            depends_on: None,
        })),
        "query_tasks" => anything(Act::QueryTasks(QueryTasks { sql: "SELECT 1".to_owned() })),
        "send_message" => anything(Act::send_message(agent.clone(), "a word")),
        "lock" => anything(Act::Lock(Lock { name: "a-name".to_owned(), wait_ms: None })),
        "unlock" => anything(Act::Unlock(Unlock { name: "a-name".to_owned() })),
        "extract" => anything(Act::Extract(Extract {
            path: "inbox/mail.jsonl".to_owned(),
            question: "a word".to_owned(),
            answer: domain::closed::Closed::Bool,
        })),
        "memory_search" => {
            anything(Act::MemorySearch(MemorySearch { query: "word".to_owned(), limit: None }))
        }
        "context_get" => anything(Act::ContextGet(ContextGet { context: "plan".to_owned(), field: None })),
        "context_put" => anything(Act::ContextPut(ContextPut {
            context: "plan".to_owned(),
            content: Some("a word".to_owned()),
            field: None,
            value: None,
        })),
        "list_sessions" => {
            anything(Act::ListSessions(ListSessions { agent: None, status: None, limit: None }))
        }
        "read_session" => anything(Act::ReadSession(ReadSession {
            session: SessionId::new(format!("{agent}-000000")),
            last: None,
        })),
        "email_send" => anything(Act::EmailSend(EmailSend {
            to: "somebody".to_owned(),
            subject: "a word".to_owned(),
            text: "a word".to_owned(),
        })),
        "slack_read" => anything(Act::SlackRead(SlackRead { limit: None })),
        "slack_send" => {
            anything(Act::SlackSend(SlackSend { channel: "a channel".to_owned(), text: "a word".to_owned() }))
        }
        _ => of_team(tool, agent).into_iter().flat_map(anything).collect(),
    }
}

/// The same of tools that are about other agents.
fn of_team(tool: &str, agent: &AgentId) -> Option<Act> {
    Some(match tool {
        domain::delegation::TOOL => Act::Delegate(Delegate {
            to: agent.clone(),
            tag: "a:tag".to_owned(),
            task: "a word".to_owned(),
            payload: None,
            callback: None,
            deadline_ms: None,
            contexts: Vec::new(),
        }),
        domain::spawn::SPAWN => Act::SpawnAgent(SpawnAgent {
            role: "coder".to_owned(),
            name: None,
            goal: String::new(),
            responsibilities: Vec::new(),
        }),
        domain::spawn::TERMINATE => {
            Act::TerminateAgent(TerminateAgent { agent: agent.clone(), reason: String::new() })
        }
        _ => return None,
    })
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
