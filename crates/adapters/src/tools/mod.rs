//! The tools of a home: reading calls, and carrying out what the gate let through. Nothing here decides whether
//! an act is allowed; that paths stay beneath the home and off its control files is held here as a second line.

mod arguments;
mod command;
mod content;
mod email;
mod evidence;
mod fences;
mod files;
mod kept;
mod meaning;
mod outbox;
mod own;
mod reach;
mod reviews;
mod search;
mod sessions;
mod slack;
pub mod tasks_sql;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::context::Asker;
use domain::id::AgentId;
use domain::layout;
use domain::lock::Grant;
use domain::lock::workspace::{Hold, Room};
use domain::review::Review;
use domain::settings::Settings;
use domain::tool::{
    Act, ApproveWork, Call, Check, ContextGet, ContextPut, CreateDirectory, CreatePlan, CreateTask, Delegate,
    EmailSend, ExecuteCommand, Extract, GitCommit, GitDiff, GitUpdate, Lint, ListDirectory, ListSessions,
    Lock, MemorySearch, MergeBranch, Permit, QueryTasks, RaiseBudget, ReadFile, ReadSession, RequestReview,
    RunTests, SearchFiles, Seen, SendMessage, SlackRead, SlackSend, SpawnAgent, TerminateAgent, Unlock,
    UpdateTask, WriteFile,
};
use ports::clock::Clock;
use ports::model::{RawCall, Tool};
use ports::tools::{Order, Outcome, Tools};

use crate::beneath::Root;
use crate::git::workspace::{Workspace, Workspaces};
use crate::redact::redacted;
use crate::sandbox::Sandbox;
use crate::search::Index;
use crate::until::Until;
use crate::{contexts, git, text};
use meaning::{Meaning, Near, Settled};

/// So much of what a commit would change is shown to a person.
const PATCH_BYTES_MAX: usize = 16 << 10;
/// How long it may take to see what a commit would change.
const LOOK_MS_MAX: u64 = 60_000;

/// All tools of one home.
pub struct Toolbox {
    root: Arc<Root>,
    /// The same, for paths that agents name: they were resolved when they were judged.
    exact: Arc<Root>,
    clock: Arc<dyn Clock>,
    index: Arc<Index>,
    settled: Arc<Settled>,
    /// Looking into the outbox and adding to it is one step.
    outbox: Arc<Mutex<()>>,
    fences: Arc<fences::Fences>,
    contexts: Arc<contexts::Store>,
    sandbox: Option<Arc<Sandbox>>,
    workspaces: Arc<Workspaces>,
    /// Who looks at work has one checkout for that, and a merge is one step.
    reviews: reviews::Turns,
}

impl Toolbox {
    /// The tools of a home; the clock stamps what goes out.
    pub fn new(home: PathBuf, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let root = Arc::new(Root::open(&home)?);
        let exact = Arc::new(Root::without_links(&home)?);
        let contexts = Arc::new(contexts::Store::open(&home)?);
        let workspaces = Arc::new(Workspaces::of(root.path()));
        Ok(Self {
            root,
            exact,
            clock,
            index: Arc::default(),
            settled: Arc::default(),
            outbox: Arc::default(),
            fences: Arc::default(),
            contexts,
            sandbox: None,
            workspaces,
            reviews: reviews::Turns::default(),
        })
    }

