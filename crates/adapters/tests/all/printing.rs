//! The order in which the desk writes: whoever has only the files, in any moment, must be able to go on.

use std::path::Path;
use std::sync::Arc;

use adapters::clock::SystemClock;
use adapters::files::{self, Files, Setup};
use adapters::lock::Claim;
use adapters::problem::Problem;
use adapters::tools::Toolbox;
use domain::event::{CallEvent, SessionEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Finish};
use domain::id::{AgentId, CallId, MessageId, Seq, SessionId, TaskId, Time};
use domain::lifecycle::Lifecycle;
use domain::session::{Head, Message, Speaker};
use domain::state::{Requester, State};
use domain::task::Spec;
use domain::tool::{Act, Call, CreateTask, Want};
use ports::printer::{Printer, Recorded};
use rustix::fs::inotify;
use testkit::inputs::Tray;
use tokio::sync::mpsc;

use crate::home::eventually;

const PLANNER: &str = "planner-1-0a0b0c";
const ANALYST: &str = "analyst-1-0d0e0f";

fn desk(home: &Path) -> Files {
    desk_that_tells(home).0
}

fn desk_that_tells(home: &Path) -> (Files, mpsc::Receiver<Problem>) {
    let tools = Arc::new(Toolbox::new(home.to_owned(), Arc::new(SystemClock)).unwrap());
    let setup = Setup {
        home: home.to_owned(),
        state: State::new(),
        inputs: Arc::new(Tray::new(100)),
        tools,
        printed: Seq(0),
        watch: false,
        uncommitted: Vec::new(),
        claim: Claim::default(),
    };
    let (files, problems, _) = files::spawn(setup).unwrap();
    (files, problems)
}

/// Which files are written to, in order; a row of writes to one file is told once.
struct Watch {
    queue: rustix::fd::OwnedFd,
}

impl Watch {
    fn on(home: &Path) -> Self {
        let queue = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        let written = inotify::WatchFlags::MODIFY | inotify::WatchFlags::MOVED_TO;
        for folder in ["sessions", "tasks"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
            inotify::add_watch(&queue, home.join(folder), written).unwrap();
        }
        Self { queue }
    }

    fn written(&self) -> Vec<String> {
        let mut space = [std::mem::MaybeUninit::uninit(); 64 * 1024];
        let mut reader = inotify::Reader::new(&self.queue, &mut space);
        let mut all = Vec::new();
        while let Ok(event) = reader.next() {
            let name = event.file_name().unwrap().to_str().unwrap();
            // What is prepared aside is no file of the home yet.
            all.extend(
                name.split_once('.').filter(|(name, _)| !name.is_empty()).map(|(name, _)| name.to_owned()),
            );
        }
        all.dedup();
        all
    }
}

fn opened(session: &str, agent: &str) -> Event {
    Event::Session(SessionEvent::Opened {
        head: Box::new(Head {
            session: SessionId::new(session),
            agent: AgentId::new(agent),
            role: "planner".to_owned(),
            model: "m".to_owned(),
            system_prompt: "You plan.".to_owned(),
            task: None,
            created: Time(1_700_000_000_000),
        }),
    })
}

