//! A person has what stands still tried again: providers that do not answer, and tasks that failed.

use crate::kernel::draft::Draft;
use crate::kernel::event::{SessionEvent, TaskEvent};
use crate::kernel::input::Again;
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::rules::outage;
use crate::rules::say::said;
use crate::topics::task::{End, Task};
use crate::topics::wait::{Node, Why};
use crate::words::actor::Actor;
use crate::words::id::{SessionId, TaskId};
use crate::words::label::Label;

/// A person has something tried again now.
pub(super) fn retry(d: &mut Draft<'_>, what: &Again, by: &str) -> Result<(), Refused> {
    match what {
        Again::Task(id) => retry_task(d, id, by),
        Again::Provider(provider) => {
            let known = |place: &str| place == provider.as_str();
            if !d.outages.by_name.values().any(|outage| known(&outage.place.provider)) {
                return Err(Refused::NotOut(provider.clone()));
            }
            outage::try_now(d, Some(provider));
            Ok(())
        }
        Again::All => {
            // A part is begun anew by whoever works on the whole.
            let is_whole = |task: &&Task| {
                task.end() == Some(End::Failed)
                    && task
                        .spec
                        .parent
                        .as_ref()
                        .and_then(|id| d.work.tasks.get(id))
                        .is_none_or(|t| !t.is_ended())
            };
            let failed: Vec<TaskId> =
                d.work.tasks.values().filter(is_whole).map(|task| task.spec.id.clone()).collect();
            failed.iter().for_each(|id| reopen(d, id, by));
            outage::try_now(d, None);
            Ok(())
        }
    }
}

fn retry_task(d: &mut Draft<'_>, id: &TaskId, by: &str) -> Result<(), Refused> {
    let task = d.work.tasks.get(id).ok_or_else(|| Refused::NoTask(id.clone()))?;
    match task.end() {
        Some(End::Failed) => {
            reopen(d, id, by);
            return Ok(());
        }
        Some(End::Done | End::Cancelled) => return Err(Refused::Ended(id.to_string())),
        None => {}
    }
    let waits = [Some(Node::from(id)), task.session().map(Node::from)].into_iter().flatten();
    let on = waits
        .flat_map(|node| d.waits.waited_for(&node, Why::Window).map(Node::to_string).collect::<Vec<_>>());
    let places: Vec<String> = on.filter(|name| d.outages.by_name.contains_key(name)).collect();
    if places.is_empty() {
        return Err(Refused::NothingToRetry(id.to_string()));
    }
    places.iter().for_each(|name| outage::due(d, name));
    Ok(())
}

/// A task that failed goes on in the conversation in which it failed; without one it begins anew.
fn reopen(d: &mut Draft<'_>, id: &TaskId, by: &str) {
    let Some(task) = d.work.tasks.get(id) else { return };
    let (person, result) = (Actor::person(by), task.result.clone());
    let session = conversation_of(d, task);
    d.emit(TaskEvent::Reopened { task: id.clone(), by: person.clone() });
    let Some(session) = session else { return };
    d.emit(SessionEvent::Reopened { session: session.clone() });
    d.emit(TaskEvent::Started { task: id.clone(), session: session.clone() });
    let text = format!("{id} is open again. It had failed: {result}. Go on with it where you stopped.");
    let message = said(d.at, Some(person), text, Label::owner());
    d.say(&session, message, None);
}

/// The last conversation about a task, if its agent can go on with it.
fn conversation_of(state: &State, task: &Task) -> Option<SessionId> {
    let is_own = |(_, session): &(&SessionId, &crate::topics::session::Session)| {
        session.task.as_ref() == Some(&task.spec.id)
            && Some(&session.agent) == task.spec.assignee.as_ref()
            && session.is_over()
            && session.failed
    };
    state.employed(task.spec.assignee.as_ref()?)?;
    let own = state.sessions.iter().filter(is_own);
    own.max_by_key(|(_, session)| session.pace.turns_total).map(|(id, _)| id.clone())
}
