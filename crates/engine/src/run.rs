//! The loop around the cycle: one thread owns the engine; everybody else has a handle.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::Refused;
use domain::event::ApprovalEvent;
use domain::event::Event;
use domain::id::Seq;
use domain::input::Input;
use domain::state::State;
use ports::clock::Clock;
use ports::hands::Hands;
use ports::inputs::{Heard, Inputs, NotTaken};
use ports::printer::{Printer, Recorded};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::core::{Engine, Stopped};

/// Inputs that may wait for the loop; whoever sends more waits.
pub const INPUTS_MAX: usize = 1024;
/// Inputs that are decided in one cycle, and so share one commit.
const BATCH_MAX: usize = 256;
/// Events that a slow listener may lag behind before it misses some.
const LISTEN_MAX: usize = 4096;
/// Pieces of unfinished answers that a slow listener may lag behind before it misses some.
const HEARD_MAX: usize = 256;
/// How long tools may go on after a stop was asked for.
pub const GRACE_MS: u64 = 10_000;

/// The concrete parts, chosen by whoever wires the program.
pub struct Parts {
    /// Carries out effects.
    pub hands: Box<dyn Hands>,
    /// Prints events into files.
    pub printer: Box<dyn Printer>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// Where the loop stands, after each cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulse {
    /// The last event.
    pub seq: Seq,
    /// Whether nothing is under way and nothing can begin without somebody outside.
    pub idle: bool,
    /// Approvals that wait for a person.
    pub approvals: usize,
    /// Work that a budget, or a provider that does not answer, keeps from going on.
    pub parked: usize,
    /// How much of it waits for a provider; absent if all answer, for all that is known.
    pub offline: Option<usize>,
}

/// An input that was decided and is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The last event of its cycle.
    pub seq: Seq,
    recorded: Arc<[Recorded]>,
    own: Range<usize>,
}

impl Taken {
    /// What this input made, without what followed from it, and nothing that another one made.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.recorded.get(self.own.clone()).into_iter().flatten().map(|recorded| &recorded.event)
    }
}

/// Who waits for an input to be decided.
type Reply = oneshot::Sender<Result<Taken, Refused>>;

enum Command {
    Input(Input, Option<Reply>),
    Look(Box<dyn FnOnce(&State) + Send>),
    Stop,
    Abandon,
}

/// The loop has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("synod has stopped working in this home")]
pub struct Closed;

/// Events, as they are decided.
pub type Events = broadcast::Receiver<Recorded>;
/// What models say, while they say it.
pub type Overheard = broadcast::Receiver<Heard>;

/// A way to speak to the loop; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    pulse: watch::Receiver<Pulse>,
    events: broadcast::Sender<Recorded>,
    heard: broadcast::Sender<Heard>,
}

impl Handle {
    /// Gives an input and waits until it is decided and durable.
    pub async fn submit(&self, input: Input) -> Result<Result<Taken, Refused>, Closed> {
        let (sender, receiver) = oneshot::channel();
        self.commands.send(Command::Input(input, Some(sender))).await.map_err(|_| Closed)?;
        receiver.await.map_err(|_| Closed)
    }

    /// Looks at the state.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        let (sender, receiver) = oneshot::channel();
        let command = Command::Look(Box::new(move |state| _ = sender.send(look(state))));
        self.commands.send(command).await.map_err(|_| Closed)?;
        receiver.await.map_err(|_| Closed)
    }

    /// Where the loop stands.
    pub fn pulse(&self) -> watch::Receiver<Pulse> {
        self.pulse.clone()
    }

    /// Events from now on.
    pub fn listen(&self) -> Events {
        self.events.subscribe()
    }

    /// What models say from now on, while they say it.
    pub fn listen_to_models(&self) -> Overheard {
        self.heard.subscribe()
    }

    /// Asks the loop to wind down.
    pub async fn stop(&self) {
        _ = self.commands.send(Command::Stop).await;
    }

    /// Has the loop drop everything at once: the home is no longer ours, and nothing more may be written into it.
    pub async fn abandon(&self) {
        _ = self.commands.send(Command::Abandon).await;
    }
}

