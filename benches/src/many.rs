//! A thousand agents at once against a provider that takes 50 ms: how near to 50 ms all of them together come, and
//! what each costs in memory while it waits. The provider is another process than the home.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapters::model::Models;
use anyhow::Context as _;
use domain::input::Input;
use domain::lifecycle::Lifecycle;
use domain::settings::{Endpoint, ModelRef, Provider as Settled, Settings};
use ports::model::{Model as _, Request};
use testkit::model::{message, request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::home::{self, AGENT};
use crate::lean::Lean;
use crate::measure::{Aim, Measurement, Unit, median};
use crate::{report, turn};

/// The argument that makes this program the process that is measured.
pub const CHILD: &str = "__many";

const AGENTS: u32 = 1_000;
const LATENCY: Duration = Duration::from_millis(50);
/// What a short answer of a real model takes.
const REAL: Duration = Duration::from_secs(1);
/// Long enough for all agents to wait at once.
const STILL: Duration = Duration::from_secs(20);
const ROUNDS: usize = 5;
/// About what a question with its tools has.
const BODY_BYTES: usize = 12 << 10;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let server = Lean::start(LATENCY)?;
    let ideal = LATENCY.as_secs_f64() * 1e3;
    let asked = in_process(&server.url())?;
    let bare = bare(&server.url(), &"x".repeat(BODY_BYTES))?;
    let work: f64 = in_child(&server.url())?;
    server.delay(REAL);
    let real: f64 = in_child(&server.url())?;
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
            name: "1,000 agents at once, beside the bare exchanges".to_owned(),
            value: work,
            unit: Unit::Milliseconds,
            against: "1,000 bare exchanges at once",
            baseline: bare,
            aim: Aim::Nothing,
            rounds: ROUNDS,
        },
        Measurement {
            name: "1,000 agents at once, a provider as slow as real ones".to_owned(),
            value: real,
            unit: Unit::Milliseconds,
            against: "the provider's 1 s",
            baseline: REAL.as_secs_f64() * 1e3,
            aim: Aim::Nothing,
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
            ModelRef {
                provider: "p".to_owned(),
                model: "m".to_owned(),
                context_tokens: None,
                max_tokens: None,
            },
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

/// How long it takes a client that does nothing but open a thousand connections, send the bytes and read the answers,
/// in milliseconds: what this machine and this server allow at best.
fn bare(url: &str, body: &str) -> anyhow::Result<f64> {
    let host = url.trim_start_matches("http://").trim_end_matches("/v1");
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        runtime.block_on(async {
            let asked: Vec<_> = (0..AGENTS)
                .map(|_| {
                    let (host, request) = (host.to_owned(), request.clone());
                    tokio::spawn(async move {
                        let mut stream = tokio::net::TcpStream::connect(host).await?;
                        stream.write_all(request.as_bytes()).await?;
                        let mut answer = Vec::new();
                        while !answer.ends_with(b"}}") {
                            let read = stream.read_buf(&mut answer).await?;
                            anyhow::ensure!(read > 0, "the server closed the connection");
                        }
                        Ok::<(), anyhow::Error>(())
                    })
                })
                .collect();
            for answer in asked {
                answer.await??;
            }
            Ok::<(), anyhow::Error>(())
        })?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
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
        let mut pulse = running.handle.pulse();
        let ended = tokio::time::timeout(STILL / 10, pulse.wait_for(|pulse| pulse.idle)).await.is_ok();
        let took = began.elapsed();
        let waiting = running.handle.look(|state| state.sessions_in_flight().count()).await?;
        if waiting == agents as usize {
            running.files.settled().await;
            report::print(format!("{:.1}", (resident()? - before) / f64::from(agents)));
            return Ok(());
        }
        anyhow::ensure!(ended, "{waiting} of {agents} still wait after {took:?}");
        let answered = |state: &domain::state::State| {
            state.sessions.values().filter(|s| s.lifecycle == Lifecycle::Waiting).count()
        };
        anyhow::ensure!(running.handle.look(answered).await? == agents as usize, "not all were answered");
        report::print(format!("{:.1}", took.as_secs_f64() * 1e3));
        running.close().await
    })
}

/// Resident memory in KiB.
fn resident() -> anyhow::Result<f64> {
    let memory = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = memory.split_whitespace().nth(1).context("no resident pages")?.parse()?;
    Ok(pages * rustix::param::page_size() as f64 / 1024.0)
}
