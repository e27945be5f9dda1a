//! What happens in a home, as it happens: events, what models say while they say it, and what is under way. Whoever is too
//! slow to follow misses some and is told how many.

use std::time::Duration;

use engine::{Closed, Events, Handle, Overheard, Pulse};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::News;
use crate::state;

/// What is under way is told at most so often.
const LIVE_EVERY: Duration = Duration::from_millis(100);

/// A stream of news.
pub struct Feed {
    handle: Handle,
    events: Events,
    heard: Overheard,
    pulse: watch::Receiver<Pulse>,
    opening: Option<News>,
    /// Events up to here are in the opening.
    past: u64,
    /// When to tell next what is under way, if it may have changed.
    due: Option<Instant>,
}

impl Feed {
    /// News from now on.
    pub async fn of(handle: &Handle) -> Result<Self, Closed> {
        let (events, heard, pulse) = (handle.listen(), handle.listen_to_models(), handle.pulse());
        let opening = handle.look(state::opening).await?;
        let past = opening.seq;
        let opening = Some(News::Opening(Box::new(opening)));
        Ok(Self { handle: handle.clone(), events, heard, pulse, opening, past, due: None })
    }

    /// The next news; none when the home is no longer worked in. May be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Option<News> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        loop {
            let now = Instant::now();
            let due = self.due.unwrap_or(now);
            let is_due = self.due.is_some_and(|due| due <= now);
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Ok(recorded) if recorded.seq.0 <= self.past => {}
                    Ok(recorded) => {
                        let event = Box::new(recorded.event);
                        return Some(News::Event { seq: recorded.seq.0, at: recorded.at.0, event });
                    }
                    Err(RecvError::Lagged(missed)) => return Some(News::Missed(missed)),
                    Err(RecvError::Closed) => return None,
                },
                live = self.handle.look(state::live), if is_due => {
                    self.due = None;
                    return live.ok().map(News::Live);
                }
                heard = self.heard.recv() => if let Ok(heard) = heard {
                    let session = heard.session.to_string();
                    let (bytes, tail, usage) = (heard.bytes, heard.tail, heard.usage);
                    return Some(News::Heard { session, bytes, tail, usage });
                },
                changed = self.pulse.changed() => match changed {
                    Ok(()) => self.due = self.due.or(Some(Instant::now() + LIVE_EVERY)),
                    Err(_) => return None,
                },
                // Who waits for an answer already must not ask again and again.
                () = tokio::time::sleep_until(due), if self.due.is_some() && !is_due => {}
            }
        }
    }

    /// Events that were decided and not told yet.
    pub fn left(&mut self) -> Vec<News> {
        let mut left: Vec<News> = self.opening.take().into_iter().collect();
        loop {
            match self.events.try_recv() {
                Ok(recorded) if recorded.seq.0 <= self.past => {}
                Ok(recorded) => {
                    let event = Box::new(recorded.event);
                    left.push(News::Event { seq: recorded.seq.0, at: recorded.at.0, event });
                }
                Err(TryRecvError::Lagged(missed)) => left.push(News::Missed(missed)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return left,
            }
        }
    }
}
