//! What every printer keeps.

use std::sync::Arc;

use domain::Actor;
use domain::event::Event;
use domain::event::SessionEvent;
use domain::id::{AgentId, MessageId, Seq, SessionId, Time};
use domain::session::{Head, Message, Speaker};
use ports::printer::{Printer, Recorded};

/// The session that the contract prints into.
pub const SESSION: &str = "writer-1-0a0b0c";

pub(super) fn opened() -> Event {
    Event::Session(SessionEvent::Opened {
        head: Box::new(Head {
            session: SessionId::new(SESSION),
            agent: AgentId::new("writer-1"),
            role: "planner".to_owned(),
            model: "m".to_owned(),
            system_prompt: "You write.\nShortly.".to_owned(),
            task: None,
            created: Time(1_700_000_000_000),
        }),
    })
}

fn said(number: u32) -> Event {
    let message = Message {
        id: MessageId::new(format!("m-{number:04}")),
        at: Time(1_700_000_000_000 + i64::from(number)),
        speaker: Speaker::User,
        from: Some(Actor::person("dana")),
        content: format!("line {number}\n  and: more"),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    };
    Event::Session(SessionEvent::MessageAdded {
        session: SessionId::new(SESSION),
        message,
        asker: None,
        in_file: false,
    })
}

fn batch(first: u64, events: Vec<Event>) -> Arc<[Recorded]> {
    let at = Time(1_700_000_000_000);
    (first..).zip(events).map(|(seq, event)| Recorded { seq: Seq(seq), at, event }).collect()
}

/// `read` gives the ids of the messages that were printed, in their order.
pub fn holds(printer: &mut dyn Printer, read: &dyn Fn() -> Vec<String>) {
    assert_eq!(printer.printed(), Seq(0), "nothing is printed at first");
    printer.print(batch(1, vec![opened(), said(1), said(2)]));
    printer.flush();
    assert_eq!((read(), printer.printed()), (ids(2), Seq(3)), "after a flush all is printed, in order");

    printer.print(batch(1, vec![opened(), said(1), said(2)]));
    printer.flush();
    assert_eq!(read(), ids(2), "printing the same events again changes nothing");

    printer.print(batch(4, vec![said(3)]));
    printer.print(batch(5, vec![said(4), said(5)]));
    printer.flush();
    assert_eq!((read(), printer.printed()), (ids(5), Seq(6)), "what comes later follows");
}

fn ids(count: u32) -> Vec<String> {
    (1..=count).map(|number| format!("m-{number:04}")).collect()
}
