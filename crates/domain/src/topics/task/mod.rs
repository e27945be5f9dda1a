//! Tasks: what a task file says of one, and the marks.

pub mod event;
pub(crate) mod open;
pub mod queue;

use crate::topics::task::open::Open;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::topics::evidence;
use crate::topics::evidence::{BadEvidence, Evidence};
use crate::topics::task::queue::Place;
use crate::words::id::SessionId;
use crate::words::id::{AgentId, TaskId};
use crate::words::label::Label;
use crate::words::table::Table;
use std::collections::BTreeSet;

/// The box in front of a task: what a person sees of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// `[ ]` or `[_]`.
    Open,
    /// `[/]`
    Running,
    /// `[?]`: a person must decide something first.
    Asking,
    /// `[!]`
    Failed,
    /// `[x]`
    Done,
    /// `[-]`
    Cancelled,
}

impl Mark {
    /// All marks.
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Running, Self::Asking, Self::Failed, Self::Done, Self::Cancelled];

    /// The character Synod prints between the brackets.
    pub fn symbol(self) -> char {
        match self {
            Self::Open => ' ',
            Self::Running => '/',
            Self::Asking => '?',
            Self::Failed => '!',
            Self::Done => 'x',
            Self::Cancelled => '-',
        }
    }

    /// The mark for a character between brackets, as people type it.
    pub fn from_symbol(symbol: char) -> Option<Self> {
        match symbol {
            ' ' | '_' | '\u{a0}' => Some(Self::Open),
            '/' => Some(Self::Running),
            '?' => Some(Self::Asking),
            '!' => Some(Self::Failed),
            'x' | 'X' => Some(Self::Done),
            '-' => Some(Self::Cancelled),
            _ => None,
        }
    }

    /// The word in JSON output and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Running => "running",
            Self::Asking => "asking",
            Self::Failed => "failed",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// The mark that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.as_str() == word)
    }

    /// Whether nothing more will happen to the task by itself.
    pub fn is_ended(self) -> bool {
        match self {
            Self::Open | Self::Running | Self::Asking => false,
            Self::Failed | Self::Done | Self::Cancelled => true,
        }
    }
}

/// A letter from A (first) to F (last).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Priority {
    /// First.
    A,
    /// Second.
    B,
    /// Third; what a task without a letter counts as.
    C,
    /// Fourth.
    D,
    /// Fifth.
    E,
    /// Last.
    F,
}

impl Priority {
    /// The letter.
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
            Self::E => 'E',
            Self::F => 'F',
        }
    }

    /// The priority of a letter.
    pub fn from_letter(letter: char) -> Option<Self> {
        [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F].into_iter().find(|p| p.letter() == letter)
    }
}

/// The property that names tasks whose results go along.
const WITH_RESULTS: &str = "with_results";

/// What a task file says of one task: the part that people own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Unique in the home.
    pub id: TaskId,
    /// The file it stands in, relative to the home: `tasks/disk.task.md`.
    pub file: String,
    /// One line.
    pub title: String,
    /// `description:`, as long as needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Who works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<AgentId>,
    /// The letter, if one stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// `#words` of the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// `tag:`, the kind of work, for routing and rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Tasks that must end first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// Every call with an effect is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval_required: bool,
    /// All other properties, in no order; Synod keeps and does not read them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

impl Spec {
    /// What stands in the file of where it came from.
    pub fn label(&self) -> Option<Label> {
        self.properties.get("label").and_then(|text| text.parse().ok())
    }

    /// What must be so before it counts as done. What cannot be read is a demand that nothing meets.
    pub fn evidence(&self) -> Result<Vec<Evidence>, BadEvidence> {
        self.properties.get("done_when").map_or_else(|| Ok(Vec::new()), |text| evidence::parse(text))
    }

    /// Tasks whose results go along with it.
    pub fn with_results(&self) -> Vec<TaskId> {
        let ids = self.properties.get(WITH_RESULTS).map(String::as_str).unwrap_or_default();
        ids.split([',', ' ']).filter(|id| !id.is_empty()).map(TaskId::new).collect()
    }

    /// Lets the results of tasks go along with it.
    pub(crate) fn take_along(&mut self, ids: &[TaskId]) {
        let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        self.properties.insert(WITH_RESULTS.to_owned(), ids.join(", "));
    }

    /// A task with only what it must have.
    pub fn new(id: TaskId, file: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            id,
            file: file.into(),
            title: title.into(),
            text: String::new(),
            assignee: None,
            priority: None,
            tags: Vec::new(),
            tag: None,
            parent: None,
            depends_on: Vec::new(),
            approval_required: false,
            properties: BTreeMap::new(),
        }
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The agent reported it done, or a person marked it.
    Done,
    /// It could not be done.
    Failed,
    /// It was given up.
    Cancelled,
}

impl End {
    /// The mark it leaves.
    pub fn mark(self) -> Mark {
        match self {
            Self::Done => Mark::Done,
            Self::Failed => Mark::Failed,
            Self::Cancelled => Mark::Cancelled,
        }
    }
}

