//! Commands that leave a mark: a decision, a message, a task. With a daemon they go through its socket, without
//! one straight into the journal and the files.

use std::path::Path;

use adapters::lock::HomeLock;
use domain::approval::Answer;
use domain::id::{AgentId, ApprovalId, SessionId, TaskId};
use domain::input::Input;
use domain::input::{Again, FileInput, PersonInput};
use domain::layout;
use domain::message::Urgency;
use domain::spawn::Order;
use domain::task::{Mark, Priority, Spec};
use formats::did_you_mean;
use serde_json::{Value, json};
use web::api::{Request, Response};
use web::client::ClientError;
use web::server::Made;

use crate::args::{AgentCommand, TaskCommand};
use crate::failure::{Exit, fail};
use crate::home::person;
use crate::out::Out;
use crate::text;
use crate::view::sessions::session_of;
use crate::view::team;
use crate::wire::{self, Does, Worker};

pub fn approve(home: &Path, approval: Option<&str>, out: &Out) -> anyhow::Result<Exit> {
    let which = match approval {
        Some(id) => vec![id.to_owned()],
        None => super::inbox::to_decide(home)?,
    };
    for id in &which {
        decide(home, id, true, "")?;
        if !out.json {
            out.line(format!("{id} is approved"));
        }
    }
    if out.json {
        out.value(json!({ "approved": which }));
    } else if which.is_empty() {
        let more = match crate::view::tasks::read(home).for_people().count() {
            0 => String::new(),
            n => format!("; {} for you (`synod inbox`)", super::inbox::waits(0, n)),
        };
        out.line(format!("nothing waits for a decision{more}"));
    }
    Ok(Exit::Ok)
}

pub fn reject(home: &Path, approval: &str, reason: &str, out: &Out) -> anyhow::Result<Exit> {
    decide(home, approval, false, reason)?;
    if out.json {
        out.value(json!({ "rejected": [approval] }));
    } else {
        out.line(format!("{approval} is rejected"));
    }
    Ok(Exit::Ok)
}

pub fn cancel(home: &Path, what: &str, run: Option<&str>, out: &Out) -> anyhow::Result<Exit> {
    if let Some(run) = run {
        if what != "run" {
            let message = format!("{what} {run}: one thing is cancelled at a time");
            return Err(fail(Exit::Usage, message, "give one id, or `run` and the id of what it began with"));
        }
        return cancel_run(home, run, out);
    }
    let what = session_of(what);
    let request = Request::Cancel { what: what.to_owned(), by: person() };
    let input = Input::Person(PersonInput::Cancel { what: what.to_owned(), by: person() });
    leave(home, &request, input, "`synod task list --open` shows what has not ended")?;
    if out.json {
        out.value(json!({ "cancelled": what }));
    } else {
        out.line(format!("{what} is cancelled, with all that was below it"));
    }
    Ok(Exit::Ok)
}

/// `synod runs cancel`, and `synod cancel run`.
pub fn cancel_run(home: &Path, run: &str, out: &Out) -> anyhow::Result<Exit> {
    let run = session_of(run);
    let request = Request::CancelRun { run: run.to_owned(), by: person() };
    let input = Input::Person(PersonInput::CancelRun { run: run.to_owned(), by: person() });
    leave(home, &request, input, "`synod runs list` shows what there is")?;
    if out.json {
        out.value(json!({ "cancelled": run, "run": true }));
    } else {
        out.line(format!("run {run} is cancelled: all that was made for it has ended"));
    }
    Ok(Exit::Ok)
}

pub fn retry(home: &Path, task: Option<&str>, provider: Option<&str>, out: &Out) -> anyhow::Result<Exit> {
    let what = match (task, provider) {
        (Some(task), _) => Again::Task(TaskId::new(task)),
        (None, Some(provider)) => Again::Provider(provider.to_owned()),
        (None, None) => Again::All,
    };
    let request = Request::Retry { what: what.clone(), by: person() };
    let input = Input::Person(PersonInput::Retry { what, by: person() });
    let help = "`synod status` shows what waits for a provider, `synod task list` which tasks failed";
    let retried = leave(home, &request, input, help)?.retried;
    if out.json {
        out.value(json!({ "retried": retried }));
    } else if retried.is_empty() {
        out.line("nothing has failed, and nothing waits for a provider");
    } else {
        retried.iter().for_each(|what| out.line(what.as_str()));
        if !wire::is_running(home) {
            out.say("nobody works in this home now: go on with `synod pump` or `synod up`");
        }
    }
    Ok(Exit::Ok)
}

