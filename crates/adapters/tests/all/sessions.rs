//! Looking into conversations, and mail that goes out.

use domain::id::{AgentId, SessionId};
use domain::session::Status;
use domain::tool::{Act, EmailSend, ListSessions, ReadSession};
use ports::tools::Outcome;
use testkit::tools::order;

use crate::home::Home;

fn session(agent: &str, number: u32, status: &str, words: &[&str]) -> String {
    let mut text = format!(
        "session_id: {agent}-{number:06x}\nagent_id: {agent}\ntask: task-007\ncreated: 2026-01-02T03:04:05Z\nstatus: {status}\nmessages:\n"
    );
    for (n, word) in words.iter().enumerate() {
        text.push_str(&format!(
            "  - id: m-{:04}\n    role: user\n    from: person:dana\n    content: {word}\n",
            n + 1
        ));
    }
    text
}

fn home() -> Home {
    let home = Home::new();
    home.write("sessions/coder-001-000001.session.yaml", session("coder-001", 1, "completed", &["one"]))
        .write(
            "sessions/planner-001-000002.session.yaml",
            session("planner-001", 2, "sleeping", &["a", "b", "c"]),
        )
        .write("sessions/broken-001-000003.session.yaml", "session_id: [")
        .write("sessions/notes.md", "nothing");
    home
}

fn list(agent: Option<&str>, status: Option<Status>, limit: Option<u32>) -> Act {
    Act::ListSessions(ListSessions { agent: agent.map(AgentId::new), status, limit })
}

#[tokio::test]
async fn sessions_are_listed_by_agent_and_status_without_what_was_said() {
    let home = home();
    let all = home.run(order(1, "planner-001", list(None, None, None))).await;
    assert_eq!(all.read, ["names:sessions"]);
    assert_eq!(all.text.lines().count(), 2, "{}", all.text);
    let coder =
        "coder-001-000001  completed  agent coder-001, task task-007, changed 2026-01-02T03:04:05.000Z";
    assert!(all.text.contains(coder), "{}", all.text);
    assert_eq!(home.done(list(Some("coder-001"), None, None)).await, coder);
    assert_eq!(home.done(list(None, Some(Status::Completed), None)).await, coder);
    assert_eq!(home.done(list(None, Some(Status::Error), None)).await, "[no such sessions]");
    assert!(home.done(list(None, None, Some(1))).await.contains("[cut: the newest 1;"));
    assert_eq!(Home::new().done(list(None, None, None)).await, "[no such sessions]");
}

#[tokio::test]
async fn a_session_is_read_from_its_end_and_names_its_file() {
    let home = home();
    let read = |id: &str, last| Act::ReadSession(ReadSession { session: SessionId::new(id), last });
    let seen = home.run(order(1, "planner-001", read("planner-001-000002", Some(2)))).await;
    let expected = "planner-001-000002  sleeping  agent planner-001, task task-007, changed 2026-01-02T03:04:05.000Z, 3 messages\n\
        [cut: 1 older messages; read_file shows all of the file]\n\
        [m-0002] user from person:dana: b\n[m-0003] user from person:dana: c";
    assert_eq!(seen, Outcome::done(expected).reading("sessions/planner-001-000002.session.yaml"));
    assert!(home.failed(read("planner-001-00000f", None)).await.contains("list_sessions shows them"));
    assert!(home.failed(read("broken-001-000003", None)).await.contains(":1:"));
    assert!(home.failed(read("../synod", None)).await.contains("../synod"));
}

#[tokio::test]
async fn a_mail_is_one_line_and_a_repetition_adds_none() {
    let home = Home::new();
    let mail = |subject: &str| {
        Act::EmailSend(EmailSend {
            to: "dana@example.org".to_owned(),
            subject: subject.to_owned(),
            text: "It is full\nquite".to_owned(),
        })
    };
    for _ in 0..3 {
        let outcome = home.run(order(5, "coder-001", mail("Disk"))).await;
        assert_eq!(outcome, Outcome::done("the mail to dana@example.org is on its way"));
    }
    assert_eq!(
        home.read("inbox/email-outbox.jsonl"),
        "{\"effect\":\"5\",\"to\":\"dana@example.org\",\"subject\":\"Disk\",\"text\":\"It is full\\nquite\",\"at\":\"2023-11-14T22:13:20Z\"}\n"
    );
    assert!(home.failed(mail("Disk\nBcc: all@example.org")).await.contains("one line"));
    assert_eq!(home.read("inbox/email-outbox.jsonl").lines().count(), 1);
}
