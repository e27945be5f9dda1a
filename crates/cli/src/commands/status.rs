//! `synod status`: what is going on.

use std::path::Path;

use domain::task::Mark;
use formats::check::FileKind;
use formats::{Diagnostic, Severity};
use serde_json::{Value, json};

use super::story::act_words;
use super::{check, inbox};
use crate::failure::Exit;
use crate::out::Out;
use crate::text::{self, count};
use crate::view;
use crate::view::activity::{Daemon, Overview, state};
use crate::view::spent;
use crate::view::tasks::Task;
use crate::view::team;

/// Of homes with more bytes of text than this only settings, agents and policy are checked here: the command answers at
/// once.
const CHECK_BYTES_MAX: u64 = 256 << 10;
/// So many tasks are shown to people.
const TASKS_MAX: usize = 20;
/// And so many mistakes in settings and policy.
const PLACES_MAX: usize = 5;

pub fn run(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let overview = Overview::read(home);
    let problems = problems(home);
    if let Daemon::Mute(why) = &overview.daemon {
        out.say(format!("the daemon does not say what it does: {}", text::line(why)));
    }
    overview.team.tell_unread(out);
    if out.json {
        out.value(json(home, &overview, &problems));
        return Ok(Exit::Ok);
    }
    daemon(&overview, out);
    approvals(&overview, out);
    if !overview.known().outages.by_name.is_empty() {
        out.line("");
        view::outages::show(overview.known(), out);
    }
    tasks(&overview, out);
    agents(&overview, out);
    tell_spent(&overview, out);
    problems.tell(out);
    Ok(Exit::Ok)
}

/// What `synod check` would say, as far as it is quickly found.
struct Problems {
    errors: usize,
    warnings: usize,
    /// What is wrong with settings and policy, with the place: all work depends on them.
    settings: Vec<String>,
    /// Whether all files were checked.
    whole: bool,
}

fn problems(home: &Path) -> Problems {
    let found = check::look(home, CHECK_BYTES_MAX);
    let errors: Vec<&Diagnostic> =
        found.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    let is_settings = |d: &&&Diagnostic| {
        matches!(formats::check::kind(&d.path), Some(FileKind::Settings | FileKind::Policy))
    };
    Problems {
        errors: errors.len(),
        warnings: found.diagnostics.len() - errors.len(),
        settings: errors.iter().filter(is_settings).map(|d| team::place(d)).collect(),
        whole: found.whole,
    }
}

fn daemon(overview: &Overview, out: &Out) {
    match &overview.daemon {
        Daemon::Absent => out.line("No daemon runs; `synod up` starts one."),
        Daemon::Live(live) if live.idle => {
            out.line(format!("The daemon runs (process {}), with nothing to do.", live.pid))
        }
        Daemon::Live(live) => {
            let busy = count(live.working.len(), "session");
            out.line(format!("The daemon runs (process {}): {busy} at work.", live.pid));
            for working in &live.working {
                let task = working.task.as_ref().map_or_else(String::new, |task| format!(" on {task}"));
                out.line(text::fit(&format!("  {}{task}: {}", working.agent, working.doing.join(", "))));
            }
        }
        Daemon::Mute(_) => out.line("A daemon runs, but does not say what it does."),
    }
}

fn approvals(overview: &Overview, out: &Out) {
    let waiting = &overview.approvals.waiting;
    let tasks = &overview.tasks;
    let due: Vec<usize> = tasks.for_people().collect();
    let n = waiting.len() + overview.approvals.broken.len();
    if n + due.len() == 0 {
        return;
    }
    let what = inbox::what(n, due.len());
    out.line("");
    out.line(out.bold(&format!("Waits for you: {what} (`synod inbox` shows all of it)")));
    for w in waiting {
        let d = &w.request;
        let task = d.task.as_ref().map_or_else(String::new, |task| format!(" for {task}"));
        let act = text::line(&act_words(&d.act));
        out.line(text::fit(&format!("  {}  {}  {}{task}: {act}", d.id, d.risk.as_str(), d.agent)));
    }
    for path in &overview.approvals.broken {
        out.line(text::fit(&format!("  {path} cannot be read; see `synod check`")));
    }
    for task in due.iter().take(TASKS_MAX).map(|index| &tasks.list[*index]) {
        let kind = inbox::kind(tasks, task);
        let (id, title) = (task.id().unwrap_or("-"), text::line(&task.spec.title));
        out.line(text::fit(&format!("  {id}  {kind}  {title}")));
    }
}

