//! Hands: carrying out what the gate let through.

use async_trait::async_trait;
use domain::context::Link;
use domain::id::{AgentId, Ticket};
use domain::lock::Grant;
use domain::lock::workspace::{Hold, Room};
use domain::review::{Finding, Review};
use domain::settings::Settings;
use domain::tool::foreign::Offer;
use domain::tool::{Act, Call, Permit, Seen};

use crate::model::{RawCall, Tool};

/// One act to carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Names this try; what must happen once carries it outside.
    pub ticket: Ticket,
    /// For whom.
    pub agent: AgentId,
    /// Its role, by which grants count; `None` for one that may see no shared context at all.
    pub role: Option<String>,
    /// Those through whose hands its work went, if shared contexts went along with it.
    pub line: Vec<Link>,
    /// What.
    pub act: Act,
    /// What the world looked like when the act was asked for; if it looks different now, the act is not carried out.
    pub seen: Option<Seen>,
    /// What a command may do beyond reading.
    pub permit: Permit,
    /// Whether a person said yes to exactly this, with what was seen then.
    pub approved: bool,
    /// The locks that it has on what it changes; if somebody else has one by then, nothing is changed.
    pub locks: Vec<Grant>,
    /// Its hold on the agent's workspace, if it works there: what stands there is then its own work and no other.
    pub hold: Option<Hold>,
    /// How long it may take.
    pub ms_max: u64,
    /// How much of its output is kept.
    pub output_bytes_max: u64,
    /// What of `memory/` the recorded labels hide from the agent; a command does not see it.
    pub hidden: Vec<String>,
    /// The review that it is about: checks, commands and looks are made on its commit, and it is what is merged.
    pub review: Option<Box<Review>>,
}

impl Order {
    /// The folder in which its agent works, relative to the home.
    pub fn folder(&self) -> String {
        self.room().folder(&self.agent)
    }

    /// In which of the agent's folders it is carried out.
    pub fn room(&self) -> Room {
        if self.review.is_some() { Room::Review } else { Room::Own }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Whether it was done. If not, it was tried and nothing is left half done, or the text says what is.
    pub ok: bool,
    /// What the agent sees.
    pub text: String,
    /// The real places whose content is in the text, relative to the home: a folder stands for all beneath it,
    /// `net:` for the network. Trust is decided by these.
    pub read: Vec<String>,
    /// The places that were changed, likewise.
    pub wrote: Vec<String>,
    /// What was found out on the way, if it is about a review.
    pub finding: Option<Finding>,
}

impl Outcome {
    /// It was done.
    pub fn done(text: impl Into<String>) -> Self {
        Self { ok: true, text: text.into(), ..Self::default() }
    }

    /// It did not work.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same, with content of a place in it.
    pub fn reading(mut self, place: impl Into<String>) -> Self {
        self.read.push(place.into());
        self
    }

    /// The same, with a place that it changed.
    pub fn writing(mut self, place: impl Into<String>) -> Self {
        self.wrote.push(place.into());
        self
    }
}

/// All tools of a home.
#[async_trait]
pub trait Tools: Send + Sync {
    /// The tools with these names, as a model sees them; unknown names are left out.
    fn describe(&self, names: &[&str]) -> Vec<Tool>;

    /// Reads a call's arguments against the tool's schema. Never fails: what does not fit becomes
    /// `Want::Invalid` with words that tell the model what to fix. `number` makes an id where the model gave none.
    fn read(&self, raw: RawCall, number: usize) -> Call;

    /// The same for a call of a tool of a foreign server, against the schema that the server gave.
    fn read_foreign(&self, raw: RawCall, number: usize, found: &Offer) -> Call;

    /// An act with paths relative to the home in place of the spellings of an agent that works in `folder`. `is_settled` is
    /// false if an earlier call of the same answer may make files. Blocks.
    fn locate(&self, _folder: &str, act: Act, _is_settled: bool) -> Act {
        act
    }

    /// What an act depends on in the world, beside its words; `None` if on nothing that could change unseen.
    async fn look(&self, agent: &AgentId, act: &Act) -> Option<Seen>;

    /// The same for an agent that is there to answer a review, where it looks at that.
    async fn look_in(&self, _review: &Review, agent: &AgentId, act: &Act) -> Option<Seen> {
        self.look(agent, act).await
    }

    /// Takes over what the owner settled; called before each act with what is in force.
    fn settle(&self, _settings: &Settings) {}

    /// A lock was given: whoever had it before changes nothing any more, however late it comes.
    fn fence(&self, _grant: &Grant) {}

    /// Carries out one act. Dropping the future stops it, and every process it started.
    async fn run(&self, order: Order) -> Outcome;
}
