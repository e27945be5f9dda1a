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
