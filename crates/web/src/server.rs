//! The server's side of the socket.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::approval::Answer;
use domain::event::Event;
use domain::event::{AgentEvent, OutageEvent, SessionEvent, TaskEvent};
use domain::id::{AgentId, ApprovalId, RunId, SessionId, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::run::Member;
use domain::state::State;
use engine::{Handle, Pulse, Taken};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};

use crate::api::{Lock, Queued, Request, Response, Run, RunBudget, RunMember, Talk, TaskView, Waits};
use crate::feed::Feed;
use crate::origin::{NOT_FROM_BELOW, Origin};
use crate::place;
use crate::state;

/// Connections that are served at once.
const CONNECTIONS_MAX: usize = 64;
/// The longest request.
const REQUEST_BYTES_MAX: u64 = 1 << 20;
/// The longest wait for a task.
const AWAIT_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// How long an answer waits for the files to say the same.
const PRINT_WAIT: Duration = Duration::from_secs(2);
/// How long a server that closes waits for its last answers; longer than an answer waits for the files.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Something about the files that takes a while.
pub type Deed = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Why nothing is taken and nothing begins, if that is so.
pub type Held = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The files of the home, as far as the server needs them.
#[derive(Clone)]
pub struct Files {
    /// Ends when all that people wrote so far was read.
    pub read: Deed,
    /// Ends when all that was decided so far stands there: whoever reads them next finds what the answer says.
    pub printed: Deed,
    /// All but looks is refused while there is a reason to.
    pub held: Held,
}

/// A bound socket; its file goes when it is dropped.
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    files: Option<Files>,
}

impl Server {
    /// Binds the socket. Whoever holds the home's lock may take the place of a dead process' socket.
    pub fn bind(path: &Path) -> std::io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = place::within(path, |name| UnixListener::bind(name))?;
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned(), files: None })
    }

    /// Keeps in step with the files.
    pub fn beside(mut self, files: Files) -> Self {
        self.files = Some(files);
        self
    }

    /// Serves until it is closed.
    pub fn spawn(self, handle: Handle) -> Serving {
        let (closing, closed) = watch::channel(false);
        let task = tokio::spawn(self.serve(handle, Closed(closed)));
        Serving { closing, task }
    }

    async fn serve(self, handle: Handle, mut closed: Closed) {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let next = async {
                let permit = room.clone().acquire_owned().await.ok()?;
                Some((self.listener.accept().await, permit))
            };
            let (accepted, permit) = tokio::select! {
                biased;
                () = closed.wait() => break,
                next = next => match next {
                    Some(next) => next,
                    None => break,
                },
            };
            match accepted {
                // The place became free because the server closes, and this task has not been woken for it yet.
                Ok(_) if closed.is_so() => break,
                Ok((stream, _)) => {
                    let (handle, closed) = (handle.clone(), closed.clone());
                    let files = self.files.clone();
                    connections.spawn(async move {
                        _ = talk(stream, handle, files, closed).await;
                        drop(permit);
                    });
                }
                // Out of descriptors, most likely: give others a chance to close theirs.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        // Whoever comes now finds nobody, and whoever was not read yet is hung up on: both know that nothing was taken.
        drop(self);
        while connections.join_next().await.is_some() {}
    }
}

