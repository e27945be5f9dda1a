//! What is held while work goes on: slots, reservations, places in queues, calls that wait. Nothing is held for
//! what has ended, and when all has ended, nothing is held at all.

use std::collections::BTreeMap;

use domain::budget::{Cap, Hold, Window, nodes};
use domain::event::Event;
use domain::event::{BudgetEvent, DelegationEvent};
use domain::id::{AgentId, ApprovalId, SessionId, Time};
use domain::lifecycle::Lifecycle;
use domain::settings::{Provider, Settings};
use domain::state::{On, Session, Stage, State, Step};
use domain::tool::{Act, RaiseBudget};
use serde_json::Value;

use super::broken::Broken;
use super::runs::wrong_runs;

/// An event is durable: what it takes must be there to be taken.
pub(super) fn saw(before: &State, event: &Event) -> Result<(), Broken> {
    match event {
        Event::Delegation(DelegationEvent::Made { delegation }) => {
            // Work may have come back to one of them as a task, but nobody hands it to who had it.
            let (target, above) = (&delegation.target, delegation.chain.split_last());
            if above.is_none_or(|(last, above)| last != target || above.contains(target)) {
                return Err(Broken(format!("{} goes in a circle: {:?}", delegation.id, delegation.chain)));
            }
            let asked = &delegation.chain[..delegation.chain.len().saturating_sub(1)];
            let known = asked.iter().filter_map(|id| before.team.agents.get(id));
            let usual = before.config.settings.limits.default_delegation_depth;
            let most =
                known.map(|a| a.spec.permissions.delegation.max_delegation_depth.unwrap_or(usual)).min();
            if asked.len() > most.unwrap_or(0) as usize {
                return Err(Broken(format!("{} is handed on deeper than {most:?}", delegation.id)));
            }
            if before.delegations.by_id.contains_key(&delegation.id) {
                return Err(Broken(format!("there are two {}", delegation.id)));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// By how much people let budgets be passed, written down from what they were asked and said.
#[derive(Debug, Default)]
pub(super) struct Raises {
    /// What a person said yes to, by the name of the approval.
    said: BTreeMap<ApprovalId, (String, Cap)>,
    /// What that amounts to, by the name of the node, and when its window ends.
    by_node: BTreeMap<String, (Option<Time>, Cap)>,
}

impl Raises {
    /// A person says yes to a question, and that is to what it names.
    pub(super) fn say_yes(&mut self, approval: &ApprovalId, act: &Act) {
        let Act::RaiseBudget(RaiseBudget { budget, tokens, money }) = act else { return };
        let cap = Cap { tokens: *tokens, money: *money };
        self.said.insert(approval.clone(), (budget.clone(), cap));
    }

    /// The yes is durable.
    pub(super) fn saw(&mut self, at: Time, event: &Event) -> Result<(), Broken> {
        let Event::Budget(BudgetEvent::Raised { budget, cap, approval }) = event else { return Ok(()) };
        let said = self.said.remove(approval);
        if said.as_ref() != Some(&(budget.clone(), *cap)) {
            return Err(Broken(format!("{budget} is raised by {cap:?} in {approval}, people said {said:?}")));
        }
        let window = match budget.rsplit('.').next() {
            Some("day") => Window::Day,
            Some("month") => Window::Month,
            _ => Window::Ever,
        };
        let before = self.raised(budget, at);
        let sum = |one: Option<u64>, more: Option<u64>| match (one, more) {
            (None, None) => None,
            (one, more) => Some(one.unwrap_or(0).saturating_add(more.unwrap_or(0))),
        };
        let cap = Cap { tokens: sum(before.tokens, cap.tokens), money: sum(before.money, cap.money) };
        self.by_node.insert(budget.clone(), (window.opens(at), cap));
        Ok(())
    }

    fn raised(&self, name: &str, at: Time) -> Cap {
        match self.by_node.get(name) {
            Some((until, cap)) if until.is_none_or(|until| at < until) => *cap,
            Some(_) | None => Cap::default(),
        }
    }
}

/// What is spent and reserved passes no cap that is there when it is reserved. Caps are read from the settings by
/// the names of the nodes, and raises from what people said, so that what decides does not judge itself.
pub(super) fn check_caps(raises: &Raises, after: &State, at: Time, hold: &Hold) -> Result<(), Broken> {
    for node in nodes(&after.config.settings, &hold.payer) {
        let (requests, cap) = cap_of(&after.config.settings, &node.name);
        let meter = after.ledger.meter(&node, at);
        // A person may have said that it may be passed, by so much.
        let raised = raises.raised(&node.name, at);
        let most = |cap: Option<u64>, more: Option<u64>| Some(cap?.saturating_add(more.unwrap_or_default()));
        let sums = [
            ("requests", meter.spent.requests + meter.reserved.requests, requests),
            ("tokens", meter.spent.tokens + meter.reserved.tokens, most(cap.tokens, raised.tokens)),
            ("money", meter.spent.money + meter.reserved.money, most(cap.money, raised.money)),
        ];
        if let Some((unit, sum, most)) = sums.iter().find(|(_, sum, most)| most.is_some_and(|m| *sum > m)) {
            return Err(Broken(format!("{}: {sum} {unit} are spent and reserved of {most:?}", node.name)));
        }
    }
    Ok(())
}

/// What the settings allow a node: requests, tokens and money.
fn cap_of(settings: &Settings, name: &str) -> (Option<u64>, Cap) {
    let budgets = &settings.budgets;
    let words: Vec<&str> = name.split('.').collect();
    match words[..] {
        ["budgets", "day"] => (None, budgets.day),
        ["budgets", "month"] => (None, budgets.month),
        ["budgets", "agents", agent, window] => {
            let share = budgets.agents.get(&AgentId::new(agent)).copied().unwrap_or_default();
            (None, if window == "day" { share.day } else { share.month })
        }
        ["providers", provider, "limits"] => match settings.providers.get(provider) {
            Some(Provider::OpenAi(endpoint)) => {
                let tokens = endpoint.limits.tokens_per_minute;
                (endpoint.limits.requests_per_minute, Cap { tokens, money: None })
            }
            _ => (None, Cap::default()),
        },
        _ if name.starts_with("budgets.run of ") => (None, budgets.run),
        _ => (None, Cap::default()),
    }
}

/// Between any two steps: whoever holds something is at work, and whoever waits is waited for.
pub(super) fn check(state: &State) -> Result<(), Broken> {
    if let Some(list) = state.wrong_list() {
        return Err(Broken(format!("what things are found by does not follow from them: {list}")));
    }
    if let Some(wrong) = wrong_runs(state) {
        return Err(Broken(wrong));
    }
    for (id, session) in &state.sessions {
        check_session(state, id, session)?;
    }
    for (id, task) in &state.work.tasks {
        let worker = task.session().and_then(|id| state.sessions.get(id));
        if worker.is_some_and(|worker| worker.lifecycle == Lifecycle::Complete) {
            return Err(Broken(format!("{id} is worked on in a conversation that is over")));
        }
    }
    for (id, delegation) in &state.delegations.by_id {
        let task = state.work.tasks.get(&delegation.task);
        // A person may open a task again of which everybody was told.
        if !delegation.status.is_over() && task.is_none_or(|task| task.is_ended()) {
            return Err(Broken(format!("{id} is {:?}, and its task has ended", delegation.status)));
        }
        let waits = state.sessions.get(&delegation.session).and_then(|s| s.pending(&delegation.call));
        let waits =
            waits.is_some_and(|p| p.step == Step::Waiting { on: On::Delegation { delegation: id.clone() } });
        if delegation.callback && !delegation.status.is_over() && !waits {
            return Err(Broken(format!("nobody waits for {id} any more, and it goes on")));
        }
    }
    Ok(())
}

fn check_session(state: &State, id: &SessionId, session: &Session) -> Result<(), Broken> {
    // What was told is read in the next turn, or goes back: nothing is remembered beyond that.
    let asks = matches!(session.stage, Stage::Thinking { .. } | Stage::Retrying { .. });
    if (!session.talk.unread && !session.talk.unheard.is_empty())
        || (!asks && !session.talk.hearing.is_empty())
    {
        return Err(Broken(format!("{id} never reads what {:?} told it", session.talk.unheard)));
    }
    if state.ledger.held(id, "").is_some() && !matches!(session.stage, Stage::Thinking { .. }) {
        return Err(Broken(format!("{id} has a reservation and asks no model: {:?}", session.stage)));
    }
    let Stage::Acting { calls, .. } = &session.stage else { return Ok(()) };
    for pending in calls {
        let call = pending.call.id.as_str();
        if state.ledger.held(id, call).is_some() && !matches!(pending.step, Step::Running { .. }) {
            return Err(Broken(format!("{call} of {id} has a reservation and does not run")));
        }
        if let Step::Waiting { on: On::Delegation { delegation } } = &pending.step
            && state.delegations.by_id.get(delegation).is_none_or(|d| d.status.is_over())
        {
            return Err(Broken(format!("{call} of {id} waits for {delegation}, which is over")));
        }
    }
    Ok(())
}

/// What may still be there when all has ended, by where it stands in the state; `*` is any name. Everything else that has
/// content is held by something: whatever is added to the state is held until it is named here.
const KEPT: [&str; 84] = [
    "seq",
    "at",
    "config/settings",
    "config/policy",
    "people/decided",
    "trust/files",
    "trust/inbox",
    "config/edition",
    "config/terms",
    "foreign",
    "work/next_task",
    "people/next_approval",
    "team/spent",
    "work/dangling",
    "schedule/startable/passed",
    "locks/fence",
    "locks/last",
    "reviews/by_id",
    "reviews/by_task",
    "reviews/by_author",
    "team/spawned",
    "team/agents/*/terminated",
    "team/agents/*/version",
    "team/agents/*/past",
    "sessions/*/began/version",
    "sessions/*/began/edition",
    "team/agents/*/spec",
    "team/agents/*/sessions_begun",
    "team/agents/*/retired",
    "team/agents/*/sessions",
    "team/agents/*/queue/passed",
    "team/agents/*/backlog/passed",
    "sessions/*/agent",
    "sessions/*/task",
    "sessions/*/lifecycle",
    "sessions/*/failed",
    "sessions/*/stage",
    "sessions/*/pace/turns",
    "sessions/*/talk/unread",
    "sessions/*/pace/turns_total",
    "sessions/*/pace/failures",
    "sessions/*/pace/fallback_until",
    "sessions/*/pace/summaries",
    "sessions/*/purse/spent",
    "sessions/*/purse/expects",
    "sessions/*/purse/outgrown",
    "sessions/*/talk/next_message",
    "sessions/*/talk/numbered",
    "sessions/*/ties/cause",
    "sessions/*/ties/hands",
    "sessions/*/ties/caused",
    "sessions/*/talk/urgency",
    "sessions/*/pace/repeated",
    "sessions/*/proof/unproven",
    "sessions/*/proof/reminders",
    "sessions/*/label",
    "sessions/*/clock/worked_ms",
    "work/tasks",
    "delegations/by_id",
    "delegations/by_task",
    "runs/tasks",
    "runs/sessions",
    "runs/unknown",
    "runs/unclaimed",
    "runs/by_id/*/origin",
    "runs/by_id/*/by",
    "runs/by_id/*/mode",
    "runs/by_id/*/began",
    "runs/by_id/*/ended",
    "runs/by_id/*/spent",
    "runs/by_id/*/members",
    "runs/by_id/*/sessions",
    "runs/by_id/*/counts/done",
    "runs/by_id/*/counts/failed",
    "runs/by_id/*/counts/cancelled",
    "runs/by_id/*/counts/turns",
    "runs/by_id/*/counts/delegations",
    "runs/by_id/*/counts/messages",
    "ledger/now",
    "ledger/meters/*/window",
    "ledger/meters/*/spent",
    "ledger/questions/raised",
    "ledger/questions/refused",
    "ledger/days",
];

/// When all has ended: no slot, queue, reservation, lock, deadline or open question is left behind.
pub(super) fn check_empty(state: &State) -> Result<(), Broken> {
    for (id, session) in &state.sessions {
        let rests = match session.lifecycle {
            Lifecycle::Complete => session.stage == Stage::Over,
            Lifecycle::Idle | Lifecycle::Waiting | Lifecycle::Blocked | Lifecycle::Working => {
                session.stage == Stage::Resting && !session.talk.unread
            }
        };
        if !rests {
            return Err(Broken(format!("all has ended, and {id} is in {:?}", session.stage)));
        }
    }
    for (id, task) in &state.work.tasks {
        if task.result.trim().is_empty() || task.place().is_some() {
            return Err(Broken(format!("{id} has ended, and does not say how or still waits for a slot")));
        }
    }
    let all = serde_json::to_value(state).map_err(|error| Broken(error.to_string()))?;
    match left(&all, "", &KEPT) {
        Some((place, what)) => Err(Broken(format!("all has ended, and {place} still holds {what}"))),
        None => Ok(()),
    }
}

/// The first thing that is left and is not named as kept; `kept` are the ends of the names that fit so far.
fn left(value: &Value, place: &str, kept: &[&str]) -> Option<(String, String)> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let kept: Vec<&str> = kept.iter().filter_map(|end| fits(end, name)).collect();
            if kept.contains(&"") { None } else { left(value, &format!("{place}/{name}"), &kept) }
        }),
        Value::Null | Value::Bool(false) => None,
        Value::Number(number) if number.as_u64() == Some(0) => None,
        Value::Array(items) if items.is_empty() => None,
        Value::String(_) | Value::Bool(true) | Value::Number(_) | Value::Array(_) => {
            Some((place.trim_start_matches('/').to_owned(), value.to_string()))
        }
    }
}

/// What of a name comes after its first part, if that is the given one.
fn fits<'a>(kept: &'a str, name: &str) -> Option<&'a str> {
    let (first, rest) = kept.split_once('/').unwrap_or((kept, ""));
    (first == "*" || first == name).then_some(rest)
}
