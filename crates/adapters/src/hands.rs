//! Hands: carries out effects on the async runtime. How many run at once is the domain's business; each one
//! ends in exactly one input, unless it is stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::agent;
use domain::budget::Held;
use domain::choices::{self, Choice};
use domain::context::{self, role_for_grants};
use domain::delegation;
use domain::effect::Effect;
use domain::gate::{Asker, may_use, may_use_foreign};
use domain::id::{AgentId, CallId, SessionId, Ticket};
use domain::input::{Failure, Input};
use domain::input::{ModelInput, ToolInput};
use domain::label::Label;
use domain::layout;
use domain::lock::Grant;
use domain::lock::workspace::{Hold, Room};
use domain::offer;
use domain::review::{self, Review};
use domain::session::{Message, is_due};
use domain::settings::{Provider, Settings};
use domain::state::{Stage, State, Step};
use domain::tool::foreign::{self, Offer};
use domain::tool::{self, Act, Call, Permit, Seen, Tool as _, Want};
use policy::Nature;
use ports::hands::Hands;
use ports::inputs::{Heard, Inputs};
use ports::model::{self, ErrorKind, ModelError, Progress, RawCall, Request};
use ports::tools::{Order, Outcome, Tools};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::context::{Answered, Context, Openings, Tally};
use crate::extract::{Beside, Extract};
use crate::files::Files;
use crate::model::{Models, Purse, Unused};
use crate::redact::{redact, redacted};
use crate::session::Conversation;
use crate::summarize;
use crate::tokens::Windows;
use crate::verbatim::Verbatim;

/// An unfinished answer is told of at most so often.
const HEARD_EVERY: Duration = Duration::from_millis(50);
/// And so much of its end.
const HEARD_BYTES_MAX: usize = 2_048;

/// Carries out effects with the models of the home's settings.
pub struct LocalHands {
    home: PathBuf,
    runtime: Handle,
    inputs: Arc<dyn Inputs>,
    files: Files,
    tools: Arc<dyn Tools>,
    models: Reach,
    windows: Windows,
    openings: Openings,
    running: BTreeMap<SessionId, Vec<Running>>,
    /// The tools of each role, described once: thousands of calls share them.
    described: BTreeMap<Described, Arc<[model::Tool]>>,
    /// What was offered in each conversation, as long as this process lives.
    offered: BTreeMap<SessionId, Vec<&'static str>>,
    verbatim: Verbatim,
}

/// The owner's commands for tests and checks, as far as they are offered.
type Commands = [Option<String>; 2];

/// The offers of so many conversations are remembered, then forgotten all at once.
const REMEMBERED_MAX: usize = 4096;

/// The models, made anew when the settings that name their providers change.
#[derive(Clone, Default)]
pub struct Reach(Arc<std::sync::Mutex<Option<Reached>>>);

struct Reached {
    providers: BTreeMap<String, Provider>,
    models: Arc<Models>,
}

impl Reach {
    /// Rules of scripts that never answered.
    pub fn unmatched(&self) -> Vec<Unused> {
        // A panic while the lock was held leaves nothing half done: the value is replaced whole.
        let reached = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        reached.as_ref().map(|r| r.models.unmatched()).unwrap_or_default()
    }

    /// The models as work under these terms calls them. What is wrong with a script that changed is told.
    fn models(&self, home: &std::path::Path, terms: &Settings, files: &Files) -> Arc<Models> {
        let mut reached = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = reached.as_ref().filter(|r| r.providers == terms.providers).map(|r| r.models.clone());
        let models = match known {
            Some(models) if !models.are_current(home) => {
                let (models, wrong) = models.called(&terms.models).reread(home, terms);
                for (script, error) in wrong {
                    files.complain(&script, format!("{error}; the script stays as it was"));
                }
                Arc::new(models)
            }
            Some(models) if models.are_called(&terms.models) => return models,
            Some(models) => Arc::new(models.called(&terms.models)),
            None => Arc::new(Models::new(home, terms)),
        };
        *reached = Some(Reached { providers: terms.providers.clone(), models: models.clone() });
        models
    }
}

