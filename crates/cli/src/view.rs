//! What the files of a home say, for commands that only look. The files alone are enough: no daemon is needed
//! and the journal stays closed, but for what was spent and for what a file said last that does not read any more. What
//! cannot be read is left out here; `synod check` says what and why.

pub mod activity;
pub mod files;
pub mod outages;
pub mod sessions;
pub mod spent;
pub mod tasks;
pub mod team;
pub mod waits;

use std::collections::BTreeMap;
use std::path::Path;

use domain::agent;
use domain::approval::Request;
use domain::id::{AgentId, Time};
use domain::label::{Integrity, Label, Readers};
use domain::layout::{self, Decided};
use domain::role::{self, Role};
use domain::settings::Settings;
use formats::approval::{Decision, read_detail, read_queue};
use formats::did_you_mean;
use formats::task::TaskFile;

use crate::failure::{Exit, fail};
use crate::text;

/// The queue of approvals; it stands among the task files and holds no tasks.
pub const QUEUE_PATH: &str = layout::QUEUE;

/// The agents in force, by id.
pub fn agents(home: &Path) -> Vec<agent::Spec> {
    team::read(home).agents
}

/// The settings in force.
pub fn settings(home: &Path) -> Settings {
    team::settings(home).0
}

/// All roles of a home.
pub fn roles(settings: &Settings) -> BTreeMap<String, Role> {
    let mut roles = role::builtin();
    roles.extend(settings.roles.clone());
    roles
}

/// The approvals in `approvals/pending/`, sorted by their files.
#[derive(Debug, Default)]
pub struct Approvals {
    /// Nobody has decided them.
    pub waiting: Vec<Waiting>,
    /// Decided in a file; Synod has not acted on it yet.
    pub decided: Vec<Request>,
    /// Files that cannot be read.
    pub broken: Vec<String>,
}

/// An approval that nobody has decided.
#[derive(Debug)]
pub struct Waiting {
    /// What its file says.
    pub request: Request,
    /// Somebody wrote something that could be a decision: why it is none.
    pub unclear: Option<String>,
}

/// The approvals that a person can decide. Either place decides: the approval's own file and the queue.
pub fn approvals(home: &Path) -> Approvals {
    let mut found = Approvals::default();
    let paths = files::list(home, Decided::Pending.folder(), layout::APPROVAL_END);
    if paths.is_empty() {
        return found;
    }
    let queue = files::read(home, QUEUE_PATH).unwrap_or_default();
    let (queue, _) = TaskFile::parse(QUEUE_PATH, &queue);
    for path in paths {
        let text = files::read(home, &path).ok();
        let Some(detail) = text.and_then(|text| read_detail(&path, &text).value) else {
            found.broken.push(path);
            continue;
        };
        let item = queue
            .tasks()
            .iter()
            .find(|item| item.id.as_ref().is_some_and(|id| id.as_str() == detail.request.id.as_str()));
        let in_queue = item.map_or(Decision::None, read_queue);
        match (&detail.decision, in_queue) {
            (Decision::Approved { .. } | Decision::Rejected { .. }, _)
            | (_, Decision::Approved { .. } | Decision::Rejected { .. }) => {
                found.decided.push(detail.request)
            }
            (Decision::Unclear { why, .. }, _) => {
                let unclear = Some(why.clone());
                found.waiting.push(Waiting { request: detail.request, unclear });
            }
            (Decision::None, Decision::Unclear { why, .. }) => {
                found.waiting.push(Waiting { request: detail.request, unclear: Some(why) });
            }
            (Decision::None, Decision::None) => {
                found.waiting.push(Waiting { request: detail.request, unclear: None })
            }
        }
    }
    found
}

/// Now, for how long something waits.
pub fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Time(since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
}

/// What to know of an answer with a label that counts, in one line.
pub fn caution(label: &Label) -> String {
    let mut said = Vec::new();
    if label.integrity == Integrity::Outside {
        let origins: Vec<&str> = label.origins.iter().map(String::as_str).collect();
        said.push(format!("it is made from text from outside ({})", origins.join(", ")));
    }
    if let Readers::Only(few) = &label.readers {
        let names: Vec<&str> = few.iter().map(AgentId::as_str).collect();
        let who = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        said.push(format!("of all agents it is for {who}"));
    }
    text::line(&said.join("; "))
}

/// The error for an id that nobody has.
pub fn unknown<'a>(kind: &str, id: &str, known: impl IntoIterator<Item = &'a str>) -> anyhow::Error {
    let help = match did_you_mean(id, known) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("`synod {kind} list` shows what there is"),
    };
    fail(Exit::Failed, format!("there is no {kind} {}", text::line(id)), help)
}
