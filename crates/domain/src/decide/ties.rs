//! Going on from the files alone: who waits for whose answer, and on whose behalf a conversation acts.

use std::collections::BTreeMap;

use crate::decide::{finish, said};
use crate::event::{Event, Finish};
use crate::id::{SessionId, TaskId, Time};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::message::{Question, Tie, owed};
use crate::state::{Session, State};

/// What the files say of conversations that were found in them. Whose answer was said, and did not arrive, has it now.
pub(super) fn found(state: &State, at: Time, ties: &[Tie]) -> Vec<Event> {
    let ties: Vec<(&Tie, Vec<Question>)> = ties.iter().filter_map(|tie| open(state, tie)).collect();
    let asker_of =
        |(tie, asked): &(&Tie, Vec<Question>)| Some((tie.session.clone(), asked.first()?.asker()?));
    let askers: BTreeMap<SessionId, SessionId> = ties.iter().filter_map(asker_of).collect();
    let mut events = Vec::new();
    for (tie, requests) in &ties {
        let cause = askers.get(&tie.session).map(|_| root(&askers, &tie.session).clone());
        let (session, hands) = (tie.session.clone(), tie.hands.clone());
        events.push(Event::TiesFound { session, hands, requests: requests.clone(), cause });
    }
    let mut after = state.clone();
    events.iter().for_each(|event| after.apply(at, event));
    for (tie, _) in ties {
        let Some((id, session)) = after.sessions.get_key_value(&tie.session) else { continue };
        let Some(words) = tie.words.as_ref().filter(|_| session.rests() && owed(session).next().is_none())
        else {
            continue;
        };
        let told = finish::tell_askers(&after, at, (id, session), &finish::nobody, (&Finish::Done, words));
        told.iter().for_each(|event| after.apply(at, event));
        events.extend(told);
    }
    events
}

/// What of a tie holds: the conversation is known from its file alone, and so is who asked, and both go on.
fn open<'a>(state: &State, tie: &'a Tie) -> Option<(&'a Tie, Vec<Question>)> {
    let goes_on = |session: &&Session| session.lifecycle != Lifecycle::Complete && session.turns_total == 0;
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

/// A conversation that was found at rest, with a task that goes on and nothing left that it could wait for: what its last words
/// were for is not known, so it is asked. Its next ones end the task.
pub(super) fn at_a_loss(state: &State, at: Time) -> Vec<Event> {
    let is_at_a_loss = |task: &TaskId| {
        let task = state.tasks.get(task)?;
        let (id, session) = task.session().and_then(|id| state.sessions.get_key_value(id))?;
        let was_found = session.turns_total == 0 && session.lifecycle == Lifecycle::Waiting;
        let waits = !task.children.is_empty() || !session.asked.is_empty();
        (was_found && session.rests() && !waits).then_some(id)
    };
    let asked = state.open.all().filter_map(is_at_a_loss);
    let ask = |id: &SessionId| {
        let text = "Synod goes on from the files, and they do not say what came of this task. If it is done, say its \
                    result as your last words; else go on.";
        let message = said(at, "synod", text.to_owned(), Label::owner());
        Event::MessageAdded { session: id.clone(), message, asker: None, in_file: false }
    };
    asked.map(ask).collect()
}