/// The names of tools, and the ids that their arguments may have.
type Described = (Vec<&'static str>, Commands, Vec<Choice>);

/// So many sets of tools are kept.
const DESCRIBED_MAX: usize = 1_000;

struct Running {
    is_model: bool,
    abort: AbortHandle,
}

impl LocalHands {
    /// Hands for one home, working on `runtime`.
    pub fn new(
        home: PathBuf,
        runtime: Handle,
        inputs: Arc<dyn Inputs>,
        files: Files,
        tools: Arc<dyn Tools>,
        models: Reach,
    ) -> Self {
        let (windows, openings, verbatim) = (Windows::default(), Openings::default(), Verbatim::default());
        let (running, described, offered) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            home,
            runtime,
            inputs,
            files,
            tools,
            models,
            windows,
            openings,
            running,
            described,
            offered,
            verbatim,
        }
    }

    fn start(
        &mut self,
        session: SessionId,
        is_model: bool,
        work: impl Future<Output = Input> + Send + 'static,
    ) {
        let inputs = self.inputs.clone();
        let task = self.runtime.spawn(async move {
            let outcome = work.await;
            inputs.give(outcome).await;
        });
        let running = self.running.entry(session).or_default();
        running.retain(|r| !r.abort.is_finished());
        running.push(Running { is_model, abort: task.abort_handle() });
    }

    fn call_model(
        &mut self,
        state: &State,
        ticket: Ticket,
        session: SessionId,
        agent: &agent::Spec,
        (turn, reserved): (u32, Option<(u64, u64)>),
    ) {
        let falls_back = state.sessions.get(&session).is_some_and(|s| s.pace.fallback_until.is_some());
        let model = agent.model.fallback.as_ref().filter(|_| falls_back).unwrap_or(&agent.model.primary);
        let terms = state.terms_of(&session);
        let role = terms.role(&agent.role);
        let label = Label::owner();
        // What was taken from the agent since the session began is not offered to it either.
        let now = state.sessions.get(&session).and_then(|session| state.rights_now(session));
        let asker = Asker { now, ..Asker::at_rest(agent, role, &label) };
        let names = self.offered(state, &session);
        let is_due = is_due(state, &session);
        let foreign = may_use_foreign(&asker, &state.foreign);
        // What its tool would not give it is not told to it either.
        let gets = tool::facts(context::TOOL_GET).is_some_and(|f| may_use(&asker, f.name, f.needs).is_ok());
        let now = state.team.agents.get(&agent.id).filter(|_| gets);
        let grants_role = now.and_then(|now| role_for_grants(&now.spec)).map(str::to_owned);
        let ask = Ask {
            inputs: self.inputs.clone(),
            files: self.files.clone(),
            models: self.models.models(&self.home, terms, &self.files),
            tools: self.tools.clone(),
            context: Context::new(
                self.home.clone(),
                state,
                &session,
                agent,
                (self.windows.clone(), self.openings.clone()),
            )
            .with_contexts(grants_role)
            .within(reserved.map(|(tokens_in, _)| tokens_in)),
            conversation: self.files.unwritten(&session),
            review: state.sessions.get(&session).and_then(|s| review::of_session(state, s)).cloned(),
            session: session.clone(),
            request: Request {
                agent: agent.id.clone(),
                model: model.clone(),
                system: String::new(),
                messages: Vec::new(),
                tools: self.described(names, agent.workspace.as_ref(), choices::of(state, agent), foreign),
                turn,
                // What a budget reserved for the answer is also asked for, or the answer could pass it.
                max_tokens: agent
                    .answer_max(terms.answer_max(model))
                    .or_else(|| reserved.and_then(|(_, tokens_out)| u32::try_from(tokens_out).ok())),
                temperature: agent.model.temperature,
                thinking: agent.model.thinking.clone(),
                schema: None,
                is_due,
                progress: overheard(self.inputs.clone(), session.clone()),
            },
            foreign: state.foreign.clone(),
            verbatim: self.verbatim.clone(),
            ms_max: terms.limits.model_ms_max,
        };
        self.start(session, true, ask.run(ticket));
    }

    /// The tools of a request, with those that were offered in the conversation before.
    fn offered(&mut self, state: &State, session: &SessionId) -> Vec<&'static str> {
        let home = offer::Home {
            has_contexts: has_entry(&self.home.join(layout::CONTEXTS), layout::GRANTS_END),
            has_memory: has_entry(&self.home.join(layout::MEMORY), ""),
        };
        let before = self.offered.get(session).map(Vec::as_slice).unwrap_or_default();
        let names = offer::tools(state, session, home, before);
        if self.offered.len() >= REMEMBERED_MAX {
            self.offered.clear();
        }
        self.offered.insert(session.clone(), names.clone());
        names
    }

    fn described(
        &mut self,
        names: Vec<&'static str>,
        workspace: Option<&agent::Workspace>,
        mut choices: Vec<Choice>,
        foreign: Vec<&Offer>,
    ) -> Arc<[model::Tool]> {
        let command = |name: &str, of: fn(&agent::Workspace) -> Option<&String>| {
            workspace.and_then(of).filter(|_| names.contains(&name)).cloned()
        };
        let commands = [
            command(tool::RunTests::NAME, |own| own.test.as_ref()),
            command(tool::Lint::NAME, |own| own.lint.as_ref()),
        ];
        choices.retain(|choice| names.contains(&choice.tool));
        // A team that changes all the time leaves nothing behind.
        if self.described.len() >= DESCRIBED_MAX {
            self.described.clear();
        }
        let tools = &self.tools;
        let described = |(names, [test, lint], choices): &Described| {
            let with_command = |mut tool: model::Tool| {
                let command = match tool.name.as_str() {
                    tool::RunTests::NAME => test,
                    tool::Lint::NAME => lint,
                    _ => &None,
                };
                if let Some(command) = command {
                    tool.description = format!("{} The command: {}", tool.description, command.trim());
                }
                with_ids(tool, choices)
            };
            tools.describe(names).into_iter().map(with_command).collect()
        };
        let own = self.described.entry((names, commands, choices)).or_insert_with_key(described);
        if foreign.is_empty() {
            return own.clone();
        }
        let foreign = foreign.into_iter().map(|found| model::Tool {
            name: found.name.clone(),
            description: found.description.clone(),
            schema: found.schema.to_string(),
        });
        own.iter().cloned().chain(foreign).collect()
    }

    fn run_tool(
        &mut self,
        state: &State,
        ticket: Ticket,
        session: SessionId,
        agent: &agent::Spec,
        call: Call,
        (permit, locks, hold): (Permit, Vec<Grant>, Option<Hold>),
    ) {
        let tools = self.tools.clone();
        let limits = &state.terms_of(&session).limits;
        let (ms_max, output_bytes_max) = (limits.tool_ms_max, limits.output_bytes_max);
        let role = role_for_grants(agent).map(str::to_owned);
        let line = delegation::line(state, &session);
        let agent = agent.id.clone();
        let hidden = domain::label::hidden_from(state, &agent, layout::MEMORY);
        let files = self.files.clone();
        let review = review::of_call(state, &session, &call).cloned().map(Box::new);
        let approved = is_approved(state, &session, &call);
        let verbatim = self.verbatim.clone();
        self.start(session.clone(), false, async move {
            // An agent reads what it wrote: a task made a moment ago stands in its file before a tool looks.
            files.written().await;
            let outcome = match call.want {
                Want::Act(judged) => {
                    let act = verbatim.act(&session, &call.id, &call.arguments, judged);
                    let seen = call.seen;
                    let order = Order {
                        ticket,
                        agent,
                        role,
                        line,
                        act,
                        seen,
                        permit,
                        approved,
                        locks,
                        hold,
                        ms_max,
                        output_bytes_max,
                        hidden,
                        review,
                    };
                    tools.run(order).await
                }
                Want::Invalid { error, .. } => Outcome::failed(error),
            };
            let Outcome { ok, text, read, wrote, finding } = outcome;
            let finding = finding.map(Box::new);
            let text = redacted(text);
            Input::Tool(ToolInput::Finished {
                session,
                call: call.id,
                ticket,
                ok,
                text,
                read,
                wrote,
                finding,
            })
        });
    }

    /// Looks once more at what a call depends on. Like a model call, it is dropped when Synod winds down.
    fn look(&mut self, state: &State, ticket: Ticket, session: SessionId, agent: AgentId, call: Arc<Call>) {
        self.tools.settle(&state.config.settings);
        let review = state.sessions.get(&session).and_then(|s| review::of_session(state, s)).cloned();
        let tools = self.tools.clone();
        self.start(session.clone(), true, async move {
            let seen = seen(tools.as_ref(), review.as_ref(), &agent, &call.want).await;
            Input::Tool(ToolInput::Looked { session, call: call.id.clone(), ticket, seen })
        });
    }

    fn extract(&mut self, state: &State, ticket: Ticket, session: SessionId, agent: &AgentId, call: Call) {
        let Want::Act(Act::Extract(tool::Extract { path, question, answer: closed })) = call.want.clone()
        else {
            return;
        };
        let refused = closed.problem().or_else(|| for_others(state, agent, [&path]));
        let Some(spec) = spec_of(state, &session) else { return };
        let beside = self.beside(state, (ticket, &session), agent, &call, &spec.model.primary);
        let known = closed.known(state);
        self.start_beside((ticket, session, call.id), refused, async move {
            Extract { beside, path, question, closed, known }.run().await
        });
    }

    fn summarize(&mut self, state: &State, ticket: Ticket, session: SessionId, agent: &AgentId, call: Call) {
        let Want::Act(Act::Summarize(wish)) = call.want.clone() else { return };
        let refused = for_others(state, agent, &wish.paths);
        let Some(spec) = spec_of(state, &session) else { return };
        let model = state.terms_of(&session).summary_model(spec);
        let beside = self.beside(state, (ticket, &session), agent, &call, model);
        self.start_beside((ticket, session, call.id), refused, summarize::run(beside, wish));
    }

    /// What a call of `agent` asks a model with beside its conversation.
    fn beside(
        &self,
        state: &State,
        (ticket, session): (Ticket, &SessionId),
        agent: &AgentId,
        call: &Call,
        model: &str,
    ) -> Beside {
        let reserved = state.ledger.held(session, call.id.as_str()).map(Held::tokens);
        let terms = state.terms_of(session);
        let limits = &terms.limits;
        Beside {
            tools: self.tools.clone(),
            models: self.models.models(&self.home, terms, &self.files),
            request: Request {
                agent: agent.clone(),
                model: model.to_owned(),
                system: String::new(),
                messages: Vec::new(),
                tools: [].into(),
                turn: 1,
                max_tokens: None,
                temperature: None,
                thinking: None,
                schema: None,
                is_due: false,
                progress: Default::default(),
            },
            order: Order {
                ticket,
                agent: agent.clone(),
                role: None,
                line: Vec::new(),
                act: Act::read_file(String::new()),
                seen: None,
                permit: Permit::NONE,
                approved: false,
                locks: Vec::new(),
                hold: None,
                ms_max: limits.tool_ms_max,
                output_bytes_max: limits.output_bytes_max,
                hidden: Vec::new(),
                review: review::of_call(state, session, call).cloned().map(Box::new),
            },
            purse: Purse::new(
                self.inputs.clone(),
                (session.clone(), call.id.clone()),
                model.to_owned(),
                reserved,
                limits.model_ms_max,
            ),
        }
    }

    /// Runs a call that asks a model, unless it is refused. Like a model call, it is dropped when Synod winds down, and asked
    /// again on the next start.
    fn start_beside(
        &mut self,
        (ticket, session, call): (Ticket, SessionId, CallId),
        refused: Option<String>,
        work: impl Future<Output = Outcome> + Send + 'static,
    ) {
        self.start(session.clone(), refused.is_none(), async move {
            let outcome = match refused {
                Some(why) => Outcome::failed(why),
                None => work.await,
            };
            let Outcome { ok, text, read, wrote, finding } = outcome;
            let (text, finding) = (redacted(text), finding.map(Box::new));
            Input::Tool(ToolInput::Finished { session, call, ticket, ok, text, read, wrote, finding })
        });
    }

    /// Nobody can stop this half way; a process that ends before it is done does it again on its next start.
    fn clean_up(&self, agent: AgentId, workspace: Option<agent::Workspace>) {
        let (inputs, home) = (self.inputs.clone(), self.home.clone());
        self.runtime.spawn(async move {
            let whose = agent.clone();
            let clean = move || crate::git::workspace::clean_up(&home, &whose, workspace.as_ref());
            let kept =
                tokio::task::spawn_blocking(clean).await.unwrap_or_else(|error| vec![error.to_string()]);
            inputs.give(Input::Tool(ToolInput::CleanedUp { agent, kept })).await;
        });
    }

    fn stop(&mut self, session: &SessionId) {
        for running in self.running.remove(session).unwrap_or_default() {
            running.abort.abort();
        }
    }
}

