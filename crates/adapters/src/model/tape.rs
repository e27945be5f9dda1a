//! Tapes: what models said, to be said again without them. A line is one exchange: the digest of what was asked, and
//! what came back. A tape holds no key and no header, only what the port passes on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::session::Message;
use domain::settings::TapeOrder;
use domain::usage::Usage;
use ports::model::{ErrorKind, Model, ModelError, RawCall, Reply, Request};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::fault::{give_up, line};

/// Larger tapes are not read.
const TAPE_BYTES_MAX: u64 = 256 << 20;

/// One exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Exchange {
    /// The digest of what was asked.
    key: String,
    /// Who asked, and the last words it had heard: for people who read the tape.
    agent: String,
    #[serde(default)]
    heard: String,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Reply(Said),
    Error(Failed),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<SaidCall>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SaidCall {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Failed {
    message: String,
    /// The word for its kind.
    kind: String,
    #[serde(default)]
    after_ms: u64,
    #[serde(default)]
    usage: Usage,
}

impl Outcome {
    fn of(outcome: &Result<Reply, ModelError>) -> Self {
        match outcome {
            Ok(Reply { text, calls, usage }) => {
                let said = |RawCall { id, name, arguments }: RawCall| SaidCall { id, name, arguments };
                let calls = calls.iter().cloned().map(said).collect();
                Self::Reply(Said { text: text.clone(), calls, usage: *usage })
            }
            Err(ModelError { kind, message, usage }) => {
                let (kind, after_ms) = match kind {
                    ErrorKind::Retry { after_ms } => ("retry", *after_ms),
                    ErrorKind::Limited { after_ms } => ("limited", *after_ms),
                    ErrorKind::Outage { after_ms } => ("outage", *after_ms),
                    ErrorKind::Down => ("down", 0),
                    ErrorKind::Denied => ("denied", 0),
                    ErrorKind::TooLong => ("too_long", 0),
                    ErrorKind::GiveUp => ("give_up", 0),
                };
                Self::Error(Failed {
                    message: message.clone(),
                    kind: kind.to_owned(),
                    after_ms,
                    usage: *usage,
                })
            }
        }
    }

    fn played(self) -> Result<Reply, ModelError> {
        match self {
            Self::Reply(Said { text, calls, usage }) => {
                let raw = |SaidCall { id, name, arguments }: SaidCall| RawCall { id, name, arguments };
                Ok(Reply { text, calls: calls.into_iter().map(raw).collect(), usage })
            }
            Self::Error(Failed { message, kind, after_ms, usage }) => {
                let kind = match kind.as_str() {
                    "retry" => ErrorKind::Retry { after_ms },
                    "limited" => ErrorKind::Limited { after_ms },
                    "outage" => ErrorKind::Outage { after_ms },
                    "down" => ErrorKind::Down,
                    "denied" => ErrorKind::Denied,
                    "too_long" => ErrorKind::TooLong,
                    _ => ErrorKind::GiveUp,
                };
                Err(ModelError { kind, message, usage })
            }
        }
    }
}

/// The digest of all that a model is asked with: not when, and not under which ids.
fn key(request: &Request) -> String {
    let message = |m: &Message| {
        let calls: Vec<_> =
            m.calls.iter().map(|c| json!([c.id.as_str(), c.want.tool(), c.arguments])).collect();
        json!([m.speaker.as_str(), m.from, m.content, calls, m.call.as_ref().map(|id| id.as_str())])
    };
    let tools: Vec<_> = request.tools.iter().map(|t| json!([t.name, t.description, t.schema])).collect();
    let schema = request.schema.as_ref().map(|s| json!([s.name, s.schema]));
    let asked = json!([
        request.agent.as_str(),
        request.model,
        request.system,
        request.messages.iter().map(message).collect::<Vec<_>>(),
        tools,
        request.max_tokens,
        request.temperature,
        request.thinking,
        schema,
    ]);
    data_encoding::HEXLOWER.encode(&Sha256::digest(asked.to_string()))
}

/// Asks a model and keeps what it said.
pub(super) struct Record {
    of: Arc<dyn Model>,
    tape: Arc<Mutex<File>>,
    name: String,
}

impl Record {
    /// Records on the tape at `name` beneath the home, behind what is there.
    pub(super) fn new(home: &Path, name: &str, of: Arc<dyn Model>) -> Result<Self, String> {
        let path = home.join(name);
        let told = |error: std::io::Error| format!("{name}: {error}");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(told)?;
        }
        let mut tape = OpenOptions::new().create(true).read(true).append(true).open(&path).map_err(told)?;
        cut_torn_line(&mut tape).map_err(told)?;
        Ok(Self { of, tape: Arc::new(Mutex::new(tape)), name: name.to_owned() })
    }
}

