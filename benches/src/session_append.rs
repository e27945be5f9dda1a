//! Printing a message into a long session file against printing one into a short file.

use std::path::Path;
use std::sync::Arc;

use adapters::clock::SystemClock;
use adapters::files::{self, Files, Setup};
use adapters::lock::Claim;
use adapters::tools::Toolbox;
use async_trait::async_trait;
use domain::agent;
use domain::event::{AgentEvent, SessionEvent};
use domain::event::{Event, Tail};
use domain::id::{AgentId, Seq, SessionId, Time};
use domain::input::Input;
use domain::lifecycle::Lifecycle;
use domain::session::Status;
use domain::state::State;
use formats::session::{print_head, print_message};
use ports::inputs::{Inputs, NotTaken};
use ports::printer::{Printer, Recorded};

use crate::home::{self, AGENT};
use crate::measure::{Aim, Measurement, Pair, Rank, Unit, lower_quartile, median, timed};

const LONG: u32 = 10_000;
const SHORT: u32 = 10;
/// The short ones take turns, so that they stay short.
const SHORT_FILES: u32 = 50;
const SAMPLES: usize = 400;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    let (long_folder, short_folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut long = Desk::open(&runtime, long_folder.path(), 1, LONG)?;
    let mut short = Desk::open(&runtime, short_folder.path(), SHORT_FILES, SHORT)?;
    let pair = Pair::take_turns(SAMPLES, || long.add(), || short.add())?;
    long.check(long_folder.path(), SAMPLES)?;
    // On a busy machine each handover to the desk takes either its own time or a tick of the scheduler, and the
    // median falls on either side by chance. The length of the file shows in the lower quartile.
    let rows: [(&str, Rank, Aim); 2] =
        [("quartile", lower_quartile, Aim::Times(1.2)), ("median", median, Aim::Nothing)];
    Ok(rows
        .map(|(what, pick, aim)| Measurement {
            name: format!("message into a session of 10,000, {what}"),
            value: pick(&pair.thing) * 1e6,
            unit: Unit::Microseconds,
            against: "into one of 10",
            baseline: pick(&pair.baseline) * 1e6,
            aim,
            rounds: SAMPLES,
        })
        .into())
}

/// A desk with some sessions that have the same length.
struct Desk {
    files: Files,
    seq: Seq,
    sessions: Vec<(SessionId, u32)>,
    added: usize,
}

impl Desk {
    fn open(
        runtime: &tokio::runtime::Runtime,
        home: &Path,
        sessions: u32,
        length: u32,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(home.join("sessions"))?;
        let agent = agent::Spec::new(AgentId::new(AGENT), "coder", "team");
        let mut state = State::new();
        state.apply(Time(1), &Event::Agent(AgentEvent::Defined { spec: Box::new(agent) }));
        let mut all = Vec::new();
        for n in 0..sessions {
            let id = SessionId::new(format!("{AGENT}-{n:06x}"));
            let head = home::head(&id);
            let mut text = print_head(&head, head.created, Status::Sleeping);
            (1..=length).for_each(|number| text.push_str(&print_message(&home::message(number))));
            std::fs::write(home.join(path_of(&id)), text)?;
            let event = Event::Session(SessionEvent::Adopted {
                label: Default::default(),
                head: Box::new(head),
                lifecycle: Lifecycle::Waiting,
                failed: false,
                next_message: length + 1,
                tail: Tail::Answered,
            });
            state.apply(Time(1), &event);
            all.push((id, length + 1));
        }
        let seq = state.seq;
        let tools = Arc::new(Toolbox::new(home.to_owned(), Arc::new(SystemClock))?);
        let inputs = Arc::new(NoInputs);
        let setup = Setup {
            home: home.to_owned(),
            state,
            inputs,
            tools,
            printed: seq,
            watch: false,
            uncommitted: Vec::new(),
            claim: Claim::default(),
        };
        let (files, _, _) = files::spawn(setup)?;
        runtime.block_on(files.scan());
        Ok(Self { files, seq, sessions: all, added: 0 })
    }

    /// Prints one message into the next session, until it is safe.
    fn add(&mut self) -> anyhow::Result<f64> {
        let place = self.added % self.sessions.len();
        self.added += 1;
        let (session, next) = &mut self.sessions[place];
        self.seq = self.seq.plus(1);
        let event = Event::Session(SessionEvent::MessageAdded {
            session: session.clone(),
            message: home::message(*next),
            asker: None,
            in_file: false,
        });
        *next += 1;
        let batch: Arc<[Recorded]> = [Recorded { seq: self.seq, at: Time(2), event }].into();
        let took = timed(|| {
            self.files.print(batch);
            self.files.flush();
            Ok(())
        });
        anyhow::ensure!(self.files.printed() == self.seq, "the message was not printed");
        took
    }

    /// Nothing is measured that did not happen: the first file has all its messages.
    fn check(&self, home: &Path, added: usize) -> anyhow::Result<()> {
        let (session, _) = &self.sessions[0];
        let text = std::fs::read_to_string(home.join(path_of(session)))?;
        let found = text.matches("- id: m-").count();
        let expected = LONG as usize + added;
        anyhow::ensure!(found == expected, "{expected} messages should be in {session}, {found} are");
        Ok(())
    }
}

fn path_of(session: &SessionId) -> String {
    format!("sessions/{session}.session.yaml")
}

/// Takes everything and does nothing.
struct NoInputs;

#[async_trait]
impl Inputs for NoInputs {
    fn try_give(&self, _: Input) -> Result<(), NotTaken> {
        Ok(())
    }

    async fn give(&self, _: Input) {}
}
