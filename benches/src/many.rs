//! A thousand agents at once against a provider that takes 50 ms: how near to 50 ms all of them together come, and
//! what each costs in memory while it waits. The provider is another process than the home.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapters::model::Models;
use anyhow::Context as _;
use domain::event::Event;
use domain::input::Input;
use domain::lifecycle::Lifecycle;
use domain::settings::{Endpoint, ModelRef, Provider as Settled, Settings};
use ports::model::{Model as _, Request};
use testkit::model::{Puppet, message, request, says};
use testkit::provider::Provider;

use crate::home::{self, AGENT};
use crate::measure::{Aim, Measurement, Unit, median};
use crate::{report, turn};

/// The argument that makes this program the process that is measured.
pub const CHILD: &str = "__many";

const AGENTS: u32 = 1_000;
const LATENCY: Duration = Duration::from_millis(50);
/// Long enough for all agents to wait at once.
const STILL: Duration = Duration::from_secs(20);
const ROUNDS: usize = 5;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let server = Provider::start(Arc::new(Puppet::answering(|_| Ok(says("It is done.")))));
    server.delay(LATENCY);
    let ideal = LATENCY.as_secs_f64() * 1e3;
    let asked = in_process(&server.url())?;
    let work: f64 = in_child(&server.url())?;
    server.delay(STILL);
    let (full, empty) = (in_child::<f64>(&server.url())?, 0.0);
    Ok(vec![
        Measurement {
            name: "1,000 model calls at once".to_owned(),
            value: asked,
            unit: Unit::Milliseconds,
            against: "the provider's 50 ms",
            baseline: ideal,
            aim: Aim::Times(1.2),
            rounds: ROUNDS,
        },
        Measurement {
            name: "1,000 agents at once, one turn each".to_owned(),
            value: work,
            unit: Unit::Milliseconds,
            against: "the provider's 50 ms",
            baseline: ideal,
            aim: Aim::Times(1.2),
            rounds: 1,
        },
        Measurement {
            name: "memory of an active agent".to_owned(),
            value: full,
            unit: Unit::Kibibytes,
            against: "nothing",
            baseline: empty,
            aim: Aim::AtMost(100.0),
            rounds: 1,
        },
    ])
}

/// How long a thousand questions take that are asked at the same time, in milliseconds.
fn in_process(url: &str) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let settings = Settings {
        providers: [("p".to_owned(), Settled::OpenAi(Endpoint::new(url)))].into(),
        models: [(
            "m".to_owned(),
            ModelRef { provider: "p".to_owned(), model: "m".to_owned(), context_tokens: None },
        )]
        .into(),
        ..Settings::default()
    };
    let models = Arc::new(Models::new(Path::new("."), &settings));
    let question = || Request {
        model: "m".to_owned(),
        ..request(AGENT, vec![message(domain::session::Speaker::User, "look at the disk")])
    };
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let began = Instant::now();
        runtime.block_on(async {
            let asked: Vec<_> = (0..AGENTS)
                .map(|_| {
                    let (models, question) = (models.clone(), question());
                    tokio::spawn(async move { models.ask(question).await })
                })
                .collect();
            for answer in asked {
                answer.await??;
            }
            Ok::<(), anyhow::Error>(())
        })?;
        // The first round makes the connections.
        if round > 0 {
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(median(&times))
}

fn in_child<T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    url: &str,
) -> anyhow::Result<T> {
    let output = Command::new(std::env::current_exe()?).args([CHILD, &AGENTS.to_string(), url]).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)?.trim().parse().context("a number")
}

/// Says a word to every agent of a home at once. Prints how long it takes until all are answered, in milliseconds; or, if
/// the provider is slow enough that all wait at once, what each costs in memory, in KiB.
pub fn child(agents: u32, url: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    turn::furnish(folder.path(), url, agents)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut running = home::open_at_work(folder.path()).await?;
        running.check()?;
        running.handle.submit(Input::Started).await??;
        running.files.settled().await;
        let mut events = running.handle.listen();
        let before = resident()?;
        let began = Instant::now();
        let said: Vec<_> = (0..agents)
            .map(|number| {
                let handle = running.handle.clone();
                tokio::spawn(async move { handle.submit(turn::word(&turn::name(number))).await })
            })
            .collect();
        for word in said {
            word.await???;
        }
        let mut answered = 0;
        while answered < agents {
            match tokio::time::timeout(4 * LATENCY, events.recv()).await {
                Ok(Ok(recorded)) => answered += u32::from(matches!(recorded.event, Event::Replied { .. })),
                // Some were missed, or nothing happens: look once, which costs, and go on.
                Ok(Err(tokio::sync::broadcast::error::RecvError::Lagged(_))) | Err(_) => {
                    let ended = |s: &&domain::state::Session| s.lifecycle == Lifecycle::Waiting;
                    let look = move |state: &domain::state::State| {
                        (state.sessions_in_flight().count(), state.sessions.values().filter(ended).count())
                    };
                    let (waiting, ended) = running.handle.look(look).await?;
                    if waiting == agents as usize {
                        running.files.settled().await;
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        report::print(format!("{:.1}", (resident()? - before) / f64::from(agents)));
                        return Ok(());
                    }
                    answered = u32::try_from(ended)?;
                }
                Ok(Err(error)) => return Err(error.into()),
            }
        }
        report::print(format!("{:.1}", began.elapsed().as_secs_f64() * 1e3));
        running.close().await
    })
}

/// Resident memory in KiB.
fn resident() -> anyhow::Result<f64> {
    let memory = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = memory.split_whitespace().nth(1).context("no resident pages")?.parse()?;
    Ok(pages * rustix::param::page_size() as f64 / 1024.0)
}
