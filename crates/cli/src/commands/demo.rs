//! `synod demo`: four agents answer a question, out of one folder. The models are scripted; everything else is
//! what `synod up` does.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use adapters::disk::{self, Flush};
use anyhow::Context as _;
use domain::approval::{Answer, Request};
use domain::event::ApprovalEvent;
use domain::event::Event;
use domain::id::ApprovalId;
use domain::input::Input;
use domain::input::PersonInput;
use domain::layout::{self, Decided};
use domain::state::State;
use engine::Handle;
use formats::inbox;
use serde_json::json;
use tokio::sync::mpsc;

use super::story::{Story, act_words};
use super::{init, up};
use crate::failure::Exit;
use crate::home::person;
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
        let mut events = running.handle.listen();
        let mut pulse = running.handle.pulse();
        let mut story = Story::of(&running.handle).await?;
        running.start().await?;
        up::tell_going_on(&home, &running, out);
        ask_question(&home).with_context(|| format!("cannot write {}", home.join(INBOX).display()))?;

        let (answers, mut answered) = mpsc::channel::<(ApprovalId, Answer)>(8);
        for request in running.handle.look(|state| state.people.approvals.values().cloned().collect::<Vec<_>>()).await? {
            // Left over from a run that was stopped.
            consider(&running.handle, &home, &request, yes, &answers, out).await?;
        }
        let exit = loop {
            tokio::select! {
                () = interrupt.wait() => break Exit::Interrupted,
                event = events.recv() => {
                    let request = match &event {
                        Ok(recorded) => match &recorded.event {
                            Event::Approval(ApprovalEvent::Asked { request }) => Some((**request).clone()),
                            _ => None,
                        },
                        Err(_) => None,
                    };
                    up::follow(event, &mut story, out);
                    if let Some(request) = request {
                        consider(&running.handle, &home, &request, yes, &answers, out).await?;
                    }
                }
                Some((approval, answer)) = answered.recv() => decide(&running.handle, approval, answer, "demo").await?,
                Some(problem) = running.problems.recv() => up::tell_problem(&home, &problem, out),
                changed = pulse.changed() => changed?,
            }
            // The question may not have been read yet: it is answered when its task has ended.
            if pulse.borrow().idle && events.is_empty() && running.handle.look(is_answered).await? {
                break Exit::Ok;
            }
        };
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

/// Approves at once, prompts, or tells how to decide.
async fn consider(
    handle: &Handle,
    home: &Path,
    request: &Request,
    yes: bool,
    answers: &mpsc::Sender<(ApprovalId, Answer)>,
    out: &Out,
) -> anyhow::Result<()> {
    if yes {
        return decide(handle, request.id.clone(), Answer::Approved, "demo --yes").await;
    }
    if out.json {
        return Ok(());
    }
    let file = home.join(layout::approval_file(Decided::Pending, &request.id));
    out.line(out.bold(&format!("               → decide: {}", act_words(&request.act))));
    out.line(format!("                 edit {} (Decision: APPROVED)", file.display()));
    out.line(format!("                 or: synod approve {} --home {}", request.id, home.display()));
    if std::io::stdin().is_terminal() {
        prompt(request.id.clone(), answers.clone());
    }
    Ok(())
}

/// Asks on the terminal, on a thread of its own: the file and the command stay open as other ways to decide.
fn prompt(approval: ApprovalId, answers: mpsc::Sender<(ApprovalId, Answer)>) {
    std::thread::spawn(move || {
        let mut stderr = std::io::stderr();
        _ = write!(stderr, "                 or here: approve? [y/N] ");
        _ = stderr.flush();
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let answer = match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Answer::Approved,
            _ => Answer::Rejected { reason: "answered no in the demo".to_owned() },
        };
        _ = answers.blocking_send((approval, answer));
    });
}

async fn decide(handle: &Handle, approval: ApprovalId, answer: Answer, via: &str) -> anyhow::Result<()> {
    // Somebody may have been faster, in a file or by a command; the first decision counts.
    _ = handle
        .submit(Input::Person(PersonInput::Answer { approval, answer, by: person(), via: via.to_owned() }))
        .await?;
    Ok(())
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
