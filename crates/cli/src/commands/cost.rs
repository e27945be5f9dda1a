//! `synod cost`: what was spent, by agent, task, model or day. From the journal, whose days outlive its snapshots.

use std::collections::BTreeMap;
use std::path::Path;

use domain::budget::day_of;
use domain::id::{RunId, SessionId, TaskId};
use domain::state::State;
use domain::usage::Spent;
use serde_json::{Value, json};

use crate::args::CostBy;
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::spent;

pub fn run(home: &Path, by: CostBy, since: Option<&str>, out: &Out) -> anyhow::Result<Exit> {
    let since = since.map(first_day).transpose()?;
    let state = spent::known(home);
    let mut groups: BTreeMap<String, Spent> = BTreeMap::new();
    let days = state.ledger.days.iter().map(|(day, agents)| (day.to_string(), agents));
    for (day, agents) in days.filter(|(day, _)| since.as_ref().is_none_or(|since| day >= since)) {
        for (agent, models) in agents {
            for (model, works) in models {
                for (work, one) in works {
                    let key = match by {
                        CostBy::Agent => agent.as_str(),
                        CostBy::Task => work,
                        CostBy::Run => run_of(&state, work),
                        CostBy::Model => model,
                        CostBy::Day => &day,
                    };
                    let sum = groups.entry(key.to_owned()).or_default();
                    *sum = sum.plus(*one);
                }
            }
        }
    }
    let total = Spent::sum(groups.values());
    if out.json {
        let rows: Vec<Value> = groups
            .iter()
            .map(|(key, spent)| {
                let mut row = spent::json(spent);
                row[by.word()] = json!(key);
                row
            })
            .collect();
        out.value(json!({ "by": by.word(), "since": since, "rows": rows, "total": spent::json(&total) }));
        return Ok(Exit::Ok);
    }
    let row = |key: String, spent: &Spent| {
        let usage = &spent.usage;
        vec![
            key,
            spent.replies.to_string(),
            usage.tokens_in.to_string(),
            usage.tokens_out.to_string(),
            spent.money(),
        ]
    };
    let mut rows: Vec<Vec<String>> = groups.iter().map(|(key, spent)| row(text::line(key), spent)).collect();
    rows.push(row("total".to_owned(), &total));
    let head = by.word().to_uppercase();
    for line in text::table(&[&head, "REPLIES", "IN", "OUT", "COST"], rows) {
        out.line(line);
    }
    Ok(Exit::Ok)
}

/// The run of a task or a session.
fn run_of<'a>(state: &'a State, work: &'a str) -> &'a str {
    let of_task = state.runs.of_task(&TaskId::new(work));
    of_task.or_else(|| state.runs.of_session(&SessionId::new(work))).map_or(work, RunId::as_str)
}

/// The day of UTC that a time, a day or a duration before now lies in.
fn first_day(since: &str) -> anyhow::Result<String> {
    let date = since.len() == 10 && formats::time::parse(&format!("{since}T00:00:00Z")).is_some();
    if date {
        return Ok(since.to_owned());
    }
    let ago = || {
        let ms = i64::try_from(formats::time::parse_duration(since)?).ok()?;
        Some(domain::id::Time(view::now().0.saturating_sub(ms)))
    };
    let at = formats::time::parse(since).or_else(ago);
    let help = "such as 2026-01-31, 2026-01-31T12:00:00Z or 7d; whole days of UTC are counted";
    at.map(day_of).ok_or_else(|| fail(Exit::Usage, format!("`{since}` is no time"), help))
}