impl Hands for LocalHands {
    fn perform(&mut self, state: &State, effect: Effect) {
        match effect {
            Effect::CallModel { ticket, session, agent, turn, reserved } => match spec_of(state, &session) {
                Some(spec) => {
                    // What its calls depend on is looked at by the settings of now.
                    self.tools.settle(&state.config.settings);
                    self.call_model(state, ticket, session, spec, (turn, reserved));
                }
                None => {
                    let reason = format!("there is no agent {agent} any more");
                    let failed = Input::Model(ModelInput::Failed {
                        session: session.clone(),
                        ticket,
                        reason,
                        failure: Failure::GiveUp,
                    });
                    self.start(session, true, async move { failed });
                }
            },
            Effect::RunTool { ticket, session, agent, call, .. }
                if matches!(call.want, Want::Act(Act::Extract(_))) =>
            {
                self.extract(state, ticket, session, &agent, Arc::unwrap_or_clone(call));
            }
            Effect::RunTool { ticket, session, agent, call, .. }
                if matches!(call.want, Want::Act(Act::Summarize(_))) =>
            {
                self.summarize(state, ticket, session, &agent, Arc::unwrap_or_clone(call));
            }
            Effect::RunTool { ticket, session, agent, call, permit, locks, hold } => {
                let spec = state.team.agents.get(&agent).map(|a| a.spec.clone());
                let spec = spec.unwrap_or_else(|| agent::Spec::new(agent, "", ""));
                self.tools.settle(&state.config.settings);
                self.run_tool(
                    state,
                    ticket,
                    session,
                    &spec,
                    Arc::unwrap_or_clone(call),
                    (permit, locks, hold),
                );
            }
            Effect::Look { ticket, session, agent, call } => self.look(state, ticket, session, agent, call),
            Effect::Fence(grant) => self.tools.fence(&grant),
            Effect::CleanUp { agent, workspace } => self.clean_up(agent, workspace),
            Effect::Stop { session } => self.stop(&session),
        }
    }

