//! Texts made to hurt: long, deep, repeated. Every parser must get through each in about linear time; a parser
//! that is not linear does not finish these in any time that somebody waits for.

use formats::check::{SourceFile, check};
use formats::document::Document;
use formats::session::{SessionFile, torn_tail};
use formats::task::TaskFile;
use formats::{acl, agent, approval, inbox, policy, run_mode, script, settings};

const SIZE: usize = 1 << 20;

fn repeated(piece: &str) -> String {
    piece.repeat(SIZE / piece.len())
}

fn texts() -> Vec<String> {
    let pieces = [
        "[",
        "- ",
        "a: {",
        "a",
        "a b ",
        "\"",
        "'",
        "\\",
        "? ",
        "- a\n",
        "a:\n",
        "# x\n",
        "!",
        "&a ",
        "---\n",
        "{\"a\":",
        ",",
        "|",
        "\t",
        "é\u{1f600} ",
        "`",
        "<!-- ",
    ];
    let mut texts: Vec<String> = pieces.into_iter().map(repeated).collect();
    texts.push(format!("id: {}\n", repeated("x")));
    texts.push(format!("id: \"{}\"\n", repeated("\\n")));
    texts.push(format!("system_prompt: |\n{}", repeated("  x\n\n")));
    texts.push(format!("rules:\n{}", repeated("  - {text: a}\n")));
    texts.push(format!("commands:\n{}", (0..40_000).map(|i| format!("  c{i}: maybe\n")).collect::<String>()));
    texts
}

#[test]
fn every_parser_gets_through_long_and_deep_texts() {
    for text in texts() {
        let _ = settings::read("s", &text);
        let _ = agent::read("a/agent.json", &text);
        let _ = policy::read("p", &text);
        let _ = acl::read("c", &text);
        let _ = script::read("s", &text);
        let _ = inbox::read_line("i", 1, &text);
        let _ = approval::read_detail("a", &text);
        let _ = TaskFile::parse("t", &text);
        let _ = torn_tail(&text);
    }
    let _ = run_mode::read("r", &repeated("- "));
}

#[test]
fn a_session_of_ten_thousand_messages_is_read_and_appended_to() {
    let head = "session_id: a-000000\nagent_id: a\nmessages:\n";
    let messages: String = (0..10_000)
        .map(|i| format!("  - id: m-{i}\n    role: user\n    content: |-\n      wörter {i}\n\n      more\n    timestamp: '1970-01-01T00:00:03.000Z'\n"))
        .collect();
    let (file, diagnostics) = SessionFile::parse("s", &format!("{head}{messages}"));
    assert_eq!(diagnostics, []);
    let mut file = file.unwrap();
    let message = domain::session::Message {
        id: domain::id::MessageId::new("m-x"),
        at: domain::id::Time(0),
        speaker: domain::session::Speaker::User,
        from: None,
        content: "x".to_owned(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    };
    for _ in 0..10_000 {
        file.append(&message);
    }
    assert_eq!((file.messages().len(), torn_tail(file.text())), (20_000, None));
    assert_eq!(file.messages()[19_999].line, 4 + 10_000 * 7 + 9_999 * 4);
}

#[test]
fn task_files_get_through_long_lists_and_edits() {
    let task = "- [ ] A @a #t \"x\"\n  id: i\n  k: v\n";
    for text in [
        repeated(task),
        format!("- [ ] a\n{}", (0..60_000).map(|i| format!("  k{i}: v\n")).collect::<String>()),
        format!("- [ ] a\n  k: |\n{}", repeated("    x\n")),
        format!("- [ ] a\n  k: |\n    x\n{}", repeated("\n")),
        format!("- [ ] a\n  k: |\n    {}x\n", repeated(" ")),
        format!("- [ ] {}", repeated("#a ")),
        format!("- [ ] \"{}", repeated("\\\"")),
        format!("- [ ] a\n  depends_on: {}", repeated("b, ")),
        (0..1_400).map(|i| format!("{}- [ ] a\n", " ".repeat(i))).collect(),
        repeated("```\n~~~\n"),
        repeated("<!--\n"),
        repeated("- [y] bad\n"),
    ] {
        let (mut file, _) = TaskFile::parse("tasks/t.task.md", &text);
        assert_eq!(file.text(), text);
        let last = file.tasks().len().saturating_sub(1);
        file.set_property(last, "result", "a\nb");
        file.set_tags(last, &["z".to_owned()]);
        let _ = check(&[SourceFile { path: "tasks/t.task.md", text: &text }]);
    }
}

#[test]
fn a_check_of_many_tasks_that_wait_ends() {
    let tasks: String = (0..20_000)
        .map(|i| format!("- [ ] t\n  id: t-{i}\n  depends_on: t-{}, t-0, no-{i}\n", i + 1))
        .collect();
    let found = check(&[SourceFile { path: "tasks/t.task.md", text: &tasks }]);
    assert!(!found.is_empty() && found.len() <= 200);
}

#[test]
fn documents_get_through_long_and_deep_edits() {
    // Every edit is two parses, and there are many of them.
    let repeated = |piece: &str| piece.repeat((SIZE >> 3) / piece.len());
    let deep = |open: &str, depth: usize| (0..depth).map(|_| open).collect::<String>();
    for (path, text) in [
        ("a.yaml", format!("a:\n{}", repeated("  - x # c\n"))),
        ("a.yaml", format!("a:\n{}", repeated("  - |\n    x\n\n"))),
        ("a.yaml", format!("a: [{}x]\n", repeated("x, "))),
        ("a.yaml", format!("a: |\n{}b: 1\n", repeated("  x\n"))),
        ("a.yaml", format!("a: \"{}\"\nb: [x]\n", repeated("é"))),
        ("a.yaml", format!("a: 1\n{}", repeated("# c\n"))),
        ("a.yaml", (0..10_000).map(|i| format!("k{i}: {{x: 1}} # c\n")).collect()),
        ("a.yaml", format!("a:\n  {}x\n", deep("- ", 60))),
        ("a.yaml", format!("a: {}x{}\n", deep("[", 60), deep("]", 60))),
        ("a.yaml", (0..60).map(|i| format!("{:i$}a:\n", "")).collect()),
        ("a.json", format!("{{\"a\": [{}1]}}", repeated("1, "))),
        (
            "a.json",
            format!("{{{}\"a\": []}}", (0..10_000).map(|i| format!("\"k{i}\": 1, ")).collect::<String>()),
        ),
    ] {
        let (document, diagnostics) = Document::parse(path, &text);
        assert_eq!(diagnostics, []);
        let mut document = document.unwrap();
        assert_eq!(document.text(), text);
        let _ = document.push(&["a"], "new");
        document.set(&["z", "y"], "x\ny").unwrap();
        document.set(&["a"], vec!["p", "q"]).unwrap();
        document.remove(&["a"]).unwrap();
        document.remove(&["z"]).unwrap();
    }
}
