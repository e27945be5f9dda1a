//! Approvals in their two places: the queue `tasks/approvals.task.md` and a file each in `approvals/`.
//! Either place decides; the first decision counts, and the other place is brought in line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::approval::{Answer, Outcome, Request};
use domain::event::ApprovalEvent;
use domain::event::{Event, Found};
use domain::id::{ApprovalId, CallId, SessionId, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::layout::{self, Decided};
use domain::task::Mark;
use formats::approval::{Decision, close_detail, print_detail, queue_item, read_detail, read_queue};
use formats::diagnostic::{Diagnostic, Severity};
use formats::task::TaskFile;

use super::cabinet::Cabinet;
use super::places::list;
use crate::disk;

/// A change to the approval files.
#[derive(Debug, Clone)]
pub(super) enum ApprovalOp {
    Ask(Box<Request>),
    Close { id: ApprovalId, outcome: Outcome, at: Time },
}

impl ApprovalOp {
    /// What an event changes in the approval files.
    pub(super) fn of(at: Time, event: &Event) -> Option<Self> {
        match event {
            Event::Approval(ApprovalEvent::Asked { request }) => Some(ApprovalOp::Ask(request.clone())),
            Event::Approval(ApprovalEvent::Ended { approval, outcome }) => {
                Some(ApprovalOp::Close { id: approval.clone(), outcome: outcome.clone(), at })
            }
            _ => None,
        }
    }
}

/// Approvals in their files.
#[derive(Default)]
pub(super) struct Approvals {
    /// Those that are over.
    closed: BTreeSet<ApprovalId>,
}

impl Approvals {
    /// Carries out changes in both places; notices decisions in the queue on the way.
    pub(super) fn settle(
        &mut self,
        cabinet: &mut Cabinet,
        ops: &[ApprovalOp],
        forced: bool,
    ) -> std::io::Result<()> {
        for op in ops {
            self.settle_detail(cabinet, op)?;
        }
        cabinet.rewrite(layout::QUEUE, forced, |cabinet, text, fresh| {
            let (mut file, diagnostics) = TaskFile::parse(layout::QUEUE, text.unwrap_or_default());
            let broken = diagnostics.iter().any(|d| d.severity == Severity::Error);
            let mut repairs = Vec::new();
            if fresh {
                cabinet.reports.complain(layout::QUEUE, diagnostics);
                repairs = compare_queue(cabinet, &file, broken);
            }
            for op in ops.iter().chain(&repairs) {
                queue(&mut file, op);
            }
            Some(file.text().to_owned())
        })
    }

    fn settle_detail(&mut self, cabinet: &mut Cabinet, op: &ApprovalOp) -> std::io::Result<()> {
        match op {
            ApprovalOp::Ask(request) => {
                let path = layout::approval_file(Decided::Pending, &request.id);
                if self.closed.contains(&request.id) || cabinet.home.join(&path).exists() {
                    return Ok(());
                }
                cabinet.rewrite(&path, false, |_, text, _| {
                    Some(text.map_or_else(|| print_detail(request), str::to_owned))
                })
            }
            ApprovalOp::Close { id, outcome, at } => {
                self.closed.insert(id.clone());
                let pending = layout::approval_file(Decided::Pending, id);
                let decided = match outcome {
                    Outcome::Answered { answer: Answer::Approved, .. } => Decided::Approved,
                    Outcome::Answered { answer: Answer::Rejected { .. }, .. }
                    | Outcome::Expired
                    | Outcome::Withdrawn { .. } => Decided::Rejected,
                };
                let Some(found) = disk::read(&cabinet.home.join(&pending))? else { return Ok(()) };
                let closed = close_detail(&found.text, outcome, *at);
                let place = layout::approval_file(decided, id);
                cabinet.rewrite(&place, false, |_, _, _| Some(closed.clone()))?;
                cabinet.known.remove(&pending);
                match std::fs::remove_file(cabinet.home.join(&pending)) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// What the queue says beyond what was printed: answers for the engine, and repairs.
fn compare_queue(cabinet: &mut Cabinet, file: &TaskFile, broken: bool) -> Vec<ApprovalOp> {
    let mut repairs = Vec::new();
    let mut said = Vec::new();
    let mut unclear = Vec::new();
    for item in file.tasks() {
        let Some(id) = item.id.as_ref().map(|id| ApprovalId::new(id.as_str())) else { continue };
        if let Some(outcome) = cabinet.state.people.decided.get(&id) {
            if !item.mark.is_ended() {
                repairs.push(ApprovalOp::Close { id, outcome: outcome.clone(), at: Time(0) });
            }
            continue;
        }
        if !cabinet.state.people.approvals.contains_key(&id) || broken {
            continue;
        }
        match read_queue(item) {
            Decision::None => {}
            Decision::Unclear { line, column, why } => {
                unclear.push(unclear_at(layout::QUEUE, line, column, &why))
            }
            Decision::Approved { by } => said.push(match rejected_in_detail(cabinet, &id) {
                // Both were written while nobody looked, and which was first, nobody knows.
                Some(no) => no,
                None => answer(id, Answer::Approved, by, layout::QUEUE),
            }),
            Decision::Rejected { by, reason } => {
                said.push(answer(id, Answer::Rejected { reason }, by, layout::QUEUE))
            }
        }
    }
    for (id, request) in &cabinet.state.people.approvals {
        if file.find(&TaskId::new(id.as_str())).is_none() {
            repairs.push(ApprovalOp::Ask(Box::new(request.clone())));
        }
    }
    if !unclear.is_empty() {
        cabinet.reports.complain(layout::QUEUE, unclear);
    }
    for input in said {
        cabinet.outbox.say(input);
    }
    repairs
}

/// A no that stands in the approval's own file.
fn rejected_in_detail(cabinet: &Cabinet, id: &ApprovalId) -> Option<Input> {
    let path = layout::approval_file(Decided::Pending, id);
    let found = disk::read(&cabinet.home.join(&path)).ok()??;
    match read_detail(&path, &found.text).value?.decision {
        Decision::Rejected { by, reason } => Some(answer(id.clone(), Answer::Rejected { reason }, by, &path)),
        Decision::Approved { .. } | Decision::None | Decision::Unclear { .. } => None,
    }
}

/// A person may have decided in the approval's own file.
pub(super) fn look_at_detail(cabinet: &mut Cabinet, path: &str, found: Option<&disk::Found>) {
    let Some(found) = found else {
        // Deleting the file decides nothing: it is printed again.
        let id = path
            .rsplit('/')
            .next()
            .and_then(|name| name.strip_suffix(layout::APPROVAL_END))
            .map(ApprovalId::new);
        if let Some(request) = id.and_then(|id| cabinet.state.people.approvals.get(&id)).cloned() {
            let text = print_detail(&request);
            let printed = cabinet
                .rewrite(path, false, |_, now, _| Some(now.map_or_else(|| text.clone(), str::to_owned)));
            cabinet.reports.note(path, printed);
        }
        return;
    };
    let Some(detail) = cabinet.reports.take(path, read_detail(path, &found.text)) else { return };
    let Some(request) = cabinet.state.people.approvals.get(&detail.request.id) else { return };
    let same_act = detail.request.act == request.act && detail.request.digest == request.digest;
    match detail.decision {
        Decision::None => {}
        Decision::Unclear { line, column, why } => {
            let problem = unclear_at(path, line, column, &why);
            cabinet.reports.complain(path, vec![problem]);
        }
        Decision::Rejected { by, reason } => {
            cabinet.outbox.say(answer(detail.request.id, Answer::Rejected { reason }, by, path))
        }
        Decision::Approved { by } if same_act => {
            cabinet.outbox.say(answer(detail.request.id, Answer::Approved, by, path))
        }
        Decision::Approved { .. } => {
            let why =
                "the act in the file is not the one that was asked for; an approval is for exactly that act";
            cabinet.reports.complain(path, vec![unclear_at(path, 1, 1, why)]);
        }
    }
}

/// Numbers of approvals that stand in files are not given again, even if there is no journal.
pub(super) fn count_approvals(cabinet: &mut Cabinet) {
    let folders = Decided::ALL.into_iter().map(Decided::folder);
    let files = folders.flat_map(|folder| list(&cabinet.home, folder, layout::APPROVAL_END));
    let number =
        |path: String| path.strip_suffix(layout::APPROVAL_END)?.rsplit('-').next()?.parse::<u32>().ok();
    if let Some(highest) = files.filter_map(number).max().filter(|n| *n >= cabinet.state.people.next_approval)
    {
        cabinet.outbox.say(Input::File(FileInput::ApprovalsFound { highest }));
    }
}

/// Questions about budgets that no journal knows are taken back: nobody knows what waits there, and what does asks anew.
pub(super) fn find_questions(cabinet: &mut Cabinet) {
    for path in list(&cabinet.home, Decided::Pending.folder(), layout::APPROVAL_END) {
        let Ok(Some(found)) = disk::read(&cabinet.home.join(&path)) else { continue };
        let Some(detail) = read_detail(&path, &found.text).value else { continue };
        let request = detail.request;
        if request.is_about_budget() && !cabinet.state.people.approvals.contains_key(&request.id) {
            cabinet.outbox.say(Input::File(FileInput::QuestionFound { approval: request.id }));
        }
    }
}

/// What the files know of a session's approvals, by call; used when there is no journal.
pub(super) fn approvals_of(home: &Path, session: &SessionId) -> BTreeMap<CallId, (Found, Request)> {
    let mut all = BTreeMap::new();
    for (decided, found) in [
        (Decided::Rejected, Found::Rejected),
        (Decided::Approved, Found::Approved),
        (Decided::Pending, Found::Pending),
    ] {
        for path in list(home, decided.folder(), layout::APPROVAL_END) {
            let Ok(Some(file)) = disk::read(&home.join(&path)) else { continue };
            let Some(detail) = read_detail(&path, &file.text).value else { continue };
            if detail.request.session == *session {
                all.insert(detail.request.call.clone(), (found.clone(), detail.request));
            }
        }
    }
    all
}

fn answer(approval: ApprovalId, answer: Answer, by: String, via: &str) -> Input {
    let by = if by.is_empty() { "owner".to_owned() } else { by };
    Input::Person(PersonInput::Answer { approval, answer, by, via: via.to_owned() })
}

fn unclear_at(path: &str, line: usize, column: usize, why: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: path.to_owned(),
        line,
        column,
        span: 0..0,
        message: format!("this decides nothing: {why}"),
        help: Some("write [x] or APPROVED to approve, [-] or REJECTED to reject".to_owned()),
    }
}

fn queue(file: &mut TaskFile, op: &ApprovalOp) {
    match op {
        ApprovalOp::Ask(request) => {
            let (spec, extra) = queue_item(request);
            if file.find(&spec.id).is_none() {
                file.add(None, &spec, Mark::Open, &extra);
            }
        }
        ApprovalOp::Close { id, outcome, at } => {
            let Some(index) = file.find(&TaskId::new(id.as_str())) else { return };
            let mut set = |key: &str, value: &str| {
                let has = file
                    .tasks()
                    .get(index)
                    .and_then(|item| item.property(key))
                    .is_some_and(|v| !v.trim().is_empty());
                if !has || key == "status" {
                    file.set_property(index, key, value);
                }
            };
            let at_text = formats::time::print(*at);
            let timed = at.0 != 0;
            match outcome {
                Outcome::Answered { answer: Answer::Approved, by, .. } => {
                    set("status", "approved");
                    set("approved_by", by);
                    if timed {
                        set("approved_at", &at_text);
                    }
                    file.set_mark(index, Mark::Done);
                }
                Outcome::Answered { answer: Answer::Rejected { reason }, by, .. } => {
                    set("status", "rejected");
                    set("rejected_by", by);
                    if timed {
                        set("rejected_at", &at_text);
                    }
                    if !reason.is_empty() {
                        set("rejection_reason", reason);
                    }
                    file.set_mark(index, Mark::Cancelled);
                }
                Outcome::Expired => {
                    set("status", "expired");
                    file.set_mark(index, Mark::Cancelled);
                }
                Outcome::Withdrawn { reason } => {
                    set("status", "withdrawn");
                    set("rejection_reason", reason);
                    file.set_mark(index, Mark::Cancelled);
                }
            }
        }
    }
}
