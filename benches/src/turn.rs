//! What a turn costs beside the exchange with the provider itself: from the moment it is durable that the model is
//! asked until its answer is durable. The same server answers a bare client in the same run.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use domain::event::Event;
use domain::event::{SessionEvent, TurnEvent};
use domain::id::{AgentId, Seq, Time};
use domain::input::Input;
use domain::input::PersonInput;
use domain::lifecycle::Lifecycle;
use ports::journal::Entry;
use ports::printer::Recorded;
use testkit::model::{Puppet, says};
use testkit::provider::Provider;
use tokio::sync::broadcast;

use crate::home::{self, AGENT};
use crate::measure::{Aim, Measurement, Pair, Unit, median, timed};
use crate::raw::Raw;

const SAMPLES: usize = 300;
/// One for each turn, and one for the first: a conversation that grows would be measured with it.
const AGENTS: u32 = SAMPLES as u32 + 1;
/// What a turn may cost beside the exchange and one commit, in microseconds.
const OVERHEAD_US_MAX: f64 = 1_000.0;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let server = Provider::start(Arc::new(Puppet::answering(|_| Ok(says("It is done, and all is well.")))));
    let folder = tempfile::tempdir()?;
    furnish(folder.path(), &server.url(), AGENTS)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let running = runtime.block_on(home::open_at_work(folder.path()))?;
    runtime.block_on(running.handle.submit(Input::Started))??;
    let mut events = running.handle.listen();
    let mut names = (0..AGENTS).map(name);
    let mut one = || {
        let agent = names.next().ok_or_else(|| anyhow::anyhow!("an agent for each turn"))?;
        runtime.block_on(turn(&running.handle, &mut events, &agent))
    };
    // The first turn makes the connection.
    one()?;
    let question = server.seen().pop().map(|seen| seen.body.to_string()).unwrap_or_default();
    let mut bare = Bare::connect(&server.url(), &question)?;
    let pair = Pair::take_turns(SAMPLES, &mut one, || bare.exchange())?;
    let commit = commits(folder.path())?;
    runtime.block_on(running.close())?;
    let (turn, exchange) = (median(&pair.thing) * 1e6, median(&pair.baseline) * 1e6);
    Ok(vec![
        Measurement {
            name: "a turn, beside the exchange".to_owned(),
            value: turn - exchange,
            unit: Unit::Microseconds,
            against: "one durable commit",
            baseline: commit,
            aim: Aim::AtMost(OVERHEAD_US_MAX + commit),
            rounds: SAMPLES,
        },
        Measurement {
            name: "a turn, in all".to_owned(),
            value: turn,
            unit: Unit::Microseconds,
            against: "the bare exchange",
            baseline: exchange,
            aim: Aim::Nothing,
            rounds: SAMPLES,
        },
    ])
}

/// A home with so many agents, whose model is at `url`.
pub fn furnish(home: &Path, url: &str, agents: u32) -> anyhow::Result<()> {
    std::fs::create_dir_all(home.join("agents"))?;
    let settings = format!(
        "providers: {{p: {{kind: openai, base_url: '{url}'}}}}\nmodels: {{team: {{provider: p, model: m}}}}\n\
         limits: {{parallel_max: {agents}}}\n"
    );
    std::fs::write(home.join("synod.yaml"), settings)?;
    for n in 0..agents {
        let id = name(n);
        std::fs::write(home.join(format!("agents/{id}.agent.yaml")), home::agent_file(&id))?;
    }
    Ok(())
}

/// The agent with this number.
pub fn name(number: u32) -> String {
    if number == 0 { AGENT.to_owned() } else { format!("agent-{number:05}") }
}

/// A word to an agent, which it answers in a conversation of its own.
pub fn word(agent: &str) -> Input {
    let (agent, text, by) = (AgentId::new(agent), "look at the disk".to_owned(), "dana".to_owned());
    Input::Person(PersonInput::Say {
        session: None,
        agent,
        text,
        urgency: Default::default(),
        by,
        in_file: false,
    })
}

async fn turn(
    handle: &engine::Handle,
    events: &mut broadcast::Receiver<Recorded>,
    agent: &str,
) -> anyhow::Result<f64> {
    handle.submit(word(agent)).await??;
    let mut begun = None;
    let mut took = None;
    loop {
        match events.recv().await?.event {
            Event::Turn(TurnEvent::Begun { .. }) => begun = Some(Instant::now()),
            Event::Turn(TurnEvent::Replied { .. }) => took = begun.map(|begun| begun.elapsed()),
            Event::Session(SessionEvent::Moved { to: Lifecycle::Waiting, .. }) => break,
            Event::Turn(TurnEvent::Failed { reason, .. }) => anyhow::bail!("the model failed: {reason}"),
            _ => {}
        }
    }
    let took = took.ok_or_else(|| anyhow::anyhow!("a turn ended without an answer"))?;
    Ok(took.as_secs_f64())
}

/// A client that does nothing but send the bytes and read the answer.
struct Bare {
    stream: TcpStream,
    request: Vec<u8>,
}

impl Bare {
    fn connect(url: &str, body: &str) -> anyhow::Result<Self> {
        let host = url.trim_start_matches("http://").trim_end_matches("/v1");
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        let length = body.len();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        Ok(Self { stream, request: (head + body).into_bytes() })
    }

    fn exchange(&mut self) -> anyhow::Result<f64> {
        timed(|| {
            self.stream.write_all(&self.request)?;
            let mut answer = Vec::new();
            let mut bytes = [0; 16 << 10];
            while !answer.ends_with(b"0\r\n\r\n") {
                let n = self.stream.read(&mut bytes)?;
                anyhow::ensure!(n > 0, "the server closed the connection");
                answer.extend(&bytes[..n]);
            }
            Ok(answer)
        })
    }
}

/// What one durable commit takes, in microseconds.
fn commits(folder: &Path) -> anyhow::Result<f64> {
    let mut raw = Raw::create(&folder.join("raw.db"))?;
    let mut times = Vec::new();
    for seq in 1..=SAMPLES as u64 {
        let entry = Entry {
            seq: Seq(seq),
            at: Time(1),
            version: 1,
            kind: "replied".to_owned(),
            body: "x".repeat(300),
        };
        times.push(timed(|| Ok(raw.append(&[entry])?))?);
    }
    Ok(median(&times) * 1e6)
}
