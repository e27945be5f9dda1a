//! A model that answers from rules in a file: for demos, and for testing a team without a key.
//!
//! The answer follows from the request alone. How often a rule has answered before is counted in the
//! conversation: for each answer of the model in it, the rule that must have given it. So the same conversation
//! gets the same answer in every process, also after a crash. Of a history that was cut, what is left counts.
//!
//! Errors leave no trace in a conversation. Those that a rule lists before an answer are given once each, by the
//! memory of this process; a restart gives them again and then the same answer.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::tool::{FinishTask, Tool as _};
use domain::usage::Usage;
use formats::script::{Answer, Finish, Rule, Script};
use ports::model::{ErrorKind, Model, ModelError, RawCall, Reply, Request};
use serde_json::json;

use super::conversation::{Asked, Fit};
use super::fill::Fill;

/// Errors are remembered for so many conversations, then forgotten all at once.
const REMEMBERED_MAX: usize = 10_000;
/// So much of a text that no rule fits is shown.
const SHOWN_CHARS_MAX: usize = 200;

/// A scripted model.
#[derive(Debug)]
pub struct Scripted {
    file: String,
    rules: Vec<Rule>,
    used: Vec<AtomicBool>,
    /// How many errors were given at one place of one conversation.
    errors_given: Mutex<HashMap<u64, usize>>,
}

/// A rule that never answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The script.
    pub file: String,
    /// Where the rule stands in it, from 1.
    pub line: usize,
    /// Whom it is for.
    pub agent: Option<String>,
    /// What it waits for.
    pub matches: Option<String>,
}

impl Scripted {
    /// The model of a script; `file` is named in errors.
    pub fn new(file: impl Into<String>, script: Script) -> Self {
        let used = script.rules.iter().map(|_| AtomicBool::new(false)).collect();
        Self { file: file.into(), rules: script.rules, used, errors_given: Mutex::default() }
    }

    /// Rules that never answered in this process, nor before in a conversation that it saw.
    pub fn unmatched(&self) -> Vec<Unused> {
        let unused = self.rules.iter().zip(&self.used).filter(|(_, used)| !used.load(Ordering::Relaxed));
        unused
            .map(|(rule, _)| Unused {
                file: self.file.clone(),
                line: rule.line,
                agent: rule.agent.clone(),
                matches: rule.matches.clone(),
            })
            .collect()
    }

    /// The answer to a request, with its placeholders filled.
    fn answer(&self, request: &Request) -> Result<(Answer, Reply), ModelError> {
        let asked = Asked { agent: request.agent.as_str(), messages: &request.messages, turn: request.turn };
        let mut given = vec![0_usize; self.rules.len()];
        for earlier in asked.earlier() {
            if let Some(fit) = earlier.fit(&self.rules, |rule| is_used_up(&self.rules[rule], given[rule])) {
                given[fit.rule] += 1;
                self.used[fit.rule].store(true, Ordering::Relaxed);
            }
        }
        let Some(fit) = asked.fit(&self.rules, |rule| is_used_up(&self.rules[rule], given[rule])) else {
            return Err(self.no_rule(&asked));
        };
        self.used[fit.rule].store(true, Ordering::Relaxed);
        let answer = self.choose(request, &fit, given[fit.rule]);
        let fill = Fill { last: asked.last(), captured: &fit.captured };
        Ok((answer.clone(), reply(answer, &fill, request)))
    }

    /// The answer of a rule that has answered `given` times before.
    fn choose(&self, request: &Request, fit: &Fit<'_>, given: usize) -> &Answer {
        let answers = &self.rules[fit.rule].answers;
        let (errors, answer) = turn_of(answers, given);
        if errors.is_empty() {
            return answer;
        }
        let place = place(request, fit.rule);
        let mut remembered = self.errors_given.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        let count = remembered.entry(place).or_default();
        let chosen = errors.get(*count).unwrap_or(answer);
        *count += 1;
        chosen
    }

