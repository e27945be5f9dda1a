//! Messages between agents: what stands on the envelope, beside what every message of a session has (its id, who it
//! is from, when, and what is said).
//!
//! A message is delivered by standing in a session of its receiver: one journalled event is the sending, the
//! delivery and the order. What is shown first when several wait is decided by [`order`].

use crate::words::actor::Actor;
use serde::{Deserialize, Serialize};

use crate::topics::chain::Hands;
use crate::words::id::{AgentId, SessionId};

/// The receiver that means all other agents.
pub const BROADCAST: &str = "broadcast";
/// Nobody waits longer than this for an answer.
pub const WAIT_MS_MAX: u64 = 3_600_000;
/// How long `ask_agent` waits for an answer: the other may work on something else first.
pub const ANSWER_MS_MAX: u64 = 1_800_000;
/// So many requests of one conversation may be without an answer.
pub const OPEN_MAX: usize = 256;

/// `type:` of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An answer is wanted: the receiver's own `response`, else its last words.
    #[default]
    Request,
    /// Answers a request.
    Response,
    /// No answer is wanted.
    Notification,
    /// A request for something without which the sender cannot go on.
    DependencyRequest,
    /// Answers that.
    DependencyResolution,
    /// A request to lend a hand.
    HelpRequest,
    /// Answers that.
    HelpResponse,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Request,
        Self::Response,
        Self::Notification,
        Self::DependencyRequest,
        Self::DependencyResolution,
        Self::HelpRequest,
        Self::HelpResponse,
    ];
    /// The words of all of them.
    pub const WORDS: [&str; Self::ALL.len()] = {
        let mut words = [""; Self::ALL.len()];
        let mut at = 0;
        while at < words.len() {
            words[at] = Self::ALL[at].as_str();
            at += 1;
        }
        words
    };

    /// The word in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Notification => "notification",
            Self::DependencyRequest => "dependency_request",
            Self::DependencyResolution => "dependency_resolution",
            Self::HelpRequest => "help_request",
            Self::HelpResponse => "help_response",
        }
    }

    /// The kind that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether an answer is wanted.
    pub fn asks(self) -> bool {
        match self {
            Self::Request | Self::DependencyRequest | Self::HelpRequest => true,
            Self::Response | Self::Notification | Self::DependencyResolution | Self::HelpResponse => false,
        }
    }

    /// Whether it is an answer.
    pub fn answers(self) -> bool {
        match self {
            Self::Response | Self::DependencyResolution | Self::HelpResponse => true,
            Self::Request | Self::Notification | Self::DependencyRequest | Self::HelpRequest => false,
        }
    }

    /// Where it belongs.
    pub fn channel(self) -> Channel {
        match self {
            Self::Request | Self::Response | Self::Notification => Channel::Direct,
            Self::DependencyRequest | Self::DependencyResolution => Channel::Dependency,
            Self::HelpRequest | Self::HelpResponse => Channel::Help,
        }
    }

    /// What a request is if it goes to this channel: whatever is asked on one of Synod's own is of its kind.
    pub(crate) fn on(self, channel: Option<&str>) -> Self {
        let own = |channel: Channel| Some(channel.as_str());
        match self {
            Self::Request if channel == own(Channel::Dependency) => Self::DependencyRequest,
            Self::Request if channel == own(Channel::Help) => Self::HelpRequest,
            kind => kind,
        }
    }

    /// What answers a request of this kind.
    pub(crate) fn answer(self) -> Self {
        match self.channel() {
            Channel::Dependency => Self::DependencyResolution,
            Channel::Help => Self::HelpResponse,
            Channel::Task | Channel::Direct | Channel::Control | Channel::State => Self::Response,
        }
    }
}

/// `priority:` of a message. A later one is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// After all others.
    Low,
    /// What a message without the key has.
    #[default]
    Normal,
    /// Before those.
    High,
    /// First.
    Critical,
}

impl Urgency {
    /// All of them, the least urgent first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Critical];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The urgency that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|urgency| urgency.as_str() == word)
    }

    /// For serde.
    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

/// Where a message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// What a task is, and what came of tasks.
    Task,
    /// From one to another, or to all.
    Direct,
    /// What somebody needs to go on, and what it gets. Agents listen to it by naming it.
    Dependency,
    /// Who wants a hand, and who lends one. Agents listen to it by naming it.
    Help,
    /// What Synod tells an agent of the rules: a lock that was taken away, words that were never read, what was kept of an
    /// agent that is over.
    Control,
    /// What conversations do: begin, wait, end. Told to people only: two agents that heard of each other's moves would keep
    /// each other awake for ever.
    State,
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Task, Self::Direct, Self::Dependency, Self::Help, Self::Control, Self::State];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Direct => "direct",
            Self::Dependency => "dependency",
            Self::Help => "help",
            Self::Control => "control",
            Self::State => "state",
        }
    }
}

