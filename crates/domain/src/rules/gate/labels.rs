//! Labels: what was read in the conversation. What changes something is not done on the word of anybody, and what only
//! some may see goes to nobody else: text from outside may lead to reading and thinking, and to asking a person.

use super::{Case, Opinion};
use crate::topics::tool::{Act, Listener};
use crate::words::label::{Integrity, Label, Readers};
use policy::Risk;

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    let label = case.asker.label;
    if let Err((rule, advice)) = may_reach(label, case.act) {
        return Opinion::Deny { rule, advice };
    }
    if !case.changes() {
        return Opinion::NONE;
    }
    let is_outward = case.wants_network() || case.is_outward();
    let rule = || "trust: text from outside changes nothing by itself".to_owned();
    let leaks = (is_outward && label.readers != Readers::Home).then(|| Opinion::Ask {
        rule: rule(),
        risk: Risk::High,
        factors: vec![format!("what was read here is not for everybody to see: {label}")],
    });
    let driven = (label.integrity == Integrity::Outside).then(|| Opinion::Raise {
        rule: rule(),
        factors: vec![format!(
            "one step higher, because what was read here came from outside, where anybody may have written it: {label}"
        )],
    });
    leaks.into_iter().chain(driven).reduce(Opinion::and).unwrap_or(Opinion::NONE)
}

/// Whether the agents that an act names may see what was read before it.
fn may_reach(label: &Label, act: &Act) -> Result<(), (String, String)> {
    let readers = "trust.secret: readers".to_owned();
    match act.reach().listener {
        Some(Listener::Agent(other)) if !label.readers.include(other) => {
            Err((readers, format!("{other} may not see what was read here ({label}); leave it to who may")))
        }
        // What it is told stands in its file, for everybody to read.
        Some(Listener::NewAgent) if label.readers != Readers::Home => {
            Err((readers, format!("what was read here is not for a new agent to see ({label})")))
        }
        // So does why somebody was ended, and whoever waited for an answer is told.
        Some(Listener::Everybody) if label.readers != Readers::Home => Err((
            readers,
            format!("what was read here is not for all who are told the reason ({label}); leave it out"),
        )),
        Some(Listener::Agent(_) | Listener::NewAgent | Listener::Everybody) | None => Ok(()),
    }
}
