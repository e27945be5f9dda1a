//! `synod budget`: what may be spent, what is spent, and who waits for it.

use std::path::Path;

use adapters::disk::{self, Flush, Replaced};
use domain::budget::{Cap, Node, Payer, Window, node_of_run, nodes};
use domain::id::{AgentId, Time};
use domain::layout;
use domain::settings::Settings;
use domain::state::{Halt, State};
use domain::usage::money;
use formats::document::{Document, Scalar};
use serde_json::{Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::spent::known;

/// The runs that are shown: those that have not ended, and at most so many.
const RUNS_MAX: usize = 20;
/// How often a file that others save meanwhile is read again.
const TRIES_MAX: usize = 20;
/// What every run may take, as long as it has no row of its own.
const EACH_RUN: &str = "budgets.run";

struct Row {
    node: Node,
    cap: Cap,
    requests: Option<u64>,
    /// Whether it is what each run may take, and nothing of its own is counted.
    each: bool,
}

pub fn show(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let state = known(home);
    let (settings, unread) = view::team::settings(home);
    let is_read = unread.is_none();
    let at = view::now();
    let rows = rows(&settings, &state);
    let parked: Vec<Value> = state
        .parked()
        .map(|Halt { session, agent, task, parked }| {
            json!({
                "session": session, "agent": agent, "task": task,
                "limit": parked.limit, "reason": parked.reason,
                "until": parked.until.map(formats::time::print),
            })
        })
        .collect();
    if out.json {
        let budgets: Vec<Value> = rows
            .iter()
            .map(|row| {
                let meter = state.ledger.meter(&row.node, at);
                let amount = |amount: domain::budget::Amount| {
                    json!({
                        "requests": amount.requests, "tokens": amount.tokens, "money": money(amount.money),
                    })
                };
                json!({
                    "name": row.node.name,
                    "cap": {
                        "requests": row.requests, "tokens": row.cap.tokens,
                        "money": row.cap.money.map(money),
                    },
                    "raised": raised_json(&state, &row.node, at),
                    "spent": (!row.each).then(|| amount(meter.spent)),
                    "reserved": (!row.each).then(|| amount(meter.reserved)),
                    "opens": row.node.window.opens(at).map(formats::time::print),
                })
            })
            .collect();
        out.value(json!({ "budgets": budgets, "parked": parked, "settings_read": is_read }));
        return Ok(Exit::Ok);
    }
    view::team::tell_settings(unread.as_deref(), out);
    if rows.is_empty() {
        out.line("no budget is set; `synod budget set day --money 5` sets one");
    } else {
        let shown: Vec<Vec<String>> = rows.iter().flat_map(|row| lines(&state, row, at)).collect();
        for line in text::table(&["BUDGET", "", "CAP", "SPENT", "RESERVED", "OPENS"], shown) {
            out.line(line);
        }
    }
    for row in &rows {
        let raised = state.ledger.raised(&row.node, at);
        if !raised.is_none() {
            let amount = domain::usage::amount(raised.tokens, raised.money);
            out.line(format!(
                "{} may be passed by {amount} until its window ends: a person said so",
                row.node.name
            ));
        }
    }
    for Halt { session, task, parked, .. } in state.parked() {
        let who = session.map(ToString::to_string).or(task.map(ToString::to_string)).unwrap_or_default();
        out.line(format!("{who} waits: {}", parked.reason));
    }
    Ok(Exit::Ok)
}

/// By how much a person lets a budget be passed until its window ends.
fn raised_json(state: &State, node: &Node, at: Time) -> Value {
    let raised = state.ledger.raised(node, at);
    if raised.is_none() {
        return Value::Null;
    }
    json!({ "tokens": raised.tokens, "money": raised.money.map(money) })
}

/// The nodes that have a cap, for all that there is to pay for.
fn rows(settings: &Settings, state: &State) -> Vec<Row> {
    let budgets = &settings.budgets;
    let nobody = AgentId::new("nobody");
    let payer = |agent: &AgentId, run: &str, provider: Option<&String>| Payer {
        agent: agent.clone(),
        makers: Vec::new(),
        run: run.to_owned(),
        provider: provider.cloned(),
    };
    let find = |payer: &Payer, name: &str| nodes(settings, payer).into_iter().find(|n| n.name == name);
    let mut rows = Vec::new();
    let mut add = |node: Option<Node>, cap: Cap, requests: Option<u64>| {
        if let Some(node) = node.filter(|_| !cap.is_none() || requests.is_some()) {
            let each = node.name == EACH_RUN;
            rows.push(Row { node, cap, requests, each });
        }
    };
    let home = payer(&nobody, "", None);
    add(find(&home, "budgets.day"), budgets.day, None);
    add(find(&home, "budgets.month"), budgets.month, None);
    for (agent, share) in &budgets.agents {
        let payer = payer(agent, "", None);
        add(find(&payer, &format!("budgets.agents.{agent}.day")), share.day, None);
        add(find(&payer, &format!("budgets.agents.{agent}.month")), share.month, None);
    }
    let mut each = find(&home, "budgets.run of ");
    each.iter_mut().for_each(|node| node.name = EACH_RUN.to_owned());
    add(each, budgets.run, None);
    let open = state.runs.by_id.iter().filter(|(_, run)| run.goes_on());
    for (run, _) in open.take(RUNS_MAX) {
        add(Some(node_of_run(settings, run.as_str())), budgets.run, None);
    }
    for (name, provider) in &settings.providers {
        use domain::settings::Provider;
        let (Provider::OpenAi(endpoint) | Provider::Anthropic(endpoint)) = provider else { continue };
        let cap = Cap { tokens: endpoint.limits.tokens_per_minute, money: None };
        let payer = payer(&nobody, "", Some(name));
        let node = find(&payer, &format!("providers.{name}.limits"));
        add(node, cap, endpoint.limits.requests_per_minute);
    }
    rows
}

fn lines(state: &State, row: &Row, at: domain::id::Time) -> Vec<Vec<String>> {
    let meter = state.ledger.meter(&row.node, at);
    let opens = match row.node.window {
        Window::Ever => "-".to_owned(),
        Window::Minute => "every minute".to_owned(),
        Window::Day | Window::Month => {
            row.node.window.opens(at).map(formats::time::print).unwrap_or_default()
        }
    };
    let line = |unit: &str, cap: String, spent: String, reserved: String| {
        let (name, unit) = (row.node.name.clone(), unit.to_owned());
        match row.each {
            true => vec![format!("{name} (each)"), unit, cap, "-".to_owned(), "-".to_owned(), opens.clone()],
            false => vec![name, unit, cap, spent, reserved, opens.clone()],
        }
    };
    let (spent, reserved) = (meter.spent, meter.reserved);
    let number = |n: u64| n.to_string();
    let requests = row
        .requests
        .map(|cap| line("requests", number(cap), number(spent.requests), number(reserved.requests)));
    let tokens =
        row.cap.tokens.map(|cap| line("tokens", number(cap), number(spent.tokens), number(reserved.tokens)));
    let paid = row.cap.money.map(|cap| line("money", money(cap), money(spent.money), money(reserved.money)));
    requests.into_iter().chain(tokens).chain(paid).collect()
}

/// A budget as the command line names it.
pub struct Wanted<'a> {
    /// `day`, `month` or `run`.
    pub window: &'a str,
    /// Only for this agent.
    pub agent: Option<&'a str>,
    /// The most, as written; `none` takes the cap away.
    pub tokens: Option<&'a str>,
    /// Likewise.
    pub money: Option<&'a str>,
}

