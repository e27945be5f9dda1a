//! The bus as a whole: whoever speaks to whom, and whatever stops, what was accepted arrives once and in order.

use std::collections::BTreeMap;

use domain::event::{CallEvent, SessionEvent, TurnEvent};
use domain::event::{Event, Finish};
use domain::id::{AgentId, CallId, SessionId};
use domain::input::{Failure, Input};
use domain::input::{ModelInput, PersonInput, ToolInput};
use domain::lifecycle::Lifecycle;
use domain::message::{self, BROADCAST, Kind, Urgency};
use domain::session::{Message, Speaker};
use domain::spawn::Order;
use domain::tool::{Act, SendMessage, Want};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;

use crate::home::{Home, read, reply};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

/// Something that happens, with a number that picks what it happens to.
#[derive(Debug, Clone)]
enum Deed {
    /// A person speaks.
    Write(Urgency),
    /// A model asks for these, or says its last words.
    Model(Vec<Wish>),
    ModelFails(bool),
    ToolEnds,
    /// A person gives a task, so that there are several conversations.
    Task,
    /// A person ends what is under way.
    Cancel,
    Spawn,
    Terminate,
    /// Synod ends without warning, and starts again.
    Crash,
    /// The next thing that happens is the last before such an end.
    CrashAfter,
    Time(u64),
}

#[derive(Debug, Clone)]
enum Wish {
    Read,
    Send { to: usize, notifies: bool, priority: Urgency, waits: bool },
}

fn deed() -> impl Strategy<Value = (Deed, usize)> {
    let urgency = || select(Urgency::ALL.to_vec());
    let wish = prop_oneof![
        1 => Just(Wish::Read),
        3 => (any::<usize>(), any::<bool>(), urgency(), proptest::bool::weighted(0.2))
            .prop_map(|(to, notifies, priority, waits)| Wish::Send { to, notifies, priority, waits }),
    ];
    let deed = prop_oneof![
        6 => urgency().prop_map(Deed::Write),
        10 => proptest::collection::vec(wish, 0..4).prop_map(Deed::Model),
        1 => any::<bool>().prop_map(Deed::ModelFails),
        5 => Just(Deed::ToolEnds),
        2 => Just(Deed::Task),
        1 => Just(Deed::Cancel),
        1 => Just(Deed::Spawn),
        1 => Just(Deed::Terminate),
        1 => Just(Deed::Crash),
        1 => Just(Deed::CrashAfter),
        1 => (0..20_000u64).prop_map(Deed::Time),
    ];
    (deed, any::<usize>())
}

/// A message that somebody tried to send.
#[derive(Debug, Clone)]
struct Sent {
    from: Option<SessionId>,
    to: String,
    accepted: bool,
}

/// Where a message arrived.
#[derive(Debug)]
struct Arrival {
    session: SessionId,
    agent: AgentId,
    read: bool,
}

/// What is known of all messages, from the events alone.
#[derive(Default)]
struct Book {
    seen: usize,
    sent: BTreeMap<String, Sent>,
    calls: BTreeMap<(SessionId, CallId), String>,
    arrived: BTreeMap<String, Vec<Arrival>>,
    told: BTreeMap<SessionId, Vec<Message>>,
    next: usize,
}

fn is_word(message: &Message) -> bool {
    message.speaker == Speaker::User && message.content.starts_with("word ")
}

impl Book {
    fn word(&mut self) -> String {
        self.next += 1;
        format!("word {}", self.next)
    }

