//! `synod run`: gives the team a request and works until it is answered.

use std::path::Path;
use std::time::{Duration, Instant};

use adapters::lock::HomeLock;
use domain::id::{AgentId, TaskId};
use domain::input::Input;
use domain::input::PersonInput;
use domain::label::Label;
use domain::state::TaskStage;
use domain::task::{End, Spec};
use engine::Handle;
use serde_json::{Value, json};
use web::api::{Request, Response};
use web::client::{ClientError, Following};
use web::server::Made;

use super::pump::{self, Awaited, Next};
use super::screen::{Asks, Screen};
use super::up;
use crate::failure::{Exit, fail};
use crate::home::person;
use crate::out::Out;
use crate::view;
use crate::view::activity::Overview;
use crate::view::tasks::Tasks;
use crate::wire::{self, Running, Worker};

/// How long the end waits for the daemon's last events.
const CATCH_UP: Duration = Duration::from_secs(2);

pub fn run(home: &Path, request: &str, to: Option<&str>, timeout: u64, out: &Out) -> anyhow::Result<Exit> {
    if request.trim().is_empty() {
        return Err(fail(Exit::Usage, "the request is empty", "say what you want, in quotes"));
    }
    if let Some(to) = to {
        view::team::read(home).check(home, to)?;
    }
    let title = request.lines().next().unwrap_or_default().trim();
    let mut spec =
        Spec::new(TaskId::new(""), "tasks/requests.task.md", title.chars().take(100).collect::<String>());
    if request.trim() != spec.title {
        spec.text = request.trim().to_owned();
    }
    spec.assignee = to.map(AgentId::new);
    let mut wanted = Wanted::New(Box::new(spec));
    for _ in 0..wire::TRIES {
        match wire::worker(home)? {
            Worker::Me(lock) => return alone(home, lock, wanted, timeout, out),
            Worker::Other => match with_daemon(home, wanted, timeout, out)? {
                Ok(exit) => return Ok(exit),
                Err(still) => wanted = still,
            },
        }
    }
    Err(pump::ended())
}

/// A request, or the task that it became with a daemon that has ended since.
enum Wanted {
    New(Box<Spec>),
    Taken(TaskId),
}

fn alone(home: &Path, lock: HomeLock, wanted: Wanted, timeout: u64, out: &Out) -> anyhow::Result<Exit> {
    up::runtime()?.block_on(async {
        let up::Open { mut running, mut interrupt, server } = up::open(home, lock, out).await?;
        let worked = work(&mut running, &mut interrupt, home, wanted, timeout, out).await;
        server.close().await;
        // If it could not go on, whoever ends it knows why.
        running.close().await?;
        let (id, ended, exit) = worked?;
        Ok(answer(home, &id, ended, (exit, Next::Start), timeout, out))
    })
}

async fn work(
    running: &mut Running,
    interrupt: &mut up::Interrupt,
    home: &Path,
    wanted: Wanted,
    timeout: u64,
    out: &Out,
) -> anyhow::Result<(TaskId, Option<Ended>, Exit)> {
    let asks = if out.asks() { Asks::Person } else { Asks::Nobody };
    let mut screen = Screen::here(&running.handle, home, asks, out).await?;
    running.start().await?;
    up::tell_unknown(running, out);
    let id = match wanted {
        Wanted::New(spec) => {
            let help = near(home, &spec);
            add(&running.handle, spec, help).await?
        }
        Wanted::Taken(id) => id,
    };
    screen.own = Some(id.clone());
    let exit = pump::until_idle(running, interrupt, &mut screen, home, timeout, out).await?;
    drop(screen);
    let task = id.clone();
    let ended = running.handle.look(move |state| {
        let task = state.work.tasks.get(&task)?;
        let denied = state.outages.denied.contains_key(&task.spec.id);
        let (stage, result, label) = (task.stage.clone(), task.result.clone(), task.label.clone());
        Some(Ended { stage, result, denied, label })
    });
    Ok((id, ended.await?, exit))
}

/// What to do about a request that is refused, which is for somebody who is not there.
fn near(home: &Path, spec: &Spec) -> String {
    let agents = view::agents(home);
    let ids = agents.iter().map(|agent| agent.id.as_str());
    let near = spec.assignee.as_ref().and_then(|to| formats::did_you_mean(to.as_str(), ids));
    near.map_or_else(
        || "`synod agent list` shows who there is".to_owned(),
        |near| format!("did you mean {near}?"),
    )
}

