//! The screen that lives: what a person at a terminal sees and answers, at every width and in every moment.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use crate::team::{Team, until_so};
use crate::terminal::Terminal;

const WIDTHS: [u16; 3] = [40, 80, 200];
const QUEUE: &str = "tasks/approvals.task.md";
const WORD_EVERY: Duration = Duration::from_millis(20);

/// Wants to run a command, and then tells what came of it.
const ASKS: &str = "\
rules:
  - matches: \"*exit code: 0*\"
    text: It ran.
  - matches: \"*rejected by*\"
    text: It was rejected, so I did not do it.
  - text: I look around.
    calls: [{tool: execute_command, arguments: {command: \"ls -l\"}}]
";

/// Answers after ten minutes.
const HANGS: &str = "rules:\n  - {text: Late., delay_ms: 600000}\n";

fn asking() -> Team {
    let team = Team::scripted(ASKS);
    team.write("policy/commands.yaml", "# mine\ncommands:\n  ls -l: ask\n  rm *: deny\n");
    team
}

#[test]
fn a_question_is_answered_where_it_is_asked() {
    for columns in WIDTHS {
        let team = asking();
        let mut terminal = Terminal::open(&team, columns, &["run", "Look around"]);
        terminal.shows("ls -l");
        terminal.shows("approval-0001");
        terminal.shows_so("the prompt", |text| text.trim_end().ends_with('?'));
        terminal.types("perhaps\n");
        terminal.shows("\"perhaps\" is no answer");
        terminal.types("y\n");
        let text = terminal.ends(0);
        assert!(text.contains("task-001 done: It ran."), "{columns}: {text}");
        assert_eq!(text.matches("It ran.").count(), 1, "told once, at {columns}: {text}");
        assert!(!text.contains("waits for the model"), "nothing of the region is left: {text}");
    }
}

#[test]
fn a_text_rejects_and_tells_the_agent_what_to_do_instead() {
    let team = asking();
    let mut terminal = Terminal::open(&team, 200, &["run", "Look around"]);
    terminal.shows("d(etails)?");
    terminal.types("e\n");
    terminal.shows("what instead?");
    terminal.types("count the files\n");
    let text = terminal.ends(0);
    assert!(text.contains("do this instead: count the files"), "{text}");
    assert!(text.contains("It was rejected, so I did not do it."), "{text}");
}

#[test]
fn always_writes_a_rule_and_nothing_else() {
    let team = Team::scripted(&ASKS.replace("ls -l", "sh -c true"));
    let before = "# mine\ncommands:\n  rm *: deny   # never\n";
    team.write("policy/commands.yaml", before);
    let mut terminal = Terminal::open(&team, 80, &["run", "Look around"]);
    terminal.shows("a(lways allow this)");
    terminal.types("a\n");
    let text = terminal.ends(0);
    assert!(text.contains("policy/commands.yaml has a new rule: \"sh -c true\": allow"), "{text}");
    assert_eq!(team.read("policy/commands.yaml"), format!("{before}  sh -c true: allow\n"));
    assert_eq!(team.synod(&["run", "--no-input", "Look around again"]).code, 0, "it is not asked again");
}

#[test]
fn a_decision_elsewhere_is_told_and_what_was_typed_is_not_used() {
    let team = asking();
    let mut terminal = Terminal::open(&team, 80, &["run", "Look around"]);
    terminal.shows("d(etails)?");
    terminal.types("n");
    terminal.shows("d(etails)? n");
    until_so("it stands in the queue", || team.read(QUEUE).contains("- [_]"));
    team.fine(&["approve", "approval-0001"]);
    let text = terminal.ends(0);
    assert!(
        text.contains("What you typed for approval-0001 (n) is not used: tess decided it (in cli)."),
        "{text}"
    );
    assert!(text.contains("task-001 done: It ran."), "{text}");
}

#[test]
fn beside_a_daemon_the_same_is_shown_and_asked() {
    let team = asking();
    let daemon = team.up();
    let mut terminal = Terminal::open(&team, 80, &["run", "Look around"]);
    terminal.shows("d(etails)?");
    terminal.types("y\n");
    let text = terminal.ends(0);
    assert!(text.contains("ran `ls -l`") && text.contains("task-001 done: It ran."), "{text}");
    daemon.stop();
}

#[test]
fn scripts_are_never_asked() {
    let team = asking();
    let terminal = Terminal::open(&team, 80, &["run", "--no-input", "Look around"]);
    let text = terminal.ends(3);
    assert!(!text.contains("d(etails)?"), "{text}");
    assert!(text.contains("synod inbox"), "{text}");
}

#[test]
fn ctrl_c_ends_it_well_in_every_moment() {
    for (team, moment) in [(Team::scripted(HANGS), "waits for the model"), (asking(), "d(etails)?")] {
        let mut terminal = Terminal::open(&team, 80, &["run", "Look around"]);
        terminal.shows(moment);
        terminal.types("\x03");
        let text = terminal.ends(130);
        assert!(text.contains("stopped before task-001 ended; `synod pump` goes on with it"), "{text}");
    }
}

#[test]
fn ctrl_c_beside_a_daemon_leaves_the_work_to_it() {
    let team = Team::scripted(HANGS);
    let daemon = team.up();
    let mut terminal = Terminal::open(&team, 80, &["run", "Look around"]);
    terminal.shows("waits for the model");
    terminal.types("\x03");
    let text = terminal.ends(130);
    assert!(text.contains("the daemon goes on with it"), "{text}");
    daemon.stop();
}

#[test]
fn a_model_that_hangs_is_shown_with_its_time() {
    for columns in WIDTHS {
        let team = Team::scripted(HANGS);
        let mut terminal = Terminal::open(&team, columns, &["run", "Look around"]);
        terminal.shows("task-001 waits");
        terminal.shows_so("a second passes", |text| text.contains(" 1 s"));
        terminal.types("\x03");
        terminal.ends(130);
    }
}

/// A provider whose answer comes word by word and has no end, for one request.
fn endless() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        _ = stream.read(&mut [0; 1 << 16]);
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
        let words =
            r#"data: {"choices":[{"index":0,"delta":{"content":"six seven "},"finish_reason":null}]}"#;
        while stream.write_all(format!("{words}\n\n").as_bytes()).is_ok() {
            std::thread::park_timeout(WORD_EVERY);
        }
    });
    url
}

