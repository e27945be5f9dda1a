//! What happened. Events are the journal: they are only ever added to, and old ones must stay readable
//! (`tests/golden/events` has one of each). Each topic has its own.

use serde::{Deserialize, Serialize};

pub use crate::topics::agent::Event as AgentEvent;
pub use crate::topics::approval::Event as ApprovalEvent;
pub use crate::topics::budget::event::Bill;
pub use crate::topics::budget::event::Event as BudgetEvent;
pub use crate::topics::call::Event as CallEvent;
pub use crate::topics::call::Finish;
pub use crate::topics::delegation::Event as DelegationEvent;
pub use crate::topics::lock::Event as LockEvent;
pub use crate::topics::notice::Event as NoticeEvent;
pub use crate::topics::outage::Event as OutageEvent;
pub use crate::topics::review::Event as ReviewEvent;
pub use crate::topics::session::event::Event as SessionEvent;
pub use crate::topics::session::event::{Found, FoundCall, Tail};
pub use crate::topics::system::Event as SystemEvent;
pub use crate::topics::task::event::Event as TaskEvent;
pub use crate::topics::trust::Event as TrustEvent;
pub use crate::topics::turn::Event as TurnEvent;

/// The version of the encoding of events; a change that old readers cannot read raises it.
pub const VERSION: u32 = 1;

macro_rules! events {
    ($($(#[$doc:meta])* $topic:ident($event:ident),)*) => {
        /// One thing that happened.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Event {
            $($(#[$doc])* $topic($event),)*
        }

        impl Event {
            /// The event's name, as in the journal.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$topic(event) => event.into(),)*
                }
            }
        }

        $(impl From<$event> for Event {
            fn from(event: $event) -> Self {
                Self::$topic(event)
            }
        })*
    };
}

events! {
    /// About the home as a whole.
    System(SystemEvent),
    /// About an agent.
    Agent(AgentEvent),
    /// About a task.
    Task(TaskEvent),
    /// About news that somebody is owed.
    Notice(NoticeEvent),
    /// About a conversation.
    Session(SessionEvent),
    /// About a model call of a conversation.
    Turn(TurnEvent),
    /// About a tool call.
    Call(CallEvent),
    /// About an approval.
    Approval(ApprovalEvent),
    /// About a delegation.
    Delegation(DelegationEvent),
    /// About a review.
    Review(ReviewEvent),
    /// About a lock.
    Lock(LockEvent),
    /// About tokens and money.
    Budget(BudgetEvent),
    /// About providers that do not answer.
    Outage(OutageEvent),
    /// About the labels of files.
    Trust(TrustEvent),
}
