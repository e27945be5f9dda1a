//! What becomes of approvals: answered, or expired.

use crate::kernel::draft::Draft;
use crate::kernel::event::ApprovalEvent;
use crate::kernel::event::Finish;
use crate::kernel::refused::Refused;
use crate::rules::question;
use crate::rules::say::result;
use crate::topics::approval::{Answer, Outcome};
use crate::topics::settings::OnExpiry;
use crate::words::id::ApprovalId;

/// A person decided; the first decision counts.
pub(super) fn answered(
    d: &mut Draft<'_>,
    id: &ApprovalId,
    answer: &Answer,
    by: &str,
    via: &str,
) -> Result<(), Refused> {
    let Some(request) = d.people.approvals.get(id).cloned() else {
        return Err(match d.people.decided.get(id) {
            Some(outcome) => Refused::ApprovalClosed { approval: id.clone(), outcome: outcome.clone() },
            None => Refused::NoApproval(id.clone()),
        });
    };
    let outcome = Outcome::Answered { answer: answer.clone(), by: by.to_owned(), via: via.to_owned() };
    d.emit(ApprovalEvent::Ended { approval: id.clone(), outcome });
    if question::answered(d, &request, answer) {
        return Ok(());
    }
    if let Answer::Rejected { reason } = answer {
        let why = if reason.is_empty() { "no reason was given".to_owned() } else { reason.clone() };
        let message = result(d.at, &request.call, format!("rejected by {by}: {why}"));
        let finish = Finish::Refused { rule: format!("{id} was rejected") };
        d.finish_call(&request.session, finish, message);
    }
    Ok(())
}

/// An approval that nobody answered in time.
pub(super) fn expired(d: &mut Draft<'_>, id: &ApprovalId) {
    let Some(mut request) = d.people.approvals.get(id).cloned() else { return };
    d.emit(ApprovalEvent::Ended { approval: id.clone(), outcome: Outcome::Expired });
    let settings = &d.config.settings.approvals;
    if settings.on_expiry == OnExpiry::Escalate && request.escalates.is_none() {
        request.id = ApprovalId::new(format!("approval-{:04}", d.people.next_approval));
        request
            .factors
            .insert(0, format!("nobody answered {id} in time; if nobody answers this one, it is not done"));
        request.escalates = Some(id.clone());
        request.created = d.at;
        request.expires = settings.expire_ms.map(|ms| d.at.plus_ms(ms));
        return d.emit(ApprovalEvent::Asked { request: Box::new(request) });
    }
    if d.sessions.contains_key(&request.session) {
        let text = format!("not carried out: {id} was not answered in time (approvals.expire_after)");
        let message = result(d.at, &request.call, text);
        let finish = Finish::Refused { rule: "approvals.expire_after".to_owned() };
        d.finish_call(&request.session, finish, message);
    }
}
