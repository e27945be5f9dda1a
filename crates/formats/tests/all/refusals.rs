//! What is refused, where, and with which help.

use formats::{Read, acl, agent, inbox, policy, run_mode, script, settings};

fn shown<T>(read: &Read<T>) -> Vec<String> {
    assert_eq!(read.value.is_none(), read.diagnostics.iter().any(|d| d.severity == formats::Severity::Error));
    let line = |d: &formats::Diagnostic| {
        let help = d.help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
        format!("{}:{} {}{help}", d.line, d.column, d.message)
    };
    read.diagnostics.iter().map(line).collect()
}

#[test]
fn an_unknown_key_is_an_error_with_a_suggestion() {
    let found = agent::read("a", "id: a\ntype: planner\nmodle: m\n");
    assert_eq!(
        shown(&found),
        [
            "1:1 the key `model` is missing (an alias of synod.yaml, or a map with `primary` and more)",
            "3:1 unknown key `modle` (did you mean `model`?)",
        ]
    );
    let found = settings::read("synod.yaml", "limits: {turns: 3, tusn_max: 3}\n");
    assert_eq!(found.diagnostics.len(), 2);
    assert_eq!(found.diagnostics[1].help.as_deref(), Some("did you mean `turns_max`?"));
}

#[test]
fn commands_are_not_given_everything_to_read() {
    let good =
        settings::read("synod.yaml", "sandbox:\n  read: [/opt/rust, ~/.cargo, /home/me/tools, /var/lib/x]\n");
    assert_eq!(shown(&good), [""; 0]);
    for (place, problem) in [
        ("opt/rust", "is no absolute path; begin it with / or ~/"),
        ("/", "is too much: name the folder that is needed"),
        ("~/", "is too much: name the folder that is needed"),
        ("/home/me", "is too much: name the folder that is needed"),
        ("/etc", "is too much: name the folder that is needed"),
        ("/proc/1", "is the system itself"),
        ("/dev", "is the system itself"),
        ("/opt/../etc", "has a part that is only dots"),
        ("~/.ssh", "names credentials or control files"),
        ("~/.cargo/credentials.toml", "names credentials or control files"),
        ("/srv/team/.synod", "names credentials or control files"),
    ] {
        let found =
            settings::read("synod.yaml", &format!("sandbox:\n  read:\n    - /opt/rust\n    - {place}\n"));
        assert_eq!(shown(&found), [format!("4:7 `{place}` {problem}")]);
    }
}

#[test]
fn a_value_out_of_bounds_says_the_bounds() {
    let text = "id: a\ntype: planner\nmodel: m\npermissions:\n  delegation: {max_delegation_depth: 11}\n  concurrency: {max_parallel_tasks: 0, task_timeout_ms: 999}\n";
    assert_eq!(
        shown(&agent::read("a", text)),
        [
            "5:38 expected a whole number from 1 to 10, found `11`",
            "6:37 expected a whole number from 1 to 50, found `0`",
            "6:57 expected a whole number of at least 1000, found `999`",
        ]
    );
}

#[test]
fn only_true_and_false_are_booleans() {
    for word in ["yes", "on", "True", "'true'", "1"] {
        let text = format!("id: a\ntype: planner\nmodel: m\npermissions: {{can_delegate: {word}}}\n");
        let found = agent::read("a", &text);
        assert!(found.diagnostics[0].message.starts_with("expected `true` or `false`"), "{word}");
    }
}

#[test]
fn tricks_of_yaml_are_refused() {
    for (text, expected) in [
        ("a: &x 1\n", "1:4 an anchor (`&name`) is not read here (write the value itself)"),
        ("a: 1\nb: *x\n", ""),
        ("a: !!str 1\n", "1:4 a tag (`!name`) is not read here (write the value itself)"),
        ("a: 1\na: 2\n", "2:1 the key `a` stands here a second time"),
        ("a: 1\n---\nb: 2\n", "2:1 a second document in one file"),
        ("? [a]\n: b\n", "1:3 a key must be a word"),
    ] {
        let found = shown(&settings::read("s", text));
        if expected.is_empty() {
            assert!(!found.is_empty(), "{text}");
        } else {
            assert_eq!(found, [expected], "{text}");
        }
    }
}

#[test]
fn json_that_is_none_says_where() {
    let found = shown(&agent::read("agents/a/agent.json", "{\n  \"id\": \"a\",\n}\n"));
    assert_eq!(found, ["3:1 key must be a string"]);
    let found = shown(&agent::read("agents/a/agent.json", "{\"id\": \"a\", \"id\": \"b\"}"));
    assert_eq!(found, ["1:13 the key `id` stands here a second time"]);
}

#[test]
fn a_verdict_or_a_mode_that_is_none_gets_a_suggestion() {
    let found = shown(&policy::read("p", "commands:\n  df: alow\n  ls: {verdict: ask, efect: read}\n"));
    assert_eq!(
        found,
        [
            "2:7 expected one of `allow`, `ask`, `deny`, `true`, `false`, found `alow` (did you mean `allow`?)",
            "3:22 unknown key `efect` (did you mean `effect`?)",
        ]
    );
    let found = shown(&run_mode::read("r", "mode: votin\n"));
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with("(did you mean `voting`?)"), "{found:?}");
}

#[test]
fn a_rule_without_an_answer_is_refused() {
    let found = shown(&script::read("s", "rules:\n  - agent: a\n"));
    assert_eq!(found, ["2:5 the rule has no answer (add `answer: some text`)"]);
    let found = shown(&script::read("s", "rules:\n  - {text: a, answer: b}\n"));
    assert_eq!(found.len(), 1);
}

#[test]
fn a_bad_inbox_line_says_its_place() {
    for (line, place) in [("{\"text\": }", "7:10"), ("[]", "7:1"), ("{\"user\": \"x\"}", "7:1")] {
        let found = shown(&inbox::read_line("i", 7, line));
        assert!(found[0].starts_with(place), "{line} {found:?}");
    }
}

#[test]
fn positions_count_characters_behind_a_byte_order_mark() {
    let found = shown(&settings::read("s", "\u{feff}limits: {ü: 1}\r\n"));
    assert!(found[0].starts_with("1:10 unknown key `ü`"), "{found:?}");
    let found = shown(&settings::read("s", "# äöü\r\nmodels:\r\n  ä: {provider: p, model: m, x: 1}\r\n"));
    assert!(found[0].starts_with("3:30 unknown key `x`"), "{found:?}");
}

#[test]
fn grants_that_say_too_little_or_too_much_are_refused() {
    let text = "grants:\n  - {access: red, redact: [a..b]}\n  - {agent: a-1, role: coder}\n  - {agent: a-1, expire: x}\n";
    assert_eq!(
        shown(&acl::read("contexts/a.acl.yaml", text)),
        [
            "2:5 a grant names either `agent` or `role`",
            "2:14 expected one of `read`, `read_write`, found `red` (did you mean `read`?)",
            "2:28 a field has a name (write the names of fields with a dot in between, such as customer.email)",
            "3:5 a grant names either `agent` or `role`",
            "4:18 unknown key `expire` (did you mean `expires`?)",
        ]
    );
    assert!(acl::read("a", "").value.is_some_and(|acl| acl.grants.is_empty()));
}
