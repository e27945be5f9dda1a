//! A decision in the making. Each event is applied in the moment it is emitted, so every rule sees what the rules
//! before it have done. A refusal comes before the first event.

use std::ops::Deref;

use crate::kernel::event::{CallEvent, SessionEvent};
use crate::kernel::event::{Event, Finish};
use crate::kernel::state::State;
use crate::topics::session::Message;
use crate::topics::session::Session;
use crate::words::id::{MessageId, SessionId, Time};
use crate::words::label::{Label, Readers};

/// Takes each event, with the state right after it.
pub(crate) type Record<'a> = &'a mut dyn FnMut(&State, Event);

/// The state while a decision is made. It is read like a `State` and changed only by `emit`.
pub(crate) struct Draft<'a> {
    state: &'a mut State,
    /// When the decision is made.
    pub(crate) at: Time,
    record: Record<'a>,
    emitted: usize,
    /// The conversation whose call is carried out: nothing that it ends stops it, and it hears of that by the call's result.
    acting: Option<SessionId>,
}

impl Deref for Draft<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state
    }
}

impl<'a> Draft<'a> {
    pub(crate) fn new(state: &'a mut State, at: Time, record: Record<'a>) -> Self {
        Self { state, at, record, emitted: 0, acting: None }
    }

    /// How many events there are so far.
    pub(crate) fn emitted(&self) -> usize {
        self.emitted
    }

    /// Applies an event and keeps it.
    pub(crate) fn emit(&mut self, event: impl Into<Event>) {
        self.record(event.into());
    }

    fn record(&mut self, event: Event) {
        self.state.apply(self.at, &event);
        (self.record)(self.state, event);
        self.emitted += 1;
    }

    /// The conversation whose call is carried out.
    pub(crate) fn acting(&self) -> Option<&SessionId> {
        self.acting.as_ref()
    }

    /// Does something on behalf of a conversation.
    pub(crate) fn on_behalf<T>(&mut self, session: &SessionId, act: impl FnOnce(&mut Self) -> T) -> T {
        self.act_for(Some(session.clone()), act)
    }

    /// Does something on behalf of nobody, whatever else is under way.
    pub(crate) fn by_itself<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        self.act_for(None, act)
    }

    fn act_for<T>(&mut self, session: Option<SessionId>, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.acting, session);
        let done = act(self);
        self.acting = before;
        done
    }

    /// Adds a message to a conversation. With `asker`, that conversation waits for an answer.
    pub(crate) fn say(&mut self, session: &SessionId, message: Message, asker: Option<&SessionId>) {
        let message = self.placed(session, message);
        let (session, asker) = (session.clone(), asker.cloned());
        self.emit(SessionEvent::MessageAdded { session, message, asker, in_file: false });
    }

    /// Takes over a message that a person wrote into the conversation's file.
    pub(crate) fn take_over(&mut self, session: &SessionId, message: Message) {
        let message = self.placed(session, message);
        self.emit(SessionEvent::MessageAdded {
            session: session.clone(),
            message,
            asker: None,
            in_file: true,
        });
    }

    /// Gives a call its result.
    pub(crate) fn finish_call(&mut self, session: &SessionId, finish: Finish, message: Message) {
        self.finish_written(session, finish, message, Vec::new());
    }

    /// The same for a call that changed these places.
    pub(crate) fn finish_written(
        &mut self,
        session: &SessionId,
        finish: Finish,
        message: Message,
        wrote: Vec<String>,
    ) {
        let is_error = finish != Finish::Done;
        let message = Message { is_error, ..self.placed(session, message) };
        self.emit(CallEvent::Finished { session: session.clone(), finish, message, wrote });
    }

    /// The message with its number in the conversation. Words that its agent may not read are withheld, whichever way
    /// they were to come.
    pub(crate) fn placed(&self, session: &SessionId, mut message: Message) -> Message {
        let known = self.sessions.get(session);
        let is_hidden = message.label.readers != Readers::Home
            && known.is_some_and(|session| !message.label.readers.include(&session.agent));
        if is_hidden {
            message.content = format!("withheld: these words are for others to see ({})", message.label);
            message.label = Label::team();
            if let Some(envelope) = &mut message.envelope {
                envelope.issues.clear();
            }
        }
        message.id = MessageId::numbered(known.map_or(1, Session::next_number));
        message
    }
}
