//! What must hold for every text, one function for each parser. The fuzz targets call these with what the
//! fuzzer makes up, and a test of `formats` with the texts in `corpus/`.

use ::policy::command::{COMMAND_BYTES_MAX, Place, judge};
use ::policy::{CommandVerdict, Policy};
use domain::approval::Outcome;
use domain::id::{MessageId, Time};
use domain::session::{Message, Speaker, Status};
use formats::approval::{close_detail, read_detail};
use formats::check::{SourceFile, check};
use formats::document::{Document, Scalar, Value};
use formats::session::{SessionFile, torn_tail};
use formats::task::TaskFile;
use formats::yaml::{Kind, Node};
use formats::{Diagnostic, Read, Severity, acl, agent, inbox, policy, render, run_mode, script, settings};

/// The names of all targets.
pub const TARGETS: [&str; 13] = [
    "acl",
    "agent_json",
    "agent_yaml",
    "approval",
    "command",
    "document",
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
        "acl" => holds("contexts/a.acl.yaml", text, acl::read("contexts/a.acl.yaml", text)),
        "agent_json" => holds("agents/a/agent.json", text, agent::read("agents/a/agent.json", text)),
        "agent_yaml" => holds("agents/a.agent.yaml", text, agent::read("agents/a.agent.yaml", text)),
        "approval" => approval(text),
        "command" => command(text),
        "document" => {
            document("synod.yaml", text);
            document("agents/a/agent.json", text);
        }
        "inbox" => inbox(text),
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
            label: Default::default(),
            id: MessageId::new(format!("m-{}", content.len())),
            at: Time(0),
            speaker: Speaker::User,
            from: None,
            content: content.to_owned(),
            calls: Vec::new(),
            call: None,
            summary_through: None,
            read_through: None,
            is_error: false,
            envelope: None,
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

/// The ways to the first few values.
fn paths(node: &Node, path: &[String], found: &mut Vec<Vec<String>>) {
    const PATHS_MAX: usize = 12;
    let keys: Vec<(String, &Node)> = match &node.kind {
        Kind::Map { entries, .. } => entries.iter().map(|e| (e.key.clone(), &e.value)).collect(),
        Kind::List { items, .. } => items.iter().enumerate().map(|(i, n)| (i.to_string(), n)).collect(),
        Kind::Scalar { .. } => Vec::new(),
    };
    for (key, below) in keys {
        if found.len() >= PATHS_MAX {
            return;
        }
        let path: Vec<String> = path.iter().cloned().chain([key]).collect();
        found.push(path.clone());
        paths(below, &path, found);
    }
}

/// The value of every key and item that is not on the way to `path`, nor below it.
fn others(node: &Node, path: &[&str]) -> Vec<serde_json::Value> {
    let Some((key, rest)) = path.split_first() else { return Vec::new() };
    let mut values = Vec::new();
    let mut take = |name: &str, below: &Node| {
        if name == *key { values.extend(others(below, rest)) } else { values.push(below.to_json()) }
    };
    match &node.kind {
        Kind::Map { entries, .. } => entries.iter().for_each(|e| take(&e.key, &e.value)),
        Kind::List { items, .. } => items.iter().enumerate().for_each(|(i, n)| take(&i.to_string(), n)),
        Kind::Scalar { .. } => {}
    }
    values
}

fn document(path: &str, text: &str) {
    let (document, diagnostics) = Document::parse(path, text);
    places(text, &diagnostics);
    let Some(document) = document else { return };
    assert_eq!(document.text(), text);
    let mut ways = vec![vec!["new".to_owned()], vec!["new".to_owned(), "er".to_owned()]];
    paths(document.root(), &[], &mut ways);
    let texts = ["x", "5", "a: #b\n c\n", ""].map(|t| Value::Scalar(Scalar::from(t)));
    let more =
        [Value::from(7_i64), Value::from(true), Value::from(vec!["p, q", "null"]), Value::List(Vec::new())];
    for (index, way) in ways.iter().enumerate() {
        let keys: Vec<&str> = way.iter().map(String::as_str).collect();
        for value in texts.iter().chain(&more).skip(index % 3).step_by(3) {
            let mut edited = document.clone();
            if edited.set(&keys, value.clone()).is_err() {
                assert_eq!(edited.text(), text);
                continue;
            }
            assert_eq!(edited.get(&keys).map(|f| f.node.to_json()), Some(value_json(value)));
            assert_eq!(others(edited.root(), &keys), others(document.root(), &keys));
            if edited.remove(&keys).is_ok() && way[0] == "new" && document.get(&keys[..1]).is_none() {
                assert_eq!(others(edited.root(), &keys), others(document.root(), &keys));
            }
        }
        let mut edited = document.clone();
        let count = |d: &Document| d.get(&keys).map_or(0, |f| f.node.items().len());
        match edited.push(&keys, "z") {
            Ok(()) => assert_eq!(count(&edited), count(&document) + 1),
            Err(_) => assert_eq!(edited.text(), text),
        }
        let mut edited = document.clone();
        match edited.remove(&keys) {
            Ok(()) => assert!(edited.text().len() < text.len() + 4),
            Err(_) => assert_eq!(edited.text(), text),
        }
    }
}

fn value_json(value: &Value) -> serde_json::Value {
    let scalar = |s: &Scalar| match s {
        Scalar::Nothing => serde_json::Value::Null,
        Scalar::Bool(b) => (*b).into(),
        Scalar::Int(n) => (*n).into(),
        Scalar::Number(n) => (*n).into(),
        Scalar::Text(t) => t.as_str().into(),
    };
    match value {
        Value::Scalar(one) => scalar(one),
        Value::List(items) => items.iter().map(scalar).collect(),
    }
}

fn inbox(text: &str) {
    let read = inbox::read_line("inbox/a.jsonl", 1, text);
    if let Some(line) = &read.value {
        let printed = inbox::print_line(line);
        assert_eq!(inbox::read_line("inbox/a.jsonl", 1, &printed).value.as_ref(), Some(line));
        assert!(!printed.contains(['\n', '\r']));
    }
    holds("inbox/a.jsonl", text, read);
}

/// A command that is allowed is words alone, and another command beside it makes nothing milder.
fn command(text: &str) {
    let says = |text: &str| judge(&Policy::default(), &Place::default(), text);
    let judged = says(text);
    assert!(judged.verdict == CommandVerdict::Allow || !judged.factors.is_empty());
    if judged.verdict == CommandVerdict::Allow {
        let script = judged.script.as_ref().expect("what is allowed is a script");
        let printed = script.to_string();
        assert_eq!(::policy::command::script(&printed).as_ref(), Some(script), "{text:?} as {printed:?}");
    }
    let is_list = !judged.factors.iter().any(|f| f.contains("cannot be read") || f.contains("is empty"));
    if !is_list || text.len() > COMMAND_BYTES_MAX / 2 {
        return;
    }
    for other in ["ls", "rm x", "cat .env"] {
        for longer in [format!("{other}\n{text}"), format!("{text}\n{other}")] {
            assert!(says(&longer).verdict >= judged.verdict, "{longer:?}");
        }
        if judged.script.is_some() {
            for joint in ["&&", "||", ";", "|"] {
                let longer = format!("{other} {joint} {text}");
                assert!(says(&longer).verdict >= judged.verdict, "{longer:?}");
            }
        }
    }
}

fn approval(text: &str) {
    holds("approvals/pending/a.approval.md", text, read_detail("approvals/pending/a.approval.md", text));
    let closed = close_detail(text, &Outcome::Expired, Time(0));
    assert!(closed.len() + 64 >= text.len());
}