    /// The same tools, with a sandbox; without one, no command is run.
    #[must_use]
    pub fn caged(self, sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox: Some(sandbox), ..self }
    }

    /// The agent's workspace, made on first use. The error tells the agent and people what is wrong.
    pub async fn workspace(&self, agent: &AgentId) -> Result<Workspace, String> {
        let (workspaces, agent) = (Arc::clone(&self.workspaces), agent.clone());
        blocking(move || workspaces.ensure(&agent)).await
    }

    /// Makes the agent's workspace that of the work which holds it.
    async fn begin(&self, order: &Order, hold: Hold) -> Result<(), String> {
        let (workspaces, agent) = (Arc::clone(&self.workspaces), order.agent.clone());
        let (until, pass) = (Until::ms(order.ms_max), self.fences.pass([&hold.grant]));
        blocking(move || git::work::begin(&workspaces, &agent, &hold, &until, || pass.check())).await
    }

    async fn command(&self, order: &Order, command: &str, permit: Permit) -> Outcome {
        let Some(sandbox) = self.sandbox.clone() else {
            return Outcome::failed("no commands are run here, because nothing was set up to run them in");
        };
        // The checkout of a review was made for this very call.
        if order.room() == Room::Own
            && let Err(error) = self.workspace(&order.agent).await
        {
            return Outcome::failed(error);
        }
        let (folder, trust) = (order.room().folder(&order.agent), self.settled.trust());
        let read = || {
            let (at, shown, text) = (self.root.path().join(&folder), folder.clone(), command.to_owned());
            let rules = reach::Rules::in_folder(&trust, &folder);
            blocking(move || Ok(rules.of_command(&at, &shown, &text)))
        };
        // Before and after: it may take away what it read, and read what it made.
        let before = read().await.unwrap_or_default();
        let outcome = command::execute(Arc::clone(&self.root), sandbox, order, command, permit).await;
        let after = read().await.unwrap_or_default();
        let read: BTreeSet<String> = before.into_iter().chain(after).collect();
        read.into_iter().fold(outcome, Outcome::reading)
    }

    /// Ends what commands of this home left running when its daemon was killed, and says how much it was. For
    /// the start, once this process has the home's lock. Blocks.
    pub fn end_left_over(&self) -> usize {
        command::end_left_over(&self.root)
    }

    /// Runs blocking work of one order that changes nothing, until its time is over or nobody waits for it.
    async fn look_at<T: Send + 'static>(
        &self,
        ms_max: u64,
        work: impl FnOnce(&Root, &Until) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.look_by(&self.root, ms_max, work).await
    }

    /// The same, at a path that an agent names.
    async fn look_exactly<T: Send + 'static>(
        &self,
        ms_max: u64,
        work: impl FnOnce(&Root, &Until) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.look_by(&self.exact, ms_max, work).await
    }

    async fn look_by<T: Send + 'static>(
        &self,
        root: &Arc<Root>,
        ms_max: u64,
        work: impl FnOnce(&Root, &Until) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let until = Until::ms(ms_max);
        let _guard = until.guard();
        let root = Arc::clone(root);
        let work = blocking(move || work(&root, &until));
        match tokio::time::timeout(std::time::Duration::from_millis(ms_max), work).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("it took longer than {ms_max} ms")),
        }
    }

    /// Carries out an act that looks at the home and changes nothing.
    async fn find(&self, order: &Order) -> Outcome {
        let (ms_max, bytes_max) = (order.ms_max, order.output_bytes_max);
        match order.act.clone() {
            Act::ReadFile(ReadFile { path, from_line, lines }) => {
                let part = files::Part::new(from_line, lines);
                let work =
                    move |root: &Root, until: &Until| files::read_file(root, &path, part, bytes_max, until);
                shown(self.look_exactly(ms_max, work).await)
            }
            Act::ListDirectory(ListDirectory { path }) => {
                let work = move |root: &Root, _: &Until| files::list_directory(root, &path, bytes_max);
                shown(self.look_exactly(ms_max, work).await)
            }
            Act::SearchFiles(SearchFiles { query, path }) => {
                let place = path.map_or_else(
                    || search::Place::Usual(order.room().folder(&order.agent)),
                    search::Place::At,
                );
                self.search(order, search::Wanted { query, place, limit: None }).await
            }
            Act::MemorySearch(MemorySearch { query, limit }) => {
                let wanted = search::Wanted { query, place: search::Place::Memory, limit };
                self.search(order, wanted).await
            }
            Act::ListSessions(ListSessions { agent, status, limit }) => {
                let which = sessions::Which { agent, status, limit };
                let work =
                    move |root: &Root, until: &Until| sessions::list_sessions(root, &which, bytes_max, until);
                told(self.look_at(ms_max, work).await).reading(sessions::NAMES)
            }
            Act::ReadSession(ReadSession { session, last }) => {
                let work =
                    move |root: &Root, _: &Until| sessions::read_session(root, &session, last, bytes_max);
                shown(self.look_at(ms_max, work).await)
            }
            Act::QueryTasks(QueryTasks { sql }) => {
                let work = move |root: &Root, until: &Until| tasks_sql::answer(root, &sql, bytes_max, until);
                told(self.look_at(ms_max, work).await).reading("tasks")
            }
            Act::SlackRead(SlackRead { limit }) => {
                let work = move |root: &Root, _: &Until| slack::slack_read(root, limit, bytes_max);
                told(self.look_at(ms_max, work).await).reading(slack::MESSAGES)
            }
            other => Outcome::failed(format!("{} does more than look", other.tool())),
        }
    }

    /// One search, with the files that it shows.
    async fn search(&self, order: &Order, wanted: search::Wanted) -> Outcome {
        let (ms_max, bytes_max, agent) = (order.ms_max, order.output_bytes_max, order.agent.clone());
        let (index, wanted) = (Arc::clone(&self.index), Arc::new(wanted));
        let asked = Arc::clone(&wanted);
        let work = move |root: &Root, until: &Until| search::rank(root, &index, &asked, until);
        let ranking = match self.look_exactly(ms_max, work).await {
            Ok(ranking) => ranking,
            Err(text) => return Outcome::failed(text),
        };
        let meaning = Meaning {
            root: Arc::clone(&self.root),
            index: Arc::clone(&self.index),
            settled: Arc::clone(&self.settled),
            scopes: ranking.scopes.clone(),
            query: wanted.query.clone(),
        };
        let near = if ranking.scopes.is_empty() { Near::default() } else { meaning.find(ms_max / 2).await };
        let trust = self.settled.trust();
        let work = move |root: &Root, _: &Until| {
            let may_see = |path: &str| {
                let is_closed = policy::command::is_secret(path) || layout::is_others_session(path, &agent);
                !is_closed && trust.may_see(&agent, path)
            };
            Ok(search::answer(root, &wanted, ranking, near, &may_see, bytes_max))
        };
        match self.look_at(ms_max, work).await {
            Ok((text, places)) => places.into_iter().fold(Outcome::done(text), Outcome::reading),
            Err(text) => Outcome::failed(text),
        }
    }

    /// What a grant shows of a shared context.
    async fn context_get(&self, order: Order, name: String, field: Option<String>) -> Outcome {
        let (store, now) = (Arc::clone(&self.contexts), self.clock.now());
        let work = move || {
            let asker = Asker { agent: &order.agent, role: order.role.as_deref(), line: &order.line };
            Ok(match contexts::get(&store, contexts::At { asker, now }, &name, field.as_deref()) {
                Ok((text, place)) => Outcome::done(text::head(text, order.output_bytes_max)).reading(place),
                Err(refused) => not_granted(refused),
            })
        };
        blocking(work).await.unwrap_or_else(Outcome::failed)
    }

    /// Writes a shared context as far as a grant goes.
    async fn context_put(&self, order: Order, name: String, change: contexts::Change) -> Outcome {
        let hidden_place = domain::context::places(&name)
            .into_iter()
            .find(|place| !self.settled.trust().may_see(&order.agent, place));
        if let Some(place) = hidden_place {
            return Outcome::failed(format!(
                "refused: trust.secret in synod.yaml leaves {} out of those who may see {place}; leave it to who may",
                order.agent
            ));
        }
        let (store, now) = (Arc::clone(&self.contexts), self.clock.now());
        let work = move || {
            let asker = Asker { agent: &order.agent, role: order.role.as_deref(), line: &order.line };
            let at = contexts::At { asker, now };
            Ok(match contexts::put(&store, at, &name, &change, order.seen.as_ref(), order.ticket) {
                Ok(put) => put.wrote.into_iter().fold(Outcome::done(put.text), Outcome::writing),
                Err(refused) => not_granted(refused),
            })
        };
        blocking(work).await.unwrap_or_else(Outcome::failed)
    }

    /// Runs blocking work that changes something. It is short, and is never given up half way.
    async fn change(&self, work: impl FnOnce(&Root) -> files::Answer + Send + 'static) -> files::Answer {
        let root = Arc::clone(&self.root);
        blocking(move || work(&root)).await
    }

    /// The same, at a path that an agent names.
    async fn change_exactly(
        &self,
        work: impl FnOnce(&Root) -> files::Answer + Send + 'static,
    ) -> files::Answer {
        let root = Arc::clone(&self.exact);
        blocking(move || work(&root)).await
    }

    /// Moves the agent's branch, in its workspace.
    async fn git(&self, order: &Order, act: Act, pass: fences::Pass) -> files::Answer {
        let (agent, workspaces) = (order.agent.clone(), Arc::clone(&self.workspaces));
        let (effect, ms_max) = (order.ticket.effect, order.ms_max);
        // An approval is for the changes that it showed.
        let approved = order.approved.then(|| order.seen.clone().unwrap_or_default());
        self.change(move |_| {
            let (place, until) = (workspaces.ensure(&agent)?, Until::ms(ms_max));
            pass.check()?;
            match act {
                Act::GitCommit(GitCommit { message, paths }) => {
                    let check = |parts| match &approved {
                        Some(before) => own::check_parts(before, parts),
                        None => Ok(()),
                    };
                    git::tools::commit(&place, &agent, effect, (&message, &paths), check, &until)
                }
                Act::GitUpdate(GitUpdate { take_back: true }) => git::update::take_back(&place),
                _ => git::update::update(&place, &agent, effect, &until),
            }
        })
        .await
    }

    /// The same, for what goes out: one at a time.
    async fn post(&self, work: impl FnOnce(&Root) -> files::Answer + Send + 'static) -> files::Answer {
        let outbox = Arc::clone(&self.outbox);
        self.change(move |root| {
            // The lock guards no data that a panic could leave half changed.
            let _one = outbox.lock().unwrap_or_else(PoisonError::into_inner);
            work(root)
        })
        .await
    }

    /// What an act depends on, in one of the agent's folders.
    async fn see(&self, agent: &AgentId, room: Room, act: &Act) -> Option<Seen> {
        let (root, agent) = (Arc::clone(&self.root), agent.clone());
        let seen = match act.clone() {
            Act::ExecuteCommand(ExecuteCommand { command }) => {
                let sandbox = self.sandbox.clone()?;
                blocking(move || command::look::look(&root, &sandbox, (&agent, room), &command)).await
            }
            act @ (Act::RunTests(RunTests {}) | Act::Lint(Lint {})) => {
                let sandbox = self.sandbox.clone()?;
                blocking(move || own::look(&root, &sandbox, (&agent, room), &act)).await
            }
            Act::ContextPut(ContextPut { context, content: Some(_), .. }) => {
                let contexts = Arc::clone(&self.contexts);
                return blocking(move || Ok(contexts::look(&contexts, &context))).await.ok().flatten();
            }
            Act::GitCommit(GitCommit { paths, .. }) if room == Room::Own => {
                let (workspaces, folder) =
                    (Arc::clone(&self.workspaces), root.path().join(room.folder(&agent)));
                let look = move || match folder.is_dir() {
                    true => {
                        let place = workspaces.ensure(&agent)?;
                        git::tools::look(&place, &paths, PATCH_BYTES_MAX, &Until::ms(LOOK_MS_MAX))
                    }
                    false => Err("there is no workspace yet".to_owned()),
                };
                // A yes to what cannot be shown is a yes to nothing.
                let (parts, patch) = blocking(look).await.unwrap_or_else(|why| (Vec::new(), why));
                return Some(Seen { parts, patch: Some(redacted(patch)), sandbox: true, ..Seen::default() });
            }
            act if act.path().is_some() => {
                return blocking(move || Ok(own::look_at_path(&root, &agent, &act))).await.ok().flatten();
            }
            _ => return None,
        };
        // What cannot be looked at is asked for, and fails when it runs.
        Some(seen.unwrap_or_else(|why| Seen { notes: vec![why], ..Seen::default() }))
    }
}