    /// Takes in what happened since.
    fn follow(&mut self, home: &Home) {
        for event in &home.events[self.seen..] {
            match event {
                Event::Session(SessionEvent::MessageAdded { session, message, .. }) => {
                    self.arrives(home, session, message)
                }
                Event::Turn(TurnEvent::Replied { session, message, .. }) => {
                    for call in &message.calls {
                        let Want::Act(Act::SendMessage(SendMessage { to, content, .. })) = &call.want else {
                            continue;
                        };
                        let (from, to) = (Some(session.clone()), to.to_string());
                        self.sent.insert(content.clone(), Sent { from, to, accepted: false });
                        self.calls.insert((session.clone(), call.id.clone()), content.clone());
                    }
                    self.told.entry(session.clone()).or_default().push(message.clone());
                }
                Event::Call(CallEvent::Awaited { session, call, .. }) => {
                    self.accept(&(session.clone(), call.clone()));
                }
                Event::Call(CallEvent::Finished { session, message, finish, .. }) => {
                    let key = (session.clone(), message.call.clone().unwrap());
                    if *finish == Finish::Done {
                        self.accept(&key);
                    }
                    self.calls.remove(&key);
                    self.told.entry(session.clone()).or_default().push(message.clone());
                }
                Event::Turn(TurnEvent::Begun { session, .. })
                | Event::Turn(TurnEvent::Retried { session, .. }) => self.reads(session),
                _ => {}
            }
        }
        self.seen = home.events.len();
    }

    fn accept(&mut self, call: &(SessionId, CallId)) {
        if let Some(sent) = self.calls.get(call).and_then(|word| self.sent.get_mut(word)) {
            sent.accepted = true;
        }
    }

    fn arrives(&mut self, home: &Home, session: &SessionId, message: &Message) {
        self.told.entry(session.clone()).or_default().push(message.clone());
        if is_word(message) {
            let agent = home.state.sessions[session].agent.clone();
            let all = self.arrived.entry(message.content.clone()).or_default();
            assert!(all.iter().all(|other| other.agent != agent), "{agent} got {} twice", message.content);
            all.push(Arrival { session: session.clone(), agent, read: false });
        }
    }

    /// A model is asked: it reads all that stands there, what came since its last answer by urgency.
    fn reads(&mut self, session: &SessionId) {
        let Some(told) = self.told.get(session) else { return };
        let mut shown = told.clone();
        message::put_behind(&mut shown);
        message::order(&mut shown);
        let place: BTreeMap<_, _> = told.iter().enumerate().map(|(at, m)| (m.id.as_str(), at)).collect();
        assert_eq!(shown.len(), place.len(), "nothing is shown twice");
        assert!(shown.iter().all(|m| place.contains_key(m.id.as_str())), "nothing is lost");
        let is_answer = |m: &Message| m.speaker == Speaker::Assistant;
        for wait in shown.split(is_answer) {
            let said: Vec<_> = wait.iter().filter(|m| m.speaker == Speaker::User).collect();
            for pair in said.windows(2) {
                let (a, b) = (message::urgency(pair[0]), message::urgency(pair[1]));
                let as_they_came = place[pair[0].id.as_str()] < place[pair[1].id.as_str()];
                assert!(a > b || (a == b && as_they_came), "{} stands before {}", pair[0].id, pair[1].id);
            }
        }
        for urgency in Urgency::ALL {
            let of = |all: &[Message]| -> Vec<String> {
                let same = all.iter().filter(|m| is_word(m) && message::urgency(m) == urgency);
                same.map(|m| m.content.clone()).collect()
            };
            assert_eq!(of(&shown), of(told), "one priority is read as it came");
        }
        for message in shown.iter().filter(|m| is_word(m)) {
            let arrivals = self.arrived.get_mut(&message.content).unwrap();
            arrivals.iter_mut().filter(|a| a.session == *session).for_each(|a| a.read = true);
        }
    }

