//! Evidence: what the task requires. `approval_required` asks for every effect; `done_when` says what shows that it is done.

use super::reach::open_to;
use super::{Case, Inspector, OF_EVIDENCE, Opinion, Ruling, Verdict};
use crate::topics::evidence::Evidence;
use crate::topics::task::Requester;
use crate::topics::tool::{Act, Check, ExecuteCommand, Permit};
use policy::{Nature, Risk};

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    if !case.asker.approval_required || !case.changes() {
        return Opinion::NONE;
    }
    Opinion::Ask {
        rule: "approval_required".to_owned(),
        risk: Risk::Low,
        factors: vec!["the task says approval_required: true".to_owned()],
    }
}

/// Says whether Synod may look at evidence. What the owner demanded is looked at as it stands; a command that an agent
/// made a condition is a command like any other.
pub(super) fn judge(case: &Case<'_>) -> Ruling {
    let Act::Check(Check { task, evidence, .. }) = case.act else { return case.pass(&OF_EVIDENCE) };
    let by = case.place.and_then(|place| place.state.work.tasks.get(task)).map(|task| &task.by);
    let rule = |verdict: Verdict, rule: &str, nature: Nature, permit: Permit| Ruling {
        verdict,
        inspector: Inspector::Evidence,
        rule: rule.to_owned(),
        nature,
        permit,
    };
    match (evidence, by) {
        (Evidence::File(path) | Evidence::Schema { file: path, .. }, _) => match open_to(case.asker, path) {
            Ok(()) => rule(Verdict::Allow, "done_when", Nature::Read, Permit::NONE),
            Err((closed, advice)) => rule(Verdict::Deny { advice }, &closed, Nature::Read, Permit::NONE),
        },
        (Evidence::Approval, _) => {
            let factors = vec!["the task is done when a person says so".to_owned()];
            let verdict = Verdict::Ask { risk: Risk::Low, factors };
            rule(verdict, "done_when: approval", Nature::Read, Permit::NONE)
        }
        (Evidence::Command(_), Some(Requester::Person { .. } | Requester::Inbox { .. })) => {
            let permit = Permit { writes: true, network: false };
            rule(Verdict::Allow, "done_when", Nature::Idempotent, permit)
        }
        (Evidence::Command(command), Some(Requester::Session { .. }) | None) => {
            let act = Act::ExecuteCommand(ExecuteCommand { command: command.clone() });
            let ruling = Case::new(case.asker, case.policy, &act, None, None).pass(&OF_EVIDENCE);
            Ruling { rule: format!("done_when: {}", ruling.rule), ..ruling }
        }
    }
}