#[async_trait]
impl Tools for Toolbox {
    fn describe(&self, names: &[&str]) -> Vec<Tool> {
        arguments::describe(names)
    }

    fn read(&self, raw: RawCall, number: usize) -> Call {
        arguments::read(raw, number)
    }

    async fn look(&self, agent: &AgentId, act: &Act) -> Option<Seen> {
        self.see(agent, Room::Own, act).await
    }

    async fn look_in(&self, review: &Review, agent: &AgentId, act: &Act) -> Option<Seen> {
        reviews::look(self, review, agent, act).await
    }

    fn settle(&self, settings: &Settings) {
        self.settled.take(settings);
        if let Some(sandbox) = &self.sandbox {
            sandbox.settle(&settings.sandbox);
        }
    }

    fn fence(&self, grant: &Grant) {
        self.fences.raise(grant);
    }

    async fn run(&self, order: Order) -> Outcome {
        match order.review.clone() {
            Some(review) => reviews::run(self, order, *review).await,
            None => self.carry_out(order).await,
        }
    }
}

impl Toolbox {
    /// Carries out one act where it belongs: for a review, its checkout is there.
    async fn carry_out(&self, order: Order) -> Outcome {
        let (ms_max, bytes_max, ticket) = (order.ms_max, order.output_bytes_max, order.ticket);
        let ready = match &order.hold {
            Some(hold) => self.begin(&order, hold.clone()).await,
            None if uses_workspace(&order) => self.workspace(&order.agent).await.map(|_| ()),
            None => Ok(()),
        };
        if let Err(error) = ready {
            return Outcome::failed(error);
        }
        let pass = self.fences.pass(order.lock.iter().chain(order.hold.iter().map(|hold| &hold.grant)));
        let answer = match order.act.clone() {
            Act::ReadFile(ReadFile { .. })
            | Act::ListDirectory(ListDirectory { .. })
            | Act::SearchFiles(SearchFiles { .. })
            | Act::MemorySearch(MemorySearch { .. })
            | Act::ListSessions(ListSessions { .. })
            | Act::ReadSession(ReadSession { .. })
            | Act::QueryTasks(QueryTasks { .. })
            | Act::SlackRead(SlackRead { .. }) => return self.find(&order).await,
            Act::WriteFile(WriteFile { path, content }) => {
                let (agent, seen) = (order.agent.clone(), order.seen.clone());
                self.change_exactly(move |root| {
                    own::check_file(root, &agent, seen.as_ref(), &path, &content)?;
                    files::write_file(root, ticket, &path, &content, &pass)
                })
                .await
            }
            Act::ContextGet(ContextGet { context, field }) => {
                return self.context_get(order, context, field).await;
            }
            Act::ContextPut(ContextPut { context, content, field, value }) => {
                return match contexts::Change::of(content, field, value) {
                    Ok(change) => self.context_put(order, context, change).await,
                    Err(text) => Outcome::failed(text),
                };
            }
            Act::CreateDirectory(CreateDirectory { path }) => {
                self.change_exactly(move |root| {
                    pass.check().and_then(|()| files::create_directory(root, &path))
                })
                .await
            }
            Act::SlackSend(SlackSend { channel, text }) => {
                let at = self.clock.now();
                self.post(move |root| slack::slack_send(root, ticket.effect, at, &channel, &text)).await
            }
            Act::EmailSend(EmailSend { to, subject, text }) => {
                let at = self.clock.now();
                let mail = email::Mail { to, subject, text };
                self.post(move |root| email::email_send(root, ticket.effect, at, &mail)).await
            }
            Act::Extract(Extract { .. }) => Err("extract is answered by a model".to_owned()),
            Act::RaiseBudget(RaiseBudget { .. }) => Err("raise_budget is for people".to_owned()),
            Act::Check(Check { evidence, .. }) => return evidence::check(self, order, evidence).await,
            Act::ExecuteCommand(ExecuteCommand { command }) => {
                return self.command(&order, &command, order.permit).await;
            }
            act @ (Act::GitCommit(GitCommit { .. }) | Act::GitUpdate(GitUpdate { .. })) => {
                self.git(&order, act, pass).await
            }
            Act::GitDiff(GitDiff { path, against }) => {
                let (agent, workspaces) = (order.agent.clone(), Arc::clone(&self.workspaces));
                let work = move |_: &Root, until: &Until| {
                    let place = workspaces.ensure(&agent)?;
                    git::tools::diff(&place, path.as_deref(), against.as_deref(), bytes_max, until)
                };
                let own = layout::workspace(&order.agent);
                let rules = reach::Rules::in_folder(&self.settled.trust(), &own);
                return match self.look_at(ms_max, work).await {
                    Ok((text, files)) => {
                        let outcome = Outcome::done(text).reading(own.as_str());
                        rules.of_files(&own, files).into_iter().fold(outcome, Outcome::reading)
                    }
                    Err(why) => Outcome::failed(why).reading(own),
                };
            }
            Act::RunTests(RunTests {}) | Act::Lint(Lint {}) => {
                let (root, agent, act) = (Arc::clone(&self.root), order.agent.clone(), order.act.clone());
                let now = self.see(&agent, order.room(), &act).await;
                let changed = order.seen.as_ref().zip(now).and_then(|(before, now)| match order.approved {
                    true => content::difference(before, &now),
                    // Nobody said yes to what it works on.
                    false => own::of_words(before).difference(&own::of_words(&now)),
                });
                match blocking(move || own::command(&root, &agent, &act)).await {
                    Ok(_) if changed.is_some() => Err(own::void(&changed.unwrap_or_default())),
                    Ok(command) => return self.command(&order, &command, own::PERMIT).await,
                    Err(error) => Err(error),
                }
            }
            Act::RequestReview(RequestReview { .. }) => return reviews::submit(self, &order).await,
            Act::MergeBranch(MergeBranch { review }) => {
                Err(format!("not merged: {review} is not approved any more"))
            }
            Act::ApproveWork(ApproveWork { .. })
            | Act::CreatePlan(CreatePlan { .. })
            | Act::CreateTask(CreateTask { .. })
            | Act::UpdateTask(UpdateTask { .. })
            | Act::SendMessage(SendMessage { .. })
            | Act::Lock(Lock { .. })
            | Act::Unlock(Unlock { .. })
            | Act::Delegate(Delegate { .. })
            | Act::SpawnAgent(SpawnAgent { .. })
            | Act::TerminateAgent(TerminateAgent { .. }) => {
                Err(format!("{} is carried out inside", order.act.tool()))
            }
        };
        placed(told(answer), order)
    }
}