    /// When all has come to rest.
    fn settle(&self, home: &Home) {
        let is_over = |id: &SessionId| home.state.sessions[id].lifecycle == Lifecycle::Complete;
        for (word, sent) in &self.sent {
            let arrived = self.arrived.get(word).map_or(&[][..], Vec::as_slice);
            assert!(sent.accepted || arrived.is_empty(), "{word} was refused and arrived");
            assert!(!sent.accepted || !arrived.is_empty(), "{word} was accepted and is lost: {sent:?}");
            if sent.to == "#ops" {
                let listens = |a: &Arrival| home.state.team.agents[&a.agent].spec.channels == ["ops"];
                assert!(arrived.iter().all(listens), "{word} came to who does not listen");
            } else if sent.to != BROADCAST {
                assert!(arrived.len() <= 1 && arrived.iter().all(|a| a.agent.as_str() == sent.to));
            }
            for arrival in arrived.iter().filter(|arrival| !arrival.read) {
                assert!(is_over(&arrival.session), "{word} was never read by {}", arrival.agent);
                let Some(from) = &sent.from else { continue };
                let sender = &home.state.sessions[from].agent;
                let is_there = home.state.employed(sender).is_some();
                assert!(
                    !is_there || is_over(from) || self.is_returned(home, sender, arrival),
                    "{sender} does not know that {} never read {word}: {sent:?}",
                    arrival.agent
                );
            }
        }
    }

    /// Whether a sender was told that somebody did not read what it wrote, or will not answer.
    fn is_returned(&self, home: &Home, sender: &AgentId, arrival: &Arrival) -> bool {
        let own = self.told.iter().filter(|(id, _)| home.state.sessions[*id].agent == *sender);
        let whom = arrival.agent.as_str();
        own.flat_map(|(_, told)| told).any(|m| {
            m.content.contains(&format!("{whom} cannot answer"))
                || (m.content.contains(whom) && m.content.contains("has not read what you wrote"))
        })
    }
}

fn known(home: &Home) -> Vec<String> {
    home.state.team.agents.keys().map(ToString::to_string).collect()
}

fn pick<T: Clone>(all: &[T], number: usize) -> Option<T> {
    (!all.is_empty()).then(|| all[number % all.len()].clone())
}

fn act(book: &mut Book, known: &[String], wish: &Wish) -> Act {
    match wish {
        Wish::Read => read("a"),
        Wish::Send { to, notifies, priority, waits } => {
            let whom: Vec<&str> =
                known.iter().map(String::as_str).chain([BROADCAST, "#ops", "ghost-001"]).collect();
            Act::SendMessage(SendMessage {
                to: AgentId::new(whom[to % whom.len()]),
                content: book.word(),
                kind: notifies.then_some(Kind::Notification),
                priority: *priority,
                reply_to: None,
                wait_ms: waits.then_some(5_000),
                approved: None,
                issues: Vec::new(),
            })
        }
    }
}

/// The input of a deed, if there is anything it can be done to.
fn input(home: &Home, book: &mut Book, deed: &Deed, number: usize) -> Option<Input> {
    let known = known(home);
    let thinking: Vec<_> = known.iter().flat_map(|agent| home.calls_to_model(agent)).collect();
    let by = "dana".to_owned();
    Some(match deed {
        Deed::Write(urgency) => {
            let to = pick(&[&known[..], &[BROADCAST.to_owned(), "#ops".to_owned()]].concat(), number)?;
            let text = book.word();
            let sent = Sent { from: None, to: to.clone(), accepted: false };
            book.sent.insert(text.clone(), sent);
            let (session, agent, urgency) = (None, AgentId::new(to), *urgency);
            Input::Person(PersonInput::Say { session, agent, text, urgency, by, in_file: false })
        }
        Deed::Model(wishes) => {
            let (session, ticket) = pick(&thinking, number)?;
            let acts: Vec<Act> = wishes.iter().map(|wish| act(book, &known, wish)).collect();
            reply(session, ticket, "so it is", &acts)
        }
        Deed::ModelFails(again) => {
            let (session, ticket) = pick(&thinking, number)?;
            let failure = if *again { Failure::Retry { after_ms: 10 } } else { Failure::GiveUp };
            Input::Model(ModelInput::Failed { session, ticket, reason: "busy".to_owned(), failure })
        }
        Deed::ToolEnds => {
            let tools: Vec<_> = known.iter().flat_map(|agent| home.calls_to_tools(agent)).collect();
            let (session, call, ticket) = pick(&tools, number)?;
            let (read, wrote) = (Vec::new(), Vec::new());
            let text = "x".to_owned();
            Input::Tool(ToolInput::Finished {
                session,
                call,
                ticket,
                ok: true,
                text,
                read,
                wrote,
                finding: None,
            })
        }
        Deed::Task => {
            let spec = domain::task::Spec::new(domain::id::TaskId::new(""), "tasks/x.task.md", "look");
            let assignee = pick(&known, number).map(AgentId::new);
            Input::Person(PersonInput::AddTask {
                spec: Box::new(domain::task::Spec { assignee, ..spec }),
                by,
            })
        }
        Deed::Cancel => {
            let tasks = home.state.work.tasks.keys().map(ToString::to_string);
            let sessions = home.state.sessions.keys().map(ToString::to_string);
            Input::Person(PersonInput::Cancel {
                what: pick(&tasks.chain(sessions).collect::<Vec<_>>(), number)?,
                by,
            })
        }
        Deed::Spawn => {
            let (role, goal) = ("executor".to_owned(), "look".to_owned());
            let order = Order { role, name: None, goal, responsibilities: Vec::new(), model: None };
            Input::Person(PersonInput::Spawn { order: Box::new(order), by })
        }
        Deed::Terminate => {
            let spawned: Vec<_> = known.iter().filter(|id| !TEAM.contains(&id.as_str())).collect();
            let agent = AgentId::new(pick(&spawned, number)?.as_str());
            Input::Person(PersonInput::Terminate { agent, reason: "it is done".to_owned(), by })
        }
        Deed::Crash => Input::Started,
        Deed::CrashAfter | Deed::Time(_) => return None,
    })
}

