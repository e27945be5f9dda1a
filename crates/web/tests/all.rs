//! The socket, with a real engine behind it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::agent;
use domain::id::{AgentId, TaskId, Time};
use domain::input::FileInput;
use domain::input::Input;
use domain::task::Spec;
use engine::{Engine, Handle, Parts};
use testkit::clock::Virtual;
use testkit::hands::Puppets;
use testkit::journal::Disk;
use testkit::printer::Paper;
use web::api::{Request, Response};
use web::client::{ClientError, ask};
use web::server::{Server, Serving};

/// A home with one agent and its socket; the folder goes with the test.
struct Home {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    serving: Serving,
    runtime: tokio::runtime::Runtime,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let engine = Engine::open(Box::new(Disk::new())).unwrap();
        let make = |handle: Handle| {
            Ok(Parts {
                hands: Box::new(Puppets::new(Arc::new(handle), "done")),
                printer: Box::new(Paper::default()),
                clock: Arc::new(Virtual::at(Time(5))),
            })
        };
        let (handle, _thread) = engine::spawn(engine, make).unwrap();
        let serving = runtime.block_on(async {
            let spec = agent::Spec::new(AgentId::new("executor-001"), "executor", "m");
            handle.submit(Input::File(FileInput::AgentRead(Box::new(spec)))).await.unwrap().unwrap();
            Server::bind(&socket).unwrap().spawn(handle)
        });
        Self { _folder: folder, socket, serving, runtime }
    }
}

fn add(title: &str, to: &str) -> Request {
    let mut task = Spec::new(TaskId::new(""), "tasks/x.task.md", title);
    task.assignee = Some(AgentId::new(to));
    Request::Add { task: Box::new(task), by: "dana".to_owned() }
}

fn raw(socket: &Path, line: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    // The server may hang up before all of a request that is too long was sent.
    _ = stream.write_all(line);
    let mut answer = String::new();
    _ = BufReader::new(stream).read_line(&mut answer);
    answer
}

#[test]
fn what_is_asked_is_decided_and_answered() {
    let home = Home::new();
    let added = ask(&home.socket, &add("Look", "executor-001")).unwrap();
    assert!(matches!(added, Response::Done { task: Some(id), .. } if id == "task-001"));
    let Response::Live(live) = ask(&home.socket, &Request::Live).unwrap() else { panic!("not live") };
    assert_eq!((live.pid, live.working), (std::process::id(), vec![]));
}

#[test]
fn a_refusal_says_why() {
    let home = Home::new();
    assert_eq!(
        ask(&home.socket, &add("Look", "nobody")).unwrap(),
        Response::Refused { reason: "there is no agent nobody".to_owned() }
    );
    let answer = Request::Answer {
        approval: "approval-0009".to_owned(),
        approve: true,
        reason: String::new(),
        by: "dana".to_owned(),
    };
    assert_eq!(
        ask(&home.socket, &answer).unwrap(),
        Response::Refused { reason: "there is no approval approval-0009".to_owned() }
    );
    let say = Request::Say {
        session: None,
        agent: "executor-001".to_owned(),
        text: " ".to_owned(),
        urgency: Default::default(),
        by: "dana".to_owned(),
    };
    assert_eq!(
        ask(&home.socket, &say).unwrap(),
        Response::Refused { reason: "the message is empty".to_owned() }
    );
}

#[test]
fn nonsense_is_refused_and_the_next_request_works() {
    let home = Home::new();
    for nonsense in ["\n", "hello\n", "{}\n", "{\"do\":\"fly\"}\n", "[1]\n", "\u{0}\n"] {
        assert!(raw(&home.socket, nonsense.as_bytes()).contains("\"answer\":\"bad\""), "{nonsense:?}");
    }
    assert!(raw(&home.socket, &[0xff, b'\n']).is_empty(), "bytes that are no text end the connection");
    let long = vec![b'x'; (1 << 20) + 10];
    assert!(raw(&home.socket, &long).contains("at most"));
    assert!(matches!(ask(&home.socket, &Request::Live), Ok(Response::Live(_))));
}