/// A crash may have left half a line; what follows must not be glued to it.
fn cut_torn_line(tape: &mut File) -> std::io::Result<()> {
    const STEP: u64 = 64 << 10;
    let mut end = tape.metadata()?.len();
    let whole = end;
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        tape.seek(SeekFrom::Start(start))?;
        bytes.clear();
        std::io::Read::by_ref(tape).take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        end = start;
    }
    if end < whole { tape.set_len(end) } else { Ok(()) }
}

#[async_trait]
impl Model for Record {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        let (key, agent) = (key(&request), request.agent.to_string());
        let heard = request.messages.last().map(|m| line(&m.content)).unwrap_or_default();
        let outcome = self.of.ask(request).await;
        let exchange = Exchange { key, agent, heard, outcome: Outcome::of(&outcome) };
        let tape = self.tape.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut text = serde_json::to_string(&exchange)?;
            text.push('\n');
            // Appending one whole line at once: two processes on one tape do not mix their lines.
            let mut tape = tape.lock().unwrap_or_else(PoisonError::into_inner);
            tape.write_all(text.as_bytes())?;
            tape.sync_data()
        });
        match written.await {
            Ok(Ok(())) => outcome,
            Ok(Err(error)) => {
                Err(give_up(format!("the answer cannot be recorded on {}: {error}", self.name)))
            }
            Err(error) => Err(give_up(format!("the answer cannot be recorded on {}: {error}", self.name))),
        }
    }
}

/// Answers from a tape and from nothing else.
pub(super) struct Replay {
    name: String,
    by: TapeOrder,
    /// The answers by what a request is looked up with: its digest or its agent.
    exchanges: BTreeMap<String, Vec<Outcome>>,
    /// How many answers each of these gave. The last answer to a request repeats; an agent's answers do not.
    played: Mutex<BTreeMap<String, usize>>,
}

impl Replay {
    /// The tape at `name` beneath the home.
    pub(super) fn new(home: &Path, name: &str, by: TapeOrder) -> Result<Self, String> {
        let path: PathBuf = home.join(name);
        let size = std::fs::metadata(&path).map_err(|e| format!("{name}: {e}"))?.len();
        if size > TAPE_BYTES_MAX {
            return Err(format!("{name} has {size} bytes, at most {TAPE_BYTES_MAX} are read"));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{name}: {e}"))?;
        let mut exchanges: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
        // The last line is whole only with its end; half of one was never answered from.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (number, line) in whole.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let exchange: Exchange = serde_json::from_str(line)
                .map_err(|e| format!("{name}:{}:{}: {e}", number + 1, e.column()))?;
            let key = match by {
                TapeOrder::Request => exchange.key,
                TapeOrder::Agent => exchange.agent,
            };
            exchanges.entry(key).or_default().push(exchange.outcome);
        }
        Ok(Self { name: name.to_owned(), by, exchanges, played: Mutex::default() })
    }
}

#[async_trait]
impl Model for Replay {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        let key = match self.by {
            TapeOrder::Request => key(&request),
            TapeOrder::Agent => request.agent.to_string(),
        };
        let outcomes = self.exchanges.get(&key).map(Vec::as_slice).unwrap_or_default();
        let at = {
            let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
            let count = played.entry(key).or_default();
            let at = match self.by {
                TapeOrder::Request => (*count).min(outcomes.len().saturating_sub(1)),
                TapeOrder::Agent => *count,
            };
            *count += 1;
            at
        };
        let Some(outcome) = outcomes.get(at) else {
            let heard = request.messages.last().map(|m| line(&m.content)).unwrap_or_default();
            return Err(give_up(format!(
                "{} has no answer for {}, told last: {heard:?}; record it, or find out what changed",
                self.name, request.agent
            )));
        };
        outcome.clone().played()
    }
}

#[cfg(test)]
mod tests {
    use domain::session::Speaker;
    use testkit::contract;
    use testkit::model::{Puppet, give_up as gives_up, message, request, retry, says, wants};

    use super::*;

    fn ask(text: &str) -> Request {
        request("coder-001", vec![message(Speaker::User, text)])
    }