    fn wind_down(&mut self) {
        for running in self.running.values().flatten().filter(|r| r.is_model) {
            running.abort.abort();
        }
    }

    fn abort(&mut self) {
        for running in self.running.values().flatten() {
            running.abort.abort();
        }
        self.running.clear();
    }
}

/// Why an agent may not have a model read a file for it: what a model says of a file is still about that file.
fn for_others<'a>(
    state: &State,
    agent: &AgentId,
    paths: impl IntoIterator<Item = &'a String>,
) -> Option<String> {
    paths.into_iter().find_map(|path| {
        let label = domain::label::of_place(state, path);
        (!label.readers.include(agent)).then(|| format!("{path} is for others to see ({label})"))
    })
}

/// Whether a folder has an entry whose name ends so.
fn has_entry(folder: &Path, end: &str) -> bool {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.into_iter().any(|name| name.as_encoded_bytes().ends_with(end.as_bytes()))
}

/// A tool with the ids that its arguments may have.
fn with_ids(tool: model::Tool, choices: &[Choice]) -> model::Tool {
    let mut choices = choices.iter().filter(|choice| choice.tool == tool.name).peekable();
    if choices.peek().is_none() {
        return tool;
    }
    let schema = tool::shown_schema(&tool.name, |schema| choices.for_each(|choice| choice.put_into(schema)));
    model::Tool { schema: schema.unwrap_or_default(), ..tool }
}