async fn add(handle: &Handle, spec: Box<Spec>, help: String) -> anyhow::Result<TaskId> {
    let added = handle.submit(Input::Person(PersonInput::AddTask { spec, by: person() })).await?;
    let taken = added.map_err(|refused| fail(Exit::Failed, refused.to_string(), help))?;
    Made::of(&taken).task.ok_or_else(|| anyhow::anyhow!("the request was taken and became no task"))
}

/// The daemon does the work; this gives it the request and waits for the answer. Gives back what is still wanted if the
/// daemon ended meanwhile.
fn with_daemon(home: &Path, wanted: Wanted, timeout: u64, out: &Out) -> anyhow::Result<Result<Exit, Wanted>> {
    let id = match wanted {
        Wanted::Taken(id) => id,
        Wanted::New(spec) => {
            let request = Request::Add { task: spec.clone(), by: person() };
            match web::client::ask(&wire::socket(home), &request) {
                Ok(Response::Done { task: Some(id), .. }) => TaskId::new(id),
                Ok(Response::Refused { reason } | Response::Bad { reason }) => {
                    return Err(fail(Exit::Failed, reason, near(home, &spec)));
                }
                Ok(
                    Response::Done { task: None, .. }
                    | Response::Live(_)
                    | Response::Waits(_)
                    | Response::Runs(_)
                    | Response::Awaited { .. },
                ) => return Err(pump::odd_answer()),
                Err(ClientError::Unreachable { .. }) => return Ok(Err(Wanted::New(spec))),
                Err(error) => return Err(pump::unreachable(&error)),
            }
        }
    };
    let Some(awaited) = await_shown(home, &id, timeout, out)? else {
        return Ok(Err(Wanted::Taken(id)));
    };
    let ended = awaited.task.map(|task| {
        let end = match task.mark.as_str() {
            "done" => Some(End::Done),
            "failed" => Some(End::Failed),
            "cancelled" => Some(End::Cancelled),
            _ => None,
        };
        let stage = end.map_or(TaskStage::Open, |end| TaskStage::Ended { end });
        Ended { stage, result: task.result, denied: task.denied, label: task.label }
    });
    Ok(Ok(answer(home, &id, ended, (awaited.exit, Next::Daemon), timeout, out)))
}

/// Waits as `pump` does, and shows meanwhile what the daemon does and asks.
fn await_shown(home: &Path, id: &TaskId, timeout: u64, out: &Out) -> anyhow::Result<Option<Awaited>> {
    if out.json {
        return pump::await_daemon(home, Some(id.as_str()), timeout);
    }
    let runtime = up::runtime()?;
    let awaited = runtime.block_on(watch(home, id, timeout, out));
    // Whoever waits for the daemon on a thread of its own is not waited for.
    runtime.shutdown_background();
    awaited
}

async fn watch(home: &Path, id: &TaskId, timeout: u64, out: &Out) -> anyhow::Result<Option<Awaited>> {
    let mut interrupt = up::Interrupt::listen()?;
    let Ok(following) = Following::begin(&wire::socket(home)).await else { return Ok(None) };
    let asks = if out.asks() { Asks::Person } else { Asks::Nobody };
    let mut screen = Screen::there(following, home, asks, out)?;
    screen.own = Some(id.clone());
    let began = Instant::now();
    loop {
        let (folder, task) = (home.to_owned(), id.clone());
        let left = timeout.saturating_sub(began.elapsed().as_secs());
        let mut waiting =
            tokio::task::spawn_blocking(move || pump::await_daemon(&folder, Some(task.as_str()), left));
        let mut follows = true;
        let awaited = loop {
            tokio::select! {
                () = interrupt.wait() => return Ok(Some(Awaited::interrupted())),
                awaited = &mut waiting => break awaited??,
                goes_on = screen.turn(), if follows => follows = goes_on,
            }
        };
        let Some(awaited) = awaited else { return Ok(None) };
        // What it knew when it answered is shown first; a daemon that does not say it must not hold this up.
        let caught_up = async { while screen.seq < awaited.seq && screen.turn().await {} };
        _ = tokio::time::timeout(CATCH_UP, caught_up).await;
        let is_over = awaited.task.as_ref().is_some_and(|task| task.ended);
        if is_over || !screen.is_asking() {
            return Ok(Some(awaited));
        }
        while screen.is_asking() {
            tokio::select! {
                () = interrupt.wait() => return Ok(Some(Awaited::interrupted())),
                goes_on = screen.turn() => if !goes_on { return Ok(None) },
            }
        }
    }
}