#[test]
fn many_connections_wait_for_their_turn() {
    let home = Home::new();
    let mut silent: Vec<UnixStream> = (0..63).map(|_| UnixStream::connect(&home.socket).unwrap()).collect();
    assert!(matches!(ask(&home.socket, &Request::Live), Ok(Response::Live(_))), "the last place is free");
    silent.push(UnixStream::connect(&home.socket).unwrap());
    silent.push(UnixStream::connect(&home.socket).unwrap());
    drop(silent);
    assert!(matches!(ask(&home.socket, &Request::Live), Ok(Response::Live(_))));
}

#[test]
fn only_the_owner_may_open_the_socket_and_a_dead_one_is_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    assert_eq!(std::fs::metadata(&home.socket).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = tempfile::tempdir().unwrap();
    let dead = folder.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    assert!(matches!(ask(&dead, &Request::Live), Err(ClientError::Unreachable { .. })));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { drop(Server::bind(&dead).unwrap()) });
    assert!(!dead.exists(), "the file goes with the server");
}

#[test]
fn waiting_ends_when_there_is_nothing_to_wait_for_or_the_time_is_over() {
    let home = Home::new();
    let wait = |task: Option<&str>, ms_max| Request::Await { task: task.map(str::to_owned), ms_max };
    let idle = ask(&home.socket, &wait(Some("task-009"), 60_000)).unwrap();
    let is_idle = matches!(
        idle,
        Response::Awaited { task: None, approvals: 0, parked: 0, offline: 0, timed_out: false, .. }
    );
    assert!(is_idle, "nothing is under way: {idle:?}");
    ask(&home.socket, &add("Look", "executor-001")).unwrap();
    // This home was not started: the task could begin and never does.
    let Response::Awaited { task, timed_out: true, .. } =
        ask(&home.socket, &wait(Some("task-001"), 20)).unwrap()
    else {
        panic!("the time is not over")
    };
    assert!(task.is_some_and(|task| task.mark == "open" && !task.ended));
}

#[test]
fn a_server_that_closes_answers_what_it_took_and_takes_nothing_more() {
    let home = Home::new();
    ask(&home.socket, &add("Look", "executor-001")).unwrap();
    // This home was not started: the task never begins, and whoever waits for it waits long. Both lines are read at once,
    // so with the first answer the second is taken.
    let mut waiting = UnixStream::connect(&home.socket).unwrap();
    let request = Request::Await { task: Some("task-001".to_owned()), ms_max: 600_000 };
    let lines = [Request::Live, request].map(|request| serde_json::to_string(&request).unwrap() + "\n");
    waiting.write_all(lines.concat().as_bytes()).unwrap();
    let mut waiting = BufReader::new(waiting);
    waiting.read_line(&mut String::new()).unwrap();
    let silent: Vec<UnixStream> = (0..63).map(|_| UnixStream::connect(&home.socket).unwrap()).collect();
    // No place is left: this one is not read.
    let mut unread = UnixStream::connect(&home.socket).unwrap();
    unread
        .write_all(format!("{}\n", serde_json::to_string(&add("More", "executor-001")).unwrap()).as_bytes())
        .unwrap();
    home.runtime.block_on(home.serving.close());
    assert!(!home.socket.exists());
    let mut answer = String::new();
    waiting.read_line(&mut answer).unwrap();
    let answer: Response = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer, Response::Refused { reason: engine::Closed.to_string() });
    let hung_up = BufReader::new(unread).read_line(&mut String::new()).unwrap_err();
    assert_eq!(
        hung_up.kind(),
        std::io::ErrorKind::ConnectionReset,
        "who sent it knows that it was not taken"
    );
    drop(silent);
    assert!(matches!(ask(&home.socket, &Request::Live), Err(ClientError::Unreachable { .. })));
}

/// A daemon that reads so much of a request and ends.
fn ends_after(bytes: usize) -> Result<Response, ClientError> {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let daemon = std::thread::spawn(move || {
        use std::io::Read;
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        match bytes {
            usize::MAX => _ = BufReader::new(&stream).read_line(&mut line).unwrap(),
            // Not before there is more than that.
            bytes => stream.read_exact(&mut vec![0; bytes]).unwrap(),
        }
    });
    let answer = ask(&socket, &Request::Live);
    daemon.join().unwrap();
    answer
}

#[test]
fn whether_a_request_was_taken_by_a_daemon_that_ends_is_told_apart() {
    assert!(matches!(ends_after(1), Err(ClientError::Unreachable { .. })), "it was not read");
    assert!(matches!(ends_after(usize::MAX), Err(ClientError::Ended)), "it was read, and who knows");
}
