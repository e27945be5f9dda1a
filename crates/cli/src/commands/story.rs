//! Tells what happens, as it happens: one line an event that a person cares about. Nothing is told that did
//! not happen; each line comes from an event in the journal.

use std::collections::BTreeMap;

use domain::approval::{Answer, Outcome, Request};
use domain::event::{ApprovalEvent, CallEvent, OutageEvent, SessionEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Finish};
use domain::id::{ApprovalId, CallId, SessionId};
use domain::lifecycle::Lifecycle;
use domain::session::Message;
use domain::state::Requester;
use domain::task::{Change, End};
use domain::tool::{Act, Call, Runs, Want};
use ports::printer::Recorded;
use serde_json::json;
use web::api::Opening;

use crate::out::{Out, Tone};
use crate::view;

/// What was asked for and not finished, so that a result can be told with its question.
#[derive(Default)]
pub struct Story {
    agents: BTreeMap<SessionId, String>,
    calls: BTreeMap<(SessionId, CallId), Call>,
    approvals: BTreeMap<ApprovalId, Request>,
    /// Conversations in which a person spoke last, and whether they were answered since.
    asked: BTreeMap<SessionId, bool>,
    /// How often a person got no answer.
    unanswered: usize,
}

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Who did it.
    pub who: String,
    /// What.
    pub what: String,
    /// What it means.
    pub tone: Tone,
    /// Something to show below, line by line.
    pub detail: Vec<String>,
    /// Whether the end of the task says the same.
    pub is_of_end: bool,
}

impl Story {
    /// A story that knows what was under way before.
    pub fn from(opening: &Opening) -> Self {
        let approvals = opening.approvals.iter().map(|request| (request.id.clone(), request.clone()));
        let calls =
            opening.calls.iter().map(|(session, call)| ((session.clone(), call.id.clone()), call.clone()));
        Self {
            approvals: approvals.collect(),
            calls: calls.collect(),
            asked: opening.asked.iter().map(|session| (session.clone(), false)).collect(),
            ..Self::default()
        }
    }