/// What became of the request.
struct Ended {
    stage: TaskStage,
    result: String,
    /// Whether a provider refused the key, or there is none.
    denied: bool,
    label: Label,
}

fn answer(
    home: &Path,
    id: &TaskId,
    ended: Option<Ended>,
    (exit, next): (Exit, Next),
    timeout: u64,
    out: &Out,
) -> Exit {
    let label = ended.as_ref().map(|ended| ended.label.clone()).filter(Label::counts);
    let (word, result, exit, kept) = match ended {
        Some(Ended { stage: TaskStage::Ended { end: End::Done }, result, .. }) => {
            ("done", result, Exit::Ok, Kept::default())
        }
        Some(Ended { stage: TaskStage::Ended { end }, result, denied, .. }) => {
            let exit = if denied { Exit::Key } else { Exit::Failed };
            (end.mark().as_str(), result, exit, Kept::default())
        }
        _ => {
            let kept = Kept::of(home, id);
            let exit = pump::with_chores(exit, kept.due.len());
            ("open", String::new(), if exit == Exit::Ok { Exit::Failed } else { exit }, kept)
        }
    };
    if out.json {
        let label = label.map(|label| label.to_string());
        let value = json!({ "task": id.as_str(), "status": word, "result": result, "label": label });
        out.value(kept.told_in(value));
    } else if exit == Exit::Waiting && kept.approvals == 0 && !kept.due.is_empty() {
        out.say(format!("{id} is not done: {}", pump::what_waits(&kept.tasks, &kept.due, next)));
    } else if exit == Exit::Waiting {
        out.say(format!("{id} waits for a person: see `synod inbox`, decide, {}", next.then()));
    } else if exit == Exit::Limit {
        out.say(format!(
            "{id} waits for a budget: `synod budget show` says which, `synod inbox` what you can do"
        ));
    } else if exit == Exit::Interrupted {
        let then = match next {
            Next::Daemon => "the daemon goes on with it".to_owned(),
            Next::Start => "`synod pump` goes on with it".to_owned(),
        };
        out.say(format!("stopped before {id} ended; {then}"));
    } else if exit == Exit::TimedOut && view::outages::say(home, out) {
        out.say(match next {
            Next::Daemon => format!("{id} waits for that; the daemon tries again by itself"),
            Next::Start => format!("{id} waits for that; go on with `synod pump` or `synod up`"),
        });
    } else if exit == Exit::TimedOut {
        let then = match next {
            Next::Daemon => "the daemon goes on",
            Next::Start => "go on with `synod pump`",
        };
        out.say(format!("{id} is not done within {timeout} s; {then}"));
    } else {
        out.line("");
        let said = if word == "open" { &kept.why } else { &result };
        out.line(format!("{id} {word}: {said}"));
        label.iter().for_each(|label| out.line(view::caution(label)));
    }
    exit
}

/// What keeps a request from being answered.
#[derive(Default)]
struct Kept {
    tasks: Tasks,
    /// What people must do first: what the request waits for, else all that is for them.
    due: Vec<usize>,
    /// Approvals that wait.
    approvals: usize,
    /// In words.
    why: String,
}

impl Kept {
    fn of(home: &Path, id: &TaskId) -> Self {
        let overview = Overview::read(home);
        let own = overview.tasks.find(id.as_str());
        let why = own.and_then(|own| overview.tasks.why(own, &overview.around())).unwrap_or_default();
        let all: Vec<usize> = overview.tasks.for_people().collect();
        let waits_for = |due: &usize| own.is_some_and(|own| overview.tasks.waits_for(own, *due));
        let needed: Vec<usize> = all.iter().copied().filter(waits_for).collect();
        let approvals = overview.approvals.waiting.len();
        Self { due: if needed.is_empty() { all } else { needed }, why, approvals, tasks: overview.tasks }
    }

    /// The answer for programs, with what there is to do.
    fn told_in(&self, mut value: Value) -> Value {
        value["why"] = json!(Some(&self.why).filter(|why| !why.is_empty()));
        let ids = self.due.iter().filter_map(|index| self.tasks.list[*index].id());
        value["tasks"] = json!(ids.collect::<Vec<_>>());
        value
    }
}