fn tasks(overview: &Overview, out: &Out) {
    let list = &overview.tasks.list;
    out.line("");
    if list.is_empty() {
        out.line("No tasks; `synod run \"…\"` gives the team one.");
        return;
    }
    let marks = counts(overview).into_iter().filter(|(_, n)| *n > 0);
    let marks: Vec<String> = marks.map(|(mark, n)| format!("{n} {}", mark.as_str())).collect();
    out.line(out.bold(&format!("{}: {}", count(list.len(), "task"), marks.join(", "))));
    let around = overview.around();
    let mut open: Vec<usize> = (0..list.len()).filter(|i| !list[*i].mark.is_ended()).collect();
    // What is under way must not be cut off by what is not.
    open.sort_by_key(|i| list[*i].mark == Mark::Open);
    if open.is_empty() {
        return;
    }
    let rows = open.iter().take(TASKS_MAX).map(|index| {
        let mut row = row(&list[*index], 0);
        row[0].insert_str(0, "  ");
        (row, overview.tasks.why(*index, &around))
    });
    for line in text::table_with_reasons(&["", "TASK", "AGENT", "TITLE"], rows.collect()) {
        out.line(line);
    }
    if open.len() > TASKS_MAX {
        out.line(format!("  … and {} more; `synod task list --open` shows them", open.len() - TASKS_MAX));
    }
}

/// A task in a list: its mark, its id (parts are indented), who has it, its title.
pub fn row(task: &Task, depth: usize) -> Vec<String> {
    vec![
        task.shown_mark(),
        format!("{:width$}{}", "", task.id().unwrap_or("-"), width = 2 * depth),
        task.spec.assignee.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        text::line(&task.spec.title),
    ]
}

fn agents(overview: &Overview, out: &Out) {
    out.line("");
    if overview.team.agents.is_empty() {
        out.line("No agents; write agents/<id>.agent.yaml (`synod schema agent` says how).");
        return;
    }
    let is_spawned = overview.team.agents.iter().any(|agent| agent.spawned_by.is_some());
    let rows = overview.team.agents.iter().map(|agent| {
        let activity = overview.activity(&agent.id);
        let doing = Some(activity.doing.join(", ")).filter(|doing| !doing.is_empty());
        let (task, why) = (activity.task, doing.or(activity.why));
        let mut row = vec![format!("  {}", agent.id), text::line(&agent.role)];
        row.extend(is_spawned.then(|| team::spawned_by(agent)));
        row.extend([text::line(&agent.model.primary), state(activity.state).to_owned()]);
        // Without a task, what it does or waits for stands alone.
        let (last, why) = match task {
            Some(task) => (task, why),
            None => (why.map_or_else(String::new, |why| format!("({why})")), None),
        };
        row.push(last);
        (row, why)
    });
    let mut heads = vec!["  AGENT", "ROLE", "MODEL", "STATE", "TASK"];
    if is_spawned {
        heads.insert(2, "SPAWNED BY");
    }
    for line in text::table_with_reasons(&heads, rows.collect()) {
        out.line(line);
    }
}

fn tell_spent(overview: &Overview, out: &Out) {
    let total = overview.spending().total();
    if !total.is_nothing() {
        out.line("");
        out.line(format!("Models: {}.", spent::line(&total)));
    }
}

