//! What a person sees while the team works: events as lines that stay, and on a terminal below them a line for each agent that
//! works and the question that waits for an answer. Everything else gets the same events as plain lines.

mod always;
mod keys;
mod question;
mod rows;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use adapters::redact::redact;
use domain::approval::{Answer, Outcome, Request};
use domain::event::{ApprovalEvent, Event, TaskEvent};
use domain::id::{ApprovalId, Seq, TaskId, Time};
use domain::input::{Input, PersonInput};
use domain::layout::{self, Decided};
use engine::Handle;
use ports::printer::Recorded;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use web::api::{self, News, Response};
use web::client::Following;
use web::feed::Feed;

use super::inbox;
use super::story::{Story, Told, act_words, json_event, show};
use crate::home::person;
use crate::out::{Out, Tone};
use crate::text;
use crate::view::Waiting;
use keys::{Key, Keys};
use question::{Questions, Wish};
use rows::Rows;

/// The lines of agents are drawn anew so often: seconds pass.
const DRAW_EVERY: Duration = Duration::from_millis(500);
/// So many lines of what is asked are shown unasked.
const ASKED_LINES_MAX: usize = 12;

/// Where news come from, and where answers go.
enum Source {
    /// This process.
    Here(Box<Feed>, Handle),
    /// Another one.
    There(Box<Following>, PathBuf),
}

/// Who answers what agents ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Whoever sits at the terminal, if there is one.
    Person,
    /// Nobody here.
    Nobody,
    /// Everything is approved.
    Yes,
}

/// What came of an answer.
type Answered = (ApprovalId, Result<(), String>);

/// The screen of one command.
pub struct Screen<'a> {
    /// What happened so far.
    pub story: Story,
    /// The task whose end is told elsewhere.
    pub own: Option<TaskId>,
    /// The last event that was shown.
    pub seq: u64,
    source: Source,
    home: &'a Path,
    out: &'a Out,
    asks: Asks,
    is_live: bool,
    rows: Rows,
    questions: Questions,
    keys: Option<Keys>,
    resumed: Signal,
    answers: JoinSet<Answered>,
}

impl<'a> Screen<'a> {
    /// For work of this process.
    pub async fn here(handle: &Handle, home: &'a Path, asks: Asks, out: &'a Out) -> anyhow::Result<Self> {
        let feed = Box::new(Feed::of(handle).await?);
        Self::of(Source::Here(feed, handle.clone()), home, asks, out)
    }

    /// For work of another process.
    pub fn there(following: Following, home: &'a Path, asks: Asks, out: &'a Out) -> anyhow::Result<Self> {
        let socket = crate::wire::socket(home);
        Self::of(Source::There(Box::new(following), socket), home, asks, out)
    }

    fn of(source: Source, home: &'a Path, asks: Asks, out: &'a Out) -> anyhow::Result<Self> {
        let is_live = out.is_live();
        let keys = if is_live && asks == Asks::Person { Keys::read() } else { None };
        Ok(Self {
            story: Story::default(),
            own: None,
            seq: 0,
            source,
            home,
            out,
            asks,
            is_live,
            rows: Rows::default(),
            questions: Questions::default(),
            keys,
            resumed: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            answers: JoinSet::new(),
        })
    }

    /// Shows the next thing that happens, or takes the next key; `false` when there will be no more. May be dropped while it
    /// waits: nothing is lost.
    pub async fn turn(&mut self) -> bool {
        let ticks = self.is_live && !(self.rows.is_empty() && self.questions.first().is_none());
        let goes_on = tokio::select! {
            biased;
            Some(key) = key(&mut self.keys) => {
                self.press(key);
                true
            }
            Some(answered) = self.answers.join_next(), if !self.answers.is_empty() => {
                if let Ok(answered) = answered {
                    self.answered(answered);
                }
                true
            }
            news = self.source.next() => match news {
                Some(news) => {
                    self.take(news);
                    true
                }
                None => false,
            },
            _ = self.resumed.recv() => {
                self.keys.iter().for_each(Keys::resume);
                true
            }
            () = tokio::time::sleep(DRAW_EVERY), if ticks => true,
        };
        self.draw();
        goes_on
    }