    fn no_rule(&self, asked: &Asked<'_>) -> ModelError {
        let mut text: String = asked.last().chars().take(SHOWN_CHARS_MAX).collect();
        if text.len() < asked.last().len() {
            text.push('…');
        }
        let message = format!(
            "no rule of {} fits {} in turn {}, told last: {text:?}. \
             A script plays a model; to connect a real one, set `provider` and its key in models of synod.yaml",
            self.file, asked.agent, asked.turn
        );
        ModelError::new(ErrorKind::GiveUp, message)
    }
}

#[async_trait]
impl Model for Scripted {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        let (answer, reply) = self.answer(&request)?;
        if answer.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        }
        match answer.error {
            None => Ok(reply),
            Some(error) => {
                let kind = match error.retry_after_ms {
                    Some(after_ms) => ErrorKind::Retry { after_ms },
                    None => ErrorKind::GiveUp,
                };
                Err(ModelError::new(kind, error.message))
            }
        }
    }
}

/// Whether a rule that answers each of its answers once has given them all.
fn is_used_up(rule: &Rule, given: usize) -> bool {
    rule.once && given > 0 && given >= rule.answers.iter().filter(|answer| answer.error.is_none()).count()
}

/// What comes after `given` answers: the errors that stand before the next one, and the next one. The last
/// answer repeats, without errors; where only errors are left, the last of them repeats.
fn turn_of(answers: &[Answer], given: usize) -> (&[Answer], &Answer) {
    let is_answer = |answer: &&Answer| answer.error.is_none();
    let start = match given {
        0 => 0,
        given => answers
            .iter()
            .enumerate()
            .filter(|(_, a)| is_answer(a))
            .nth(given - 1)
            .map_or(answers.len(), |(at, _)| at + 1),
    };
    let left = &answers[start..];
    match left.iter().position(|answer| is_answer(&answer)) {
        Some(next) => (&left[..next], &left[next]),
        None => match (left.split_last(), answers.last()) {
            (Some((last, before)), _) => (before, last),
            (None, Some(last)) => (&[], last),
            (None, None) => (&[], &NOTHING),
        },
    }
}

/// For a rule without answers, which the format does not let through.
static NOTHING: Answer =
    Answer { text: String::new(), calls: Vec::new(), finish: None, error: None, delay_ms: 0 };

fn reply(answer: &Answer, fill: &Fill<'_>, request: &Request) -> Reply {
    let text = fill.text(&answer.text);
    let calls: Vec<RawCall> = answer
        .calls
        .iter()
        .enumerate()
        .map(|(n, call)| RawCall {
            // A turn is asked for once in a session, so these are unique in it.
            id: format!("call-{}-{}", request.turn, n + 1),
            name: call.tool.clone(),
            arguments: fill.arguments(&call.arguments),
        })
        .collect();
    let ending = ending(answer, request).map(|finish| RawCall {
        id: format!("call-{}-{}", request.turn, calls.len() + 1),
        name: FinishTask::NAME.to_owned(),
        arguments: json!({"status": finish.as_str(), "result": text}).to_string(),
    });
    let said: usize =
        text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
    let heard: usize = request.system.len() + request.messages.iter().map(|m| m.content.len()).sum::<usize>();
    let calls = calls.into_iter().chain(ending).collect();
    Reply { text, calls, usage: Usage::of(tokens(heard), tokens(said)) }
}

/// How an answer ends the task: as its rule says, else as done if it is words alone and nothing is waited for.
fn ending(answer: &Answer, request: &Request) -> Option<Finish> {
    let has_task = || request.is_due || request.tools.iter().any(|tool| tool.name == FinishTask::NAME);
    match answer.finish {
        Some(Finish::No) => None,
        Some(finish) => has_task().then_some(finish),
        None => (answer.calls.is_empty() && request.is_due).then_some(Finish::Done),
    }
}

/// A rough count, for budgets in demos: four bytes are about one token.
fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// One place of one conversation, as a number.
fn place(request: &Request, rule: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (request.agent.as_str(), request.turn, rule).hash(&mut hasher);
    for message in &request.messages {
        (message.id.as_str(), message.at, message.content.as_str()).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