    fn recorder(home: &Path, puppet: Puppet) -> Record {
        Record::new(home, "tapes/a.jsonl", Arc::new(puppet)).unwrap()
    }

    #[tokio::test]
    async fn a_tape_says_again_what_was_said_errors_included() {
        let home = tempfile::tempdir().unwrap();
        let given = [
            Err(retry(7)),
            Ok(wants("read_file", "{\"path\": \"a\"}")),
            Ok(says("done")),
            Err(gives_up("no")),
            Err(ModelError::new(ErrorKind::Down, "gone").after(Usage::of(7, 3))),
        ];
        let record = recorder(home.path(), Puppet::replies(given.clone()));
        let questions = [ask("one"), ask("one"), ask("two"), ask("three"), ask("four")];
        for question in questions.clone() {
            _ = record.ask(question).await;
        }
        let replay = Replay::new(home.path(), "tapes/a.jsonl", TapeOrder::Request).unwrap();
        for (question, expected) in questions.into_iter().zip(given.clone()) {
            assert_eq!(replay.ask(question).await, expected);
        }
        assert_eq!(replay.ask(ask("one")).await, given[1], "the last answer repeats");
    }

    #[tokio::test]
    async fn what_is_not_on_the_tape_is_an_error_that_names_the_question() {
        let home = tempfile::tempdir().unwrap();
        recorder(home.path(), Puppet::answering(|_| Ok(says("yes")))).ask(ask("hi")).await.unwrap();
        let replay = Replay::new(home.path(), "tapes/a.jsonl", TapeOrder::Request).unwrap();
        let error = replay.ask(ask("ho")).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::GiveUp);
        assert!(error.message.starts_with("tapes/a.jsonl has no answer for coder-001, told last: \"ho\""));
        for other in [
            Request { model: "other".to_owned(), ..ask("hi") },
            Request { temperature: Some(0.1), ..ask("hi") },
            Request { system: "x".to_owned(), ..ask("hi") },
        ] {
            assert!(replay.ask(other).await.is_err(), "another question is another question");
        }
        let mut same = ask("hi");
        same.messages[0].at = domain::id::Time(99);
        same.messages[0].id = domain::id::MessageId::new("m-0042");
        assert!(replay.ask(same).await.is_ok(), "when it was said does not matter");
    }

    #[tokio::test]
    async fn by_agent_each_gets_its_answers_in_their_order_and_none_twice() {
        let home = tempfile::tempdir().unwrap();
        let given = [Ok(says("one")), Ok(says("two")), Ok(says("three"))];
        let record = recorder(home.path(), Puppet::replies(given.clone()));
        for agent in ["coder-001", "reviewer-001", "coder-001"] {
            _ = record.ask(request(agent, vec![message(Speaker::User, "go")])).await;
        }
        let replay = Replay::new(home.path(), "tapes/a.jsonl", TapeOrder::Agent).unwrap();
        assert_eq!(replay.ask(ask("other words")).await, given[0]);
        assert_eq!(replay.ask(ask("other words")).await, given[2]);
        let error = replay.ask(ask("other words")).await.unwrap_err();
        assert!(error.message.starts_with("tapes/a.jsonl has no answer for coder-001"), "{}", error.message);
    }

    #[tokio::test]
    async fn half_a_line_is_cut_off_and_a_damaged_one_is_named() {
        let home = tempfile::tempdir().unwrap();
        let yes = || Puppet::answering(|_| Ok(says("yes")));
        recorder(home.path(), yes()).ask(ask("hi")).await.unwrap();
        let path = home.path().join("tapes/a.jsonl");
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"key\": \"ha")).unwrap();
        assert!(
            Replay::new(home.path(), "tapes/a.jsonl", TapeOrder::Request)
                .unwrap()
                .ask(ask("hi"))
                .await
                .is_ok()
        );
        drop(recorder(home.path(), yes()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        std::fs::write(&path, format!("{whole}{{\"key\": \n{whole}")).unwrap();
        let error = Replay::new(home.path(), "tapes/a.jsonl", TapeOrder::Request).err().unwrap();
        assert!(error.starts_with("tapes/a.jsonl:2:"), "{error}");
    }

    #[tokio::test]
    async fn recorder_and_tape_keep_the_contract() {
        let home = tempfile::tempdir().unwrap();
        contract::model::holds(&recorder(home.path(), Puppet::answering(|_| Ok(says("yes"))))).await;
        contract::model::holds(&Replay::new(home.path(), "tapes/a.jsonl", TapeOrder::Request).unwrap()).await;
    }
}
