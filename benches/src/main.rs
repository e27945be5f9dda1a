//! Measures what Synod promises about speed and size: each figure beside a baseline from the same run, so that
//! a slow machine slows both. A missed aim is shown and fails nothing: these are figures, not tests.

mod audit;
mod bus;
mod cancel;
mod cancel_run;
mod definitions;
mod delegation;
mod domain_events;
mod edit_event;
mod home;
mod idle_agent;
mod journal_append;
mod lean;
mod load;
mod many;
mod measure;
mod one_event;
mod policy;
mod queue;
mod raw;
mod replay;
mod report;
mod sandbox;
mod search;
mod session_append;
mod status_command;
mod turn;

use std::process::ExitCode;

use anyhow::Context as _;
use measure::Measurement;

/// One figure, or several that are measured together.
struct Figure {
    name: &'static str,
    run: fn() -> anyhow::Result<Vec<Measurement>>,
}

const FIGURES: [Figure; 20] = [
    Figure { name: "audit", run: audit::run },
    Figure { name: "domain-events", run: domain_events::run },
    Figure { name: "journal-append", run: journal_append::run },
    Figure { name: "one-event", run: one_event::run },
    Figure { name: "replay", run: replay::run },
    Figure { name: "search", run: search::run },
    Figure { name: "session-append", run: session_append::run },
    Figure { name: "idle-agent", run: idle_agent::run },
    Figure { name: "status-command", run: status_command::run },
    Figure { name: "edit-event", run: edit_event::run },
    Figure { name: "policy", run: policy::run },
    Figure { name: "sandbox", run: sandbox::run },
    Figure { name: "turn", run: turn::run },
    Figure { name: "queue", run: queue::run },
    Figure { name: "bus", run: bus::run },
    Figure { name: "definitions", run: definitions::run },
    Figure { name: "delegation", run: delegation::run },
    Figure { name: "cancel", run: cancel::run },
    Figure { name: "cancel-run", run: cancel_run::run },
    Figure { name: "many", run: many::run },
];

/// What the command line asks for.
struct Wanted {
    json: bool,
    only: Option<String>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, count] = args.as_slice()
        && first == idle_agent::CHILD
    {
        return ended(count.parse().context("a count of agents").and_then(idle_agent::child));
    }
    if let [first, count, url] = args.as_slice()
        && first == many::CHILD
    {
        return ended(count.parse().context("a count of agents").and_then(|count| many::child(count, url)));
    }
    match read(&args) {
        Ok(wanted) => ended(measure_all(&wanted)),
        Err(wrong) => {
            report::say(wrong);
            ExitCode::from(2)
        }
    }
}

fn ended(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn read(args: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted { json: false, only: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => wanted.json = true,
            "--only" => wanted.only = Some(args.next().cloned().unwrap_or_default()),
            _ => return Err(format!("unknown argument {arg:?}; known: --json, --only NAME")),
        }
    }
    if let Some(only) = &wanted.only
        && !FIGURES.iter().any(|figure| figure.name == only)
    {
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        return Err(format!("there is no figure {only:?}; there are: {}", names.join(", ")));
    }
    Ok(wanted)
}

fn measure_all(wanted: &Wanted) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for figure in &FIGURES {
        if wanted.only.as_ref().is_some_and(|only| only != figure.name) {
            continue;
        }
        report::say(format!("measuring {}", figure.name));
        all.extend((figure.run)().with_context(|| format!("cannot measure {}", figure.name))?);
    }
    report::print(if wanted.json { report::json(&all) } else { report::table(&all) });
    Ok(())
}
