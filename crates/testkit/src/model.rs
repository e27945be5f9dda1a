//! A model that says what a test tells it to.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::id::{AgentId, CallId, MessageId, SessionId, Time};
use domain::session::{Message, Speaker, is_due};
use domain::state::State;
use domain::tool::{Act, Call, FinishStatus, FinishTask, Want};
use domain::usage::Usage;
use ports::model::{ErrorKind, Model, ModelError, RawCall, Reply, Request};

type Answer = dyn FnMut(&Request) -> Result<Reply, ModelError> + Send;

/// A model on strings. It remembers what it was asked.
pub struct Puppet {
    inner: Mutex<Inner>,
}

struct Inner {
    answer: Box<Answer>,
    asked: Vec<Request>,
}

impl Puppet {
    /// Gives these answers one after the other; then it gives up and says so.
    pub fn replies(replies: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        let mut queue: VecDeque<_> = replies.into_iter().collect();
        Self::answering(move |request| {
            queue.pop_front().unwrap_or_else(|| {
                Err(give_up(&format!("the puppet has no answer left for {}", request.agent)))
            })
        })
    }

    /// Answers with a function of the request.
    pub fn answering(answer: impl FnMut(&Request) -> Result<Reply, ModelError> + Send + 'static) -> Self {
        Self { inner: Mutex::new(Inner { answer: Box::new(answer), asked: Vec::new() }) }
    }

    /// Everything it was asked so far.
    pub fn asked(&self) -> Vec<Request> {
        self.lock().asked.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for Puppet {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        let mut inner = self.lock();
        let reply = (inner.answer)(&request);
        inner.asked.push(request);
        reply
    }
}

/// An answer of words only.
pub fn says(text: &str) -> Reply {
    Reply { text: text.to_owned(), calls: Vec::new(), usage: Usage::of(10, 5) }
}

/// The call that ends the task of a conversation with these words, if it has one to end.
pub fn ending(state: &State, session: &SessionId, text: &str) -> Vec<Call> {
    if !is_due(state, session) {
        return Vec::new();
    }
    let act = Act::FinishTask(FinishTask { status: FinishStatus::Done, result: text.to_owned() });
    let arguments = serde_json::to_string(&act).unwrap_or_default();
    vec![Call { id: CallId::new("ending"), arguments, want: Want::Act(act), seen: None }]
}

/// An answer that asks for one tool.
pub fn wants(tool: &str, arguments: &str) -> Reply {
    let call = RawCall { id: String::new(), name: tool.to_owned(), arguments: arguments.to_owned() };
    Reply { calls: vec![call], ..says("") }
}

/// A failure that no repetition helps.
pub fn give_up(message: &str) -> ModelError {
    ModelError::new(ErrorKind::GiveUp, message.to_owned())
}

/// A failure that passes.
pub fn retry(after_ms: u64) -> ModelError {
    ModelError::new(ErrorKind::Retry { after_ms }, "the puppet is busy".to_owned())
}

/// A request with only a conversation in it.
pub fn request(agent: &str, messages: Vec<Message>) -> Request {
    let turns = messages.iter().filter(|m| m.speaker == Speaker::Assistant).count();
    Request {
        agent: AgentId::new(agent),
        model: "puppet".to_owned(),
        system: String::new(),
        messages,
        tools: [].into(),
        turn: u32::try_from(turns).unwrap_or(u32::MAX).saturating_add(1),
        max_tokens: None,
        temperature: None,
        thinking: None,
        schema: None,
        is_due: false,
        progress: Default::default(),
    }
}

/// A message with only what it must have.
pub fn message(speaker: Speaker, content: &str) -> Message {
    Message {
        id: MessageId::new("m-0001"),
        at: Time(0),
        speaker,
        from: None,
        content: content.to_owned(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    }
}

/// What a tool gave back for the call with this id.
pub fn result(call: &str, content: &str) -> Message {
    Message { call: Some(CallId::new(call)), ..message(Speaker::ToolResult, content) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract;

    #[tokio::test]
    async fn the_puppet_keeps_the_contract() {
        contract::model::holds(&Puppet::answering(|_| Ok(says("yes")))).await;
        contract::model::holds(&Puppet::replies([Err(retry(5)), Ok(wants("read_file", "{}"))])).await;
    }

    #[tokio::test]
    async fn the_puppet_gives_its_answers_in_order_and_remembers_the_questions() {
        let puppet = Puppet::replies([Ok(says("one")), Err(retry(5))]);
        let question = request("coder", vec![message(Speaker::User, "go")]);
        assert_eq!(puppet.ask(question.clone()).await, Ok(says("one")));
        assert_eq!(puppet.ask(question.clone()).await, Err(retry(5)));
        assert_eq!(puppet.ask(question.clone()).await.unwrap_err().kind, ErrorKind::GiveUp);
        assert_eq!(puppet.asked(), vec![question; 3]);
    }
}
