//! One model call: build the request, make room for it if need be, ask, and learn from what comes back.

use std::time::Duration;

use domain::id::MessageId;
use domain::layout;
use domain::message;
use domain::usage::Usage;
use ports::clock::Clock as _;
use ports::model::{ErrorKind, Model, ModelError, Reply, Request};
use tokio::sync::Semaphore;

use super::fit::{self, Plan};
use super::history::History;
use super::piece::{Asker, Piece};
use super::sources;
use super::{Context, Tally, opening, summary, system};
use crate::beneath::Root;
use crate::clock::SystemClock;
use crate::redact::redact;
use crate::session::Conversation;
use crate::tokens;

/// Room for an answer of which nobody said how long it may be.
const ANSWER_TOKENS: u64 = 4_096;
/// The answer has at most this part of the window.
const ANSWER_SHARE: u64 = 4;
/// What files say has at most this part of the window.
const FILES_SHARE: u64 = 4;
/// And never more bytes than this.
const FILES_BYTES_MAX: usize = 65_536;
/// The conversation has at least this part of the window, whatever else there is.
const HISTORY_SHARE: u64 = 4;
/// So many calls read files at the same time.
static READERS: Semaphore = Semaphore::const_new(8);
/// A request that is refused as too long is made shorter so often.
const SHORTER_MAX: usize = 1;

/// How often silence is looked at before it is too long.
const LOOKS: u64 = 20;

/// What came of a call.
pub(crate) enum Answered {
    /// The model answered.
    Reply {
        reply: Reply,
        /// The places, beside the conversation, whose content it was given.
        read: Vec<String>,
    },
    /// It was not asked yet: what is older must be summarised first, and was.
    Summary { through: MessageId, text: String, model: String, usage: Usage },
    /// It was not asked yet: a summary was to be had first, took something, and is of no use.
    Unsummarised,
    /// It was not asked: its budget has not reserved so much.
    Outgrown { tokens_in: u64 },
}