/// Whether a person said yes to a call that runs.
fn is_approved(state: &State, session: &SessionId, call: &Call) -> bool {
    let stage = state.sessions.get(session).map(|session| &session.stage);
    let Some(Stage::Acting { calls, .. }) = stage else { return false };
    let step = calls.iter().find(|pending| pending.call.id == call.id).map(|pending| &pending.step);
    matches!(step, Some(Step::Running { approved: true, .. }))
}

/// A call with paths relative to the home in place of the agent's spellings.
async fn located(tools: &Arc<dyn Tools>, folder: &str, call: Call, is_settled: bool) -> Call {
    let Want::Act(act) = call.want.clone() else { return call };
    let (tools, folder) = (tools.clone(), folder.to_owned());
    let work = move || tools.locate(&folder, act, is_settled);
    match tokio::task::spawn_blocking(work).await {
        Ok(act) => Call { want: Want::Act(act), ..call },
        // It panicked; the gate refuses what is not a path.
        Err(_) => call,
    }
}

/// What a call depends on, as it is now.
async fn seen(tools: &dyn Tools, review: Option<&Review>, agent: &AgentId, want: &Want) -> Option<Seen> {
    match (want, review) {
        (Want::Act(act), Some(review)) => tools.look_in(review, agent, act).await,
        (Want::Act(act), None) => tools.look(agent, act).await,
        (Want::Invalid { .. }, _) => None,
    }
}