#[async_trait]
impl Inputs for Handle {
    fn try_give(&self, input: Input) -> Result<(), NotTaken> {
        match self.commands.try_send(Command::Input(input, None)) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(Command::Input(input, _))) => {
                Err(NotTaken::Full(Box::new(input)))
            }
            Err(_) => Err(NotTaken::Closed),
        }
    }

    async fn give(&self, input: Input) {
        _ = self.commands.send(Command::Input(input, None)).await;
    }

    fn is_overheard(&self) -> bool {
        self.heard.receiver_count() > 0
    }

    fn overhear(&self, heard: Heard) {
        // A listener that left in the meantime is no error.
        _ = self.heard.send(heard);
    }
}

/// Starts the loop on a thread of its own. `make` builds the parts, which need the handle to send outcomes.
/// The thread ends after `stop`, or when the journal fails.
pub fn spawn(
    engine: Engine,
    make: impl FnOnce(Handle) -> std::io::Result<Parts>,
) -> std::io::Result<(Handle, std::thread::JoinHandle<Result<(), Stopped>>)> {
    let (handle, turning) = assemble(engine, make)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let thread = std::thread::Builder::new()
        .name("synod-engine".to_owned())
        .spawn(move || runtime.block_on(turning.run()))?;
    Ok((handle, thread))
}

fn assemble(
    engine: Engine,
    make: impl FnOnce(Handle) -> std::io::Result<Parts>,
) -> std::io::Result<(Handle, Loop)> {
    let (commands, receiver) = mpsc::channel(INPUTS_MAX);
    let (pulse_sender, pulse) = watch::channel(Pulse::default());
    let (events, _) = broadcast::channel(LISTEN_MAX);
    let (heard, _) = broadcast::channel(HEARD_MAX);
    let handle = Handle { commands, pulse, events: events.clone(), heard };
    let parts = make(handle.clone())?;
    Ok((handle, Loop { engine, parts, receiver, pulse: pulse_sender, events, stopping: None, deaf: false }))
}

struct Loop {
    engine: Engine,
    parts: Parts,
    receiver: mpsc::Receiver<Command>,
    pulse: watch::Sender<Pulse>,
    events: broadcast::Sender<Recorded>,
    /// When a stop was asked for, by the loop's own clock.
    stopping: Option<tokio::time::Instant>,
    /// Everybody who could give an input is gone, and so is every outcome.
    deaf: bool,
}

impl Loop {
    async fn run(mut self) -> Result<(), Stopped> {
        let ended = self.turn().await;
        self.parts.hands.abort();
        if ended.as_ref().is_err_and(Stopped::is_loss) {
            return ended;
        }
        self.parts.printer.flush();
        ended?;
        let printed = self.parts.printer.printed();
        self.engine.set_printed(printed)?;
        self.engine.save_snapshot()
    }

    async fn turn(&mut self) -> Result<(), Stopped> {
        self.print_missed()?;
        let mut commands = Vec::with_capacity(BATCH_MAX);
        loop {
            let mut inputs = Vec::new();
            let mut waiting = Vec::new();
            let mut looks = Vec::new();
            for command in commands.drain(..) {
                match command {
                    Command::Input(input, reply) => {
                        inputs.push(input);
                        waiting.push(reply);
                    }
                    Command::Look(look) => looks.push(look),
                    Command::Stop => self.begin_stop(),
                    Command::Abandon => return Err(Stopped::Abandoned),
                }
            }
            self.cycle(&inputs, waiting)?;
            for look in looks {
                look(self.engine.state());
            }
            if self.is_over() {
                return Ok(());
            }
            self.wait(&mut commands).await;
        }
    }

