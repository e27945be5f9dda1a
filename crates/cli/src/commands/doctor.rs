//! `synod doctor`: what this system offers and what it lacks. Everything is found out by trying, and nothing is
//! changed.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

use adapters::clock::SystemClock;
use adapters::git::workspace::look::{self, Trouble};
use adapters::journal::Sqlite;
use adapters::sandbox::Sandbox;
use adapters::sandbox::offer::{Layer, Offer};
use adapters::sandbox::places::place;
use domain::id::{AgentId, Time};
use domain::layout;
use domain::settings::{KeySource, Provider};
use ports::clock::Clock;
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::text;
use crate::{view, wire};

/// Fewer watched files than this are soon used up.
const WATCHES_LEAST: u64 = 8_192;
/// A clock before this (January 2024) was never set.
const CLOCK_LEAST: Time = Time(1_704_067_200_000);

/// How one thing is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Synod does without.
    Lacking,
    /// Synod needs it.
    Missing,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Lacking => "lacking",
            Self::Missing => "missing",
        }
    }
}

/// One thing that was looked at.
struct Finding {
    name: String,
    state: State,
    what: String,
    help: Option<String>,
}

fn good(name: &str, what: impl Into<String>) -> Finding {
    Finding { name: name.to_owned(), state: State::Good, what: what.into(), help: None }
}

fn bad(name: &str, state: State, what: impl Into<String>, help: &str) -> Finding {
    Finding { name: name.to_owned(), state, what: what.into(), help: Some(help.to_owned()) }
}

pub fn run(home: Option<&Path>, out: &Out) -> anyhow::Result<Exit> {
    let sandbox = Sandbox::of_this_program()?;
    let mut findings = of_sandbox(sandbox.offer());
    findings.extend([git(), good("sqlite", format!("{} is built in", Sqlite::version())), watching()]);
    findings.extend([terminal(), clock()]);
    match home {
        Some(home) => {
            findings.extend(of_home(home));
            findings.extend(keys(home));
            findings.extend(places(home));
            findings.extend(repos(home));
        }
        None => {
            findings.push(bad("home", State::Lacking, "there is none here", "make one with `synod init DIR`"))
        }
    }
    print(&findings, sandbox.offer(), out);
    Ok(if findings.iter().any(|f| f.state == State::Missing) { Exit::Failed } else { Exit::Ok })
}

fn print(findings: &[Finding], offer: &Offer, out: &Out) {
    if out.json {
        let backend = offer.backend().map(|backend| backend.to_string());
        let all: Vec<Value> = findings.iter().map(json).collect();
        out.value(json!({ "sandbox": backend, "findings": all }));
        return;
    }
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|f| vec![f.state.as_str().to_owned(), f.name.clone(), text::line(&f.what)])
        .collect();
    for line in text::table_whole(&["STATE", "WHAT", "FOUND"], rows) {
        out.line(line);
    }
    for finding in findings.iter().filter(|f| f.state != State::Good) {
        if let Some(help) = &finding.help {
            out.say(format!("help: {}: {help}", finding.name));
        }
    }
}

fn json(finding: &Finding) -> Value {
    json!({
        "name": finding.name,
        "state": finding.state.as_str(),
        "what": finding.what,
        "help": finding.help,
    })
}

fn of_sandbox(offer: &Offer) -> Vec<Finding> {
    let whole = match offer.backend() {
        Some(backend) => good("sandbox", format!("commands run in one, made by {backend}")),
        None => bad(
            "sandbox",
            State::Missing,
            "there is none, so commands do not run",
            "on Debian: apt install bubblewrap; a container must allow user namespaces",
        ),
    };
    let layer = |name, layer: &Layer, does: &str, help: &str| match layer {
        Layer::Works => good(name, does),
        Layer::Missing(why) => bad(name, State::Lacking, why.clone(), help),
    };
    vec![
        whole,
        layer(
            "bubblewrap",
            &offer.bubblewrap,
            "makes sandboxes",
            "on Debian: apt install bubblewrap; Synod's own namespaces stand in for it",
        ),
        layer(
            "namespaces",
            &offer.namespaces,
            "make sandboxes where there is no bubblewrap",
            "allow user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        ),
        layer(
            "landlock",
            &offer.landlock,
            "holds files a second time",
            "boot with `lsm=landlock,…`, Linux 5.13 or later",
        ),
        layer(
            "seccomp",
            &offer.seccomp,
            "refuses dangerous system calls",
            "use a kernel with CONFIG_SECCOMP_FILTER",
        ),
        layer(
            "process limit",
            &offer.processes,
            "a command cannot have more processes than its limit",
            "run Synod as a normal user, or where it can make control groups",
        ),
    ]
}

fn git() -> Finding {
    let output = Command::new("git").arg("--version").stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            good("git", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(_) | Err(_) => bad(
            "git",
            State::Lacking,
            "the program is not installed; Synod keeps the history by itself",
            "install it to look at the history with your own tools",
        ),
    }
}

fn watching() -> Finding {
    let watches = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    match watches.ok().and_then(|text| text.trim().parse::<u64>().ok()) {
        Some(most) if most < WATCHES_LEAST => bad(
            "file watching",
            State::Lacking,
            format!("at most {most} files"),
            "raise it: sysctl fs.inotify.max_user_watches=524288",
        ),
        Some(most) => good("file watching", format!("at most {most} files")),
        None => good("file watching", "has no limit that is told"),
    }
}

fn terminal() -> Finding {
    let color = if std::env::var_os("NO_COLOR").is_some() { ", without colour" } else { "" };
    match std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        true => good("terminal", format!("questions can be asked here{color}")),
        false => good("terminal", "none: nothing is asked here, flags answer"),
    }
}