pub fn set(home: &Path, wanted: &Wanted<'_>, out: &Out) -> anyhow::Result<Exit> {
    if wanted.agent.is_some() && wanted.window == "run" {
        let help = "an agent has budgets for a day and a month";
        return Err(fail(Exit::Usage, "an agent has no budget for a run", help));
    }
    if let Some(agent) = wanted.agent {
        view::team::read(home).employed(home, agent)?;
    }
    let kept = |error: std::io::Error| {
        let help = "nothing was changed; make the file readable and writable, and room for it";
        fail(Exit::Failed, format!("synod.yaml cannot be changed: {error}"), help)
    };
    let _turn = turn(home).map_err(kept)?;
    // Behind a link it is changed where it is.
    let path = std::fs::canonicalize(home.join(layout::SETTINGS)).map_err(kept)?;
    for _ in 0..TRIES_MAX {
        let Some(found) = disk::read(&path).map_err(kept)? else { continue };
        let new = with(&found.text, wanted)?;
        if new == found.text {
            return show(home, out);
        }
        match disk::replace(&path, Some(&found.known), &new, Flush::Before).map_err(kept)? {
            Replaced::Done { .. } => return show(home, out),
            // Somebody saved in between, and all of theirs stays.
            Replaced::Changed { .. } => {}
        }
    }
    Err(fail(Exit::Failed, "synod.yaml changes all the time", "try again when nobody edits it"))
}

/// Keeps other commands from changing the settings meanwhile; people with editors are found out by what they saved.
fn turn(home: &Path) -> std::io::Result<std::fs::File> {
    let folder = home.join(layout::OWN);
    std::fs::create_dir_all(&folder)?;
    let folder = std::fs::File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

/// What `synod.yaml` says with the wanted budget.
fn with(text: &str, wanted: &Wanted<'_>) -> anyhow::Result<String> {
    let refuse = |why: String| fail(Exit::Failed, why, "nothing was changed; `synod check` says more");
    let (document, found) = Document::parse(layout::SETTINGS, text);
    let place = || found.first().map_or_else(String::new, |d| format!(": {}", view::team::place(d)));
    let mut document = document.ok_or_else(|| refuse(format!("synod.yaml does not read{}", place())))?;
    for (unit, value) in [("tokens", wanted.tokens), ("money", wanted.money)] {
        let Some(value) = value else { continue };
        let place: Vec<&str> = match wanted.agent {
            Some(agent) => vec!["budgets", "agents", agent, wanted.window, unit],
            None => vec!["budgets", wanted.window, unit],
        };
        let changed = match value {
            "none" if document.get(&place).is_none() => Ok(()),
            "none" => document.remove(&place),
            value => document.set(&place, amount(unit, value)?),
        };
        changed.map_err(|refused| refuse(refused.to_string()))?;
    }
    let read = formats::settings::read(layout::SETTINGS, document.text());
    if read.value.is_none() {
        let why = read.diagnostics.first().map_or_else(String::new, |d| d.message.clone());
        return Err(fail(Exit::Usage, why, "nothing was changed"));
    }
    Ok(document.text().to_owned())
}

fn amount(unit: &str, value: &str) -> anyhow::Result<Scalar> {
    let bad =
        || fail(Exit::Usage, format!("`{value}` is no number of {unit}"), "such as 200000 or 2.50; none");
    if unit == "tokens" {
        return Ok(Scalar::Int(value.replace('_', "").parse().map_err(|_| bad())?));
    }
    let number: f64 = value.parse().map_err(|_| bad())?;
    Ok(Scalar::Number(number))
}
