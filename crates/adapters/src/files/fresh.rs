//! Conversations whose file is not written yet. A model is asked as soon as its question is in the journal; the file
//! follows, and from then on it is what counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::event::Event;
use domain::id::{Seq, SessionId};
use ports::printer::Recorded;

use super::Conversation;

/// What stands in the journal and in no file; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Fresh(Arc<Mutex<BTreeMap<SessionId, Told>>>);

struct Told {
    /// The last event of it.
    last: Seq,
    conversation: Conversation,
}

impl Fresh {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Told>> {
        // Each change of the map is whole; a panic of another thread leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what is about to be printed.
    pub(super) fn note(&self, batch: &[Recorded]) {
        let mut all = None;
        for Recorded { seq, event, .. } in batch {
            match event {
                Event::SessionOpened { head } => {
                    let conversation =
                        Conversation { system: head.system_prompt.clone(), messages: Vec::new() };
                    let told = Told { last: *seq, conversation };
                    all.get_or_insert_with(|| self.lock()).insert(head.session.clone(), told);
                }
                Event::MessageAdded { session, message, .. }
                | Event::Replied { session, message, .. }
                | Event::EvidenceDemanded { session, message }
                | Event::Summarised { session, message, .. }
                | Event::CallFinished { session, message, .. } => {
                    if let Some(told) = all.get_or_insert_with(|| self.lock()).get_mut(session) {
                        told.last = *seq;
                        told.conversation.messages.push(message.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The file has everything up to this event: a person may change it from now on.
    pub(super) fn written(&self, session: &SessionId, through: Seq) {
        let mut all = self.lock();
        if all.get(session).is_some_and(|told| told.last <= through) {
            all.remove(session);
        }
    }

    /// What was said in a conversation that has no file yet.
    pub(super) fn get(&self, session: &SessionId) -> Option<Conversation> {
        self.lock().get(session).map(|told| told.conversation.clone())
    }
}

#[cfg(test)]
mod tests {
    use domain::id::{AgentId, MessageId, Time};
    use domain::session::{Head, Message, Speaker};

    use super::*;

    fn told(seq: u64, number: u32) -> Recorded {
        let message = Message {
            label: Default::default(),
            id: MessageId::new(format!("m-{number:04}")),
            at: Time(1),
            speaker: Speaker::User,
            from: "person:dana".to_owned(),
            content: format!("word {number}"),
            calls: Vec::new(),
            call: None,
            summary_through: None,
            envelope: None,
        };
        let event = Event::MessageAdded { session: session(), message, asker: None, in_file: false };
        Recorded { seq: Seq(seq), at: Time(1), event }
    }

    fn session() -> SessionId {
        SessionId::parse("writer-001-00000a").unwrap()
    }

    #[test]
    fn a_conversation_is_known_until_its_file_has_all_of_it() {
        let fresh = Fresh::default();
        let head = Head {
            session: session(),
            agent: AgentId::new("writer-001"),
            role: "coder".to_owned(),
            model: "team".to_owned(),
            system_prompt: "You write.".to_owned(),
            task: None,
            created: Time(1),
        };
        let opened =
            Recorded { seq: Seq(1), at: Time(1), event: Event::SessionOpened { head: Box::new(head) } };
        fresh.note(&[told(0, 7)]);
        assert_eq!(fresh.get(&session()), None, "one that has a file is read from it");
        fresh.note(&[opened, told(2, 1)]);
        assert_eq!(fresh.get(&session()).unwrap().messages.len(), 1);
        fresh.note(&[told(3, 2)]);
        fresh.written(&session(), Seq(2));
        assert_eq!(fresh.get(&session()).unwrap().messages.len(), 2, "the file lacks the second");
        fresh.written(&session(), Seq(3));
        assert_eq!(fresh.get(&session()), None, "a person may have changed the file by now");
    }
}