    fn cycle(&mut self, inputs: &[Input], waiting: Vec<Option<Reply>>) -> Result<(), Stopped> {
        let cycle = self.engine.cycle(self.parts.clock.now(), inputs)?;
        let seq = self.engine.state().seq;
        let approvals = self.approvals_after(&cycle.recorded);
        if !cycle.recorded.is_empty() {
            if self.events.receiver_count() > 0 {
                for recorded in cycle.recorded.iter() {
                    // A listener that left in the meantime is no error.
                    _ = self.events.send(recorded.clone());
                }
            }
            self.parts.printer.print(cycle.recorded.clone());
        }
        for effect in cycle.effects {
            self.parts.hands.perform(self.engine.state(), effect);
        }
        // The pulse beats before anybody is answered: whoever has an answer sees where the loop stands after it.
        let state = self.engine.state();
        let is_out = !state.outages.by_name.is_empty();
        let offline = is_out.then(|| state.waiting_for_providers());
        let pulse = Pulse { seq, idle: state.is_idle(), approvals, parked: state.parked_count(), offline };
        self.pulse.send_if_modified(|last| std::mem::replace(last, pulse) != pulse);
        for (reply, answer) in waiting.into_iter().zip(cycle.answers) {
            if let Some(reply) = reply {
                let recorded = cycle.recorded.clone();
                _ = reply.send(answer.map(|own| Taken { seq, recorded, own }));
            }
        }
        self.engine.set_printed(self.parts.printer.printed())?;
        if self.engine.snapshot_is_due() {
            self.engine.save_snapshot()?;
        }
        Ok(())
    }

    /// How many approvals wait for a person. They are counted only when one more was asked for or ended.
    fn approvals_after(&self, recorded: &[Recorded]) -> usize {
        let before = *self.pulse.borrow();
        let changes = |recorded: &Recorded| {
            matches!(
                recorded.event,
                Event::Approval(ApprovalEvent::Asked { .. }) | Event::Approval(ApprovalEvent::Ended { .. })
            )
        };
        if before.seq != Seq(0) && !recorded.iter().any(changes) {
            return before.approvals;
        }
        // What a budget asks is told of by what it keeps from going on.
        self.engine.state().people.approvals.values().filter(|request| !request.is_about_budget()).count()
    }

    /// Prints what was journalled and not printed before the last stop.
    fn print_missed(&mut self) -> Result<(), Stopped> {
        let mut after = self.engine.printed()?;
        loop {
            let missed = self.engine.events_after(after)?;
            let Some(last) = missed.last() else { return Ok(()) };
            after = last.seq;
            self.parts.printer.print(missed);
        }
    }

    fn begin_stop(&mut self) {
        if self.stopping.is_none() {
            self.stopping = Some(tokio::time::Instant::now());
            self.engine.wind_down();
            self.parts.hands.wind_down();
        }
    }

    fn is_over(&self) -> bool {
        let Some(since) = self.stopping else { return false };
        let tools_run = domain::pending(self.engine.state())
            .iter()
            .any(|effect| matches!(effect, domain::effect::Effect::RunTool { .. }));
        !tools_run || self.deaf || since.elapsed() >= Duration::from_millis(GRACE_MS)
    }

    async fn wait(&mut self, commands: &mut Vec<Command>) {
        if self.engine.has_more() {
            while commands.len() < BATCH_MAX
                && let Ok(command) = self.receiver.try_recv()
            {
                commands.push(command);
            }
            return;
        }
        let due_ms = match (self.stopping, self.engine.next_deadline()) {
            (Some(_), _) => Some(GRACE_MS / 20),
            (None, due) => due.map(|due| due.ms_since(self.parts.clock.now())),
        };
        let receive = self.receiver.recv_many(commands, BATCH_MAX);
        let received = match due_ms {
            // One more than the rest, so that a deadline is over when the loop looks at it.
            Some(ms) => tokio::time::timeout(Duration::from_millis(ms + 1), receive).await.ok(),
            None => Some(receive.await),
        };
        if received == Some(0) {
            self.deaf = true;
            self.begin_stop();
        }
    }
}

#[cfg(test)]
mod tests;
