//! Messages between agents: how many a second become durable when many are sent at once, and how long one takes from the
//! model's words to the call that lets the other agent read it.

use std::collections::VecDeque;

use adapters::journal::Sqlite;
use anyhow::Context as _;
use domain::agent;
use domain::effect::Effect;
use domain::event::Event;
use domain::event::SessionEvent;
use domain::id::{AgentId, CallId, Seq, SessionId, Ticket, Time};
use domain::input::Input;
use domain::input::{FileInput, ModelInput, PersonInput};
use domain::message::Kind;
use domain::settings::{Limits, Settings};
use domain::state::State;
use domain::tool::{Act, Call, SendMessage, Want};
use domain::usage::Usage;
use domain::{play, react};
use engine::Engine;
use ports::journal::Entry;

use crate::load;
use crate::measure::{Aim, Measurement, Pair, RANKS, Unit, median, timed};
use crate::one_event::RawLine;
use crate::raw::Raw;

const SENDERS: u32 = 16;
const RECEIVERS: u32 = 256;
/// Messages of one sender in one turn, and of all in one commit.
const EACH: u32 = 16;
const BATCH: u32 = SENDERS * EACH;
const ROUNDS: usize = 60;
const SAMPLES: usize = 1_000;
const PER_SECOND_MIN: f64 = 50_000.0;
/// What a journal's row of a message has, about.
const ROW_BYTES: usize = 500;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let mut all = vec![throughput()?];
    all.extend(durable()?);
    all.push(in_memory()?);
    Ok(all)
}

/// A model call that waits for its answer.
type Waiting = (Ticket, SessionId);

fn sender(number: u32) -> AgentId {
    AgentId::new(format!("planner-{number:03}"))
}

fn receiver(number: u32) -> AgentId {
    AgentId::new(format!("executor-{number:03}"))
}

/// The team: senders that think, and receivers that sleep.
fn opening() -> Vec<Input> {
    let limits = Limits {
        turns_max: u32::MAX,
        request_turns_max: u32::MAX,
        calls_max: u32::MAX,
        same_call_max: u32::MAX,
        parallel_max: 100_000,
        ..Limits::default()
    };
    let mut inputs = vec![
        Input::File(FileInput::SettingsRead(Box::new(Settings { limits, ..Settings::default() }))),
        Input::Started,
    ];
    let spec = |id: AgentId, role: &str| {
        Input::File(FileInput::AgentRead(Box::new(agent::Spec::new(id, role, "team"))))
    };
    inputs.extend((0..SENDERS).map(|n| spec(sender(n), "planner")));
    inputs.extend((0..RECEIVERS).map(|n| spec(receiver(n), "executor")));
    inputs.extend((0..SENDERS).map(|n| word(sender(n))));
    inputs
}

fn word(agent: AgentId) -> Input {
    let (text, by) = ("tell the others".to_owned(), "dana".to_owned());
    Input::Person(PersonInput::Say {
        session: None,
        agent,
        text,
        urgency: Default::default(),
        by,
        in_file: false,
    })
}

/// A model that tells some receivers something and goes on.
fn tells((ticket, session): Waiting, first: u32, count: u32) -> Input {
    let call = |n: u32| Call {
        id: CallId::new(format!("call-{n}")),
        arguments: String::new(),
        want: Want::Act(Act::SendMessage(SendMessage {
            to: receiver((first + n) % RECEIVERS),
            content: load::words(200, n),
            kind: Some(Kind::Notification),
            priority: Default::default(),
            reply_to: None,
            wait_ms: None,
            approved: None,
            issues: Vec::new(),
        })),
        seen: None,
    };
    replied(ticket, session, (0..count).map(call).collect())
}

fn replied(ticket: Ticket, session: SessionId, calls: Vec<Call>) -> Input {
    let text = if calls.is_empty() { "I know.".to_owned() } else { String::new() };
    let (model, usage, read) = (String::new(), Usage::of(900, 80), Vec::new());
    Input::Model(ModelInput::Replied { session, ticket, text, calls, model, usage, read })
}

fn asked(effects: impl IntoIterator<Item = Effect>) -> impl Iterator<Item = (AgentId, Waiting)> {
    effects.into_iter().filter_map(|effect| match effect {
        Effect::CallModel { ticket, session, agent, .. } => Some((agent, (ticket, session))),
        _ => None,
    })
}