fn decide(home: &Path, approval: &str, approve: bool, reason: &str) -> anyhow::Result<()> {
    let request =
        Request::Answer { approval: approval.to_owned(), approve, reason: reason.to_owned(), by: person() };
    let answer = if approve { Answer::Approved } else { Answer::Rejected { reason: reason.to_owned() } };
    let input = Input::Person(PersonInput::Answer {
        approval: ApprovalId::new(approval),
        answer,
        by: person(),
        via: "cli".to_owned(),
    });
    // Plans and tasks stand beside approvals in the inbox.
    let tasks = crate::view::tasks::read(home);
    let chore = tasks.for_people().map(|index| &tasks.list[index]).find(|task| task.id() == Some(approval));
    if chore.is_some_and(|task| tasks.held_by(task).next().is_some()) {
        return mark(home, approval, if approve { Mark::Done } else { Mark::Cancelled }, reason);
    }
    let help = chore.map(|task| format!("{approval} is a task: {}", tasks.how_to_answer(task)));
    let help = help.unwrap_or_else(|| "`synod inbox` shows what waits".to_owned());
    leave(home, &request, input, &help).map(|_| ())
}

pub fn mark_task(home: &Path, id: &str, word: &str, why: &str, out: &Out) -> anyhow::Result<Exit> {
    let wanted = Mark::ALL.into_iter().find(|mark| mark.as_str() == word);
    let Some(wanted) = wanted else {
        let help = "give done, failed, cancelled or open";
        return Err(fail(Exit::Usage, format!("{word} is no mark of a person"), help));
    };
    mark(home, id, wanted, why)?;
    if out.json {
        out.value(json!({ "marked": id, "mark": word }));
    } else {
        out.line(format!("{id} is {word}"));
    }
    Ok(Exit::Ok)
}

fn mark(home: &Path, task: &str, mark: Mark, why: &str) -> anyhow::Result<()> {
    let (why, by) = (why.to_owned(), person());
    let request = Request::Mark { task: task.to_owned(), mark, why: why.clone(), by: by.clone() };
    let input = Input::File(FileInput::TaskMarked { task: TaskId::new(task), mark, why, by });
    leave(home, &request, input, "`synod task list` shows what there is").map(|_| ())
}

pub fn say(home: &Path, to: &str, text: &str, priority: &str, out: &Out) -> anyhow::Result<Exit> {
    let Some(urgency) = Urgency::parse(priority) else {
        let help = format!("there are: {}", Urgency::ALL.map(Urgency::as_str).join(", "));
        return Err(fail(Exit::Usage, format!("{priority} is no priority"), help));
    };
    let to = session_of(to);
    let file = home.join(layout::session_file(to));
    let (session, agent) = if file.is_file() {
        let agent = to.rsplit_once('-').map_or(to, |(agent, _)| agent);
        (Some(to.to_owned()), agent.to_owned())
    } else {
        (None, to.to_owned())
    };
    let is_to_agent = session.is_none();
    if is_to_agent {
        let team = team::read(home);
        team.check(home, &agent)?;
        if team.agents.is_empty() {
            let help = "write agents/<id>.agent.yaml (`synod schema agent` says how)";
            return Err(fail(Exit::Failed, "there are no agents yet", help));
        }
    }
    let request = Request::Say {
        session: session.clone(),
        agent: agent.clone(),
        text: text.to_owned(),
        urgency,
        by: person(),
    };
    let input = Input::Person(PersonInput::Say {
        session: session.map(SessionId::new),
        agent: AgentId::new(agent.clone()),
        text: text.to_owned(),
        urgency,
        by: person(),
        in_file: false,
    });
    let help = "`synod session list` and `synod agent list` show whom you can speak to";
    let sessions = leave(home, &request, input, help)?.sessions;
    let elsewhere = if is_to_agent { at_work(home, &agent, &sessions) } else { Vec::new() };
    if out.json {
        let elsewhere: Vec<Value> =
            elsewhere.iter().map(|(task, session)| json!({ "task": task, "session": session })).collect();
        out.value(json!({ "sent": to, "sessions": sessions, "at_work": elsewhere }));
        return Ok(Exit::Ok);
    }
    if sessions.is_empty() || sessions == [to] {
        out.line(format!("sent to {to}"));
    } else {
        out.line(format!("sent to {to}, in {}", sessions.join(", ")));
    }
    for (task, session) in elsewhere {
        out.line(format!(
            "{to} is at work on {task}, and hears you there by `synod message send {session} …`"
        ));
    }
    Ok(Exit::Ok)
}

