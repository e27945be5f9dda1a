//! The first message of a request: what files of the home go along, each marked with where it comes from. It stands before
//! the conversation, so that what a model is told first stays the same from task to task.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use domain::Actor;
use domain::id::{MessageId, SessionId, Time};
use domain::label::Label;
use domain::session::{Message, Speaker};

use super::piece::Piece;
use super::sources::MEMORY_LIST;

/// So many conversations are remembered, then forgotten all at once.
const REMEMBERED_MAX: usize = 4096;

/// The list of memory that each conversation was told, as long as this process lives. Colleagues write into memory all the
/// time; a list that changed in the middle of a conversation would make a provider read all of it anew.
#[derive(Clone, Default)]
pub struct Openings(Arc<Mutex<BTreeMap<SessionId, Piece>>>);

impl Openings {
    /// The pieces with the list that the conversation began with, unless something in it may not be seen any more.
    pub(super) fn settled(&self, session: &SessionId, mut pieces: Vec<Piece>) -> Vec<Piece> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(list) = pieces.iter_mut().find(|piece| piece.path == MEMORY_LIST) else {
            told.remove(session);
            return pieces;
        };
        match told.get(session) {
            Some(before) if before.read.iter().all(|path| list.read.contains(path)) => *list = before.clone(),
            Some(_) | None => {
                if told.len() >= REMEMBERED_MAX {
                    told.clear();
                }
                told.insert(session.clone(), list.clone());
            }
        }
        pieces
    }
}

/// The message; none if nothing goes along.
pub(super) fn message(pieces: &[Piece]) -> Option<Message> {
    let mut text = String::new();
    for Piece { path, words, content, .. } in pieces {
        // What a file says must not end the mark around it.
        let content = content.replace("</file", "<\\/file");
        _ = write!(text, "{words}\n<file path={path:?}>\n{}\n</file>\n", content.trim_end());
    }
    (!text.is_empty()).then(|| Message {
        id: MessageId::new(""),
        at: Time(0),
        speaker: Speaker::User,
        from: Some(Actor::Synod),
        content: text,
        calls: Vec::new(),
        call: None,
        is_error: false,
        summary_through: None,
        read_through: None,
        envelope: None,
        label: Label::team(),
    })
}
