//! Providers that do not answer, as the journal has it.

use std::path::Path;

use domain::outage::{Outage, Probe};
use domain::state::State;
use serde_json::{Value, json};

use super::text;
use crate::out::Out;

/// Of each: which, since when, why, when it is tried next, and how much waits.
fn lines(state: &State) -> Vec<String> {
    state.outages.by_name.values().map(|outage| line(state, outage)).collect()
}

fn line(state: &State, outage: &Outage) -> String {
    let now = super::now();
    let since = text::duration(now.ms_since(outage.since));
    let next = match &outage.probe {
        Probe::Asks(session) => format!("{session} tries it now"),
        Probe::Open => "the next request tries it".to_owned(),
        Probe::Waits if outage.due <= now => "it is tried again when Synod works".to_owned(),
        Probe::Waits => format!("it is tried again in {}", text::duration(outage.due.ms_since(now))),
    };
    let waits = match state.waiting_for(&outage.place).count() {
        1 => "1 waits".to_owned(),
        n => format!("{n} wait"),
    };
    let error = text::line(&outage.error);
    format!("{} has not answered for {since} ({error}); {waits}; {next}", outage.place)
}

/// The same for programs.
pub fn json(state: &State) -> Value {
    let all = state.outages.by_name.values().map(|outage| {
        json!({
            "provider": outage.place.provider,
            "model": outage.place.model,
            "since": formats::time::print(outage.since),
            "error": outage.error,
            "failures": outage.failures,
            "next_try": formats::time::print(outage.due),
            "waiting": state.waiting_for(&outage.place).count(),
        })
    });
    all.collect()
}

/// Shows them among data, with what can be done. Says whether there are any.
pub fn show(state: &State, out: &Out) -> bool {
    let lines = lines(state);
    if lines.is_empty() {
        return false;
    }
    out.line(out.bold("Providers that do not answer (`synod retry --all` tries now):"));
    lines.iter().for_each(|line| out.line(format!("  {line}")));
    true
}

/// Says to people which providers keep work from going on. Whether there are any.
pub fn say(home: &Path, out: &Out) -> bool {
    let lines = lines(&super::spent::known(home));
    lines.iter().for_each(|line| out.say(line.as_str()));
    !lines.is_empty()
}
