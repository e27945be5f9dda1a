//! A budget that is used up asks a person whether it may be passed once.

use crate::kernel::draft::Draft;
use crate::kernel::event::{ApprovalEvent, BudgetEvent};
use crate::kernel::input::Input;
use crate::kernel::input::PersonInput;
use crate::kernel::state::State;
use crate::topics::approval::{Answer, Outcome, Request};
use crate::topics::budget::question::{Due, NOTHING_WAITS, named};
use crate::topics::budget::{Node, Window, units_of};
use crate::topics::caps::Cap;
use crate::topics::tool::{Act, Permit, RaiseBudget};
use crate::words::id::{AgentId, ApprovalId, CallId, SessionId, Time};
use crate::words::label::Label;
use policy::Risk;

/// Asks the next question, or takes one back that has become idle.
pub(super) fn settle(d: &mut Draft<'_>) {
    match d.question_due() {
        Some(Due::Ask(name)) => {
            let request = named(&d.config.settings, name).and_then(|node| ask(d, d.at, &node));
            if let Some(request) = request {
                d.emit(ApprovalEvent::Asked { request: Box::new(request) });
            }
        }
        Some(Due::Withdraw(approval, reason)) => {
            let (approval, outcome) = (approval.clone(), Outcome::Withdrawn { reason: reason.to_owned() });
            d.emit(ApprovalEvent::Ended { approval, outcome });
        }
        None => {}
    }
}

/// While nobody works, what a person ends takes back what was asked for its sake: nobody should answer for nothing. All else
/// waits for the start.
pub(super) fn after_an_end(d: &mut Draft<'_>, input: &Input) {
    let ends = matches!(
        input,
        Input::Person(PersonInput::Cancel { .. })
            | Input::Person(PersonInput::CancelRun { .. })
            | Input::Person(PersonInput::Terminate { .. })
    );
    if !ends {
        return;
    }
    let idle = d.ledger.questions().filter(|(name, _)| d.ledger.stopped(name).next().is_none());
    let idle: Vec<ApprovalId> = idle.map(|(_, approval)| approval.clone()).collect();
    for approval in idle {
        let outcome = Outcome::Withdrawn { reason: NOTHING_WAITS.to_owned() };
        d.emit(ApprovalEvent::Ended { approval, outcome });
    }
}

fn ask(state: &State, at: Time, node: &Node) -> Option<Request> {
    let Cap { tokens, money } = enough(state, at, node, node.again()?);
    let act = Act::RaiseBudget(RaiseBudget { budget: node.name.clone(), tokens, money });
    let ends = match node.window {
        Window::Minute | Window::Day => "the day ends (UTC)",
        Window::Month => "the month ends (UTC)",
        Window::Ever => "the run ends",
    };
    let factors = vec![
        format!("rule: {} has no room for what waits", node.name),
        format!("a yes is for once: it counts until {ends}, and synod.yaml stays as it is"),
        "a no leaves the work parked, and nobody is asked again before the window is over".to_owned(),
    ];
    Some(Request {
        id: ApprovalId::new(format!("approval-{:04}", state.people.next_approval)),
        agent: AgentId::new("synod"),
        // It is about no call: many may wait, and some of them have not begun.
        session: SessionId::new(""),
        call: CallId::new(""),
        task: None,
        seen: None,
        permit: Permit::NONE,
        digest: act.digest(None, Permit::NONE),
        act,
        why: why(state, at, node),
        risk: Risk::Medium,
        factors,
        label: Label::owner(),
        chain: Vec::new(),
        escalates: None,
        created: at,
        // It is taken back by itself when it has become idle.
        expires: None,
    })
}

/// By how much a node is to be passed: at least so that each of those who wait there could go on.
fn enough(state: &State, at: Time, node: &Node, again: Cap) -> Cap {
    let (cap, raised) = (node.cap(), state.ledger.raised(node, at));
    let spent = state.ledger.meter(node, at).spent;
    let needs: Vec<Cap> = state.ledger.stopped(&node.name).filter_map(|work| state.need_of(work)).collect();
    let unit = |of: fn(&Cap) -> Option<u64>, spent: u64| {
        let most = of(&cap)?.saturating_add(of(&raised).unwrap_or_default());
        let need = needs.iter().filter_map(of).max().unwrap_or_default();
        Some(of(&again)?.max(spent.saturating_add(need).saturating_sub(most)))
    };
    Cap { tokens: unit(|cap| cap.tokens, spent.tokens), money: unit(|cap| cap.money, spent.money) }
}

/// What does not change while the question stands: what is spent and what waits does, and is told by who knows it then.
fn why(state: &State, at: Time, node: &Node) -> String {
    let (cap, raised) = (node.cap(), state.ledger.raised(node, at));
    let most = |most: Option<u64>, more: Option<u64>, unit: &str| {
        let most = most?.saturating_add(more.unwrap_or_default());
        Some(format!("{} {unit}", units_of(unit, most)))
    };
    let caps = [most(cap.tokens, raised.tokens, "tokens"), most(cap.money, raised.money, "money")];
    let caps: Vec<String> = caps.into_iter().flatten().collect();
    format!(
        "{}: {} leave no room for what waits. `synod inbox` and `synod budget show` say what is spent and what waits by now",
        node.name,
        caps.join(" and ")
    )
}

/// What follows from the answer, if the question was about a budget; whether it was.
pub(super) fn answered(d: &mut Draft<'_>, request: &Request, answer: &Answer) -> bool {
    let Act::RaiseBudget(RaiseBudget { budget, tokens, money }) = &request.act else { return false };
    if *answer == Answer::Approved {
        let cap = Cap { tokens: *tokens, money: *money };
        d.emit(BudgetEvent::Raised { budget: budget.clone(), cap, approval: request.id.clone() });
    }
    true
}

/// Approval files about budgets that no journal knows: whoever still waits asks anew.
pub(super) fn withdraw_orphan(d: &mut Draft<'_>, approval: &ApprovalId) {
    if d.people.approvals.contains_key(approval) || d.people.decided.contains_key(approval) {
        return;
    }
    let reason = "it was asked before the journal was lost; what still waits asks anew".to_owned();
    d.emit(ApprovalEvent::Ended { approval: approval.clone(), outcome: Outcome::Withdrawn { reason } });
}
