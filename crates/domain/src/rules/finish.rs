//! The tool `finish_task`: an agent ends the task that it works on, and says how.

use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::reviews;
use crate::rules::answer::answer_but;
use crate::rules::conclude::report;
use crate::rules::end::end_task;
use crate::rules::moves::complete;
use crate::rules::say::result;
use crate::topics::session::Stage;
use crate::topics::task::End;
use crate::topics::tool::{Call, FinishStatus, FinishTask};
use crate::words::actor::Actor;
use crate::words::id::{CallId, ReviewId, SessionId};

/// Why a task is not ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NotEnded {
    #[error("you work on no task; say what you have to say as your last words")]
    NoTask,
    #[error("the result is empty; say what came of it")]
    Empty,
    #[error("{0} wants a verdict: give it with approve_work")]
    NoVerdict(ReviewId),
    #[error("open parts: {0}; wait for them, or cancel them with update_task")]
    OpenParts(String),
}

/// Carries it out. Nothing of the answer comes behind it.
pub(super) fn perform(d: &mut Draft<'_>, id: &SessionId, (call, index): (&Call, usize), wish: &FinishTask) {
    if let Err(why) = check(d, id, wish) {
        let message = result(d.at, &call.id, why.to_string());
        return d.finish_call(id, Finish::Failed, message);
    }
    let Some(session) = d.sessions.get(id) else { return };
    let Some(task) = session.task.clone() else { return };
    let behind: Vec<CallId> = match &session.stage {
        Stage::Acting { calls, .. } => {
            calls[index + 1..].iter().map(|behind| behind.call.id.clone()).collect()
        }
        _ => Vec::new(),
    };
    let by = Actor::from(&session.agent);
    let done = result(d.at, &call.id, format!("{task} is reported {}", wish.status.as_str()));
    d.finish_call(id, Finish::Done, done);
    for call in behind {
        let text = "not run: the task was finished before it".to_owned();
        let message = result(d.at, &call, text);
        d.finish_call(id, Finish::Dropped, message);
    }
    match wish.status {
        FinishStatus::Done => report(d, id, &wish.result),
        FinishStatus::Failed | FinishStatus::Blocked => {
            let text = match wish.status {
                FinishStatus::Blocked => format!("blocked: {}", wish.result),
                FinishStatus::Done | FinishStatus::Failed => wish.result.clone(),
            };
            // The conversation that asked for the task hears of its end by a notice.
            let asker = d.work.tasks.get(&task).and_then(|task| d.asker_of(task)).cloned();
            answer_but(d, id, asker.as_ref(), &[], &text);
            end_task(d, &task, End::Failed, &text, &by);
            complete(d, id, true, &format!("{} reports that it cannot be done", by.name()));
        }
    }
}

fn check(d: &Draft<'_>, id: &SessionId, wish: &FinishTask) -> Result<(), NotEnded> {
    let task = d.sessions.get(id).and_then(|session| session.task.as_ref());
    let task = task.and_then(|task| d.work.tasks.get(task));
    let task = task.filter(|task| task.session() == Some(id) && !task.is_ended()).ok_or(NotEnded::NoTask)?;
    if wish.result.trim().is_empty() {
        return Err(NotEnded::Empty);
    }
    let review = d.sessions.get(id).and_then(|session| reviews::of_session(d, session));
    if let (FinishStatus::Done, Some(review)) = (wish.status, review) {
        return Err(NotEnded::NoVerdict(review.id.clone()));
    }
    let parts: Vec<String> = d.open_children(task).map(ToString::to_string).collect();
    if wish.status == FinishStatus::Done && !parts.is_empty() {
        return Err(NotEnded::OpenParts(parts.join(", ")));
    }
    Ok(())
}
