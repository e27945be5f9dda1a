//! Going on from the files alone: who waits for whose answer, and on whose behalf a conversation acts.

use crate::words::actor::Actor;
use std::collections::BTreeMap;

use crate::kernel::answers::owed;
use crate::kernel::draft::Draft;
use crate::kernel::event::SessionEvent;
use crate::kernel::state::State;
use crate::rules::answer::answer_all;
use crate::rules::say::said;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::message::{Question, Tie};
use crate::topics::session::Session;
use crate::words::id::{SessionId, TaskId};
use crate::words::label::Label;

/// Takes over what the files say of conversations that were found in them. An answer that was said and did not arrive
/// arrives now.
pub(super) fn take_over(d: &mut Draft<'_>, ties: &[Tie]) {
    let ties: Vec<(&Tie, Vec<Question>)> = ties.iter().filter_map(|tie| open(d, tie)).collect();
    let asker_of =
        |(tie, asked): &(&Tie, Vec<Question>)| Some((tie.session.clone(), asked.first()?.asker()?));
    let askers: BTreeMap<SessionId, SessionId> = ties.iter().filter_map(asker_of).collect();
    for (tie, requests) in &ties {
        let cause = askers.get(&tie.session).map(|_| root(&askers, &tie.session).clone());
        let (session, hands) = (tie.session.clone(), tie.hands.clone());
        d.emit(SessionEvent::TiesFound { session, hands, requests: requests.clone(), cause });
    }
    for (tie, _) in ties {
        let rests = |session: &Session| session.rests() && owed(session).next().is_none();
        let is_said = d.sessions.get(&tie.session).is_some_and(rests);
        if let Some(words) = tie.words.as_ref().filter(|_| is_said) {
            answer_all(d, &tie.session, &[], words);
        }
    }
}

/// What of a tie holds: the conversation is known from its file alone, and so is who asked, and both go on.
fn open<'a>(state: &State, tie: &'a Tie) -> Option<(&'a Tie, Vec<Question>)> {
    let goes_on = |session: &&Session| !session.is_over() && session.pace.turns_total == 0;
    let session = state.sessions.get(&tie.session).filter(goes_on)?;
    let waits = |request: &&Question| {
        let asker = request.asker().and_then(|id| state.sessions.get(&id)).filter(goes_on);
        asker.is_some_and(|asker| asker.agent != session.agent)
    };
    let requests: Vec<Question> = tie.requests.iter().filter(waits).cloned().collect();
    (!requests.is_empty() || !tie.hands.is_empty()).then_some((tie, requests))
}

/// The conversation in which the request came up that `id` works for.
fn root<'a>(askers: &'a BTreeMap<SessionId, SessionId>, id: &'a SessionId) -> &'a SessionId {
    let mut at = id;
    // Two may have asked each other.
    for _ in 0..askers.len() {
        match askers.get(at) {
            Some(asker) if asker != id => at = asker,
            Some(_) | None => break,
        }
    }
    at
}

/// Asks conversations that were found at rest, with a task that goes on and nothing left that they could wait for: what
/// their last words were for is not known. Their next ones end the task.
pub(super) fn ask_at_a_loss(d: &mut Draft<'_>) {
    let is_at_a_loss = |task: &TaskId| {
        let task = d.work.tasks.get(task)?;
        let (id, session) = task.session().and_then(|id| d.sessions.get_key_value(id))?;
        let was_found = session.pace.turns_total == 0 && session.lifecycle == Lifecycle::Waiting;
        let waits = !task.children.is_empty() || !session.ties.asked.is_empty();
        (was_found && session.rests() && !waits).then(|| id.clone())
    };
    let asked: Vec<SessionId> = d.work.open.all().filter_map(is_at_a_loss).collect();
    for id in asked {
        let text = "Synod goes on from the files, and they do not say what came of this task. If it is done, say its \
                    result as your last words; else go on.";
        let message = said(d.at, Some(Actor::Synod), text.to_owned(), Label::owner());
        d.say(&id, message, None);
    }
}