    /// The line for an event, if people care about it.
    pub fn tell(&mut self, event: &Event) -> Option<Told> {
        match event {
            Event::Session(SessionEvent::Opened { head }) => {
                self.agents.insert(head.session.clone(), head.agent.to_string());
                None
            }
            Event::Task(TaskEvent::Added { spec, by, .. }) => {
                let to = spec.assignee.as_ref().map(|a| format!(" for {a}")).unwrap_or_default();
                Some(match by {
                    Requester::Inbox { source } => {
                        let from = spec.properties.get("from").map_or("somebody", String::as_str);
                        let stem =
                            source.rsplit('/').next().unwrap_or(source).split('.').next().unwrap_or(source);
                        told(stem, format!("{from} asks: \"{}\"  → {}{to}", spec.title, spec.id))
                    }
                    Requester::Session { session } => {
                        told(&self.agent(session), format!("makes {}{to}: {}", spec.id, spec.title))
                    }
                    Requester::Person { name } => told(name, format!("adds {}{to}: {}", spec.id, spec.title)),
                })
            }
            Event::Task(TaskEvent::Started { task, session }) => {
                Some(told(&self.agent(session), format!("begins {task}")))
            }
            Event::Session(SessionEvent::MessageAdded { session, message, .. }) => {
                self.hear(session, message);
                None
            }
            Event::Session(SessionEvent::Moved {
                session,
                task: None,
                to: Lifecycle::Complete,
                failed,
                reason,
            }) => self.over(session, *failed, reason),
            Event::Turn(TurnEvent::Replied { session, message, .. }) => {
                if message.calls.is_empty()
                    && let Some(answered) = self.asked.get_mut(session)
                {
                    *answered = true;
                }
                for call in &message.calls {
                    self.calls.insert((session.clone(), call.id.clone()), call.clone());
                }
                let said = message.content.trim();
                let is_of_end = is_result(said, &message.calls);
                (!said.is_empty()).then(|| Told {
                    is_of_end,
                    ..told(&self.agent(session), format!("says: {}", one_line(said)))
                })
            }
            Event::Turn(TurnEvent::EvidenceDemanded { session, message }) => {
                for call in &message.calls {
                    self.calls.insert((session.clone(), call.id.clone()), call.clone());
                }
                None
            }
            Event::Task(TaskEvent::Verified { task, .. }) => {
                Some(told("synod", format!("has seen the evidence of {task}")))
            }
            Event::Turn(TurnEvent::Summarised { session, message, .. }) => {
                let through = message.summary_through.as_ref().map_or("", |id| id.as_str());
                Some(told("synod", format!("summarises {session} up to {through}")))
            }
            Event::Approval(ApprovalEvent::Asked { request }) => {
                self.approvals.insert(request.id.clone(), (**request).clone());
                let what = format!(
                    "asks a person: {} ({}, risk {})",
                    act_words(&request.act),
                    request.id,
                    request.risk.as_str()
                );
                Some(told(request.agent.as_str(), what).toned(Tone::Asks))
            }
            Event::Approval(ApprovalEvent::Ended { approval, outcome }) => {
                let act = self.approvals.get(approval).map(|r| act_words(&r.act)).unwrap_or_default();
                Some(match outcome {
                    Outcome::Answered { answer: Answer::Approved, by, via } => {
                        told(by, format!("approves {approval}: {act} (in {via})"))
                    }
                    Outcome::Answered { answer: Answer::Rejected { reason }, by, via } => {
                        told(by, format!("rejects {approval}: {act} (in {via}) {reason}"))
                    }
                    Outcome::Expired => told("synod", format!("{approval} expired")),
                    Outcome::Withdrawn { reason } => told("synod", format!("withdraws {approval}: {reason}")),
                })
            }
            Event::Call(CallEvent::Finished { session, finish, message, .. }) => {
                self.finished(session, finish, message)
            }
            Event::Task(TaskEvent::Ended { task, end, result, by, .. }) => {
                let (word, tone) = match end {
                    End::Done => ("finishes", Tone::Good),
                    End::Failed => ("fails", Tone::Bad),
                    End::Cancelled => ("cancels", Tone::Bad),
                };
                Some(told(by.name(), format!("{word} {task}: {}", one_line(result))).toned(tone))
            }
            Event::Task(TaskEvent::Edited { task, change: Change::Label(label), .. }) => {
                Some(told("synod", format!("marks {task}: {}", view::caution(label))))
            }
            Event::Turn(TurnEvent::Failed { session, reason, .. }) => {
                let what = format!("model call failed ({}); retrying", one_line(reason));
                Some(told(&self.agent(session), what).toned(Tone::Bad))
            }
            Event::Outage(OutageEvent::Failed { place, error, due, .. }) => {
                let at = formats::time::print(*due);
                let what = format!("{place} does not answer ({}); trying again at {at}", one_line(error));
                Some(told("synod", what).toned(Tone::Bad))
            }
            Event::Outage(OutageEvent::Ended { place }) => {
                Some(told("synod", format!("{place}: what waited for it goes on")))
            }
            Event::Outage(OutageEvent::Switched { session, fallback: Some(fallback) }) => {
                Some(told("synod", format!("{} asks {fallback} for now", self.agent(session))))
            }
            _ => None,
        }
    }

    /// How many conversations ended in this story in which a person waited for an answer.
    pub fn unanswered(&self) -> usize {
        self.unanswered
    }

    fn hear(&mut self, session: &SessionId, message: &Message) {
        let is_answer = message.envelope.as_ref().is_some_and(|envelope| envelope.kind.answers());
        if message.is_of_person() {
            self.asked.insert(session.clone(), false);
        } else if message.sender().is_some() && !is_answer && self.asked.get(session) == Some(&true) {
            // What is said from here on is for somebody else.
            self.asked.remove(session);
        }
    }