fn message(number: u32, speaker: Speaker, content: &str) -> Message {
    Message {
        id: MessageId::new(format!("m-{number:04}")),
        at: Time(1_700_000_000_000 + i64::from(number)),
        speaker,
        from: None,
        content: content.to_owned(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    }
}

fn replied(act: Act) -> Event {
    let call =
        Call { id: CallId::new("call-1"), arguments: "{}".to_owned(), want: Want::Act(act), seen: None };
    let message = Message { calls: vec![call], ..message(1, Speaker::Assistant, "I hand it on.") };
    Event::Turn(TurnEvent::Replied {
        session: SessionId::new(PLANNER),
        message,
        tokens_in: 1,
        tokens_out: 1,
        spent: None,
    })
}

fn finished(text: &str) -> Event {
    let message = Message { call: Some(CallId::new("call-1")), ..message(2, Speaker::ToolResult, text) };
    Event::Call(CallEvent::Finished {
        session: SessionId::new(PLANNER),
        finish: Finish::Done,
        message,
        wrote: Vec::new(),
    })
}

fn print(files: &mut Files, first: u64, events: Vec<Event>) {
    let at = Time(1_700_000_000_000);
    files.print((first..).zip(events).map(|(seq, event)| Recorded { seq: Seq(seq), at, event }).collect());
    files.flush();
}

#[test]
fn a_call_is_printed_before_the_task_it_made_and_its_result_after() {
    let home = tempfile::tempdir().unwrap();
    let mut files = desk(home.path());
    print(&mut files, 1, vec![opened(PLANNER, "planner-1")]);
    let watch = Watch::on(home.path());
    let made = Act::CreateTask(CreateTask {
        title: "Look".to_owned(),
        description: String::new(),
        assignee: None,
        depends_on: Vec::new(),
        parent: None,
        tags: Vec::new(),
        tag: None,
        priority: None,
        approval_required: false,
        done_when: None,
        with_results: Vec::new(),
    });
    let added = Event::Task(TaskEvent::Added {
        spec: Box::new(Spec::new(TaskId::new("task-001"), "tasks/requests.task.md", "Look")),
        by: Requester::Session { session: SessionId::new(PLANNER) },
        in_file: false,
    });
    print(&mut files, 2, vec![replied(made), added, finished("task-001 is created")]);
    assert_eq!(watch.written(), [PLANNER, "requests", PLANNER]);
}

#[test]
fn a_call_is_printed_before_the_message_it_sent() {
    let home = tempfile::tempdir().unwrap();
    let mut files = desk(home.path());
    print(&mut files, 1, vec![opened(PLANNER, "planner-1"), opened(ANALYST, "analyst-1")]);
    let watch = Watch::on(home.path());
    let sent = Act::send_message(AgentId::new("analyst-1"), "Look.");
    let heard = Event::Session(SessionEvent::MessageAdded {
        session: SessionId::new(ANALYST),
        message: message(1, Speaker::User, "Look."),
        asker: Some(SessionId::new(PLANNER)),
        in_file: false,
    });
    print(&mut files, 3, vec![replied(sent), heard, finished("sent")]);
    assert_eq!(watch.written(), [PLANNER, ANALYST, PLANNER]);
}

#[tokio::test]
async fn a_status_that_the_disk_refuses_is_told_of_once_and_stands_in_the_file_later() {
    let home = tempfile::tempdir().unwrap();
    let (mut files, mut problems) = desk_that_tells(home.path());
    print(&mut files, 1, vec![opened(PLANNER, "planner-1")]);
    let path = home.path().join(format!("sessions/{PLANNER}.session.yaml"));
    let status = || {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().find(|line| line.starts_with("status:")).unwrap().to_owned()
    };
    let moved = |to| {
        let (session, reason) = (SessionId::new(PLANNER), "so it is".to_owned());
        vec![Event::Session(SessionEvent::Moved { session, task: None, to, failed: false, reason })]
    };
    assert_eq!(status(), "status: active");
    // No new version can be prepared where a folder is.
    let aside = home.path().join(format!("sessions/.{PLANNER}.session.yaml.synod"));
    std::fs::create_dir(&aside).unwrap();
    print(&mut files, 2, moved(Lifecycle::Waiting));
    let told = problems.try_recv().unwrap().diagnostic.message;
    assert!(told.contains("cannot be read or written"), "{told}");
    assert_eq!(status(), "status: active");
    std::fs::remove_dir(&aside).unwrap();
    eventually("the status", || status() == "status: sleeping").await;
    // The same once more, and it is tried again while it is still refused. The old version has that name for a moment.
    eventually("a folder", || std::fs::create_dir(&aside).is_ok()).await;
    print(&mut files, 3, moved(Lifecycle::Working));
    for _ in 0..3 {
        files.scan().await;
    }
    assert_eq!(status(), "status: sleeping");
    std::fs::remove_dir(&aside).unwrap();
    eventually("the status", || status() == "status: active").await;
    assert_eq!(problems.try_recv().unwrap().diagnostic.message, told);
    assert!(problems.try_recv().is_err(), "each time is told once");
}
