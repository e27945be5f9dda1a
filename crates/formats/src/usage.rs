//! `log/usage.jsonl`: what each answer of a model took and who paid, one JSON object a line, and which budgets people let
//! be passed. What was spent is known from it when the journal is gone.

use std::collections::BTreeSet;

use domain::budget::charge::{Charge, Raise};
use domain::budget::{Cap, Payer};
use domain::id::{AgentId, ApprovalId, Seq, SessionId, TaskId, Time};
use domain::layout;
use domain::usage::{Usage, money};
use serde::{Deserialize, Serialize};

use crate::time;

/// Where the list is, relative to the home.
pub const PATH: &str = layout::USAGE;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The event of the journal that it tells of: with the time, its name.
    pub event: Seq,
    /// What it tells.
    pub told: Told,
}

/// What a line tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A model answered.
    Answered(Charge),
    /// A person let a budget be passed.
    Raised(Raise, ApprovalId),
}

impl Entry {
    /// When it happened.
    pub fn at(&self) -> Time {
        match &self.told {
            Told::Answered(charge) => charge.at,
            Told::Raised(raise, _) => raise.at,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Answered(Answered),
    Raised(Raised),
}

#[derive(Serialize, Deserialize)]
struct Answered {
    at: String,
    event: u64,
    agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    session: SessionId,
    model: String,
    #[serde(flatten)]
    usage: Usage,
    /// As people write it; null if the price was unknown.
    cost: Option<String>,
    run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    makers: Vec<AgentId>,
    /// If that was at another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reserved: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Raised {
    at: String,
    event: u64,
    raised: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    money: Option<String>,
    approval: ApprovalId,
}

/// One line, with its end.
pub fn print_line(entry: &Entry) -> String {
    let event = entry.event.0;
    let line = match &entry.told {
        Told::Answered(charge) => Line::Answered(Answered {
            at: time::print(charge.at),
            event,
            agent: charge.payer.agent.clone(),
            task: charge.task.clone(),
            session: charge.session.clone(),
            model: charge.model.clone(),
            usage: charge.usage,
            cost: charge.cost.map(money),
            run: charge.payer.run.clone(),
            provider: charge.payer.provider.clone(),
            makers: charge.payer.makers.clone(),
            reserved: Some(charge.reserved).filter(|reserved| *reserved != charge.at).map(time::print),
        }),
        Told::Raised(Raise { at, budget, cap }, approval) => Line::Raised(Raised {
            at: time::print(*at),
            event,
            raised: budget.clone(),
            tokens: cap.tokens,
            money: cap.money.map(money),
            approval: approval.clone(),
        }),
    };
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text
}

/// What a line says, if it can be read.
pub fn read_line(line: &str) -> Option<Entry> {
    match serde_json::from_str(line).ok()? {
        Line::Answered(line) => {
            let at = time::parse(&line.at)?;
            let reserved = line.reserved.as_deref().map_or(Some(at), time::parse)?;
            let cost = match &line.cost {
                Some(cost) => Some(millionths(cost)?),
                None => None,
            };
            let payer =
                Payer { agent: line.agent, makers: line.makers, run: line.run, provider: line.provider };
            let (session, task, model, usage) = (line.session, line.task, line.model, line.usage);
            let charge = Charge { payer, session, task, model, at, reserved, usage, cost };
            Some(Entry { event: Seq(line.event), told: Told::Answered(charge) })
        }
        Line::Raised(line) => {
            let money = match &line.money {
                Some(money) => Some(millionths(money)?),
                None => None,
            };
            let cap = Cap { tokens: line.tokens, money };
            let raise = Raise { at: time::parse(&line.at)?, budget: line.raised, cap };
            Some(Entry { event: Seq(line.event), told: Told::Raised(raise, line.approval) })
        }
    }
}

/// All that the list says, each thing once, and the numbers of lines that cannot be read. A last line without an end was
/// being written when the process ended, and is no line if it cannot be read.
pub fn read(text: &str) -> (Vec<Entry>, Vec<usize>) {
    let (mut entries, mut unread, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        match read_line(line) {
            Some(entry) => {
                if seen.insert((entry.event, entry.at())) {
                    entries.push(entry);
                }
            }
            None if line.trim().is_empty() || !line.ends_with('\n') => {}
            None => unread.push(number + 1),
        }
    }
    (entries, unread)
}

/// `0.0123` as `domain::usage::money` prints it.
fn millionths(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    if rest.len() > 6 || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let rest: u64 = format!("{rest:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge() -> Charge {
        Charge {
            payer: Payer {
                agent: AgentId::new("coder-001"),
                makers: Vec::new(),
                run: "task-001".to_owned(),
                provider: None,
            },
            session: SessionId::new("coder-001-abc123"),
            task: None,
            model: "small".to_owned(),
            at: Time(1_700_000_000_000),
            reserved: Time(1_700_000_000_000),
            usage: Usage::of(1_200, 50),
            cost: Some(12_300),
        }
    }

    fn all() -> Vec<Entry> {
        let full = Charge {
            payer: Payer {
                makers: vec![AgentId::new("planner-001"), AgentId::new("chief-001")],
                provider: Some("cloud \"1\"".to_owned()),
                ..charge().payer
            },
            task: Some(TaskId::new("task-003")),
            reserved: Time(1_699_999_999_001),
            usage: Usage { cache_read: 9, cache_write: 8, reasoning: 7, ..Usage::of(u64::MAX, 0) },
            cost: Some(u64::MAX),
            ..charge()
        };
        let raise = |cap| Raise { at: Time(1_700_000_000_000), budget: "budgets.day".to_owned(), cap };
        let raised = |cap| Told::Raised(raise(cap), ApprovalId::new("approval-0001"));
        let told = [
            Told::Answered(charge()),
            Told::Answered(full),
            Told::Answered(Charge { cost: None, usage: Usage::default(), ..charge() }),
            raised(Cap { tokens: Some(2_400), money: Some(1) }),
            raised(Cap::default()),
        ];
        (1..).zip(told).map(|(event, told)| Entry { event: Seq(event), told }).collect()
    }

    #[test]
    fn a_line_reads_as_what_was_printed() {
        let text: String = all().iter().map(print_line).collect();
        let first = r#"{"at":"2023-11-14T22:13:20.000Z","event":1,"agent":"coder-001","session":"coder-001-abc123","model":"small","tokens_in":1200,"tokens_out":50,"cost":"0.0123","run":"task-001"}"#;
        assert_eq!(text.lines().next(), Some(first));
        assert_eq!(read(&text), (all(), Vec::new()));
    }

    #[test]
    fn what_stands_there_twice_counts_once_and_a_torn_end_is_no_line() {
        let text: String = all().iter().map(print_line).collect();
        let torn = &text[..text.len() - 20];
        assert_eq!(read(torn), (all()[..4].to_vec(), Vec::new()));
        let twice = format!("{text}\nnonsense\n{text}{{\"at\":\"2023");
        assert_eq!(read(&twice), (all(), vec![7]));
        // The same number in a later journal is another answer.
        let later =
            Entry { event: Seq(1), told: Told::Answered(Charge { at: Time(1_700_000_000_001), ..charge() }) };
        assert_eq!(read(&format!("{text}{}", print_line(&later))).0.len(), all().len() + 1);
    }

    #[test]
    fn a_price_that_is_none_is_not_read_as_nothing() {
        for cost in ["-1", "1.2345678", "", "x", "1.-5", "99999999999999"] {
            let line = print_line(&all()[0]).replace("0.0123", cost);
            assert_eq!(read(&line), (Vec::new(), vec![1]), "{cost}");
        }
    }
}
