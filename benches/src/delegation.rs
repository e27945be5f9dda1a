//! What it costs to hand work on: from the moment a provider has said the call to `delegate` until the other agent's model
//! is asked, with the exchange between.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use domain::event::Event;
use domain::event::{SessionEvent, TurnEvent};
use domain::input::Input;
use domain::lifecycle::Lifecycle;
use domain::session::Speaker;
use testkit::model::{Puppet, says, wants};
use testkit::provider::Provider;

use crate::home;
use crate::measure::{Aim, Measurement, Pair, RANKS, Unit};
use crate::one_event::RawLine;
use crate::turn::word;

const SAMPLES: usize = 200;
/// What it may cost beside one commit, in microseconds.
const OVERHEAD_US_MAX: f64 = 2_000.0;
/// One for each time, and one for the first: a conversation that grows would be measured with it.
const BOSSES: usize = SAMPLES + 1;
const OTHER: &str = "other-001";
const HANDS_ON: &str = r#"{"to": "other-001", "tag": "ops:look", "task": "look at the disk"}"#;

/// When the call was said, and when the other was asked.
#[derive(Default)]
struct Moments {
    said: Option<Instant>,
    asked: Option<Instant>,
}

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let moments = Arc::new(Mutex::new(Moments::default()));
    let noted = Arc::clone(&moments);
    let server = Provider::start(Arc::new(Puppet::answering(move |request| {
        let mut moments = noted.lock().unwrap_or_else(PoisonError::into_inner);
        if request.model == "other" {
            moments.asked = Some(Instant::now());
            return Ok(says("It is nearly full."));
        }
        match request.messages.last() {
            Some(last) if last.speaker == Speaker::ToolResult => Ok(says("Mind the disk.")),
            _ => {
                moments.said = Some(Instant::now());
                Ok(wants("delegate", HANDS_ON))
            }
        }
    })));
    let folder = tempfile::tempdir()?;
    furnish(folder.path(), &server.url())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut running = runtime.block_on(home::open_at_work(folder.path()))?;
    running.check()?;
    runtime.block_on(running.handle.submit(Input::Started))??;
    let mut events = running.handle.listen();
    let mut bosses = (0..BOSSES).map(boss);
    let mut one = || {
        let boss = bosses.next().context("one for each time")?;
        runtime.block_on(async {
            running.handle.submit(word(&boss)).await??;
            loop {
                match events.recv().await?.event {
                    Event::Session(SessionEvent::Moved { session, to: Lifecycle::Waiting, .. })
                        if session.as_str().starts_with(&boss) =>
                    {
                        break;
                    }
                    Event::Turn(TurnEvent::Failed { reason, .. }) => {
                        anyhow::bail!("the model failed: {reason}")
                    }
                    _ => {}
                }
            }
            Ok::<(), anyhow::Error>(())
        })?;
        let Moments { said, asked } =
            std::mem::take(&mut *moments.lock().unwrap_or_else(PoisonError::into_inner));
        match (said, asked) {
            (Some(said), Some(asked)) => Ok(asked.duration_since(said).as_secs_f64()),
            _ => anyhow::bail!("nothing was handed on"),
        }
    };
    // The first time makes the connections.
    one()?;
    let raw_folder = tempfile::tempdir()?;
    let mut raw = RawLine::create(raw_folder.path())?;
    let pair = Pair::take_turns(SAMPLES, &mut one, || raw.append())?;
    runtime.block_on(running.close())?;
    let rank = |(what, pick): (&str, crate::measure::Rank)| Measurement {
        name: format!("delegation, from the call to the other's model, {what}"),
        value: pick(&pair.thing) * 1e6,
        unit: Unit::Microseconds,
        against: "raw one-row commit",
        baseline: pick(&pair.baseline) * 1e6,
        aim: Aim::AtMost(OVERHEAD_US_MAX + pick(&pair.baseline) * 1e6),
        rounds: SAMPLES,
    };
    Ok(RANKS.map(rank).into())
}

fn boss(number: usize) -> String {
    format!("boss-{number:03}")
}

fn furnish(home: &Path, url: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(home.join("agents"))?;
    std::fs::write(
        home.join("synod.yaml"),
        format!(
            "providers: {{p: {{kind: openai, base_url: '{url}'}}}}\n\
             models: {{boss: {{provider: p, model: boss}}, other: {{provider: p, model: other}}}}\n"
        ),
    )?;
    let bosses = (0..BOSSES).map(|number| (boss(number), "boss"));
    for (id, model) in bosses.chain([(OTHER.to_owned(), "other")]) {
        let file = format!(
            "id: {id}\ntype: executor\nmodel: {model}\nresponsibilities: [\"ops:*\"]\n\
             permissions: {{delegation: {{can_delegate: true}}}}\n"
        );
        std::fs::write(home.join(format!("agents/{id}.agent.yaml")), file)?;
    }
    Ok(())
}