fn clock() -> Finding {
    let now = SystemClock.now();
    match now >= CLOCK_LEAST {
        true => good("clock", text::time(now)),
        false => bad("clock", State::Missing, text::time(now), "set the clock of this system"),
    }
}

fn of_home(home: &Path) -> Vec<Finding> {
    let who = if wire::is_running(home) { "a daemon runs in it" } else { "no daemon runs in it" };
    let mut findings = vec![good("home", format!("{}: {who}", home.display()))];
    let journal = home.join(layout::JOURNAL);
    findings.push(match journal.exists().then(|| Sqlite::open_read_only(&journal)) {
        None => good("journal", "none yet; it is made with the first start"),
        Some(Ok(_)) => good("journal", "can be read"),
        Some(Err(error)) => bad(
            "journal",
            State::Missing,
            error.to_string(),
            "if the disk is well, keep a copy of .synod, then delete it: Synod goes on from the files",
        ),
    });
    findings
}

/// What commands may read beside the system.
fn places(home: &Path) -> Vec<Finding> {
    let named = view::settings(home).sandbox.read;
    let found = |named: &String| match place(named, home) {
        Ok(Some(at)) => good("sandbox.read", format!("commands may read {}", at.display())),
        Ok(None) => bad(
            "sandbox.read",
            State::Lacking,
            format!("{named} is not on this system"),
            "install it, or take it out of synod.yaml",
        ),
        Err(why) => bad(
            "sandbox.read",
            State::Missing,
            format!("{named} {why}, so no command runs"),
            "take it out of synod.yaml",
        ),
    };
    named.iter().map(found).collect()
}

/// The repositories that agents work in.
fn repos(home: &Path) -> Vec<Finding> {
    let agents = view::agents(home).into_iter();
    let named = agents.filter_map(|agent| Some((agent.id, agent.workspace?.repo?)));
    let found = |(id, repo): (AgentId, String)| {
        let name = format!("repo of {id}");
        match look::look(home, &repo) {
            Ok(()) => good(&name, repo),
            Err(Trouble::Unusable(why)) => {
                bad(&name, State::Missing, format!("{repo} {why}"), "make it, with a commit, or name another")
            }
            Err(Trouble::Detached) => bad(
                &name,
                State::Lacking,
                format!("{repo} is on no branch, so nothing can be merged"),
                "check out a branch in it",
            ),
        }
    };
    named.map(found).collect()
}

/// Whether each provider's key is there; never what it is.
fn keys(home: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, provider) in view::settings(home).providers {
        let endpoint = match provider {
            Provider::OpenAi(endpoint) | Provider::Anthropic(endpoint) => endpoint,
            Provider::Scripted { .. } | Provider::Record { .. } | Provider::Replay { .. } => continue,
        };
        let name = format!("provider {name}");
        findings.push(match endpoint.key {
            None => good(&name, "needs no key"),
            Some(KeySource::Env(variable)) if std::env::var_os(&variable).is_some() => {
                good(&name, format!("its key is in the variable {variable}"))
            }
            Some(KeySource::Env(variable)) => bad(
                &name,
                State::Missing,
                format!("the environment has no {variable}"),
                "set it before synod starts",
            ),
            Some(KeySource::File(path)) if home.join(&path).is_file() => {
                good(&name, format!("its key is in {path}"))
            }
            Some(KeySource::File(path)) => bad(
                &name,
                State::Missing,
                format!("there is no file {path}"),
                "put the key into it, for your eyes only: chmod 600",
            ),
            Some(KeySource::Keyring(entry)) => {
                good(&name, format!("its key is asked of the keyring as {entry}"))
            }
        });
    }
    findings
}