/// What an agent works on in other conversations than these, and in which ones.
fn at_work(home: &Path, agent: &str, but: &[String]) -> Vec<(String, String)> {
    let tasks = crate::view::tasks::read(home);
    let is_theirs = |task: &&crate::view::tasks::Task| {
        task.mark == Mark::Running && task.spec.assignee.as_ref().is_some_and(|who| who.as_str() == agent)
    };
    let place = |task: &crate::view::tasks::Task| {
        let session = task.property("session").filter(|session| !but.iter().any(|known| known == session))?;
        Some((task.id()?.to_owned(), session.to_owned()))
    };
    tasks.list.iter().filter(is_theirs).filter_map(place).collect()
}

pub fn spawn(home: &Path, spawn: AgentCommand, out: &Out) -> anyhow::Result<Exit> {
    let AgentCommand::Spawn { role, name, goal, model, responsibility } = spawn else {
        return Ok(Exit::Usage);
    };
    let wanted = model.clone();
    let order = Box::new(Order { role, name, goal, responsibilities: responsibility, model });
    let request = Request::Spawn { order: order.clone(), by: person() };
    let input = Input::Person(PersonInput::Spawn { order, by: person() });
    let (settings, unread) = team::settings(home);
    let models = settings.models;
    if models.is_empty() && unread.is_none() {
        let help = "name one in synod.yaml, under `models:` (`synod schema synod` says how)";
        return Err(fail(Exit::Failed, "there are no models yet", help));
    }
    let near = wanted.filter(|model| !models.contains_key(model));
    let near =
        near.and_then(|model| did_you_mean(&model, models.keys().map(String::as_str)).map(str::to_owned));
    let help = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "`synod agent spawn --help` says what can be given".to_owned(),
    };
    let id = leave(home, &request, input, &help)?.id;
    if out.json {
        out.value(json!({ "agent": id }));
    } else {
        out.line(format!("{id} is there; see agents/{id}.agent.yaml"));
    }
    Ok(Exit::Ok)
}

pub fn terminate(home: &Path, agent: &str, reason: &str, out: &Out) -> anyhow::Result<Exit> {
    let (by, reason) = (person(), reason.to_owned());
    let request = Request::Terminate { agent: agent.to_owned(), reason: reason.clone(), by: by.clone() };
    let input = Input::Person(PersonInput::Terminate { agent: AgentId::new(agent), reason, by });
    let help = "`synod agent list` shows who is there and who was spawned";
    leave(home, &request, input, help)?;
    if out.json {
        out.value(json!({ "terminated": agent }));
    } else {
        out.line(format!("{agent} is terminated, with all that it did and all that it spawned"));
    }
    Ok(Exit::Ok)
}

