//! What is under way in a state, for whoever looks.

use std::collections::BTreeMap;

use domain::id::ApprovalId;
use domain::lifecycle::Lifecycle;
use domain::session::Session;
use domain::state::{Stage, State, Step};
use domain::tool::Want;

use crate::api::{Live, Opening, Waiting, Working};

/// Of so many tasks it is told why they do not go on.
const WAITING_MAX: usize = 1_000;

/// What is under way.
pub fn live(state: &State) -> Live {
    let working = state.sessions_in_flight().map(|(id, session)| {
        let running = match &session.stage {
            Stage::Acting { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        let running = running.iter().filter(|p| matches!(p.step, Step::Running { .. }));
        let spec = state.spec_of(session);
        let falls_back = session.pace.fallback_until.is_some();
        let model = spec
            .map(|spec| spec.model.fallback.as_ref().filter(|_| falls_back).unwrap_or(&spec.model.primary));
        let (doing, acts) = match &session.stage {
            Stage::Acting { .. } => {
                running.map(|p| (p.call.want.tool().to_owned(), wish(&p.call.want))).unzip()
            }
            _ => (vec!["model".to_owned()], Vec::new()),
        };
        Working {
            session: id.to_string(),
            agent: session.agent.to_string(),
            task: session.task.as_ref().map(ToString::to_string),
            doing,
            acts,
            model: model.cloned().unwrap_or_default(),
            spent: session.purse.spent,
        }
    });
    Live {
        pid: std::process::id(),
        seq: state.seq.0,
        idle: state.is_idle(),
        working: working.collect(),
        waiting: waiting(state),
    }
}

fn wish(want: &Want) -> String {
    match want {
        Want::Act(act) => act.words().wish,
        Want::Invalid { .. } => want.tool().to_owned(),
    }
}

/// What to know of a home to understand what happens next.
pub(crate) fn opening(state: &State) -> Opening {
    // What no other agent caused, a person did.
    let is_done = |session: &Session| session.stage == Stage::Resting && !session.talk.unread;
    let is_asked = |session: &Session| {
        session.ties.cause.is_none() && session.lifecycle != Lifecycle::Complete && !is_done(session)
    };
    let asked = state.sessions.iter().filter(|(_, session)| is_asked(session));
    let calls = state.sessions.iter().flat_map(|(id, session)| match &session.stage {
        Stage::Acting { calls, .. } => calls.iter().map(|p| (id.clone(), (*p.call).clone())).collect(),
        _ => Vec::new(),
    });
    Opening {
        seq: state.seq.0,
        approvals: state.people.approvals.values().cloned().collect(),
        asked: asked.map(|(id, _)| id.clone()).collect(),
        calls: calls.collect(),
        live: live(state),
    }
}

/// Why tasks do not go on, if it is for a reason that no file tells.
pub fn waiting(state: &State) -> Vec<Waiting> {
    let asked: BTreeMap<&str, &ApprovalId> = state.ledger.questions().collect();
    let parked = state.parked().filter_map(|halt| {
        let reason = &halt.parked.reason;
        let why = match asked.get(halt.parked.limit.as_str()) {
            Some(approval) if halt.parked.is_for_people() => format!("{reason}; {approval} asks you"),
            Some(_) | None => reason.clone(),
        };
        Some(Waiting { task: halt.task?.to_string(), why })
    });
    let held_back = state.held_back().map(|(task, why)| Waiting { task: task.to_string(), why });
    parked.chain(held_back).take(WAITING_MAX).collect()
}