fn perform(home: &mut Home, book: &mut Book, deed: &Deed, number: usize) {
    if let Deed::Time(ms) = deed {
        home.pass(*ms);
    } else if let Some(input) = input(home, book, deed, number) {
        let word = match &input {
            Input::Person(PersonInput::Say { text, .. }) => Some(text.clone()),
            _ => None,
        };
        let accepted = home.try_give(input).is_ok();
        if let Some(sent) = word.and_then(|word| book.sent.get_mut(&word)) {
            sent.accepted = accepted;
        }
    }
    book.follow(home);
}

/// All models say their last words and all tools end, until nothing is left to do.
fn to_the_end(home: &mut Home, book: &mut Book) {
    home.live = true;
    perform(home, book, &Deed::Crash, 0);
    for _ in 0..10_000 {
        let before = home.events.len();
        perform(home, book, &Deed::ToolEnds, 0);
        perform(home, book, &Deed::Model(Vec::new()), 0);
        if home.events.len() == before {
            if home.state.next_deadline().is_none() {
                return;
            }
            perform(home, book, &Deed::Time(60_000), 0);
        }
    }
    panic!("it comes to no end");
}

proptest! {
    /// What was accepted arrives once at each receiver and is read, or its sender is told that it never will be; what was
    /// refused arrives nowhere. A model reads the most urgent first, and within one priority as it came.
    #[test]
    fn what_is_accepted_arrives_once_and_in_order(deeds in proptest::collection::vec(deed(), 1..60)) {
        let mut home = Home::with(&TEAM, |settings| {
            settings.limits.parallel_max = 3;
            settings.limits.spawned_max = 8;
        }, |spec| {
            if spec.role != "planner" {
                spec.channels = vec!["ops".to_owned()];
            }
        });
        let mut book = Book::default();
        for (deed, number) in &deeds {
            if matches!(deed, Deed::CrashAfter) {
                home.live = false;
                continue;
            }
            perform(&mut home, &mut book, deed, *number);
            if !home.live {
                home.live = true;
                perform(&mut home, &mut book, &Deed::Crash, 0);
            }
        }
        to_the_end(&mut home, &mut book);
        book.settle(&home);
        let unread = home.state.sessions.values().filter(|s| s.talk.unread && s.lifecycle != Lifecycle::Complete);
        assert_eq!(unread.count(), 0, "nothing waits to be read");
    }
}
