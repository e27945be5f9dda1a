//! Conversations that were begun a moment ago. A model is asked as soon as its question is in the journal; the file
//! follows. From then on it is what counts: what is kept here is used only while the file is as Synod made it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::event::Event;
use domain::event::{CallEvent, SessionEvent, TurnEvent};
use domain::id::{Seq, SessionId};
use domain::layout;
use ports::printer::Recorded;

use crate::disk::Stamp;
use crate::session::Conversation;

/// What stands in the journal and maybe in no file; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Fresh(Arc<Mutex<BTreeMap<SessionId, Told>>>);

struct Told {
    conversation: Conversation,
    /// The last event of it.
    last: Seq,
    /// The file, once it is made.
    made: Option<Stamp>,
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
                Event::Session(SessionEvent::Opened { head }) => {
                    let conversation =
                        Conversation { system: head.system_prompt.clone(), messages: Vec::new() };
                    let told = Told { conversation, last: *seq, made: None };
                    all.get_or_insert_with(|| self.lock()).insert(head.session.clone(), told);
                }
                Event::Session(SessionEvent::MessageAdded { session, message, .. })
                | Event::Turn(TurnEvent::Replied { session, message, .. })
                | Event::Turn(TurnEvent::EvidenceDemanded { session, message })
                | Event::Turn(TurnEvent::Summarised { session, message, .. })
                | Event::Call(CallEvent::Finished { session, message, .. }) => {
                    if let Some(told) = all.get_or_insert_with(|| self.lock()).get_mut(session) {
                        told.last = *seq;
                        told.conversation.messages.push(message.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The file has everything up to this event: a person may change it from now on. One that was made just now is told
    /// by its stamp.
    pub(super) fn written(&self, session: &SessionId, through: Seq, made: Option<Stamp>) {
        let mut all = self.lock();
        match (made, all.get_mut(session)) {
            (Some(made), Some(told)) => told.made = Some(made),
            (None, Some(told)) if told.made.is_some() || told.last <= through => {
                all.remove(session);
            }
            (_, _) => {}
        }
    }

    /// In a lull nobody has to wait for a file, so what has one is read from it.
    pub(super) fn rest(&self, lull: bool) {
        if lull {
            self.lock().retain(|_, told| told.made.is_none());
        }
    }

    /// What was said in a conversation that has no file yet, or one that nobody changed since it was made.
    pub(super) fn get(&self, home: &Path, session: &SessionId) -> Option<Conversation> {
        let all = self.lock();
        let told = all.get(session)?;
        let is_as_made = told
            .made
            .as_ref()
            .is_none_or(|made| Stamp::of(&home.join(layout::session_file(session))).as_ref() == Some(made));
        is_as_made.then(|| told.conversation.clone())
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
            from: Some(domain::Actor::person("dana")),
            content: format!("word {number}"),
            calls: Vec::new(),
            call: None,
            summary_through: None,
            read_through: None,
            is_error: false,
            envelope: None,
        };
        let event = Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message,
            asker: None,
            in_file: false,
        });
        Recorded { seq: Seq(seq), at: Time(1), event }
    }

    fn session() -> SessionId {
        SessionId::parse("writer-001-00000a").unwrap()
    }

    #[test]
    fn a_conversation_is_known_until_its_file_has_all_of_it_and_may_be_changed() {
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
        let opened = Recorded {
            seq: Seq(1),
            at: Time(1),
            event: Event::Session(SessionEvent::Opened { head: Box::new(head) }),
        };
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(layout::session_file(session()));
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        let said = || fresh.get(home.path(), &session()).map(|conversation| conversation.messages.len());
        fresh.note(&[told(0, 7)]);
        assert_eq!(said(), None, "one that has a file is read from it");
        fresh.note(&[opened.clone(), told(2, 1)]);
        assert_eq!(said(), Some(1));
        fresh.note(&[told(3, 2)]);
        fresh.written(&session(), Seq(2), None);
        assert_eq!(said(), Some(2), "the file lacks the second");
        fresh.written(&session(), Seq(3), None);
        assert_eq!(said(), None, "a person may have changed the file by now");

        let make = |words: &str| {
            std::fs::write(&file, words).unwrap();
            fresh.note(&[opened.clone(), told(2, 1)]);
            fresh.written(&session(), Seq(2), Stamp::of(&file));
        };
        make("one");
        assert_eq!(said(), Some(1), "nobody changed it");
        fresh.note(&[told(3, 2)]);
        assert_eq!(said(), Some(2), "and the second is on its way");
        std::fs::write(&file, "what a person made of it").unwrap();
        assert_eq!(said(), None);
        make("one");
        fresh.note(&[told(3, 2)]);
        fresh.written(&session(), Seq(2), None);
        assert_eq!(said(), None, "what was added to it may not be all that changed in it");
        make("one");
        fresh.rest(true);
        assert_eq!(said(), None, "nobody has to wait for the file");
    }
}
