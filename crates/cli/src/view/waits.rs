//! Who waits for what and who has which lock: from the daemon if there is one, else as the journal knows it.

use std::collections::BTreeMap;
use std::path::Path;

use domain::waits::{Node, Wait, Why};
use web::api::{Request, Response, Waits};

use super::spent;
use crate::out::Out;
use crate::text;
use crate::wire;

/// Reads them. Without a daemon and without a journal there are none.
pub fn read(home: &Path, out: &Out) -> Waits {
    let why = match web::client::ask(&wire::socket(home), &Request::Waits) {
        Ok(Response::Waits(waits)) => return *waits,
        Ok(_) => "it gave another answer".to_owned(),
        Err(error) if wire::is_running(home) => error.to_string(),
        Err(_) => return web::server::waits(&spent::known(home)),
    };
    tell_mute(&why, out);
    web::server::waits(&spent::known(home))
}

/// In words what each conversation waits for, but for what files tell. One walk: many may wait.
pub fn by_session(waits: &Waits) -> BTreeMap<String, String> {
    let mut of: BTreeMap<&Node, Vec<&Wait>> = BTreeMap::new();
    for wait in &waits.waits {
        of.entry(&wait.from).or_default().push(wait);
    }
    let words = |wait: &&Wait| {
        let behind = |why: Why| {
            let next = of.get(&wait.to)?.iter().find(|next| next.why == why)?;
            Some(name(waits, &next.to))
        };
        told(wait.why, &name(waits, &wait.to), behind)
    };
    let sessions = of.iter().filter_map(|(node, own)| match node {
        Node::Session(id) => Some((id.to_string(), own.iter().find_map(words)?)),
        _ => None,
    });
    sessions.collect()
}

/// A conversation about a task is named by the task.
fn name(waits: &Waits, node: &Node) -> String {
    match node {
        Node::Session(id) => {
            let task = waits.sessions.get(id.as_str()).and_then(|talk| talk.task.clone());
            task.unwrap_or_else(|| id.to_string())
        }
        Node::Moment(at) => formats::time::print(*at),
        Node::Task(_) | Node::Approval(_) | Node::Slot(_) | Node::Lock(_) | Node::Window(_) => {
            node.to_string()
        }
    }
}

/// In words a wait for what has this name; `behind` names what that waits for in turn. Nothing for what files tell.
pub fn told<T: AsRef<str>>(why: Why, name: &str, behind: impl Fn(Why) -> Option<T>) -> Option<String> {
    let next = |why: Why, words: [&str; 2]| {
        behind(why).map_or_else(String::new, |next| format!("{}{}{}", words[0], next.as_ref(), words[1]))
    };
    match why {
        Why::Lock => Some(format!("waits for {name}{}", next(Why::Held, [", which ", " has"]))),
        Why::Delegation => Some(format!("waits for {name}, which it handed on")),
        Why::Answer => Some(format!("waits for an answer of {name}")),
        Why::Window if is_provider(name) => Some(format!("waits for {name} to answer")),
        Why::Window => {
            let asked = next(Why::Approval, [", for which ", " asks you"]);
            Some(format!("waits for {name} to have room{asked}"))
        }
        Why::Retry => Some(format!("asks its model again at {name}")),
        Why::Slot => Some("waits for a free slot".to_owned()),
        Why::Dependency | Why::Part | Why::Approval | Why::Held => None,
    }
}

/// Whether a window is that of a provider that does not answer.
fn is_provider(name: &str) -> bool {
    name.starts_with("provider ") || name.starts_with("model ")
}

/// Says that the daemon did not answer.
pub fn tell_mute(why: &str, out: &Out) {
    out.say(format!(
        "the daemon does not say who waits ({}); this is as the journal has it",
        text::line(why)
    ));
}
