//! `synod route`: who would get a request, by which rule. The team is asked as it is in force; nothing is given to
//! anybody.

use std::path::Path;

use domain::agent::PERSON;
use domain::id::{AgentId, TaskId};
use domain::route::{Tried, explain};
use domain::state::State;
use domain::{Refused, task};
use serde_json::{Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::team::Team;

/// A request that is not given.
pub struct Asked<'a> {
    /// In words.
    pub request: &'a str,
    /// The kinds of work.
    pub tags: &'a [String],
    /// Whom it names.
    pub to: Option<&'a str>,
}

/// Says who would get it.
pub fn run(home: &Path, asked: &Asked<'_>, with_rules: bool, out: &Out) -> anyhow::Result<Exit> {
    let (team, state) = team(home, out);
    let mut spec = task::Spec::new(TaskId::new("task"), "", asked.request);
    spec.tags = asked.tags.to_vec();
    spec.assignee = asked.to.map(AgentId::new);
    if let Some(agent) = asked.to.filter(|agent| *agent != PERSON) {
        team.employed(home, agent)?;
    }
    let (chosen, tried) = explain(&state, &spec, None);
    if out.json {
        out.value(json!({
            "agent": chosen.as_ref().map(|(agent, _)| agent),
            "why": chosen.as_ref().map(|(_, why)| why),
            "tried": tried.iter().map(json).collect::<Vec<_>>(),
        }));
        return Ok(if chosen.is_some() { Exit::Ok } else { Exit::Failed });
    }
    if with_rules {
        // Not cut to the width of the terminal: the reasons are what was asked for.
        for line in text::table_whole(&["", "RULE", "AGENT", "WHY"], tried.iter().map(row).collect()) {
            out.line(line);
        }
        out.line("");
    }
    let Some((agent, why)) = chosen else {
        return Err(fail(
            Exit::Failed,
            Refused::NoRoute.to_string(),
            "set routing.fallback in synod.yaml, or name somebody with --to",
        ));
    };
    out.line(format!("{}: {}", out.bold(agent.as_str()), text::line(&why)));
    Ok(Exit::Ok)
}

/// The team in force. A file that does not read is told of: the answer is about what it said last.
fn team(home: &Path, out: &Out) -> (Team, State) {
    let (settings, unread) = view::team::settings(home);
    view::team::tell_settings(unread.as_deref(), out);
    let team = view::team::read(home);
    team.tell_unread(out);
    let state = team.rules(settings);
    (team, state)
}

fn row(tried: &Tried) -> Vec<String> {
    vec![
        if tried.fits { "->" } else { "  " }.to_owned(),
        text::line(&tried.rule),
        tried.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        text::line(&tried.why),
    ]
}

fn json(tried: &Tried) -> Value {
    json!({ "rule": tried.rule, "agent": tried.agent, "fits": tried.fits, "why": tried.why })
}