    /// A conversation about no task is over. A person who waits for an answer there hears why none comes.
    fn over(&mut self, session: &SessionId, failed: bool, reason: &str) -> Option<Told> {
        let answered = self.asked.remove(session)?;
        self.unanswered += usize::from(!answered);
        let is_told = failed || !answered;
        is_told.then(|| told(&self.agent(session), format!("cannot answer: {}", one_line(reason))))
    }

    fn finished(&mut self, session: &SessionId, finish: &Finish, message: &Message) -> Option<Told> {
        let call = message.call.clone().and_then(|id| self.calls.remove(&(session.clone(), id)))?;
        let Want::Act(act) = &call.want else { return None };
        let who = self.agent(session);
        let words = act_words(act);
        match finish {
            // The events of the task itself say it.
            Finish::Done if matches!(act, Act::CreateTask(_) | Act::FinishTask(_)) => None,
            Finish::Done => {
                let detail = match act.runs() {
                    Runs::Command(_) | Runs::OwnersCommand(_) => output_lines(&message.content),
                    Runs::Nothing => Vec::new(),
                };
                Some(Told { detail, ..told(&who, done_words(act)) })
            }
            Finish::Failed => {
                let what = format!("could not {words}: {}", one_line(&message.content));
                Some(told(&who, what).toned(Tone::Bad))
            }
            Finish::Refused { rule } => {
                Some(told("synod", format!("denied {who}: {words} ({rule})")).toned(Tone::Bad))
            }
            Finish::Unknown => {
                let what = format!("does not know whether {who} did: {words}");
                Some(told("synod", what).toned(Tone::Bad))
            }
            Finish::Dropped => None,
        }
    }

    fn agent(&self, session: &SessionId) -> String {
        let known = self.agents.get(session).cloned();
        known.unwrap_or_else(|| session.as_str().rsplit_once('-').map_or("", |(agent, _)| agent).to_owned())
    }
}

fn told(who: &str, what: impl Into<String>) -> Told {
    Told { who: who.to_owned(), what: what.into(), tone: Tone::Plain, detail: Vec::new(), is_of_end: false }
}

/// Whether the words are the result of the task, with which it is reported done.
fn is_result(said: &str, calls: &[Call]) -> bool {
    calls
        .iter()
        .any(|call| matches!(&call.want, Want::Act(Act::FinishTask(end)) if end.result.trim() == said))
}

impl Told {
    fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// An act in a few words, before it is done.
pub fn act_words(act: &Act) -> String {
    let words = act.words();
    with_text(words.wish, words.about)
}

fn done_words(act: &Act) -> String {
    let words = act.words();
    with_text(words.done, words.about)
}

fn with_text(words: String, about: Option<String>) -> String {
    match about {
        Some(about) => format!("{words}: {}", one_line(&about)),
        None => words,
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(160).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

fn output_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines
        .filter(|line| !matches!(*line, "stdout:" | "stderr:" | "[nothing]"))
        .take(8)
        .map(str::to_owned)
        .collect()
}

/// One line of the story.
pub fn show(told: &Told, out: &Out) {
    let lead = out.bold(&format!("{:<14} ", told.who));
    out.wrapped(&lead, &out.paint(told.tone, &told.what));
    for line in &told.detail {
        out.wrapped(&out.dim(&format!("{:<14} │ ", "")), &out.dim(line));
    }
}

/// An event for a program: one flat object, with the event's name and what it says of it.
pub fn json_event(recorded: &Recorded) -> String {
    let topic = serde_json::to_value(&recorded.event).unwrap_or_default();
    let said = topic.as_object().and_then(|topics| topics.values().next()).and_then(|event| {
        let kinds = event.as_object()?;
        kinds.values().next()?.as_object().cloned()
    });
    let mut said = said.unwrap_or_default();
    said.insert("event".to_owned(), json!(recorded.event.kind()));
    said.insert("seq".to_owned(), json!(recorded.seq.0));
    said.insert("at".to_owned(), json!(formats::time::print(recorded.at)));
    serde_json::Value::Object(said).to_string()
}
