//! News that somebody is owed. An ending leaves a notice here; a later step delivers it to whoever is still there.

use std::collections::BTreeMap;
use strum::IntoStaticStr;

use serde::{Deserialize, Serialize};

use crate::topics::task::End;
use crate::words::id::{AgentId, SessionId, TaskId};

/// The receiver of a notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receiver {
    /// A conversation. When it is over, its notices are dropped.
    Session(SessionId),
    /// An agent, in whichever conversation it has then.
    Agent(AgentId),
}

/// One piece of news.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A task that the receiver asked for, or waits for, has ended.
    Ended {
        /// Its id.
        task: TaskId,
        /// How it ended.
        end: End,
        /// In full; the task itself keeps only its beginning.
        result: String,
    },
    /// A conversation is over that owed the receiver an answer.
    NoAnswer {
        /// The conversation that is over.
        from: SessionId,
        /// Why it is over.
        reason: String,
    },
    /// A conversation is over that had not read what the receiver wrote.
    Unread {
        /// The conversation that is over.
        by: SessionId,
        /// Why it is over.
        reason: String,
    },
}

/// All notices that are not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Notices {
    sessions: BTreeMap<SessionId, Vec<Notice>>,
    agents: BTreeMap<AgentId, Vec<Notice>>,
}

impl Notices {
    /// Whether everything was delivered.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.agents.is_empty()
    }

    /// The next receiver, with all that it is to be told. Conversations come first.
    pub(crate) fn next(&self) -> Option<(Receiver, Vec<Notice>)> {
        let session = self.sessions.first_key_value();
        let session = session.map(|(id, notices)| (Receiver::Session(id.clone()), notices.clone()));
        session.or_else(|| {
            let (id, notices) = self.agents.first_key_value()?;
            Some((Receiver::Agent(id.clone()), notices.clone()))
        })
    }

    pub(crate) fn leave_for_session(&mut self, id: &SessionId, notice: Notice) {
        self.sessions.entry(id.clone()).or_default().push(notice);
    }

    pub(crate) fn leave_for_agent(&mut self, id: &AgentId, notice: Notice) {
        self.agents.entry(id.clone()).or_default().push(notice);
    }

    /// Takes away what a receiver was to be told.
    pub(crate) fn take(&mut self, receiver: &Receiver) -> Vec<Notice> {
        match receiver {
            Receiver::Session(id) => self.sessions.remove(id),
            Receiver::Agent(id) => self.agents.remove(id),
        }
        .unwrap_or_default()
    }
}

/// What happens to news.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// All that somebody was to be told was told.
    Told {
        /// Its receiver.
        receiver: Receiver,
    },
}
