//! What events do to the labels of tasks and files. A label only gets worse, unless a person vouches for the bytes.

use crate::kernel::places::{folder_for, of_place, written_by};
use crate::kernel::state::State;
use crate::kernel::workspaces;
use crate::topics::context;
use crate::topics::session::{Pending, Step};
use crate::topics::task;
use crate::topics::task::Requester;
use crate::topics::tool::Want;
use crate::words::id::SessionId;
use crate::words::label::{FILES_MAX, Label};

impl State {
    pub(super) fn label_files(&mut self, labels: &std::collections::BTreeMap<String, Label>) {
        labels.iter().for_each(|(path, label)| self.label_file(path, label));
    }

    /// What a conversation that was found is made from.
    pub(super) fn label_session(&mut self, id: &SessionId, label: &Label) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.label = label.clone();
        }
    }

    /// What a task was made from.
    pub(super) fn label_of_request(&self, spec: &task::Spec, by: &Requester) -> Label {
        let mut label = spec.label().unwrap_or_default();
        match by {
            Requester::Person { .. } => {}
            Requester::Inbox { source } => label.join(&Label::outside(source)),
            Requester::Session { session } => {
                label.join(&self.sessions.get(session).map_or_else(Label::team, |s| s.label.clone()));
            }
        }
        label
    }

    /// What a call that begins can change has its label before it changes anything: whether it ends or not.
    pub(super) fn label_reach(&mut self, id: &SessionId, call: &crate::words::id::CallId) {
        let Some(session) = self.sessions.get(id) else { return };
        let Some(Pending { call, step: Step::Running { permit, approved, .. } }) = session.pending(call)
        else {
            return;
        };
        let Want::Act(act) = &call.want else { return };
        let mut places = written_by(act);
        if places.is_empty() && permit.writes {
            places.push(workspaces::room(self, session).folder(&session.agent));
        }
        // A person saw all that would be written, and said yes to it.
        if places.is_empty() || (*approved && act.writes_whole()) {
            return;
        }
        // What it moves goes where it writes.
        let read = act.reach().reads.into_iter().map(|place| of_place(self, place));
        let label = read.fold(session.label.clone(), |label, read| label.joined(&read));
        if label.counts() {
            places.iter().for_each(|place| self.label_file(place, &label));
        }
    }

    /// What a call changed has the label of its session; what it wrote whole has no other.
    pub(super) fn label_wrote(
        &mut self,
        id: &SessionId,
        call: Option<&crate::words::id::CallId>,
        wrote: &[String],
        is_done: bool,
        approved: bool,
    ) {
        let Some(session) = self.sessions.get(id).filter(|_| !wrote.is_empty()) else { return };
        let label = session.label.clone();
        let pending = call.and_then(|call| session.pending(call));
        let whole = pending.is_some_and(|p| matches!(&p.call.want, Want::Act(act) if act.writes_whole()));
        // A person saw these very bytes and said yes: that is what makes a label better.
        let vouched = whole && approved;
        // Grants hold names and nothing that was read.
        for place in wrote.iter().filter(|place| !context::is_acl(place)) {
            if whole && is_done {
                self.trust.files.remove(place);
            }
            if label.counts() && !vouched {
                self.label_file(place, &label);
            }
        }
    }

    pub(super) fn label_file(&mut self, place: &str, label: &Label) {
        let place = place.trim_matches('/');
        let is_full = self.trust.files.len() >= FILES_MAX;
        match self.trust.files.get_mut(place) {
            Some(known) => known.join(label),
            None if !is_full => _ = self.trust.files.insert(place.to_owned(), label.clone()),
            // Too many to tell apart: the first two parts of the path stand for all beneath.
            None => {
                self.trust.files.entry(folder_for(place).to_owned()).or_default().join(label);
            }
        }
    }
}
