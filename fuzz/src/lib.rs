//! What must hold for every text, one function for each parser. The fuzz targets call these with what the
//! fuzzer makes up, and a test of `formats` with the texts in `corpus/`.

use domain::approval::Outcome;
use domain::id::{MessageId, Time};
use domain::session::{Message, Speaker, Status};
use formats::approval::{close_detail, read_detail};
use formats::check::{SourceFile, check};
use formats::session::{SessionFile, torn_tail};
use formats::task::TaskFile;
use formats::{Diagnostic, Read, Severity, agent, inbox, policy, render, run_mode, script, settings};

/// The names of all targets.
pub const TARGETS: [&str; 10] = [
    "agent_json",
    "agent_yaml",
    "approval",
    "inbox",
    "policy",
    "run_mode",
    "script",
    "session",
    "settings",
    "task",
];

/// Runs one target on one text.
pub fn run(target: &str, text: &str) {
    match target {
        "agent_json" => holds("agents/a/agent.json", text, agent::read("agents/a/agent.json", text)),
        "agent_yaml" => holds("agents/a.agent.yaml", text, agent::read("agents/a.agent.yaml", text)),
        "approval" => approval(text),
        "inbox" => holds("inbox/a.jsonl", text, inbox::read_line("inbox/a.jsonl", 1, text)),
        "policy" => holds("policy/commands.yaml", text, policy::read("policy/commands.yaml", text)),
        "run_mode" => holds("run_mode.yaml", text, run_mode::read("run_mode.yaml", text)),
        "script" => holds("a.script.yaml", text, script::read("a.script.yaml", text)),
        "session" => session(text),
        "settings" => holds("synod.yaml", text, settings::read("synod.yaml", text)),
        "task" => task(text),
        other => panic!("there is no target {other}"),
    }
}

/// A value is absent if and only if there is an error, and every finding has a place that exists.
fn holds<T>(path: &str, text: &str, read: Read<T>) {
    let failed = read.diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(read.value.is_none(), failed);
    places(text, &read.diagnostics);
    let _ = check(&[SourceFile { path, text }]);
}

fn places(text: &str, diagnostics: &[Diagnostic]) {
    for d in diagnostics {
        assert!(d.line >= 1 && d.column >= 1 && d.span.start <= d.span.end && d.span.end <= text.len());
        assert!(!render(d, Some(text), false).is_empty());
    }
}

fn task(text: &str) {
    let (mut file, diagnostics) = TaskFile::parse("tasks/a.task.md", text);
    assert_eq!(file.text(), text);
    places(text, &diagnostics);
    let _ = check(&[SourceFile { path: "tasks/a.task.md", text }]);
    for index in 0..file.tasks().len().min(4) {
        let titles: Vec<String> = file.tasks().iter().map(|t| t.title.clone()).collect();
        file.set_mark(index, file.tasks()[(index + 1) % titles.len()].mark);
        file.set_property(index, "result", "one\n two");
        assert_eq!(file.tasks()[index].property("result"), Some("one\n two"));
        assert_eq!(file.tasks().iter().map(|t| t.title.clone()).collect::<Vec<_>>(), titles);
    }
}

fn session(text: &str) {
    let (file, diagnostics) = SessionFile::parse("sessions/a.session.yaml", text);
    places(text, &diagnostics);
    if let Some(keep) = torn_tail(text) {
        assert!(text.get(..keep).is_some() && torn_tail(&text[..keep]) != Some(keep));
    }
    let Some(mut file) = file else { return };
    assert_eq!(file.text(), text);
    let contents = |f: &SessionFile| f.messages().iter().map(|m| m.content.clone()).collect::<Vec<_>>();
    let mut said = contents(&file);
    for index in 0..said.len().min(2) {
        file.set_message_id(index, &MessageId::new(format!("m-zz{index}")));
    }
    for status in [Status::Error, Status::Active] {
        file.set_status(status);
        file.set_updated(Time(status as i64));
    }
    for content in ["one", "two\n lines"] {
        file.append(&Message {
            id: MessageId::new(format!("m-{}", content.len())),
            at: Time(0),
            speaker: Speaker::User,
            from: String::new(),
            content: content.to_owned(),
            calls: Vec::new(),
            call: None,
        });
        said.push(content.to_owned());
    }
    let (again, diagnostics) = SessionFile::parse("sessions/a.session.yaml", file.text());
    assert!(
        diagnostics.iter().all(|d| d.message.contains("already used")),
        "{diagnostics:?}\n{}",
        file.text()
    );
    assert!(again.is_none_or(|again| contents(&again) == said && again.status() == Status::Active));
}

fn approval(text: &str) {
    holds("approvals/pending/a.approval.md", text, read_detail("approvals/pending/a.approval.md", text));
    let closed = close_detail(text, &Outcome::Expired, Time(0));
    assert!(closed.len() + 64 >= text.len());
}