/// An outcome with the place that its order is about.
fn placed(outcome: Outcome, order: Order) -> Outcome {
    match order.act {
        Act::WriteFile(WriteFile { path, .. }) | Act::CreateDirectory(CreateDirectory { path }) => {
            outcome.writing(path)
        }
        // Even a commit answers with the names of files.
        Act::GitCommit(GitCommit { .. }) | Act::GitUpdate(GitUpdate { .. }) => {
            outcome.reading(layout::workspace(&order.agent))
        }
        _ => outcome,
    }
}

fn told(answer: files::Answer) -> Outcome {
    match answer {
        Ok(text) => Outcome::done(text),
        Err(text) => Outcome::failed(text),
    }
}

/// Why a shared context is not shown or written; what it says about the content has the content's label.
fn not_granted(refused: contexts::Refused) -> Outcome {
    refused.place.into_iter().fold(Outcome::failed(refused.text), Outcome::reading)
}

/// What was found, with the place it was found in.
fn shown(found: files::Found) -> Outcome {
    match found {
        Ok((text, place)) => Outcome::done(text).reading(place),
        Err(text) => Outcome::failed(text),
    }
}

/// Whether an act begins in the agent's workspace, which must be what it should be before anything is put into it.
fn uses_workspace(order: &Order) -> bool {
    let own = layout::workspace(&order.agent);
    match &order.act {
        Act::ExecuteCommand(ExecuteCommand { .. }) => order.room() == Room::Own,
        // Whoever reads before it writes finds its checkout, too.
        Act::WriteFile(WriteFile { path, .. })
        | Act::CreateDirectory(CreateDirectory { path })
        | Act::ReadFile(ReadFile { path, .. })
        | Act::ListDirectory(ListDirectory { path })
        | Act::SearchFiles(SearchFiles { path: Some(path), .. }) => {
            let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
            layout::is_inside(&parts.join("/"), &own)
        }
        _ => false,
    }
}

/// Runs work that blocks where it blocks nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(format!("the work was lost: {e}")),
    }
}
