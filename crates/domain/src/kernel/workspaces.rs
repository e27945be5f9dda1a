//! The locks that a call needs on files, repositories and workspaces, and the hold of a conversation on its workspace.

use std::collections::BTreeSet;

use policy::path::folded;

use crate::kernel::reviews;
use crate::kernel::state::State;
use crate::topics::lock::workspace::{CONTINUES, Hold, Room, WORKSPACE};
use crate::topics::lock::{Grant, REPOSITORY, of_path, plain};
use crate::topics::session::Session;
use crate::topics::task::{End, Task, TaskStage};
use crate::topics::tool::{Act, Locked, Use};
use crate::words::id::{AgentId, LockName, ReviewId, SessionId};

/// The locks that an act takes by itself while it runs, in the order in which all acts take them. Agents who share a
/// repository share its lock.
pub fn of_act(state: &State, agent: &AgentId, act: &Act) -> BTreeSet<LockName> {
    let name = |locked: Locked<'_>| match locked {
        Locked::Path(path) => of_path(path),
        Locked::Repository => Some(of_repository(state, agent)),
        Locked::RepositoryOf(review) => {
            state.reviews.by_id.get(review).map(|review| of_repository(state, &review.author))
        }
    };
    act.locks().into_iter().filter_map(name).collect()
}

fn of_repository(state: &State, agent: &AgentId) -> LockName {
    let workspace = state.team.agents.get(agent).and_then(|agent| agent.spec.workspace.as_ref());
    let repo = workspace.and_then(|workspace| workspace.repo.clone());
    let repo = repo.unwrap_or_else(|| format!("workspaces/{agent}"));
    LockName::new(format!("{REPOSITORY}{}", plain(&repo).unwrap_or(repo)))
}

/// Where a conversation works, for as long as it lasts.
pub fn room(state: &State, session: &Session) -> Room {
    if reviews::of_session(state, session).is_some() { Room::Review } else { Room::Own }
}

/// The lock on the workspace that a call needs. Who looks before it writes has to look at its own work, so a task takes the lock
/// to look too; who only talks may look at whatever is there. A review is made in another folder.
pub fn needed(state: &State, session: &Session, act: &Act) -> Option<LockName> {
    let workspace = state.team.agents.get(&session.agent)?.spec.workspace.as_ref()?;
    workspace.repo.as_ref()?;
    let usage = usage(&session.agent, act)?;
    let counts = usage > Use::Looks || session.task.is_some();
    (counts && room(state, session) == Room::Own)
        .then(|| LockName::new(format!("{WORKSPACE}{}", session.agent)))
}

/// Whether an act can be done nowhere but in the agent's own workspace: it moves the agent's branch, or names a file there.
/// Commands, checks and the like are done where the conversation works.
pub fn is_only_own(agent: &AgentId, act: &Act) -> bool {
    let reach = act.reach();
    reach.workspace == Some(Use::Branch)
        || [reach.reads, reach.lists, reach.writes].iter().any(|p| names_own(agent, p))
}

/// Whether one of these paths is in the workspace of the agent.
fn names_own(agent: &AgentId, paths: &[&str]) -> bool {
    paths.iter().any(|path| is_in_own(agent, path))
}

fn is_in_own(agent: &AgentId, path: &str) -> bool {
    let own = folded(&Room::Own.folder(agent));
    let rest = plain(path).and_then(|path| path.strip_prefix(&own).map(str::to_owned));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn usage(agent: &AgentId, act: &Act) -> Option<Use> {
    let reach = act.reach();
    let is_read = names_own(agent, &reach.reads) || names_own(agent, &reach.lists);
    let reads = is_read.then_some(Use::Looks);
    let writes = names_own(agent, &reach.writes).then_some(Use::Changes);
    reach.workspace.max(reads).max(writes)
}

/// The hold that a conversation has on its agent's workspace.
pub fn hold(state: &State, id: &SessionId, session: &Session) -> Option<Hold> {
    let name = LockName::new(format!("{WORKSPACE}{}", session.agent));
    let holder = state.locks.get(&name)?.holder.as_ref().filter(|holder| holder.session == *id)?;
    let grant = Grant { name, fence: holder.fence };
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let family = task.into_iter().flat_map(|task| task.spec.parent.iter().chain(&task.children));
    let shares = family.map(ToString::to_string).collect();
    let before = holder.after.as_ref().and_then(|id| state.sessions.get_key_value(id));
    let before = before.filter(|(_, session)| is_finished(state, session)).map(|(id, s)| work_of(id, s));
    let onto = task.map(|task| needs(state, task)).unwrap_or_default();
    Some(Hold { grant, work: work_of(id, session), shares, onto, after: before })
}

fn work_of(id: &SessionId, session: &Session) -> String {
    session.task.as_ref().map_or_else(|| id.to_string(), ToString::to_string)
}

/// The tasks on whose work a task builds: the one that it brings into line, and those that it comes after.
fn needs(state: &State, task: &Task) -> Vec<String> {
    let continued = task.spec.properties.get(CONTINUES).map(|id| ReviewId::new(id.as_str()));
    let continued = continued.and_then(|id| state.reviews.by_id.get(&id)?.about.as_ref());
    let before = task.spec.depends_on.iter().rev();
    continued.into_iter().chain(before).map(ToString::to_string).collect()
}

/// Whether what comes next goes on from the work of a session as it stands: it is done, and nobody was asked to look at it.
/// What waits for a review or a merge, or was given up, stands for itself.
fn is_finished(state: &State, session: &Session) -> bool {
    let task = session.task.as_ref().and_then(|task| state.work.tasks.get(task));
    let is_done = task.is_none_or(|task| task.stage == TaskStage::Ended { end: End::Done });
    is_done && state.reviews.open_of(&session.agent, session.task.as_ref()).is_none()
}