/// Progress that is told to whoever wants to know what a model says, a few times a second.
fn overheard(inputs: Arc<dyn Inputs>, session: SessionId) -> Progress {
    // Whoever panics in between leaves a moment that is whole.
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    Progress::watched(Arc::new(move |text, usage| {
        if !inputs.is_overheard() {
            return;
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < HEARD_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        let (bytes, tail) = settled(text);
        inputs.overhear(Heard { session: session.clone(), bytes, tail, usage });
    }))
}

/// The end of an unfinished text without credentials, and how long all of it is. The last word may be half of one.
fn settled(text: &str) -> (usize, String) {
    let whole = text.rfind(char::is_whitespace).map_or("", |end| &text[..end]);
    let clean = redact(whole);
    let mut from = clean.len().saturating_sub(HEARD_BYTES_MAX);
    while !clean.is_char_boundary(from) {
        from += 1;
    }
    (clean.len(), clean[from..].to_owned())
}

/// One model call.
struct Ask {
    inputs: Arc<dyn Inputs>,
    files: Files,
    models: Arc<Models>,
    tools: Arc<dyn Tools>,
    context: Context,
    session: SessionId,
    /// What was said, if it stood in no file when the call began. Nobody waits for the desk then, which may have
    /// a thousand files to write first.
    conversation: Option<Conversation>,
    /// What it is there to answer, if it looks at the work of another.
    review: Option<Review>,
    request: Request,
    /// What foreign servers offer.
    foreign: foreign::Known,
    verbatim: Verbatim,
    ms_max: u64,
}

impl Ask {
    async fn run(self, ticket: Ticket) -> Input {
        let Self {
            inputs,
            files,
            models,
            tools,
            context,
            session,
            conversation,
            review,
            request,
            foreign,
            verbatim,
            ms_max,
        } = self;
        let failed =
            |session, reason, failure| Input::Model(ModelInput::Failed { session, ticket, reason, failure });
        let conversation = match conversation {
            Some(conversation) => Some(conversation),
            None => files.conversation(&session).await,
        };
        let Some(conversation) = conversation else {
            let reason = format!("{} is gone", layout::session_file(&session));
            return failed(session, reason, Failure::GiveUp);
        };
        let agent = request.agent.clone();
        let room = if review.is_some() { Room::Review } else { Room::Own };
        // Once more on the way out: a person may have written a credential into the file.
        let conversation = Conversation {
            messages: conversation.messages.into_iter().map(without_credentials).collect(),
            ..conversation
        };
        let model = request.model.clone();
        let unpaid = Unpaid { inputs, session: session.clone(), tally: Tally::default() };
        let answered = context.ask(models.as_ref(), request, conversation, ms_max, &unpaid.tally).await;
        unpaid.pay().await;
        match answered {
            Ok(Answered::Reply { reply, read }) => {
                let mut calls = Vec::with_capacity(reply.calls.len());
                verbatim.begin(&session);
                let folder = room.folder(&agent);
                let mut is_settled = true;
                for (number, written) in reply.calls.into_iter().enumerate() {
                    let raw = RawCall { arguments: redacted(written.arguments.clone()), ..written.clone() };
                    let is_clean = raw.arguments == written.arguments;
                    let call = match foreign.find(&raw.name) {
                        Some(found) => tools.read_foreign(raw, number, found),
                        None => tools.read(raw, number),
                    };
                    if !is_clean && foreign.find(&written.name).is_none() {
                        verbatim.keep(&session, &call, tools.read(written, number));
                    }
                    let call = located(&tools, &folder, call, is_settled).await;
                    is_settled &= tool::facts(call.want.tool()).is_some_and(|f| f.nature == Nature::Read);
                    let seen = seen(tools.as_ref(), review.as_ref(), &agent, &call.want).await;
                    calls.push(call.seeing(seen));
                }
                let usage = reply.usage;
                let text = redacted(reply.text);
                Input::Model(ModelInput::Replied { session, ticket, text, calls, model, usage, read })
            }
            // It is kept first; then the model is asked again, with the summary.
            Ok(Answered::Summary { through, text, model, usage }) => {
                let text = redacted(text);
                Input::Model(ModelInput::Summarised { session, ticket, through, text, model, usage })
            }
            Ok(Answered::Unsummarised) => Input::Model(ModelInput::Unsummarised { session, ticket }),
            Ok(Answered::Outgrown { tokens_in }) => {
                Input::Model(ModelInput::Outgrown { session, ticket, tokens_in })
            }
            Err(ModelError { kind, message, usage: _ }) => failed(session, redacted(message), failure(kind)),
        }
    }
}

/// What a turn used of models without an answer. It is told also if the turn is stopped in the middle.
struct Unpaid {
    inputs: Arc<dyn Inputs>,
    session: SessionId,
    tally: Tally,
}

impl Unpaid {
    async fn pay(&self) {
        for (model, usage) in self.tally.take() {
            let session = self.session.clone();
            self.inputs.give(Input::Model(ModelInput::Spent { session, call: None, model, usage })).await;
        }
    }
}

impl Drop for Unpaid {
    fn drop(&mut self) {
        let Self { inputs, session, tally } = self;
        let left: Vec<Input> = tally
            .take()
            .into_iter()
            .map(|(model, usage)| {
                Input::Model(ModelInput::Spent { session: session.clone(), call: None, model, usage })
            })
            .collect();
        // Without a runtime the process is at its end, and so is whoever counts.
        let Ok(runtime) = Handle::try_current() else { return };
        let inputs = inputs.clone();
        if !left.is_empty() {
            runtime.spawn(async move {
                for spent in left {
                    inputs.give(spent).await;
                }
            });
        }
    }
}

fn without_credentials(mut message: Message) -> Message {
    message.content = redacted(message.content);
    for call in &mut message.calls {
        call.arguments = redacted(std::mem::take(&mut call.arguments));
    }
    message
}

/// Lets this process have as many open files as the system allows it: every model call that waits is one, and the
/// usual limit of 1,024 is there for the sake of programs that cannot count further.
pub fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // What is refused leaves the limit as it is.
    _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn failure(kind: ErrorKind) -> Failure {
    match kind {
        ErrorKind::Retry { after_ms } => Failure::Retry { after_ms },
        ErrorKind::Limited { after_ms } => Failure::Limited { after_ms },
        ErrorKind::Outage { after_ms } => Failure::Outage { after_ms },
        ErrorKind::Down => Failure::Down,
        ErrorKind::Denied => Failure::Denied,
        ErrorKind::TooLong | ErrorKind::GiveUp => Failure::GiveUp,
    }
}

/// What a session's agent was when it began.
fn spec_of<'a>(state: &'a State, session: &SessionId) -> Option<&'a agent::Spec> {
    state.sessions.get(session).and_then(|session| state.spec_of(session))
}
