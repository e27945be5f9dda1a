//! `synod runs`: requests, each with all that was made for it. From the daemon if there is one, else as the journal knows it.

use std::path::Path;

use domain::id::Time;
use domain::usage::money;
use domain::waits::{Node, Why};
use formats::did_you_mean;
use serde_json::{Value, json};
use web::api::{Request, Response, Run, RunBudget, RunMember, Waits};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view::sessions::session_of;
use crate::view::{self, spent, waits};
use crate::wire;

pub fn list(home: &Path, open: bool, out: &Out) -> anyhow::Result<Exit> {
    let mut runs = read(home, None, out);
    runs.retain(|run| !open || !run.state.is_over());
    if out.json {
        out.value(json!({ "runs": runs.iter().map(value).collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if runs.is_empty() {
        out.line(if open { "No run is open." } else { "There are no runs yet." });
        return Ok(Exit::Ok);
    }
    let now = view::now();
    let cells = |run: &Run| {
        let counts = &run.counts;
        let ended = counts.done + counts.failed + counts.cancelled;
        vec![
            run.id.clone(),
            run.state.as_str().to_owned(),
            asked_by(run),
            format!("{} open, {ended} ended", counts.open),
            run.agents.len().to_string(),
            run.spent.money(),
            text::duration(now.ms_since(Time(run.began))),
            title(run),
        ]
    };
    let head = ["RUN", "STATE", "ASKED BY", "TASKS", "AGENTS", "COST", "AGE", "REQUEST"];
    let table = text::table(&head, runs.iter().map(cells).collect());
    for (number, line) in table.iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    Ok(Exit::Ok)
}

pub fn show(home: &Path, id: &str, out: &Out) -> anyhow::Result<Exit> {
    let id = session_of(id);
    let Some(run) = read(home, Some(id), out).into_iter().next() else {
        let all = read(home, None, out);
        let near = did_you_mean(id, all.iter().map(|run| run.id.as_str()));
        let help = near.map_or_else(
            || "`synod runs list` shows what there is".to_owned(),
            |near| format!("did you mean {near}? `synod runs list` shows what there is"),
        );
        return Err(fail(Exit::Failed, format!("there is no run {}", text::line(id)), help));
    };
    if run.id != id {
        let message = format!("{id} is not a run: it belongs to run {}", run.id);
        return Err(fail(Exit::Failed, message, format!("`synod runs show {}` shows all of it", run.id)));
    }
    let waiting = if run.state.is_over() { Vec::new() } else { waits_of(&run, &waits::read(home, out)) };
    if out.json {
        let mut shown = value(&run);
        shown["members"] = json!(run.members);
        shown["waits"] = json!(waiting);
        out.value(json!({ "run": shown }));
        return Ok(Exit::Ok);
    }
    let now = view::now();
    out.line(out.bold(&format!("{}  {}", run.id, run.state.as_str())));
    let counts = &run.counts;
    let tasks = format!(
        "{} open, {} done, {} failed, {} cancelled",
        counts.open, counts.done, counts.failed, counts.cancelled
    );
    let work = format!(
        "{} at work, {}, {}, {}",
        counts.at_work,
        text::count(usize::try_from(counts.turns).unwrap_or(usize::MAX), "turn"),
        text::count(usize::try_from(counts.delegations).unwrap_or(usize::MAX), "delegation"),
        text::count(usize::try_from(counts.messages).unwrap_or(usize::MAX), "message"),
    );
    let ago = |at: i64| format!("{} ({} ago)", text::time(Time(at)), text::duration(now.ms_since(Time(at))));
    let fields = [
        ("request", title(&run)),
        ("asked by", asked_by(&run)),
        ("mode", run.mode.as_str().to_owned()),
        ("began", ago(run.began)),
        ("ended", run.ended.map(ago).unwrap_or_default()),
        ("deadline", run.deadline.map_or_else(|| "none".to_owned(), |at| text::time(Time(at)))),
        ("tasks", tasks),
        ("sessions", work),
        ("agents", run.agents.join(", ")),
        ("cost", cost(&run)),
        ("budget", budget(&run.budget)),
    ];
    for (key, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        out.line(format!("  {:<10} {}", format!("{key}:"), text::line(&value)));
    }
    for (number, line) in waiting.iter().enumerate() {
        let key = if number == 0 { "waits:" } else { "" };
        out.line(format!("  {key:<10} {}", text::line(line)));
    }
    out.line("");
    run.members.iter().for_each(|member| tell(member, out));
    Ok(Exit::Ok)
}

fn tell(member: &RunMember, out: &Out) {
    let sign = if member.depth == 0 { "" } else { "└ " };
    let agent = member.agent.as_ref().map_or_else(String::new, |agent| format!(" @{agent}"));
    let title = text::line(&member.title);
    let line = format!("{}  {}{agent}  {title}", member.id, member.state);
    out.line(text::fit(format!("{:width$}{sign}{line}", "", width = 2 * member.depth).trim_end()));
}

/// What members wait for, in words.
fn waits_of(run: &Run, all: &Waits) -> Vec<String> {
    let is_member = |node: &Node| match node {
        Node::Task(_) | Node::Session(_) => run.members.iter().any(|member| member.id == node.to_string()),
        Node::Approval(_) | Node::Slot(_) | Node::Moment(_) | Node::Lock(_) | Node::Window(_) => false,
    };
    let words = |wait: &domain::waits::Wait| {
        let name = match &wait.to {
            Node::Moment(at) => formats::time::print(*at),
            node => node.to_string(),
        };
        let behind = |why: Why| {
            all.waits
                .iter()
                .find(|next| next.from == wait.to && next.why == why)
                .map(|next| next.to.to_string())
        };
        let told = waits::told(wait.why, &name, behind);
        let told = told.unwrap_or_else(|| match wait.why {
            Why::Approval => format!("waits for you to decide {name} (`synod inbox`)"),
            _ => format!("waits for {name}"),
        });
        format!("{} {told}", wait.from)
    };
    let mut found: Vec<String> = all.waits.iter().filter(|wait| is_member(&wait.from)).map(words).collect();
    let is_chore = |member: &&RunMember| {
        member.agent.as_deref() == Some(domain::agent::PERSON)
            && member.kind == "task"
            && member.state == "open"
    };
    let chores = run.members.iter().filter(is_chore);
    found.extend(chores.map(|member| format!("{} waits for you to do it (`synod inbox`)", member.id)));
    found
}

fn title(run: &Run) -> String {
    let is_talk = run.title.is_empty();
    if is_talk { "a conversation".to_owned() } else { text::line(&run.title) }
}

fn asked_by(run: &Run) -> String {
    match run.by.strip_prefix("person:").unwrap_or(&run.by) {
        "" => "unknown".to_owned(),
        by => text::line(by),
    }
}

fn cost(run: &Run) -> String {
    let spent = &run.spent;
    let tokens = spent.usage.tokens_in.saturating_add(spent.usage.tokens_out);
    format!("{} for {} and {tokens} tokens", spent.money(), replies(spent.replies))
}

fn replies(n: u64) -> String {
    if n == 1 { "1 reply".to_owned() } else { format!("{n} replies") }
}

fn budget(budget: &RunBudget) -> String {
    let part = |most: Option<u64>, used: u64, reserved: u64, show: fn(u64) -> String, unit: &str| {
        let most = show(most?);
        Some(format!("{} of {most} {unit} spent, {} reserved", show(used), show(reserved)))
    };
    let number = |n: u64| n.to_string();
    let tokens = part(budget.tokens_max, budget.tokens, budget.tokens_reserved, number, "tokens");
    let money = part(budget.money_max, budget.money, budget.money_reserved, money, "money");
    let parts: Vec<String> = tokens.into_iter().chain(money).collect();
    match parts.is_empty() {
        true => format!("{}: no limit", budget.name),
        false => format!("{}: {}", budget.name, parts.join("; ")),
    }
}

fn value(run: &Run) -> Value {
    let time = |ms: i64| formats::time::print(Time(ms));
    let budget = &run.budget;
    json!({
        "id": run.id, "title": run.title, "state": run.state, "by": run.by,
        "mode": run.mode, "began": time(run.began), "ended": run.ended.map(time),
        "deadline": run.deadline.map(time), "counts": run.counts, "agents": run.agents, "spent": spent::json(&run.spent),
        "budget": {
            "name": budget.name,
            "tokens": { "max": budget.tokens_max, "spent": budget.tokens, "reserved": budget.tokens_reserved },
            "money": {
                "max": budget.money_max.map(money), "spent": money(budget.money),
                "reserved": money(budget.money_reserved),
            },
        },
    })
}

/// Reads all runs, or one with its members. Without a daemon and without a journal there are none.
fn read(home: &Path, of: Option<&str>, out: &Out) -> Vec<Run> {
    let request = Request::Runs { of: of.map(str::to_owned) };
    let why = match web::client::ask(&wire::socket(home), &request) {
        Ok(Response::Runs(runs)) => return runs,
        Ok(_) => Some("it gave another answer".to_owned()),
        Err(error) => wire::is_running(home).then(|| error.to_string()),
    };
    if let Some(why) = why {
        let why = text::line(&why);
        out.say(format!(
            "the daemon does not say which runs there are ({why}); this is as the journal has it"
        ));
    }
    web::server::runs(&spent::known(home), of)
}
