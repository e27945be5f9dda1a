//! `synod demo`: four agents answer a question, out of one folder. The models are scripted; everything else is
//! what `synod up` does.

use std::path::{Path, PathBuf};

use adapters::disk::{self, Flush};
use anyhow::Context as _;
use domain::layout;
use domain::state::State;
use formats::inbox;
use serde_json::json;

use super::screen::{Asks, Screen};
use super::{init, up};
use crate::failure::Exit;
use crate::out::Out;
use crate::wire;

const INBOX: &str = layout::SLACK_MESSAGES;
const OUTBOX: &str = layout::SLACK_OUTBOX;
const QUESTION: &str = "Is there enough disk space for the nightly backup?";

pub fn run(given: Option<&Path>, yes: bool, git: init::Git, out: &Out) -> anyhow::Result<Exit> {
    let home = place(given)?;
    init::make_or_keep(&home, git, out)?;
    let home = home.canonicalize()?;
    if !out.json {
        introduce(&home, yes, out);
    }
    let lock = wire::own(&home)?;
    up::runtime()?.block_on(async {
        let up::Open { mut running, mut interrupt, server } = up::open(&home, lock, out).await?;
        let asks = if yes { Asks::Yes } else { Asks::Person };
        let mut screen = Screen::here(&running.handle, &home, asks, out).await?;
        running.start().await?;
        up::tell_going_on(&home, &running, out);
        ask_question(&home).with_context(|| format!("cannot write {}", home.join(INBOX).display()))?;
        let exit = loop {
            tokio::select! {
                () = interrupt.wait() => break Exit::Interrupted,
                goes_on = screen.turn() => if !goes_on { break Exit::Failed },
                Some(problem) = running.problems.recv() => up::tell_problem(&home, &problem, out),
            }
            // The question may not have been read yet: it is answered when its task has ended.
            let now = *running.handle.pulse().borrow();
            if now.idle && !screen.is_asking() && running.handle.look(is_answered).await? {
                screen.catch_up();
                break Exit::Ok;
            }
            if now.idle && now.approvals > 0 && out.never_asks() {
                screen.catch_up();
                break Exit::Waiting;
            }
        };
        drop(screen);
        let ending = running.handle.look(Ending::of).await?;
        server.close().await;
        running.close().await?;
        if exit == Exit::Ok {
            conclude(&home, &ending, out);
        } else if !out.json {
            out.say(format!("stopped; go on with: synod up --home {}", home.display()));
        }
        Ok(exit)
    })
}

fn place(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    match given {
        Some(dir) => Ok(dir.to_owned()),
        None => Ok(tempfile::Builder::new().prefix("synod-demo-").tempdir()?.keep()),
    }
}

fn introduce(home: &Path, yes: bool, out: &Out) {
    out.line(out.bold("Synod demo: four agents answer a question, out of one folder."));
    out.line("The models are scripted (models/team.script.yaml): no key, no network. All the rest is real:");
    out.line("the files, the journal, the gate, the approvals, and the command that is run.");
    out.line("");
    out.line(format!("home  {}", home.display()));
    if yes {
        out.line("      --yes: what the agents ask for is approved at once");
    }
    out.line("");
}

/// Drops the question into the inbox, once.
fn ask_question(home: &Path) -> std::io::Result<()> {
    let path = home.join(INBOX);
    let line = inbox::Line {
        from: "@dana".to_owned(),
        channel: Some("#ops".to_owned()),
        text: QUESTION.to_owned(),
        at: formats::time::parse("2026-01-12T08:30:00Z"),
        id: None,
    };
    match disk::replace(&path, None, &format!("{}\n", inbox::print_line(&line)), Flush::Before)? {
        disk::Replaced::Done { .. } | disk::Replaced::Changed { .. } => Ok(()),
    }
}

fn is_answered(state: &State) -> bool {
    state.trust.inbox.contains_key(INBOX) && state.work.open_tasks == 0 && state.is_idle()
}

/// What there is to tell at the end.
struct Ending {
    tasks: Vec<(String, String, String, String)>,
    approvals: usize,
    events: u64,
}

impl Ending {
    fn of(state: &State) -> Self {
        let tasks = state.work.tasks.values().map(|task| {
            let who = task.spec.assignee.as_ref().map(ToString::to_string).unwrap_or_default();
            (task.spec.id.to_string(), who, state.mark_of(task).as_str().to_owned(), task.spec.title.clone())
        });
        Self { tasks: tasks.collect(), approvals: state.people.decided.len(), events: state.seq.0 }
    }
}

fn conclude(home: &Path, ending: &Ending, out: &Out) {
    let reply = std::fs::read_to_string(home.join(OUTBOX)).unwrap_or_default();
    let reply = reply.lines().last().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let reply = reply.and_then(|value| value.get("text").and_then(|text| text.as_str().map(str::to_owned)));
    if out.json {
        let tasks: Vec<_> = ending
            .tasks
            .iter()
            .map(|(id, who, mark, title)| json!({ "id": id, "assignee": who, "mark": mark, "title": title }))
            .collect();
        out.value(json!({ "home": home.display().to_string(), "tasks": tasks, "approvals": ending.approvals, "events": ending.events, "reply": reply }));
        return;
    }
    out.line("");
    out.line(out.bold("What was done, and by whom"));
    for (id, who, mark, title) in &ending.tasks {
        out.line(format!("  {id}  {mark:<9} {who:<14} {title}"));
    }
    match &reply {
        Some(text) => out.line(format!("  reply in {OUTBOX}: \"{text}\"")),
        None => out.line("  no reply was sent"),
    }
    out.line(format!(
        "  {} decisions by a person, {} events in the journal",
        ending.approvals, ending.events
    ));
    out.line("");
    out.line(out.bold("What to open"));
    let at = home.display();
    for (file, what) in [
        ("tasks/inbox.task.md", "the work, as a tree"),
        (layout::QUEUE, "what was asked and decided"),
        ("sessions/", "what each agent read, said and did"),
        ("agents/executor-001.agent.yaml", "an agent"),
        (layout::COMMANDS, "what may run without asking"),
    ] {
        out.line(format!("  {at}/{file:<32} {what}"));
    }
    out.line("");
    out.line(out.bold("What to try next"));
    out.line(format!("  cd {at}"));
    out.line("  synod run \"Is there enough disk space?\"     ask again; then decide by editing tasks/approvals.task.md");
    out.line("  synod up                                     work until Ctrl-C, and edit any file meanwhile");
    out.line("  rm -r .synod && synod status                 the files are enough");
}