    /// Shows what was decided and not shown yet.
    pub fn catch_up(&mut self) {
        if let Source::Here(feed, _) = &mut self.source {
            for news in feed.left() {
                self.take(news);
            }
        }
        self.draw();
    }

    /// Whether somebody here thinks about an answer, or has just given one.
    pub fn is_asking(&self) -> bool {
        (self.keys.is_some() && self.questions.first().is_some()) || !self.answers.is_empty()
    }

    fn take(&mut self, news: News) {
        match news {
            News::Opening(opening) => {
                self.story = Story::from(&opening);
                self.seq = opening.seq;
                self.rows.take(opening.live, Instant::now());
                opening.approvals.into_iter().for_each(|request| self.ask(request));
            }
            News::Event { seq, at, event } => {
                self.seq = seq;
                self.tell(&Recorded { seq: Seq(seq), at: Time(at), event: *event });
            }
            News::Heard { session, tail, usage, .. } => self.rows.hear(&session, &tail, usage),
            News::Live(live) => self.rows.take(live, Instant::now()),
            News::Missed(missed) => self.out.say(format!(
                "({missed} events were too fast to show; they are in the journal and the files)"
            )),
        }
    }

    fn tell(&mut self, recorded: &Recorded) {
        let told = self.story.tell(&recorded.event);
        if self.out.json {
            self.out.line(json_event(recorded));
        } else if let Some(told) = told.filter(|told| !self.is_told_later(told, &recorded.event)) {
            show(&told, self.out);
        }
        match &recorded.event {
            Event::Approval(ApprovalEvent::Asked { request }) => self.ask((**request).clone()),
            Event::Approval(ApprovalEvent::Ended { approval, outcome }) => self.ended(approval, outcome),
            _ => {}
        }
    }

    /// On a screen nothing is said twice: the result of a task is told at its end.
    fn is_told_later(&self, told: &Told, event: &Event) -> bool {
        let is_own_end = match event {
            Event::Task(TaskEvent::Ended { task, .. }) => self.own.as_ref() == Some(task),
            _ => false,
        };
        self.is_live && (told.is_of_end || is_own_end)
    }

    fn ask(&mut self, request: Request) {
        match self.asks {
            Asks::Yes => self.answer(&request, Answer::Approved, "demo --yes"),
            Asks::Nobody => {}
            Asks::Person if self.keys.is_none() => self.tell_how(&request),
            Asks::Person => {
                if self.questions.ask(request) {
                    self.show_question();
                }
            }
        }
    }

    /// How to decide elsewhere.
    fn tell_how(&self, request: &Request) {
        if self.out.json {
            return;
        }
        let file = self.home.join(layout::approval_file(Decided::Pending, &request.id));
        let out = self.out;
        out.line(out.bold(&format!("{:<14} → decide: {}", "", act_words(&request.act))));
        out.line(format!("{:<14}   edit {} (Decision: APPROVED)", "", file.display()));
        out.line(format!("{:<14}   or: synod approve {} --home {}", "", request.id, self.home.display()));
    }

    /// What the first question is about, as far as a person must know it to answer.
    fn show_question(&self) {
        let Some(request) = self.questions.first() else { return };
        let lines = inbox::asked(request);
        self.out.line("");
        let head = format!("{} asks you ({}, risk {})", request.agent, request.id, request.risk.as_str());
        self.out.line(self.out.paint(Tone::Asks, &head));
        for line in lines.iter().take(ASKED_LINES_MAX) {
            self.out.wrapped("", &format!("  {line}"));
        }
        if lines.len() > ASKED_LINES_MAX {
            let more = lines.len() - ASKED_LINES_MAX;
            self.out.line(self.out.dim(&format!("  … {more} more lines; d shows all of it")));
        }
    }

