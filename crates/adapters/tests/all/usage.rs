//! The list of what was spent: each answer has one line in it, whatever happens between the journal and the disk.

use std::path::Path;
use std::sync::Arc;

use adapters::clock::SystemClock;
use adapters::files::{self, Files, Setup};
use adapters::lock::Claim;
use adapters::tools::Toolbox;
use domain::budget::Cap;
use domain::event::{Bill, Event};
use domain::event::{BudgetEvent, SessionEvent, TurnEvent};
use domain::id::{AgentId, ApprovalId, MessageId, Seq, SessionId, Time};
use domain::input::FileInput;
use domain::input::Input;
use domain::session::{Head, Message, Speaker};
use domain::state::State;
use formats::usage::{PATH, read};
use ports::printer::{Printer, Recorded};
use testkit::inputs::Tray;

const SESSION: &str = "planner-1-0a0b0c";
const AT: i64 = 1_700_000_000_000;

fn opened() -> Event {
    Event::Session(SessionEvent::Opened {
        head: Box::new(Head {
            session: SessionId::new(SESSION),
            agent: AgentId::new("planner-1"),
            role: "planner".to_owned(),
            model: "m".to_owned(),
            system_prompt: "You plan.".to_owned(),
            task: None,
            created: Time(AT),
        }),
    })
}

fn replied(number: u32) -> Event {
    let message = Message {
        id: MessageId::new(format!("m-{number:04}")),
        at: Time(AT),
        speaker: Speaker::Assistant,
        from: None,
        content: "Done.".to_owned(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    };
    let spent = Bill { model: "m".to_owned(), cache_read: 3, cache_write: 0, reasoning: 0, cost: Some(7) };
    let session = SessionId::new(SESSION);
    Event::Turn(TurnEvent::Replied {
        session,
        message,
        tokens_in: 10,
        tokens_out: u64::from(number),
        spent: Some(spent),
    })
}

fn raised() -> Event {
    let cap = Cap { tokens: Some(2_400), money: None };
    Event::Budget(BudgetEvent::Raised {
        budget: "budgets.day".to_owned(),
        cap,
        approval: ApprovalId::new("approval-0001"),
    })
}

fn history() -> Vec<Recorded> {
    let events = [opened(), replied(1), replied(2), raised(), replied(3)];
    let recorded = |(seq, event)| Recorded { seq: Seq(seq), at: Time(AT + seq as i64), event };
    (1..).zip(events).map(recorded).collect()
}

/// A desk as it is opened when the journal has `known` events, of which `printed` are known to be printed.
fn desk(home: &Path, known: usize, printed: u64) -> (Files, Arc<Tray>) {
    let mut state = State::new();
    history().iter().take(known).for_each(|recorded| state.apply(recorded.at, &recorded.event));
    let tools = Arc::new(Toolbox::new(home.to_owned(), Arc::new(SystemClock)).unwrap());
    let tray = Arc::new(Tray::new(100));
    let setup = Setup {
        home: home.to_owned(),
        state,
        inputs: tray.clone(),
        tools,
        printed: Seq(printed),
        watch: false,
        uncommitted: Vec::new(),
        claim: Claim::default(),
    };
    (files::spawn(setup).unwrap().0, tray)
}

fn list(home: &Path) -> String {
    std::fs::read_to_string(home.join(PATH)).unwrap_or_default()
}

/// The list as it is when nothing happens in between.
fn whole() -> String {
    let home = tempfile::tempdir().unwrap();
    let (mut files, _) = desk(home.path(), 0, 0);
    files.print(history().into());
    files.flush();
    assert_eq!(files.printed(), Seq(5));
    list(home.path())
}

#[test]
fn each_answer_and_each_raised_budget_has_one_line() {
    let (entries, unread) = read(&whole());
    let events: Vec<u64> = entries.iter().map(|entry| entry.event.0).collect();
    assert_eq!((events, unread, whole().lines().count()), (vec![2, 3, 4, 5], Vec::new(), 4));
}

#[test]
fn after_a_kill_at_any_byte_of_the_list_each_line_stands_there_once() {
    let whole = whole();
    let ends = whole.match_indices('\n').flat_map(|(end, _)| [end - 1, end, end + 1]);
    for kept in ends.chain((0..whole.len()).step_by(29)) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("log")).unwrap();
        std::fs::write(home.path().join(PATH), &whole[..kept]).unwrap();
        // The journal has it all, and the cursor may not have moved since the home was opened.
        let (mut files, _) = desk(home.path(), 5, 0);
        files.print(history().into());
        files.flush();
        assert_eq!(list(home.path()).trim_end(), whole.trim_end(), "after a kill at byte {kept}");
    }
}

#[test]
fn events_of_a_later_journal_are_told_beside_those_of_an_earlier_one() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("log")).unwrap();
    let earlier = whole().replace("2023-11-14", "2023-11-13");
    std::fs::write(home.path().join(PATH), &earlier).unwrap();
    let (mut files, _) = desk(home.path(), 5, 0);
    files.print(history().into());
    files.flush();
    assert_eq!(list(home.path()), earlier + &whole());
}

#[test]
fn a_disk_that_refuses_holds_the_cursor_back_and_gets_the_lines_later() {
    let home = tempfile::tempdir().unwrap();
    // No folder can be made where a file is.
    std::fs::write(home.path().join("log"), "").unwrap();
    let (mut files, _) = desk(home.path(), 0, 0);
    files.print(history().into());
    files.flush();
    assert_eq!(files.printed(), Seq(0));
    std::fs::remove_file(home.path().join("log")).unwrap();
    files.flush();
    assert_eq!((list(home.path()), files.printed()), (whole(), Seq(5)));
}

#[tokio::test]
async fn without_a_journal_the_list_is_given_and_with_one_it_is_not() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("log")).unwrap();
    std::fs::write(home.path().join(PATH), whole() + "nonsense\n" + &whole()).unwrap();
    let given = async |known| {
        let (files, tray) = desk(home.path(), known, known as u64);
        files.scan().await;
        let found = |input| match input {
            Input::File(FileInput::UsageFound { sums, raised }) => Some((sums, raised)),
            _ => None,
        };
        tray.take().into_iter().find_map(found)
    };
    let (sums, raised) = given(0).await.unwrap();
    let spent = sums.iter().map(|sum| (sum.spent.replies, sum.spent.usage.tokens_out, sum.spent.cost));
    assert_eq!((spent.collect::<Vec<_>>(), raised.len()), (vec![(3, 6, 21)], 1));
    assert_eq!(given(5).await, None);
}
