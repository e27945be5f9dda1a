//! What the owner's files say.

use crate::words::actor::Actor;
use std::collections::BTreeMap;

use crate::kernel::draft::Draft;
use crate::kernel::event::{AgentEvent, BudgetEvent, SystemEvent, TrustEvent};
use crate::kernel::refused::Refused;
use crate::rules::end::end_task;
use crate::rules::intake::take_left;
use crate::topics::agent;
use crate::topics::budget::charge::{Raise, Sum};
use crate::topics::settings::Settings;
use crate::topics::task::End;
use crate::topics::task::{Task, TaskStage};
use crate::topics::tool::foreign;
use crate::topics::tool::foreign::Offer;
use crate::words::id::{AgentId, SessionId, TaskId};
use crate::words::label::Label;
use policy::Policy;

pub(super) fn read_settings(d: &mut Draft<'_>, settings: &Settings) {
    if d.config.settings != *settings {
        d.emit(SystemEvent::SettingsChanged { settings: Box::new(settings.clone()) });
        take_left(d);
    }
}

pub(super) fn read_policy(d: &mut Draft<'_>, policy: &Policy) {
    if d.config.policy != *policy {
        d.emit(SystemEvent::PolicyChanged { policy: policy.clone() });
    }
}

pub(super) fn find_tools(d: &mut Draft<'_>, server: &str, tools: &[Offer]) {
    let tools = foreign::usable(server, tools);
    if d.foreign.of(server) != tools.as_slice() {
        d.emit(SystemEvent::ToolsFound { server: server.to_owned(), tools });
    }
}

pub(super) fn read_agent(d: &mut Draft<'_>, spec: &agent::Spec) {
    let known = d.team.agents.get(&spec.id);
    // The maker of an agent does not change with its file.
    let made = known.and_then(|known| known.spec.spawned_by.clone()).or_else(|| spec.spawned_by.clone());
    let spec = agent::Spec { spawned_by: made, ..spec.clone() };
    match known {
        // It does not come back, whoever brings back its file.
        Some(known) if known.terminated.is_some() => {}
        Some(known) if known.spec == spec && !known.retired => {}
        _ => {
            d.emit(AgentEvent::Defined { spec: Box::new(spec) });
            take_left(d);
        }
    }
}

pub(super) fn lose_agent(d: &mut Draft<'_>, agent: &AgentId) -> Result<(), Refused> {
    let known = d.team.agents.get(agent).ok_or_else(|| Refused::NoAgent(agent.clone()))?;
    if !known.retired {
        d.emit(AgentEvent::Retired { agent: agent.clone() });
        end_unbegun(d, agent);
    }
    Ok(())
}

/// Ends the tasks that an agent leaves without having begun them, if a conversation waits for them: it would wait for ever.
/// Tasks that people asked for stay open, so that they can give them to somebody else.
fn end_unbegun(d: &mut Draft<'_>, agent: &AgentId) {
    let goes_on = |id: &SessionId| d.sessions.get(id).is_some_and(|session| !session.is_over());
    let is_left = |task: &&Task| {
        task.stage == TaskStage::Open
            && task.spec.assignee.as_ref() == Some(agent)
            && d.asker_of(task).is_some_and(goes_on)
    };
    let left: Vec<TaskId> = d.work.tasks.values().filter(is_left).map(|task| task.spec.id.clone()).collect();
    let reason = format!("{agent} is no longer in the team and had not begun");
    for task in left {
        end_task(d, &task, End::Failed, &reason, &Actor::Synod);
    }
}

/// Labels that a list in the home knows and the journal does not: the journal was deleted.
pub(super) fn find_labels(d: &mut Draft<'_>, labels: &BTreeMap<String, Label>) {
    let missing = |(path, label): &(&String, &Label)| {
        d.trust.files.get(*path).is_none_or(|known| known.clone().joined(label) != *known)
    };
    let labels: BTreeMap<String, Label> =
        labels.iter().filter(missing).map(|(path, label)| (path.clone(), label.clone())).collect();
    if !labels.is_empty() {
        d.emit(TrustEvent::Found { labels });
    }
}

/// Costs that a list in the home knows, without a journal: it was deleted. Where anything was counted, the journal knows
/// better. A cost from a time that has not come counts now: no window is closed by a clock that was wrong.
pub(super) fn find_usage(d: &mut Draft<'_>, sums: &[Sum], raised: &[Raise]) {
    if !d.ledger.is_unused() || (sums.is_empty() && raised.is_empty()) {
        return;
    }
    let at = d.at;
    let sums = sums.iter().map(|sum| Sum { reserved: sum.reserved.min(at), ..sum.clone() }).collect();
    let mut raised: Vec<Raise> = raised.iter().filter(|raise| raise.at <= at).cloned().collect();
    raised.sort_by_key(|raise| raise.at);
    d.emit(BudgetEvent::Found { sums, raised });
}
