//! Notices that endings leave, and what is forgotten once they are delivered.

use crate::kernel::state::State;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::notice::{Notice, Receiver};
use crate::topics::session::Session;
use crate::topics::session::Ties;
use crate::topics::task::End;
use crate::topics::wait::{Node, Why};
use crate::words::id::{SessionId, TaskId};

impl State {
    /// A task has ended: the call that waits for it hears of it, and so does the conversation that asked for it, unless
    /// it ended the task itself.
    pub(super) fn leave_end(
        &mut self,
        id: &TaskId,
        (end, result): (End, &str),
        ended_by: Option<&SessionId>,
    ) {
        let Some(task) = self.work.tasks.get(id) else { return };
        let callers = self.waits.waiters_for(&Node::from(id), Why::Delegation).filter_map(Node::session);
        let callers: Vec<&SessionId> = callers.collect();
        let asker = self.asker_of(task).filter(|asker| Some(*asker) != ended_by && !callers.contains(asker));
        let open = |id: &&SessionId| self.sessions.get(*id).is_some_and(|s| !s.is_over());
        let receivers: Vec<SessionId> = callers.into_iter().chain(asker).filter(open).cloned().collect();
        for receiver in receivers {
            let notice = Notice::Ended { task: id.clone(), end, result: result.to_owned() };
            self.notices.leave_for_session(&receiver, notice);
        }
    }

    /// A conversation is over: it hears nothing more, its askers hear that no answer comes, and those whose words it has
    /// not read hear that.
    pub(super) fn leave_over(&mut self, id: &SessionId, reason: &str) {
        self.notices.take(&Receiver::Session(id.clone()));
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.ties.asked.clear();
        session.ties.asked_in.clear();
        session.ties.asked_as.clear();
        session.ties.requests.clear();
        let askers = std::mem::take(&mut session.ties.askers);
        let unread: Vec<_> = session.not_read().cloned().collect();
        session.forget_unheard();
        let mut hear_already = Vec::new();
        for asker in askers {
            self.wait_answer_no_more(&asker, id);
            if let Some(open) = self.sessions.get(&asker).filter(|session| !session.is_over()) {
                hear_already.push(open.agent.clone());
                let notice = Notice::NoAnswer { from: id.clone(), reason: reason.to_owned() };
                self.notices.leave_for_session(&asker, notice);
            }
        }
        for sender in unread.iter().filter(|sender| !hear_already.contains(sender)) {
            let notice = Notice::Unread { by: id.clone(), reason: reason.to_owned() };
            self.notices.leave_for_agent(sender, notice);
        }
    }

    /// The notices of a receiver were delivered. A conversation waits no longer for those that are over.
    pub(super) fn delivered(&mut self, receiver: &Receiver) {
        let notices = self.notices.take(receiver);
        let Receiver::Session(id) = receiver else { return };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Ties { asked, asked_in, asked_as, .. } = &mut session.ties;
        for notice in notices {
            let Notice::NoAnswer { from, .. } = notice else { continue };
            asked.retain(|_, asked| {
                asked.retain(|_, session| *session != from);
                !asked.is_empty()
            });
            asked_in.retain(|name, _| asked.contains_key(name));
            asked_as.retain(|name, _| asked.contains_key(name));
        }
        self.wait_session(id);
    }
}

impl Session {
    /// Whether nothing more happens in it.
    pub fn is_over(&self) -> bool {
        self.lifecycle == Lifecycle::Complete
    }
}