/// Many at once: every sender tells sixteen others something, and all of it is one commit.
fn throughput() -> anyhow::Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let mut engine = Engine::open(Box::new(Sqlite::open(&folder.path().join("journal.db"))?))?;
    let mut senders: VecDeque<Waiting> =
        asked(engine.cycle(Time(1), &opening())?.effects).map(|(_, waiting)| waiting).collect();
    // The receivers think about something else, and hear of it when they are done.
    let words: Vec<Input> = (0..RECEIVERS).map(|n| word(receiver(n))).collect();
    engine.cycle(Time(1), &words)?;
    let mut raw = Raw::create(&folder.path().join("raw.db"))?;
    let (mut round, mut seq) = (0, 0);
    let pair = Pair::take_turns(
        ROUNDS,
        || {
            round += 1;
            let inputs: Vec<Input> = senders
                .drain(..)
                .enumerate()
                .map(|(n, s)| tells(s, round * 7 + n as u32 * EACH, EACH))
                .collect();
            let mut sent = None;
            let took = timed(|| {
                sent = Some(engine.cycle(Time(2), &inputs)?);
                Ok(())
            });
            let sent = sent.context("a cycle")?;
            let added = |event: &Event| matches!(event, Event::Session(SessionEvent::MessageAdded { .. }));
            let count = sent.recorded.iter().filter(|recorded| added(&recorded.event)).count();
            anyhow::ensure!(count == BATCH as usize, "{count} of {BATCH} messages were delivered");
            senders.extend(asked(sent.effects).map(|(_, waiting)| waiting));
            took
        },
        || {
            let rows: Vec<Entry> = (0..u64::from(BATCH)).map(|n| entry(seq + n + 1)).collect();
            seq += u64::from(BATCH);
            timed(|| Ok(raw.append(&rows)?))
        },
    )?;
    let per_second = |times: &[f64]| f64::from(BATCH) / median(times);
    Ok(Measurement {
        name: format!("durable messages, {BATCH} in a commit"),
        value: per_second(&pair.thing),
        unit: Unit::EventsPerSecond,
        against: "raw rows, as many in a commit",
        baseline: per_second(&pair.baseline),
        aim: Aim::AtLeast(PER_SECOND_MIN),
        rounds: ROUNDS,
    })
}

fn entry(seq: u64) -> Entry {
    Entry {
        seq: Seq(seq),
        at: Time(1),
        version: 1,
        kind: "message_added".to_owned(),
        body: "x".repeat(ROW_BYTES),
    }
}

/// One to a sleeping agent: it is delivered when the other's model is asked, which is when all of it is kept.
fn durable() -> anyhow::Result<Vec<Measurement>> {
    let folder = tempfile::tempdir()?;
    let mut engine = Engine::open(Box::new(Sqlite::open(&folder.path().join("journal.db"))?))?;
    let mut thinks = asked(engine.cycle(Time(1), &opening())?.effects).map(|(_, s)| s).next();
    let mut raw = RawLine::create(folder.path())?;
    let mut round = 0;
    let pair = Pair::take_turns(
        SAMPLES,
        || {
            round += 1;
            let input = [tells(thinks.take().context("a sender that thinks")?, round, 1)];
            let mut effects = Vec::new();
            let took = timed(|| {
                effects = engine.cycle(Time(2), &input)?.effects;
                Ok(())
            });
            for (agent, waiting) in asked(effects) {
                if agent == receiver(round % RECEIVERS) {
                    let (ticket, session) = waiting;
                    // It hears of it, and sleeps again; the sender hears nothing of that.
                    engine.cycle(Time(2), &[replied(ticket, session, Vec::new())])?;
                } else {
                    thinks = Some(waiting);
                }
            }
            anyhow::ensure!(thinks.is_some(), "the sender goes on");
            took
        },
        || raw.append(),
    )?;
    let rank = |(what, pick): (&str, crate::measure::Rank)| Measurement {
        name: format!("message, from words to delivery, durable, {what}"),
        value: pick(&pair.thing) * 1e6,
        unit: Unit::Microseconds,
        against: "raw one-row commit",
        baseline: pick(&pair.baseline) * 1e6,
        aim: Aim::Times(2.0),
        rounds: SAMPLES,
    };
    Ok(RANKS.map(rank).into())
}

/// The same without a journal.
fn in_memory() -> anyhow::Result<Measurement> {
    let mut state = State::new();
    let mut waiting = VecDeque::new();
    for input in opening() {
        give(&mut state, &input, &mut waiting)?;
    }
    let (_, mut thinks) = waiting.pop_front().context("a sender that thinks")?;
    let folder = tempfile::tempdir()?;
    let mut raw = RawLine::create(folder.path())?;
    let mut round = 0;
    let pair = Pair::take_turns(
        SAMPLES,
        || {
            round += 1;
            let input = tells(thinks.clone(), round, 1);
            let mut effects = VecDeque::new();
            let took = timed(|| give(&mut state, &input, &mut effects))?;
            for (agent, waiting) in effects {
                if agent == receiver(round % RECEIVERS) {
                    give(&mut state, &replied(waiting.0, waiting.1, Vec::new()), &mut VecDeque::new())?;
                } else {
                    thinks = waiting;
                }
            }
            Ok(took)
        },
        || raw.append(),
    )?;
    Ok(Measurement {
        name: "message, from words to delivery, in memory, p99".to_owned(),
        value: RANKS[1].1(&pair.thing) * 1e6,
        unit: Unit::Microseconds,
        against: "raw one-row commit",
        baseline: RANKS[1].1(&pair.baseline) * 1e6,
        aim: Aim::Times(1.0),
        rounds: SAMPLES,
    })
}

fn give(state: &mut State, input: &Input, out: &mut VecDeque<(AgentId, Waiting)>) -> anyhow::Result<()> {
    play(state, Time(2), input, true, &mut |state, event| out.extend(asked(react(state, &event))))?;
    Ok(())
}