    fn ended(&mut self, approval: &ApprovalId, outcome: &Outcome) {
        let was_first = self.questions.first().is_some_and(|first| first.id == *approval);
        if let Some(typed) = self.questions.ended(approval) {
            let who = match outcome {
                Outcome::Answered { by, via, .. } => format!("{by} decided it (in {via})"),
                Outcome::Expired => "it expired".to_owned(),
                Outcome::Withdrawn { reason } => format!("it was withdrawn: {reason}"),
            };
            self.out.line(format!("What you typed for {approval} ({typed}) is not used: {who}."));
        }
        if was_first {
            self.show_question();
        }
    }

    fn press(&mut self, key: Key) {
        match self.questions.press(key) {
            None => {}
            Some(Wish::Answer(request, answer)) => self.answer(&request, answer, "cli"),
            Some(Wish::Always(request, command)) => match always::allow(self.home, &command) {
                Ok(rule) => {
                    self.out.line(format!("policy/commands.yaml has a new rule: {rule}"));
                    self.answer(&request, Answer::Approved, "cli");
                }
                Err(why) => {
                    self.out.line(self.out.paint(Tone::Bad, &format!("no rule was written: {why}")));
                    self.questions.again();
                }
            },
            Some(Wish::Details(request)) => {
                inbox::show(&Waiting { request: *request, unclear: None }, None, self.out);
            }
            Some(Wish::Nonsense(why)) => self.out.line(why),
        }
    }

    fn answer(&mut self, request: &Request, answer: Answer, via: &str) {
        let approval = request.id.clone();
        match &self.source {
            Source::Here(_, handle) => {
                let (handle, via) = (handle.clone(), via.to_owned());
                self.answers.spawn(async move {
                    let input = PersonInput::Answer { approval: approval.clone(), answer, by: person(), via };
                    let answered = match handle.submit(Input::Person(input)).await {
                        Ok(Ok(_)) => Ok(()),
                        Ok(Err(refused)) => Err(refused.to_string()),
                        Err(closed) => Err(closed.to_string()),
                    };
                    (approval, answered)
                });
            }
            Source::There(_, socket) => {
                let (approve, reason) = match answer {
                    Answer::Approved => (true, String::new()),
                    Answer::Rejected { reason } => (false, reason),
                };
                let asked =
                    api::Request::Answer { approval: approval.to_string(), approve, reason, by: person() };
                let socket = socket.clone();
                self.answers.spawn_blocking(move || {
                    let answered = match web::client::ask(&socket, &asked) {
                        Ok(Response::Refused { reason } | Response::Bad { reason }) => Err(reason),
                        Ok(_) => Ok(()),
                        Err(error) => Err(error.to_string()),
                    };
                    (approval, answered)
                });
            }
        }
    }

    fn answered(&mut self, (approval, answered): Answered) {
        // Where somebody was faster the answer is not lost without a word: it is said who decided.
        if let Err(why) = answered {
            self.out.line(format!("your answer to {approval} was not taken: {why}"));
            if self.questions.first().is_some_and(|first| first.id == approval) {
                self.questions.again();
            }
        }
    }

    fn draw(&self) {
        if !self.is_live {
            return;
        }
        let columns = self.out.columns();
        let dim = |line: String| self.out.dim(&line);
        let mut lines: Vec<String> = self.rows.lines(columns, Instant::now()).into_iter().map(dim).collect();
        if self.keys.is_some()
            && let Some(prompt) = self.questions.prompt(columns)
        {
            if self.questions.len() > 1 {
                lines.push(self.out.dim(&text::cut(
                    &format!("{} more questions wait", self.questions.len() - 1),
                    columns.saturating_sub(1),
                )));
            }
            lines.push(prompt);
        }
        self.out.region(lines.iter().map(|line| redact(line).into_owned()).collect());
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.out.region(Vec::new());
    }
}

impl Source {
    async fn next(&mut self) -> Option<News> {
        match self {
            Self::Here(feed, _) => feed.next().await,
            Self::There(following, _) => following.next().await.ok().flatten(),
        }
    }
}

/// The next key; none ever where there are none.
async fn key(keys: &mut Option<Keys>) -> Option<Key> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}