impl Context {
    /// Asks with what the session file says. `request` has all but the text. What was used without an answer is in the tally,
    /// also that of an error.
    pub(crate) async fn ask(
        mut self,
        models: &dyn Model,
        request: Request,
        conversation: Conversation,
        ms_max: u64,
        tally: &Tally,
    ) -> Result<Answered, ModelError> {
        let window = self.windows.of(&self.known.config.settings, &request.model, &self.session);
        let pieces = self.openings.settled(&self.session, self.pieces(window).await);
        let read: Vec<String> = pieces.iter().flat_map(|piece| piece.read.iter().cloned()).collect();
        let workspace = self.room.folder(&self.agent.id);
        let system = system::text(&redact(&conversation.system), &self.agent, &workspace, &self.team);
        let mut messages = conversation.messages;
        message::leave_unread(&mut messages, self.first_unread);
        let history = History::of(messages, layout::session_file(&self.session));
        let request =
            Request { system, messages: opening::message(&pieces).into_iter().collect(), ..request };
        let mut shorter = 0;
        loop {
            let room = self.room(&request);
            let messages = match fit::plan(&history, room, self.may_summarise) {
                Plan::Send(messages) => messages,
                Plan::Summarise { until } => {
                    if let Some(tokens_in) = self.summary_outgrows(&history, until, &request.model) {
                        return Ok(Answered::Outgrown { tokens_in });
                    }
                    match self.summarise(models, &history, until, &request.model, (ms_max, tally)).await {
                        Some(summary) => return Ok(summary),
                        // What is left of the reservation may be too little for the call itself.
                        None if self.tokens_in_max.is_some() && !tally.is_nothing() => {
                            return Ok(Answered::Unsummarised);
                        }
                        None => {
                            self.may_summarise = false;
                            continue;
                        }
                    }
                }
            };
            let messages = [request.messages.clone(), messages].concat();
            let whole = Request { messages, ..request.clone() };
            let (model, estimated) = (whole.model.clone(), tokens::of_request(&whole));
            if let Some(tokens_in) = self.outgrows(estimated) {
                return Ok(Answered::Outgrown { tokens_in });
            }
            match within(models, whole, (ms_max, tally)).await {
                Ok(reply) => {
                    self.windows.counted(&self.session, estimated, reply.usage.tokens_in);
                    return Ok(Answered::Reply { reply, read });
                }
                Err(ModelError { kind: ErrorKind::TooLong, .. }) if shorter < SHORTER_MAX => {
                    self.windows.refused(&model, estimated);
                    shorter += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The tokens of a request, if they are more than its budget has reserved.
    fn outgrows(&self, estimated: u64) -> Option<u64> {
        let tokens_in = self.windows.expected(&self.session, estimated);
        self.tokens_in_max.filter(|most| tokens_in > *most).map(|_| tokens_in)
    }

    fn summary_outgrows(&self, history: &History, until: usize, model: &str) -> Option<u64> {
        let model = self.known.config.settings.context.summary_model.as_deref().unwrap_or(model);
        let window = self.windows.of(&self.known.config.settings, model, &self.session);
        let wanted = summary::request(&self.agent, history, until, model, window)?;
        self.outgrows(tokens::of_request(&wanted.request))
    }

    /// What files say, read where waiting for a disk holds up nobody.
    async fn pieces(&self, window: u64) -> Vec<Piece> {
        let bytes_max = usize::try_from(window / FILES_SHARE * tokens::BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let (home, agent, known) = (self.home.clone(), self.agent.clone(), self.known.clone());
        let (grants_role, line, room) = (self.grants_role.clone(), self.line.clone(), self.room);
        // A thousand calls that begin at once must not become a thousand threads.
        let turn = READERS.acquire().await;
        let pieces = tokio::task::spawn_blocking(move || {
            // A home that cannot be opened has nothing to say; whoever works in it finds out why.
            let Ok(root) = Root::with_contexts(&home) else { return Vec::new() };
            let root = root.for_agent(&room.folder(&agent.id));
            let now = SystemClock.now();
            let grants_role = grants_role.as_deref();
            let asker =
                Asker { root: &root, agent: &agent, room, grants_role, line: &line, labels: &known, now };
            sources::collect(&asker, bytes_max.min(FILES_BYTES_MAX))
        });
        let pieces = pieces.await.unwrap_or_default();
        drop(turn);
        pieces
    }

    /// Tokens that are left for the conversation.
    fn room(&self, request: &Request) -> u64 {
        let window = self.windows.of(&self.known.config.settings, &request.model, &self.session);
        let answer = request.max_tokens.map_or(ANSWER_TOKENS, u64::from).min(window / ANSWER_SHARE);
        let taken = answer + tokens::of_tools(&request.tools) + tokens::of_bytes(request.system.len());
        let taken = taken + request.messages.iter().map(tokens::of_message).sum::<u64>();
        window.saturating_sub(taken).max(window / HISTORY_SHARE)
    }

    /// A summary of what is older; `None` if it cannot be had, which is no reason to fail.
    async fn summarise(
        &self,
        models: &dyn Model,
        history: &History,
        until: usize,
        model: &str,
        (ms_max, tally): (u64, &Tally),
    ) -> Option<Answered> {
        let settings = &self.known.config.settings;
        let model = settings.context.summary_model.as_deref().unwrap_or(model);
        let window = self.windows.of(settings, model, &self.session);
        let wanted = summary::request(&self.agent, history, until, model, window)?;
        let estimated = tokens::of_request(&wanted.request);
        match within(models, wanted.request, (ms_max, tally)).await {
            Ok(Reply { text, usage, .. }) => {
                let text = domain::cut(text.trim(), wanted.bytes_max).to_owned();
                if text.is_empty() {
                    tally.add(model, usage);
                    return None;
                }
                let model = model.to_owned();
                Some(Answered::Summary { through: wanted.through, text, model, usage })
            }
            Err(ModelError { kind: ErrorKind::TooLong, .. }) => {
                self.windows.refused(model, estimated);
                None
            }
            Err(_) => None,
        }
    }
}

/// What a model says, unless it is silent for too long.
async fn within(
    models: &dyn Model,
    request: Request,
    (ms_max, tally): (u64, &Tally),
) -> Result<Reply, ModelError> {
    let progress = tally.begin(&request.model, &request.progress);
    let request = Request { progress: progress.clone(), ..request };
    let mut answer = models.ask(request);
    let (mut signs, mut silent_ms) = (progress.signs(), 0);
    // An answer that comes may take any time; only silence is bounded. It is looked at often enough to be nearly exact.
    let step_ms = (ms_max / LOOKS).max(1);
    let answered = loop {
        match tokio::time::timeout(Duration::from_millis(step_ms), &mut answer).await {
            Ok(outcome) => break outcome,
            Err(_) if signs != progress.signs() => (signs, silent_ms) = (progress.signs(), 0),
            Err(_) if silent_ms + step_ms < ms_max => silent_ms += step_ms,
            Err(_) => {
                let message = format!("no sign of an answer within {ms_max} ms (limits.model_ms_max)");
                let late = ModelError::new(ErrorKind::Outage { after_ms: 0 }, message);
                break Err(late.after(progress.so_far()));
            }
        }
    };
    drop(answer);
    // What an answer took is told with it.
    progress.note(answered.as_ref().err().map(|error| error.usage).unwrap_or_default());
    answered
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use testkit::model::{request, says};

    use super::*;

    /// Gives a sign so many times, each after a second, and then says nothing for `silent_ms` before it answers.
    struct Slow {
        signs: u32,
        silent_ms: u64,
    }

    /// On the virtual clock.
    async fn pass(time: Duration) {
        tokio::time::sleep_until(tokio::time::Instant::now() + time).await;
    }

    #[async_trait]
    impl Model for Slow {
        async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
            for _ in 0..self.signs {
                pass(Duration::from_secs(1)).await;
                request.progress.note(Usage::of(1, 1));
            }
            pass(Duration::from_millis(self.silent_ms)).await;
            Ok(says("done"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_may_take_any_time_and_silence_is_bounded() {
        let ask = async |signs, silent_ms| {
            within(&Slow { signs, silent_ms }, request("a", Vec::new()), (10_000, &Tally::default())).await
        };
        assert_eq!(ask(3_600, 9_000).await, Ok(says("done")), "an hour, piece by piece");
        let error = ask(3, 11_000).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Outage { after_ms: 0 });
        assert_eq!(error.message, "no sign of an answer within 10000 ms (limits.model_ms_max)");
        assert_eq!(error.usage, Usage::of(1, 1), "what came is paid for");
    }
}