#[test]
fn an_answer_is_shown_while_it_comes() {
    let team = Team::scripted("rules:\n  - text: unused\n");
    let settings = team.read("synod.yaml").replace(
        "{kind: scripted, script: models/s.yaml}",
        &format!("{{kind: openai, base_url: \"{}\"}}", endless()),
    );
    team.write("synod.yaml", settings);
    let mut terminal = Terminal::open(&team, 120, &["run", "Count"]);
    terminal.shows("task-001 answers");
    terminal.shows("seven");
    terminal.types("\x03");
    terminal.ends(130);
}

#[test]
fn four_agents_at_once_have_a_line_each() {
    for columns in WIDTHS {
        let team = Team::scripted(HANGS);
        for n in 2..=4 {
            team.write(
                &format!("agents/worker-{n}.agent.yaml"),
                format!("id: worker-{n}\ntype: executor\nmodel: m\n"),
            );
        }
        for n in 2..=4 {
            team.fine(&["task", "add", "Look", "--to", &format!("worker-{n}")]);
        }
        let mut terminal = Terminal::open(&team, columns, &["run", "Look around", "--to", "worker-1"]);
        terminal.shows_so("four lines", |text| {
            (1..=4).all(|n| text.lines().any(|line| line.starts_with(&format!("worker-{n}  task-"))))
        });
        terminal.types("\x03");
        terminal.ends(130);
    }
}

#[test]
fn piped_output_is_plain_lines() {
    let team = asking();
    let ran = team.synod(&["run", "Look around"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(!ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
    let asked = "worker-1       asks a person: run `ls -l` (approval-0001, risk LOW)";
    assert!(ran.stdout.lines().any(|line| line == asked), "{}", ran.stdout);
}