impl Problems {
    fn tell(&self, out: &Out) {
        let what = match (self.errors, self.warnings) {
            (0, 0) => None,
            (0, warnings) => Some(count(warnings, "warning")),
            (errors, _) => Some(count(errors, "error")),
        };
        if what.is_some() || !self.whole {
            out.line("");
        }
        if let Some(what) = what {
            let place = if self.whole { "the files" } else { "settings, agents and policy" };
            out.line(format!("{what} in {place}; `synod check` shows where"));
        }
        for place in self.settings.iter().take(PLACES_MAX) {
            out.line(text::fit(&format!("  {place}")));
        }
        if !self.whole {
            out.line("The home is large, so its other files were not checked; `synod check` does it.");
        }
    }
}

fn counts(overview: &Overview) -> Vec<(Mark, usize)> {
    let of = |mark: Mark| overview.tasks.list.iter().filter(|t| t.mark == mark).count();
    Mark::ALL.into_iter().map(|mark| (mark, of(mark))).collect()
}

fn json(home: &Path, overview: &Overview, problems: &Problems) -> Value {
    let Problems { errors, warnings, settings, whole } = problems;
    let daemon = match &overview.daemon {
        Daemon::Absent => json!({ "running": false }),
        Daemon::Mute(why) => json!({ "running": true, "pid": null, "error": why }),
        Daemon::Live(live) => json!({
            "running": true,
            "pid": live.pid,
            "seq": live.seq,
            "idle": live.idle,
            "working": live.working,
        }),
    };
    let around = overview.around();
    let list = &overview.tasks.list;
    let open = (0..list.len()).filter(|i| !list[*i].mark.is_ended());
    let open: Vec<Value> = open.map(|i| overview.tasks.json(i, &around)).collect();
    let for_people = overview.tasks.for_people().map(|i| inbox::chore_json(&overview.tasks, &list[i]));
    let for_people: Vec<Value> = for_people.collect();
    let counts: serde_json::Map<String, Value> =
        counts(overview).into_iter().map(|(mark, n)| (mark.as_str().to_owned(), n.into())).collect();
    let agents = overview.team.agents.iter().map(|agent| {
        let activity = overview.activity(&agent.id);
        json!({
            "id": agent.id,
            "role": agent.role,
            "spawned_by": agent.spawned_by,
            "model": agent.model.primary,
            "state": state(activity.state),
            "task": activity.task,
            "doing": activity.doing,
            "why": activity.why,
            "unread": overview.team.unread.get(&agent.id),
        })
    });
    json!({
        "home": home,
        "daemon": daemon,
        "approvals": overview.approvals.waiting.iter().map(inbox::json).collect::<Vec<_>>(),
        "tasks": { "total": list.len(), "counts": counts, "open": open, "for_people": for_people },
        "agents": agents.collect::<Vec<_>>(),
        "providers": view::outages::json(overview.known()),
        "delegations": super::delegation::metrics(home),
        "concurrency": concurrency(overview),
        "spent": spent::json(&overview.spending().total()),
        "problems": { "errors": errors, "warnings": warnings, "settings": settings, "whole": whole },
    })
}

/// Who has how many slots, how many of them are taken, and how much waits for one: the seed's `getMetrics`.
fn concurrency(overview: &Overview) -> Value {
    let state = overview.known();
    let mut by_agent = serde_json::Map::new();
    let (mut active, mut pending) = (0, 0);
    // One whose file is gone finishes what it has.
    let gone = state.team.agents.iter().filter(|(id, _)| overview.team.find(id).is_none());
    let gone = gone.filter(|(_, agent)| agent.busy > 0 || agent.pending() > 0).map(|(_, agent)| &agent.spec);
    for spec in overview.team.agents.iter().chain(gone) {
        let (busy, waits) =
            state.team.agents.get(&spec.id).map_or((0, 0), |agent| (agent.busy as usize, agent.pending()));
        let most = &spec.permissions.concurrency;
        active += busy;
        pending += waits;
        let slots = json!({
            "active": busy, "pending": waits,
            "maxParallel": most.max_parallel_tasks, "maxPending": most.max_pending_queue,
        });
        by_agent.insert(spec.id.to_string(), slots);
    }
    json!({ "totalActive": active, "totalPending": pending, "byAgent": by_agent })
}