/// A socket that is served.
pub struct Serving {
    closing: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Serving {
    /// Takes no more requests and answers those that were taken. To be called while the loop still goes.
    pub async fn close(mut self) {
        self.closing.send_replace(true);
        if tokio::time::timeout(LAST_WORDS, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// Tells connections that the server closes.
#[derive(Clone)]
struct Closed(watch::Receiver<bool>);

impl Closed {
    fn is_so(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when it does.
    async fn wait(&mut self) {
        // An error means that whoever could close it is gone.
        _ = self.0.wait_for(|closing| *closing).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}

async fn talk(
    stream: UnixStream,
    handle: Handle,
    files: Option<Files>,
    mut closed: Closed,
) -> std::io::Result<()> {
    // Now, while whoever connected is most likely still there.
    let origin = Origin::of(&stream);
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = String::new();
        let mut limited = (&mut read).take(REQUEST_BYTES_MAX);
        let got = tokio::select! {
            // What was read whole is taken, and answered.
            biased;
            read = tokio::time::timeout(SILENCE, limited.read_line(&mut line)) => read,
            () = closed.wait() => return Ok(()),
        };
        match got {
            Ok(Ok(0)) | Err(_) => return Ok(()),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(error),
        }
        let response = if line.ends_with('\n') {
            match serde_json::from_str::<Request>(&line) {
                Ok(Request::Follow) => return follow(read, write, &handle, closed).await,
                Ok(request) if !only_looks(&request) && !may_decide(&handle, origin).await => {
                    Response::Refused { reason: NOT_FROM_BELOW.to_owned() }
                }
                Ok(request) => match files.as_ref().and_then(|files| (files.held)()) {
                    Some(reason) if !goes_always(&request) => Response::Refused { reason },
                    Some(_) | None => {
                        if let (Some(files), Request::Mark { .. }) = (&files, &request) {
                            // A person says it of what stands there now: a plan, say, that they have just changed.
                            (files.read)().await;
                        }
                        answer(&handle, request, &mut closed).await
                    }
                },
                Err(error) => Response::Bad { reason: format!("not a request: {error}") },
            }
        } else {
            Response::Bad { reason: format!("a request is one line of at most {REQUEST_BYTES_MAX} bytes") }
        };
        let bad = matches!(response, Response::Bad { .. });
        if let Some(files) = &files
            && matches!(response, Response::Done { .. } | Response::Awaited { .. })
        {
            // A desk that has much to do, or a file that cannot be written, must not hold up the answer.
            _ = tokio::time::timeout(PRINT_WAIT, (files.printed)()).await;
        }
        let mut text = serde_json::to_string(&response).unwrap_or_default();
        text.push('\n');
        write.write_all(text.as_bytes()).await?;
        if bad {
            return Ok(());
        }
    }
}

/// Tells what happens, until one side closes the connection.
async fn follow(
    mut read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
    handle: &Handle,
    mut closed: Closed,
) -> std::io::Result<()> {
    let Ok(mut feed) = Feed::of(handle).await else { return Ok(()) };
    let mut said = [0; 1];
    loop {
        let news = tokio::select! {
            biased;
            news = feed.next() => news,
            // It has nothing more to say, so this is the end of it.
            _ = read.read(&mut said) => return Ok(()),
            () = closed.wait() => None,
        };
        let is_last = news.is_none();
        let left = if is_last { feed.left() } else { Vec::new() };
        for news in news.into_iter().chain(left) {
            let mut text = serde_json::to_string(&news).unwrap_or_default();
            text.push('\n');
            write.write_all(text.as_bytes()).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Whether a request only looks, or ends everything.
fn goes_always(request: &Request) -> bool {
    matches!(request, Request::Live | Request::Waits | Request::Stop)
}

/// Whether a request changes nothing at all.
fn only_looks(request: &Request) -> bool {
    matches!(
        request,
        Request::Live | Request::Waits | Request::Runs { .. } | Request::Await { .. } | Request::Follow
    )
}

/// Whether requests of this origin may change something. Where commands run without a sandbox, a process of which
/// nothing is known may be one of them.
async fn may_decide(handle: &Handle, origin: Origin) -> bool {
    match origin {
        Origin::Person => true,
        Origin::Below => false,
        Origin::Unknown => {
            handle.look(|state| !state.config.settings.sandbox.is_unsafe).await.unwrap_or(false)
        }
    }
}

async fn answer(handle: &Handle, request: Request, closed: &mut Closed) -> Response {
    match request {
        Request::Live => match handle.look(state::live).await {
            Ok(live) => Response::Live(live),
            Err(closed) => Response::Refused { reason: closed.to_string() },
        },
        Request::Answer { approval, approve, reason, by } => {
            let answer = if approve { Answer::Approved } else { Answer::Rejected { reason } };
            submit(
                handle,
                Input::Person(PersonInput::Answer {
                    approval: ApprovalId::new(approval),
                    answer,
                    by,
                    via: "cli".to_owned(),
                }),
            )
            .await
        }
        Request::Say { session, agent, text, urgency, by } => {
            let session = session.map(SessionId::new);
            let agent = AgentId::new(agent);
            let input = Input::Person(PersonInput::Say { session, agent, text, urgency, by, in_file: false });
            tell(handle, input, Made::of).await
        }
        Request::Add { task, by } => {
            tell(handle, Input::Person(PersonInput::AddTask { spec: task, by }), Made::of).await
        }
        Request::Mark { task, mark, why, by } => {
            submit(handle, Input::File(FileInput::TaskMarked { task: TaskId::new(task), mark, why, by }))
                .await
        }
        Request::Cancel { what, by } => submit(handle, Input::Person(PersonInput::Cancel { what, by })).await,
        Request::Retry { what, by } => {
            tell(handle, Input::Person(PersonInput::Retry { what, by }), Made::of).await
        }
        Request::CancelRun { run, by } => {
            submit(handle, Input::Person(PersonInput::CancelRun { run, by })).await
        }
        Request::Spawn { order, by } => {
            tell(handle, Input::Person(PersonInput::Spawn { order, by }), Made::of).await
        }
        Request::Terminate { agent, reason, by } => {
            submit(handle, Input::Person(PersonInput::Terminate { agent: AgentId::new(agent), reason, by }))
                .await
        }
        Request::Waits => match handle.look(waits).await {
            Ok(waits) => Response::Waits(Box::new(waits)),
            Err(closed) => Response::Refused { reason: closed.to_string() },
        },
        Request::Runs { of } => match handle.look(move |state| runs(state, of.as_deref())).await {
            Ok(runs) => Response::Runs(runs),
            Err(closed) => Response::Refused { reason: closed.to_string() },
        },
        Request::Free { lock, by } => {
            submit(handle, Input::Person(PersonInput::FreeLock { name: lock, by })).await
        }
        Request::Vouch { path, digest, by } => {
            submit(handle, Input::Person(PersonInput::TrustFile { path, digest, by })).await
        }
        Request::Await { task, ms_max } => wait(handle, task.map(TaskId::new), ms_max, closed).await,
        // Whoever asks for it gets more than one answer.
        Request::Follow => Response::Bad { reason: "what is followed has no one answer".to_owned() },
        Request::Stop => {
            handle.stop().await;
            Response::Done {
                seq: handle.pulse().borrow().seq.0,
                task: None,
                agent: None,
                sessions: Vec::new(),
                retried: Vec::new(),
            }
        }
    }
}

/// How long a command waits for providers that do not answer, while nothing else can be done.
pub struct Patience {
    most: Duration,
    until: Option<tokio::time::Instant>,
}

impl Patience {
    /// So long at most.
    pub fn new(ms_max: u64) -> Self {
        Self { most: Duration::from_millis(ms_max), until: None }
    }

    /// The loop has moved: time runs while a provider is out.
    pub fn look(&mut self, pulse: &Pulse) {
        match (pulse.offline, self.until) {
            (None, _) => self.until = None,
            (Some(_), None) => self.until = Some(tokio::time::Instant::now() + self.most),
            (Some(_), Some(_)) => {}
        }
    }

    /// Whether there is nothing to wait for, or it was waited for long enough.
    pub fn is_over(&self, pulse: &Pulse) -> bool {
        let is_late = self.until.is_some_and(|until| until <= tokio::time::Instant::now());
        pulse.offline.unwrap_or_default() == 0 || is_late
    }

    /// Until it was waited for long enough; for ever if nobody waits, or did long enough.
    pub async fn wait(&self) {
        match self.until.filter(|until| *until > tokio::time::Instant::now()) {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    }
}

/// Waits for a task, or for the loop to have nothing to do; looks again whenever the loop has moved.
async fn wait(handle: &Handle, task: Option<TaskId>, ms_max: u64, closed: &mut Closed) -> Response {
    let mut pulse = handle.pulse();
    let over = tokio::time::sleep(Duration::from_millis(ms_max.min(AWAIT_MS_MAX)));
    tokio::pin!(over);
    let mut timed_out = false;
    let most = handle.look(|state| state.config.settings.limits.outage_wait_ms_max).await.unwrap_or_default();
    let mut patience = Patience::new(most);
    loop {
        let now = *pulse.borrow_and_update();
        patience.look(&now);
        let wanted = task.clone();
        let seen = handle
            .look(move |state| wanted.and_then(|id| state.work.tasks.get(&id).map(|t| view(state, t))))
            .await;
        let view = match seen {
            Ok(view) => view,
            Err(closed) => return Response::Refused { reason: closed.to_string() },
        };
        if (now.idle && patience.is_over(&now)) || timed_out || view.as_ref().is_some_and(|v| v.ended) {
            return Response::Awaited {
                task: view,
                approvals: now.approvals,
                parked: now.parked,
                offline: now.offline.unwrap_or_default(),
                timed_out,
                seq: now.seq.0,
            };
        }
        tokio::select! {
            () = &mut over => timed_out = true,
            () = patience.wait() => {}
            () = closed.wait() => return Response::Refused { reason: engine::Closed.to_string() },
            changed = pulse.changed() => if changed.is_err() {
                return Response::Refused { reason: engine::Closed.to_string() };
            },
        }
    }
}

fn view(state: &State, task: &domain::state::Task) -> TaskView {
    TaskView {
        mark: state.mark_of(task).as_str().to_owned(),
        ended: task.is_ended(),
        result: task.result.clone(),
        denied: state.outages.denied.contains_key(&task.spec.id),
        label: task.label.clone(),
    }
}

async fn submit(handle: &Handle, input: Input) -> Response {
    tell(handle, input, |_| Made::default()).await
}

/// Gives an input, and tells what it made.
async fn tell(handle: &Handle, input: Input, made: impl FnOnce(&Taken) -> Made) -> Response {
    match handle.submit(input).await {
        Ok(Ok(taken)) => {
            let Made { task, agent, sessions, retried } = made(&taken);
            Response::Done {
                seq: taken.seq.0,
                task: task.map(|id| id.to_string()),
                agent: agent.map(|id| id.to_string()),
                sessions: sessions.iter().map(ToString::to_string).collect(),
                retried,
            }
        }
        Ok(Err(refused)) => Response::Refused { reason: refused.to_string() },
        Err(closed) => Response::Refused { reason: closed.to_string() },
    }
}

/// What an input made that whoever gave it has to know.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// A task.
    pub task: Option<TaskId>,
    /// An agent.
    pub agent: Option<AgentId>,
    /// The conversations in which somebody was spoken to.
    pub sessions: Vec<SessionId>,
    /// What is tried again, in words.
    pub retried: Vec<String>,
}

impl Made {
    /// As its own events tell it: others may want the same in the same moment.
    pub fn of(taken: &Taken) -> Self {
        let mut made = Self::default();
        for event in taken.events() {
            match event {
                Event::Task(TaskEvent::Added { spec, .. }) => made.task = Some(spec.id.clone()),
                Event::Agent(AgentEvent::Spawned { spec, .. }) => made.agent = Some(spec.id.clone()),
                Event::Task(TaskEvent::Reopened { task, .. }) => {
                    made.retried.push(format!("{task} is open again, from the start"));
                }
                Event::Task(TaskEvent::Started { task, session }) => {
                    made.retried.pop();
                    made.retried.push(format!("{task} is open again and goes on in {session}"));
                }
                Event::Outage(OutageEvent::Due { place, open: true, .. }) => {
                    made.retried.push(format!("{place} is tried again now"));
                }
                Event::Outage(OutageEvent::Due { place, open: false, .. }) => {
                    made.retried.push(format!("{place} is being tried right now"));
                }
                Event::Session(SessionEvent::MessageAdded { session, .. }) => {
                    made.sessions.push(session.clone())
                }
                _ => {}
            }
        }
        made
    }
}

/// Who waits for what, and who has which lock.
pub fn waits(state: &State) -> Waits {
    let agent = |id: &SessionId| state.sessions.get(id).map_or_else(String::new, |s| s.agent.to_string());
    let task = |id: &SessionId| state.sessions.get(id).and_then(|s| s.task.as_ref()).map(ToString::to_string);
    let open = state.team.agents.values().flat_map(|agent| &agent.sessions);
    let talk = |id: &SessionId| {
        let state = state.sessions.get(id)?.lifecycle.as_str().to_owned();
        Some((id.to_string(), Talk { agent: agent(id), task: task(id), state }))
    };
    let held = state.locks.all().filter_map(|(name, lock)| {
        let holder = lock.holder.as_ref()?;
        let queue = lock.queue.iter().map(|waiter| Queued {
            agent: agent(&waiter.session),
            session: waiter.session.to_string(),
            since: waiter.since.0,
            until: (waiter.due != domain::lock::NEVER).then_some(waiter.due.0),
        });
        Some(Lock {
            name: name.to_string(),
            agent: agent(&holder.session),
            session: holder.session.to_string(),
            task: task(&holder.session),
            since: holder.since.0,
            until: holder.until.map(|until| until.0),
            fence: holder.fence,
            kept: holder.kept,
            queue: queue.collect(),
        })
    });
    Waits {
        waits: domain::waits::edges(state),
        sessions: open.filter_map(talk).collect(),
        locks: held.collect(),
    }
}

/// All runs, the newest first; or that of a task, a session or a run, with its members, if it is known.
pub fn runs(state: &State, of: Option<&str>) -> Vec<Run> {
    let Some(of) = of else {
        let mut all: Vec<Run> = state.runs.by_id.iter().map(|(id, run)| run_view(state, id, run).0).collect();
        all.sort_by(|one, other| (other.began, &other.id).cmp(&(one.began, &one.id)));
        return all;
    };
    let by_id = |id: &RunId| state.runs.by_id.get_key_value(id);
    let found = by_id(&RunId::new(of))
        .or_else(|| state.runs.of_task(&TaskId::new(of)).and_then(by_id))
        .or_else(|| state.runs.of_session(&SessionId::new(of)).and_then(by_id));
    let shown = found.map(|(id, run)| {
        let (view, members) = run_view(state, id, run);
        Run { members, ..view }
    });
    shown.into_iter().collect()
}

/// A run without its members, and those.
fn run_view(state: &State, id: &RunId, run: &domain::run::Run) -> (Run, Vec<RunMember>) {
    let member = |(depth, member): (usize, Member)| match member {
        Member::Task(id) => {
            let task = state.work.tasks.get(&id)?;
            Some(RunMember {
                id: id.to_string(),
                kind: "task".to_owned(),
                depth,
                agent: task.spec.assignee.as_ref().map(ToString::to_string),
                state: state.mark_of(task).as_str().to_owned(),
                title: task.spec.title.clone(),
            })
        }
        Member::Session(id) => {
            let session = state.sessions.get(&id)?;
            Some(RunMember {
                id: id.to_string(),
                kind: "session".to_owned(),
                depth,
                agent: Some(session.agent.to_string()),
                state: session.lifecycle.as_str().to_owned(),
                title: String::new(),
            })
        }
    };
    let members: Vec<RunMember> = state.runs.tree(id).into_iter().filter_map(member).collect();
    let sessions = members.iter().filter(|member| member.kind == "session");
    let agents: BTreeSet<String> = sessions.filter_map(|member| member.agent.clone()).collect();
    let title = match &run.origin {
        Member::Task(id) => state.work.tasks.get(id).map_or_else(String::new, |task| task.spec.title.clone()),
        Member::Session(_) => String::new(),
    };
    let view = Run {
        id: id.to_string(),
        title,
        state: state.state_of_run(run),
        by: run.by.as_ref().map(ToString::to_string).unwrap_or_default(),
        mode: run.mode,
        began: run.began.0,
        ended: run.ended.map(|at| at.0),
        deadline: run.deadline.map(|at| at.0),
        counts: run.counts,
        spent: run.spent,
        agents: agents.into_iter().collect(),
        budget: run_budget(state, id),
        members: Vec::new(),
    };
    (view, members)
}

fn run_budget(state: &State, id: &RunId) -> RunBudget {
    let node = domain::budget::node_of_run(&state.config.settings, id.as_str());
    // The window of a run never closes, so any time will do.
    let (meter, raised) = (state.ledger.meter(&node, Time(0)), state.ledger.raised(&node, Time(0)));
    let most = |cap: Option<u64>, more: Option<u64>| Some(cap?.saturating_add(more.unwrap_or_default()));
    let cap = state.config.settings.budgets.run;
    RunBudget {
        name: node.name,
        tokens_max: most(cap.tokens, raised.tokens),
        tokens: meter.spent.tokens,
        tokens_reserved: meter.reserved.tokens,
        money_max: most(cap.money, raised.money),
        money: meter.spent.money,
        money_reserved: meter.reserved.money,
    }
}