/// A change to what a task says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A new title.
    Title(String),
    /// A new description.
    Text(String),
    /// Another assignee, or none.
    Assignee(Option<AgentId>),
    /// Another priority, or none.
    Priority(Option<Priority>),
    /// Other `#words`.
    Tags(Vec<String>),
    /// Another kind of work, or none.
    Tag(Option<String>),
    /// Another parent, or none.
    Parent(Option<TaskId>),
    /// Other dependencies.
    DependsOn(Vec<TaskId>),
    /// Whether each effect is asked for.
    ApprovalRequired(bool),
    /// The whole of the other properties.
    Properties(BTreeMap<String, String>),
    /// Where it came from is written down; the other properties stay.
    Label(Label),
}

impl Change {
    /// The changes that make `to` out of `from`.
    pub fn between(from: &Spec, to: &Spec) -> Vec<Self> {
        let mut changes = Vec::new();
        let mut add = |differs: bool, change: Self| {
            if differs {
                changes.push(change);
            }
        };
        add(from.title != to.title, Self::Title(to.title.clone()));
        add(from.text != to.text, Self::Text(to.text.clone()));
        add(from.assignee != to.assignee, Self::Assignee(to.assignee.clone()));
        add(from.priority != to.priority, Self::Priority(to.priority));
        add(from.tags != to.tags, Self::Tags(to.tags.clone()));
        add(from.tag != to.tag, Self::Tag(to.tag.clone()));
        add(from.parent != to.parent, Self::Parent(to.parent.clone()));
        add(from.depends_on != to.depends_on, Self::DependsOn(to.depends_on.clone()));
        add(from.approval_required != to.approval_required, Self::ApprovalRequired(to.approval_required));
        add(from.properties != to.properties, Self::Properties(to.properties.clone()));
        changes
    }

    /// Makes the change.
    pub fn apply(&self, spec: &mut Spec) {
        match self {
            Self::Title(title) => spec.title.clone_from(title),
            Self::Text(text) => spec.text.clone_from(text),
            Self::Assignee(assignee) => spec.assignee.clone_from(assignee),
            Self::Priority(priority) => spec.priority = *priority,
            Self::Tags(tags) => spec.tags.clone_from(tags),
            Self::Tag(tag) => spec.tag.clone_from(tag),
            Self::Parent(parent) => spec.parent.clone_from(parent),
            Self::DependsOn(ids) => spec.depends_on.clone_from(ids),
            Self::ApprovalRequired(required) => spec.approval_required = *required,
            Self::Properties(properties) => spec.properties.clone_from(properties),
            Self::Label(label) => _ = spec.properties.insert("label".to_owned(), label.to_string()),
        }
    }
}

/// A task and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What the file says.
    pub spec: Spec,
    /// Who asked for it.
    pub by: Requester,
    /// The conversation for whose request another agent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionId>,
    /// How far it is.
    pub stage: TaskStage,
    /// What came of it, cut to a bound; the whole text is in the session.
    pub result: String,
    /// Where its words and its result come from.
    #[serde(default, skip_serializing_if = "Label::is_plain")]
    pub label: Label,
    /// Tasks that are a part of it.
    pub children: BTreeSet<TaskId>,
    /// Tasks that wait for it.
    pub dependents: BTreeSet<TaskId>,
    /// Where it waits for a slot.
    pub(crate) queued: Option<Place>,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStage {
    /// Not begun.
    Open,
    /// An agent is at it.
    Running {
        /// In this conversation.
        session: SessionId,
    },
    /// Over.
    Ended {
        /// How.
        end: End,
    },
}

/// Who asked for a task, and so who is told how it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requester {
    /// A person, through a file or a command.
    Person {
        /// The name, if it is known.
        name: String,
    },
    /// An agent, in this conversation.
    Session {
        /// Which.
        session: SessionId,
    },
    /// A line that came in from outside.
    Inbox {
        /// `inbox/slack-messages.jsonl:1`
        source: String,
    },
}

/// The deepest nesting of tasks that is followed.
pub const TASK_DEPTH_MAX: usize = 64;

impl Task {
    /// Where it waits for a slot, if it does.
    pub fn place(&self) -> Option<&Place> {
        self.queued.as_ref()
    }

    /// Whether it is over.
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, TaskStage::Ended { .. })
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<End> {
        match self.stage {
            TaskStage::Ended { end } => Some(end),
            TaskStage::Open | TaskStage::Running { .. } => None,
        }
    }

    /// The conversation it is worked on in.
    pub fn session(&self) -> Option<&SessionId> {
        match &self.stage {
            TaskStage::Running { session } => Some(session),
            TaskStage::Open | TaskStage::Ended { .. } => None,
        }
    }
}

/// The tasks of a home, and what they are looked for by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tasks {
    /// Tasks by id.
    pub tasks: Table<TaskId, Task>,
    /// The number of the next task.
    pub next_task: u32,
    /// Tasks that have not ended.
    pub open_tasks: u32,
    /// Tasks that others name and that do not exist (yet), each with those that name it.
    pub(crate) dangling: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// Tasks that have not ended, by what they are looked for.
    pub(crate) open: Open,
}
