//! What a tool call that asks a model may take of its budget: nothing is sent that could pass it, and each request that was
//! sent is told by itself, because a provider counts each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use domain::id::{CallId, SessionId};
use domain::input::Input;
use domain::input::ModelInput;
use domain::usage::Usage;
use ports::inputs::Inputs;
use ports::model::{ErrorKind, Model, ModelError, Reply, Request};
use tokio::time::{Instant, timeout_at};

use super::http::most;

/// Said by whoever did not answer in time.
pub(crate) const LATE: &str = "the model did not answer in time";
/// Said in place of a request that could pass what was reserved.
pub(crate) const USED_UP: &str = "what its budget reserved for this is used up";

/// What one call may take, and who is told what it took.
pub(crate) struct Purse {
    inputs: Arc<dyn Inputs>,
    session: SessionId,
    call: CallId,
    /// The model's alias.
    model: String,
    /// Tokens in and out together; absent: nothing was reserved, so nothing bounds it.
    left: Option<AtomicU64>,
    /// For all requests together.
    ms_max: u64,
}

impl Purse {
    /// `reserved` are the tokens that may go in, and those that may come out.
    pub(crate) fn new(
        inputs: Arc<dyn Inputs>,
        (session, call): (SessionId, CallId),
        model: String,
        reserved: Option<(u64, u64)>,
        ms_max: u64,
    ) -> Self {
        let left =
            reserved.map(|(tokens_in, tokens_out)| AtomicU64::new(tokens_in.saturating_add(tokens_out)));
        Self { inputs, session, call, model, left, ms_max }
    }

    /// A model that is asked out of this purse. Its time runs from now.
    pub(super) fn opened<'a>(&'a self, model: &'a dyn Model) -> Opened<'a> {
        Opened { model, purse: self, until: Instant::now() + Duration::from_millis(self.ms_max) }
    }

    async fn take(&self, usage: Usage) {
        if let Some(left) = &self.left {
            let took = usage.tokens_in.saturating_add(usage.tokens_out);
            left.store(left.load(Ordering::Relaxed).saturating_sub(took), Ordering::Relaxed);
        }
        let (session, call, model) = (self.session.clone(), Some(self.call.clone()), self.model.clone());
        self.inputs.give(Input::Model(ModelInput::Spent { session, call, model, usage })).await;
    }
}

/// A model that is asked out of a purse.
pub(super) struct Opened<'a> {
    model: &'a dyn Model,
    purse: &'a Purse,
    until: Instant,
}

#[async_trait]
impl Model for Opened<'_> {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        let most = most(&request);
        let left = self.purse.left.as_ref().map(|left| left.load(Ordering::Relaxed));
        if left.is_some_and(|left| most.tokens_in.saturating_add(most.tokens_out) > left) {
            return Err(ModelError::new(ErrorKind::GiveUp, USED_UP));
        }
        let answered = timeout_at(self.until, self.model.ask(request)).await;
        let usage = match &answered {
            Ok(Ok(reply)) => reply.usage,
            Ok(Err(error)) => error.usage,
            // Nobody knows how far it came: it may have taken all that it could.
            Err(_) => most,
        };
        self.purse.take(usage).await;
        answered.unwrap_or_else(|_| Err(ModelError::new(ErrorKind::GiveUp, LATE).after(usage)))
    }
}