/// What stands before the name of a channel where a receiver is named: `#ops`.
pub const CHANNEL_SIGN: char = '#';

/// The channel that a receiver names.
pub fn channel_of(to: &AgentId) -> Option<&str> {
    to.as_str().strip_prefix(CHANNEL_SIGN)
}

/// Why agents cannot listen to a channel of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadChannel {
    /// Each of them would be told that the other was told.
    #[error(
        "agents do not listen to `state`: two that hear of each other's moves would wake each other for ever; `synod message tail --channel state` shows it to people"
    )]
    State,
    /// It stands for something else.
    #[error("`{0}` is a word of Synod's own; name the channel otherwise")]
    Reserved(String),
}

/// Whether agents can listen to a channel of this name.
pub fn check_channel(name: &str) -> Result<(), BadChannel> {
    if name == Channel::State.as_str() {
        return Err(BadChannel::State);
    }
    let is_open = [Channel::Dependency, Channel::Help].iter().any(|own| own.as_str() == name);
    let is_own = Channel::ALL.iter().any(|own| own.as_str() == name) || name == BROADCAST;
    match is_own && !is_open {
        true => Err(BadChannel::Reserved(name.to_owned())),
        false => Ok(()),
    }
}

/// What stands on a message that an agent sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Envelope {
    /// What it wants.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Whether it went to all other agents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// The channel it went to, without the `#`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// How urgent it is.
    #[serde(skip_serializing_if = "Urgency::is_normal")]
    pub priority: Urgency,
    /// Names a request and its answers: `<session of who asked>/<its message>.<call>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    /// Of a response about somebody's work: whether it is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// And what is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
    /// Whether whoever asked stands still until it has the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaited: bool,
    /// The conversation in which the request came up that all this is for. Not in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionId>,
    /// Through whose hands the work went for which it was sent. It stands in the file, so that it binds without a journal too.
    #[serde(skip_serializing_if = "Hands::is_empty")]
    pub hands: Hands,
}

impl Envelope {
    /// What a model is told above the words, if there is more to it than somebody asking something.
    pub fn heading(&self, from: Option<&Actor>) -> Option<String> {
        // A person is shown with the kind: their name might be that of an agent.
        let from = match from {
            Some(Actor::Agent(id)) => id.to_string(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let word = self.kind.as_str().replace('_', " ");
        let is_plain = self.kind == Kind::Request && !self.broadcast && self.channel.is_none();
        let mut line = match (self.kind.asks(), &self.in_reply_to, &self.correlation_id) {
            (false, Some(to), _) => format!("{word} of {from} to {to}"),
            (false, None, _) => format!("{word} of {from}"),
            (true, _, Some(id)) if self.awaited => format!("{word} {id} of {from}, who waits for the answer"),
            (true, _, Some(id)) if !is_plain => format!("{word} {id} of {from}"),
            (true, _, _) if is_plain && self.priority.is_normal() => return None,
            (true, _, _) => format!("{word} of {from}"),
        };
        if self.broadcast {
            line.push_str(", to all");
        }
        if let Some(channel) = &self.channel {
            line.push_str(&format!(", to {CHANNEL_SIGN}{channel}"));
        }
        if !self.priority.is_normal() {
            line.push_str(&format!(", priority {}", self.priority.as_str()));
        }
        match self.approved {
            Some(true) => line.push_str(", approved"),
            Some(false) => line.push_str(", not approved"),
            None => {}
        }
        let issues: Vec<String> = self.issues.iter().map(|issue| format!("\n- {issue}")).collect();
        Some(format!("[{line}]{}", issues.concat()))
    }
}

/// A request that has no answer yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its name: `correlation_id`.
    pub name: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: Kind,
}

impl Question {
    /// The conversation of who asked.
    pub fn asker(&self) -> Option<SessionId> {
        self.name.split_once('/').map(|(session, _)| SessionId::new(session))
    }
}

/// What the file of a conversation says of those who spoke in it, when no journal knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tie {
    /// Which conversation.
    pub session: SessionId,
    /// Through whose hands went what it does now.
    pub hands: Hands,
    /// What it was asked, and whoever asked has no answer to.
    pub requests: Vec<Question>,
    /// Its last words, if it is at rest.
    pub words: Option<String>,
}

/// Of these names the one that is most like `name`, if one is near.
pub fn near<'a>(name: &str, known: impl Iterator<Item = &'a AgentId>) -> Option<&'a AgentId> {
    let far = (name.len() / 3).max(1);
    known.map(|id| (distance(name, id.as_str()), id)).filter(|(d, _)| *d <= far).min().map(|(_, id)| id)
}

/// How many letters must be changed, added or left out to make the one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