pub fn add_task(home: &Path, add: TaskCommand, out: &Out) -> anyhow::Result<Exit> {
    let TaskCommand::Add { title, text, to, tag, priority, after, parent, file, approval_required } = add
    else {
        return Ok(Exit::Usage);
    };
    let usage = |message: String, help: &str| fail(Exit::Usage, message, help);
    if title.trim().is_empty() || title.contains('\n') {
        return Err(usage(
            "the title must be one line that is not empty".to_owned(),
            "put details into --text",
        ));
    }
    if file.contains('/')
        || !file.ends_with(layout::TASK_END)
        || file == "approvals.task.md"
        || file.starts_with('.')
    {
        return Err(usage(format!("{file} is not the name of a task file"), "give a name like ops.task.md"));
    }
    if let Some(to) = &to {
        team::read(home).check(home, to)?;
    }
    let mut spec = Spec::new(TaskId::new(""), layout::task_file(&file), title.trim());
    spec.text = text;
    spec.tag = tag;
    spec.approval_required = approval_required;
    spec.assignee = to.map(AgentId::new);
    spec.depends_on = after.into_iter().map(TaskId::new).collect();
    spec.parent = parent.map(TaskId::new);
    if let Some(letter) = priority {
        let known = Priority::from_letter(letter.to_ascii_uppercase());
        spec.priority = Some(
            known.ok_or_else(|| usage(format!("{letter} is no priority"), "give a letter from A to F"))?,
        );
    }
    let request = Request::Add { task: Box::new(spec.clone()), by: person() };
    let input = Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: person() });
    let help = "`synod task list` and `synod agent list` show what there is";
    let id = leave(home, &request, input, help)?.id;
    if out.json {
        out.value(json!({ "task": id }));
    } else {
        out.line(format!("{id} is added"));
    }
    Ok(Exit::Ok)
}

/// What came of a mark.
pub(super) struct Left {
    /// The id of a task or an agent that was added; empty if none was.
    id: String,
    /// The conversations in which somebody was spoken to.
    sessions: Vec<String>,
    /// What is tried again, in words.
    retried: Vec<String>,
}

/// Leaves one mark, through the daemon if there is one.
pub(super) fn leave(home: &Path, request: &Request, input: Input, help: &str) -> anyhow::Result<Left> {
    for _ in 0..wire::TRIES {
        match wire::worker(home)? {
            Worker::Me(lock) => return alone(home, lock, input, help),
            Worker::Other => match web::client::ask(&wire::socket(home), request) {
                Ok(Response::Done { task, agent, sessions, retried, .. }) => {
                    return Ok(Left { id: task.or(agent).unwrap_or_default(), sessions, retried });
                }
                Ok(Response::Refused { reason }) if reason == engine::Closed.to_string() => {
                    let help = "what it said last tells why; `synod up` starts it again";
                    return Err(fail(Exit::Unreachable, reason, help));
                }
                Ok(Response::Refused { reason } | Response::Bad { reason }) => {
                    return Err(fail(Exit::Failed, text::visible(&reason), help));
                }
                Ok(Response::Live(_) | Response::Waits(_) | Response::Runs(_) | Response::Awaited { .. }) => {
                    return Err(super::pump::odd_answer());
                }
                // It has just ended, and took nothing.
                Err(ClientError::Unreachable { .. }) => {}
                Err(error) => return Err(super::pump::unreachable(&error)),
            },
        }
    }
    Err(super::pump::ended())
}

/// Leaves it in a home in which nobody works.
fn alone(home: &Path, lock: HomeLock, input: Input, help: &str) -> anyhow::Result<Left> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let running = wire::open(home, lock, Does::Mark).await?;
        if let Err(held) = running.may_begin() {
            running.close().await?;
            return Err(held);
        }
        let answer = running.handle.submit(input).await;
        // If it could not be taken, whoever ends it knows why.
        running.close().await?;
        match answer? {
            Ok(taken) => {
                let Made { task, agent, sessions, retried } = Made::of(&taken);
                let id = task.map(|id| id.to_string()).or(agent.map(|id| id.to_string()));
                let sessions = sessions.iter().map(ToString::to_string).collect();
                Ok(Left { id: id.unwrap_or_default(), sessions, retried })
            }
            Err(refused) => Err(fail(Exit::Failed, text::visible(&refused.to_string()), help)),
        }
    })
}
