//! The tools of a home: reading calls, and carrying out what the gate let through. Nothing here decides whether
//! an act is allowed; that paths stay beneath the home and off its control files is held here as a second line.

mod arguments;
mod command;
mod content;
mod evidence;
mod fences;
mod files;
mod found_lines;
mod kept;
mod meaning;
mod outbox;
mod own;
mod placeholders;
mod reach;
mod replacement;
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
use domain::tool::foreign::Offer;
use domain::tool::{self, Act, Call, Permit, Runs, Seen};
use ports::clock::Clock;
use ports::model::{RawCall, Tool};
use ports::tools::{Order, Outcome, Tools};

use crate::beneath::Root;
use crate::git::workspace::{Workspace, Workspaces};
use crate::sandbox::Sandbox;
use crate::search::Index;
use crate::until::Until;
use crate::{contexts, git, text};
use meaning::{Meaning, Near, Settled};
use reviews::Need;

/// Carries out the acts of one tool. Implemented for the arguments of the tool, in a file of its name.
#[async_trait]
trait Performer: tool::Tool + Clone + Send + Sync + 'static {
    /// Whether an approval is for the files that an act changes, as they are when it is asked for.
    const BINDS_FILES: bool = false;

    /// What an act needs of the reviewer's checkout, if its conversation is there to answer a review; `None` if it is the
    /// same act as anywhere.
    fn needs(&self) -> Option<Need> {
        None
    }

    /// What an act depends on in the world, in one of the agent's folders: an approval is for that.
    async fn look(&self, toolbox: &Toolbox, agent: &AgentId, _room: Room) -> Option<Seen> {
        let (root, exact) = (Arc::clone(&toolbox.root), Arc::clone(&toolbox.exact));
        let (agent, act) = (agent.clone(), self.clone());
        let look = move || Ok(own::look_at_paths((&root, &exact), &agent, act, Self::BINDS_FILES));
        blocking(look).await.ok().flatten()
    }

    /// Carries out an act that the gate let through.
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome;

    /// The same for a review, with what it needs of the checkout.
    async fn perform_on(
        self,
        toolbox: &Toolbox,
        order: Order,
        _review: Review,
        _checkout: Workspace,
    ) -> Outcome {
        self.perform(toolbox, order).await
    }
}

/// Makes the tables of all performers.
macro_rules! performers {
    ($($module:ident::$tool:ident,)*) => {
        $(mod $module;)*

        fn needs(act: &Act) -> Option<Need> {
            match act {
                $(Act::$tool(tool) => tool.needs(),)*
                _ => None,
            }
        }

        async fn see(toolbox: &Toolbox, agent: &AgentId, room: Room, act: &Act) -> Option<Seen> {
            match act {
                $(Act::$tool(tool) => tool.look(toolbox, agent, room).await,)*
                _ => None,
            }
        }

        async fn perform(toolbox: &Toolbox, order: Order) -> Outcome {
            match order.act.clone() {
                $(Act::$tool(tool) => tool.perform(toolbox, order).await,)*
                other => Outcome::failed(format!("{} is carried out inside", other.tool())),
            }
        }

        async fn perform_on(toolbox: &Toolbox, order: Order, review: Review, checkout: Workspace) -> Outcome {
            match order.act.clone() {
                $(Act::$tool(tool) => tool.perform_on(toolbox, order, review, checkout).await,)*
                other => Outcome::failed(format!("{} is carried out inside", other.tool())),
            }
        }
    };
}

