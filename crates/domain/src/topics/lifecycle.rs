//! The states of an agent in a session, and the only moves between them:
//! idle → working → waiting → complete, working ↔ blocked, waiting → working.

use serde::{Deserialize, Serialize};

/// What an agent is doing in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// Nothing yet.
    #[default]
    Idle,
    /// The model is asked or tools run.
    Working,
    /// Nothing can happen before a person or another agent acts.
    Blocked,
    /// It has said what it had to say; a message wakes it.
    Waiting,
    /// Over.
    Complete,
}

/// A move that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an agent cannot go from {} to {}", from.as_str(), to.as_str())]
pub struct BadMove {
    /// Where it is.
    pub from: Lifecycle,
    /// Where it was sent.
    pub to: Lifecycle,
}

impl Lifecycle {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Idle, Self::Working, Self::Blocked, Self::Waiting, Self::Complete];

    /// The word in files and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Complete => "complete",
        }
    }

    /// The move to `to`, if there is one.
    pub fn go(self, to: Self) -> Result<Self, BadMove> {
        use Lifecycle::{Blocked, Complete, Idle, Waiting, Working};
        match (self, to) {
            (Idle | Blocked | Waiting, Working) | (Working, Waiting | Blocked) | (Waiting, Complete) => {
                Ok(to)
            }
            (Idle, Idle | Blocked | Waiting | Complete)
            | (Working, Idle | Working | Complete)
            | (Blocked, Idle | Blocked | Waiting | Complete)
            | (Waiting, Idle | Blocked | Waiting)
            | (Complete, Idle | Working | Blocked | Waiting | Complete) => Err(BadMove { from: self, to }),
        }
    }

    /// The moves that lead from here to `to`, in order; none if there is no way.
    pub fn path(self, to: Self) -> Vec<Self> {
        if self == to {
            return Vec::new();
        }
        // The graph has five nodes: the shortest way is at most four moves long.
        let mut ways = vec![vec![self]];
        for _ in 0..Self::ALL.len() {
            let mut longer = Vec::new();
            for way in ways {
                let end = way[way.len() - 1];
                for next in Self::ALL.into_iter().filter(|next| end.go(*next).is_ok() && !way.contains(next))
                {
                    let mut way = way.clone();
                    way.push(next);
                    if next == to {
                        return way.split_off(1);
                    }
                    longer.push(way);
                }
            }
            ways = longer;
        }
        Vec::new()
    }

    /// The word for `status:` in a session file.
    pub fn status(self, failed: bool) -> Status {
        match self {
            Self::Idle | Self::Working | Self::Blocked => Status::Active,
            Self::Waiting => Status::Sleeping,
            Self::Complete if failed => Status::Error,
            Self::Complete => Status::Completed,
        }
    }
}

/// `status:` of a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent works, or will as soon as it can.
    Active,
    /// The agent has said what it had to say and waits.
    Sleeping,
    /// Over.
    Completed,
    /// Over, with a failure.
    Error,
}

impl Status {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Sleeping => "sleeping",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }

    /// The status that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Active, Self::Sleeping, Self::Completed, Self::Error].into_iter().find(|s| s.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_states_is_a_move_or_an_error_that_names_both() {
        use Lifecycle::{Blocked, Complete, Idle, Waiting, Working};
        let moves = [
            (Idle, Working),
            (Working, Waiting),
            (Working, Blocked),
            (Blocked, Working),
            (Waiting, Working),
            (Waiting, Complete),
        ];
        for from in Lifecycle::ALL {
            for to in Lifecycle::ALL {
                let expected = if moves.contains(&(from, to)) { Ok(to) } else { Err(BadMove { from, to }) };
                assert_eq!(from.go(to), expected);
            }
        }
        assert_eq!(
            Complete.go(Working).map_err(|e| e.to_string()),
            Err("an agent cannot go from complete to working".to_owned())
        );
    }

    #[test]
    fn a_path_is_made_of_moves() {
        use Lifecycle::{Blocked, Complete, Idle, Waiting, Working};
        assert_eq!(Idle.path(Complete), [Working, Waiting, Complete]);
        assert_eq!(Blocked.path(Complete), [Working, Waiting, Complete]);
        assert_eq!(Working.path(Working), []);
        assert_eq!(Complete.path(Idle), []);
        assert_eq!(Waiting.path(Blocked), [Working, Blocked]);
    }
}
