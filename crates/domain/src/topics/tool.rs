//! Tools: what an agent can ask for, what each needs, and what kind of effect it has.
//! Nothing here runs anything.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::words::id::{AgentId, CallId};

pub use crate::topics::tools::*;

/// One tool call that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in its session.
    pub id: CallId,
    /// The arguments exactly as the model wrote them, for the session file.
    pub arguments: String,
    /// What is asked for.
    pub want: Want,
    /// What the world looked like when it was asked for, if that matters to the act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// What an act depends on outside of its words, as it was when the agent asked: an approval is for this.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Each thing it depends on: the program, files it names, where it runs.
    pub parts: Vec<Part>,
    /// Reasons to ask a person that lie in the world and not in the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether commands run in a sandbox here.
    pub sandbox: bool,
    /// Where paths that the agent wrote lead by links, of those that lead elsewhere. The act has the paths behind them.
    #[serde(default, rename = "path", with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Resolved>,
    /// What a commit would change, as a patch for people; it may be cut, and the parts name all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Why this system or home does not offer what the act needs; the gate then denies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A path and what it stands for, both relative to the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// As the agent wrote it.
    pub named: String,
    /// Without links: what is judged, shown and opened.
    pub real: String,
}

/// One thing that an act depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// In words: `program /usr/bin/df`, `file deploy.sh`.
    pub what: String,
    /// The same thing has the same digest.
    pub digest: String,
}

impl Seen {
    /// What differs in `now`, in words; `None` if nothing does.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let missing = |here: &Self, there: &Self| {
            here.parts.iter().find(|part| !there.parts.contains(part)).map(|part| part.what.clone())
        };
        if self.sandbox != now.sandbox {
            return Some("the sandbox".to_owned());
        }
        missing(self, now).or_else(|| missing(now, self))
    }
}

/// What a command may do beyond reading its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Permit {
    /// Write in its workspace.
    pub writes: bool,
    /// Reach the network.
    pub network: bool,
}

impl Permit {
    /// Neither.
    pub const NONE: Self = Self { writes: false, network: false };

    /// Whether it is the smallest.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// What both allow.
    pub fn both(self, other: Self) -> Self {
        Self { writes: self.writes && other.writes, network: self.network && other.network }
    }
}

/// What a call asks for, once its arguments were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Something Synod can do.
    Act(Act),
    /// Nothing it can do: no such tool, or arguments that do not fit its schema.
    Invalid {
        /// The tool's name as the model wrote it.
        tool: String,
        /// What to do better, for the model.
        error: String,
    },
}

impl Call {
    /// The same call with what was seen. A path that leads elsewhere by links is replaced by the one behind them, so
    /// that nobody judges, locks, labels or opens it by its spelling.
    #[must_use]
    pub fn seeing(self, seen: Option<Seen>) -> Self {
        let want = match (self.want, &seen) {
            (Want::Act(act), Some(seen)) => Want::Act(act.at(&seen.paths)),
            (want, _) => want,
        };
        Self { want, seen, ..self }
    }

    /// The arguments and the tool as one text, by which calls are compared.
    pub(crate) fn act(&self) -> String {
        format!("{}{}", self.arguments, self.want.tool())
    }

    /// Whether `act` is this call's.
    pub(crate) fn is_act(&self, act: &str) -> bool {
        act.strip_prefix(self.arguments.as_str()) == Some(self.want.tool())
    }
}

impl Want {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        match self {
            Self::Act(act) => act.tool(),
            Self::Invalid { tool, .. } => tool,
        }
    }
}

impl Act {
    /// Says something to another agent, and wants an answer some time.
    pub fn send_message(to: AgentId, content: impl Into<String>) -> Self {
        Self::SendMessage(SendMessage::plain(to, content))
    }

    /// Reads a whole file.
    pub fn read_file(path: impl Into<String>) -> Self {
        Self::ReadFile(ReadFile { path: path.into(), from_line: None, lines: None })
    }

    /// The SHA-256 of the act in its journal form, with what it depends on and what it may do: the same act in the
    /// same world has the same digest, any other differs.
    pub fn digest(&self, seen: Option<&Seen>, permit: Permit) -> String {
        // An act that depends on nothing has the digest of its words alone, as in journals of the first version.
        let bytes = match (seen, permit) {
            (None, Permit::NONE) => serde_json::to_vec(self),
            more => serde_json::to_vec(&(self, more)),
        };
        let bytes = bytes.unwrap_or_default();
        Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl Act {
    /// The paths of the home that it names, as far as links in them are followed before it is judged.
    pub fn paths(&self) -> Vec<String> {
        self.clone().paths_mut().into_iter().map(|path| path.clone()).collect()
    }

    /// The same act at the paths behind those that it names.
    #[must_use]
    fn at(mut self, resolved: &[Resolved]) -> Self {
        for path in self.paths_mut() {
            if let Some(found) = resolved.iter().find(|found| found.named == *path) {
                path.clone_from(&found.real);
            }
        }
        self
    }
}

/// One path as itself, as journals have it since there were acts with one path only; several as a list.
mod one_or_more {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Resolved;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        One(Resolved),
        More(Vec<Resolved>),
    }

    pub(super) fn serialize<S: Serializer>(paths: &[Resolved], serializer: S) -> Result<S::Ok, S::Error> {
        match paths {
            [one] => one.serialize(serializer),
            more => more.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Resolved>, D::Error> {
        Form::deserialize(deserializer).map(|form| match form {
            Form::One(one) => vec![one],
            Form::More(more) => more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_reads_from_the_json_a_model_writes() {
        let act: Act = serde_json::from_str(
            r#"{"tool":"create_task","arguments":{"title":"Look","assignee":"retriever-001","depends_on":["task-001"]}}"#,
        )
        .unwrap();
        assert_eq!(act.tool(), "create_task");
        assert!(facts(act.tool()).unwrap().inside);
    }

    #[test]
    fn paths_behind_links_are_read_from_both_forms_and_stand_in_the_act() {
        let one = r#"{"parts":[],"sandbox":true,"path":{"named":"a/l","real":"b"}}"#;
        let seen: Seen = serde_json::from_str(one).unwrap();
        assert_eq!(serde_json::to_string(&seen).unwrap(), one, "as in older journals");
        let two =
            r#"{"parts":[],"sandbox":true,"path":[{"named":"a/l","real":"b"},{"named":"c","real":"d"}]}"#;
        let both: Seen = serde_json::from_str(two).unwrap();
        assert_eq!((both.paths.len(), serde_json::to_string(&both).unwrap().as_str()), (2, two));
        let want = Want::Act(Act::read_file("a/l"));
        let call = Call { id: CallId::new("c"), arguments: String::new(), want, seen: None };
        assert_eq!(call.seeing(Some(both)).want, Want::Act(Act::read_file("b")));
    }

    #[test]
    fn a_digest_tells_acts_apart() {
        let one = Act::ExecuteCommand(ExecuteCommand { command: "df -h".to_owned() });
        let two = Act::ExecuteCommand(ExecuteCommand { command: "df -h ".to_owned() });
        let digest = |act: &Act| act.digest(None, Permit::NONE);
        assert_eq!(digest(&one), digest(&one.clone()));
        assert_ne!(digest(&one), digest(&two));
        let part = Part { what: "program /usr/bin/df".to_owned(), digest: "00".to_owned() };
        let seen = Seen { parts: vec![part], notes: Vec::new(), sandbox: true, ..Seen::default() };
        assert_ne!(digest(&one), one.digest(Some(&seen), Permit::NONE));
        assert_ne!(digest(&one), one.digest(None, Permit { writes: true, network: false }));
    }
}