performers! {
    read_file::ReadFile,
    list_directory::ListDirectory,
    search_files::SearchFiles,
    grep::Grep,
    write_file::WriteFile,
    edit_file::EditFile,
    delete_file::DeleteFile,
    move_file::MoveFile,
    create_directory::CreateDirectory,
    execute_command::ExecuteCommand,
    git_commit::GitCommit,
    git_diff::GitDiff,
    git_update::GitUpdate,
    run_tests::RunTests,
    lint::Lint,
    request_review::RequestReview,
    merge_branch::MergeBranch,
    query_tasks::QueryTasks,
    memory_search::MemorySearch,
    extract::Extract,
    summarize::Summarize,
    context_get::ContextGet,
    context_put::ContextPut,
    list_sessions::ListSessions,
    read_session::ReadSession,
    slack_read::SlackRead,
    slack_send::SlackSend,
    email_send::EmailSend,
    check::Check,
    foreign::Foreign,
}

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
        let outcome =
            command::execute(Arc::clone(&self.root), sandbox, order, command, (permit, trust.clone())).await;
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
        order: &Order,
        work: impl FnOnce(&Root, &Until) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.look_by(&Arc::new(self.exact.for_agent(&order.folder())), order.ms_max, work).await
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

    /// Which files a search shows to an agent.
    fn may_see(&self, agent: AgentId) -> impl Fn(&str) -> bool + Send + Sync + 'static {
        let trust = self.settled.trust();
        move |path| {
            let is_closed = policy::command::is_secret(path) || layout::is_others_session(path, &agent);
            !is_closed && trust.may_see(&agent, path)
        }
    }

    /// One search, with the files that it shows.
    async fn search(&self, order: &Order, wanted: search::Wanted) -> Outcome {
        let (ms_max, bytes_max, agent) = (order.ms_max, order.output_bytes_max, order.agent.clone());
        let (index, wanted) = (Arc::clone(&self.index), Arc::new(wanted));
        let asked = Arc::clone(&wanted);
        let work = move |root: &Root, until: &Until| search::rank(root, &index, &asked, until);
        let ranking = match self.look_exactly(order, work).await {
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
        let (may_see, folder) = (self.may_see(agent), order.folder());
        let work = move |root: &Root, _: &Until| {
            Ok(search::answer(&root.for_agent(&folder), &wanted, ranking, near, &may_see, bytes_max))
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
        folder: &str,
        work: impl FnOnce(&Root) -> files::Answer + Send + 'static,
    ) -> files::Answer {
        let root = self.exact.for_agent(folder);
        blocking(move || work(&root)).await
    }

    /// Runs blocking work that sends something out: one at a time.
    async fn post(&self, work: impl FnOnce(&Root) -> files::Answer + Send + 'static) -> files::Answer {
        let outbox = Arc::clone(&self.outbox);
        self.change(move |root| {
            // The lock guards no data that a panic could leave half changed.
            let _one = outbox.lock().unwrap_or_else(PoisonError::into_inner);
            work(root)
        })
        .await
    }

    /// The proof that an order still has its locks, for the moment in which it changes something.
    fn pass(&self, order: &Order) -> fences::Pass {
        self.fences.pass(order.locks.iter().chain(order.hold.iter().map(|hold| &hold.grant)))
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

    fn read_foreign(&self, raw: RawCall, number: usize, found: &Offer) -> Call {
        arguments::read_foreign(raw, number, found)
    }

    fn locate(&self, folder: &str, act: Act, is_settled: bool) -> Act {
        self.root.for_agent(folder).spelled(act, is_settled)
    }

    async fn look(&self, agent: &AgentId, act: &Act) -> Option<Seen> {
        see(self, agent, Room::Own, act).await
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
    /// Carries out one act where it belongs.
    async fn carry_out(&self, order: Order) -> Outcome {
        match self.get_ready(&order).await {
            Ok(()) => perform(self, order).await,
            Err(error) => Outcome::failed(error),
        }
    }

    /// Makes the agent's workspace what it should be, if the act begins there.
    async fn get_ready(&self, order: &Order) -> Result<(), String> {
        match &order.hold {
            Some(hold) => self.begin(order, hold.clone()).await,
            None if uses_workspace(order) => self.workspace(&order.agent).await.map(|_| ()),
            None => Ok(()),
        }
    }
}

fn told(answer: files::Answer) -> Outcome {
    match answer {
        Ok(text) => Outcome::done(text),
        Err(text) => Outcome::failed(text),
    }
}

/// What was seen of an act. What cannot be looked at is asked for, and fails when it runs.
fn looked(seen: Result<Seen, String>) -> Option<Seen> {
    Some(seen.unwrap_or_else(|why| Seen { notes: vec![why], ..Seen::default() }))
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
    if let Runs::Command(_) = order.act.runs() {
        return order.room() == Room::Own;
    }
    let (own, paths) = (layout::workspace(&order.agent), order.act.paths());
    // Whoever reads before it writes finds its checkout, too.
    paths.iter().any(|path| {
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let path = parts.join("/");
        path == own || layout::is_inside(&path, &own)
    })
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
