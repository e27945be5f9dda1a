//! Command policy: what `policy/commands.yaml` and the built-in rules say of a command, and what was found in the world.

use super::{Case, Opinion};
use crate::topics::tool::{Act, Runs, Seen};
use policy::command::{self, Judgement, Place};
use policy::{CommandVerdict, Policy, Risk};

/// What the policy says of an act that is a command.
pub(super) fn judgement(policy: &Policy, act: &Act, seen: Option<&Seen>) -> Option<Judgement> {
    let Runs::Command(command) = act.runs() else { return None };
    let place = Place { notes: seen.map_or(&[], |seen| &seen.notes) };
    Some(command::judge(policy, &place, command))
}

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    match (case.act.runs(), &case.command) {
        (Runs::Command(command), Some(judgement)) => {
            let rule = judgement.rule.clone();
            match judgement.verdict {
                CommandVerdict::Allow => Opinion::Fine(Some(rule)),
                CommandVerdict::Ask => {
                    Opinion::Ask { rule, risk: judgement.risk, factors: judgement.factors.clone() }
                }
                CommandVerdict::Deny => Opinion::Deny { rule, advice: judgement.advice(command) },
            }
        }
        (Runs::OwnersCommand(_), _) => match case.seen.map_or(&[][..], |seen| &seen.notes) {
            [] => Opinion::Fine(Some("the owner of the home wrote the command".to_owned())),
            notes => {
                let rule = "what was found in the world asks".to_owned();
                Opinion::Ask { rule, risk: Risk::High, factors: notes.to_vec() }
            }
        },
        (Runs::Command(_), None) | (Runs::Nothing, _) => Opinion::NONE,
    }
}
