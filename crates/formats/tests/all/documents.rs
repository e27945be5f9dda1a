//! Documents: what is parsed is printed, and an edit changes its own bytes only.

use formats::document::{Document, Refused, Scalar, Value};

use crate::golden::text;

fn open(path: &str, text: &str) -> Document {
    let (document, diagnostics) = Document::parse(path, text);
    assert_eq!(diagnostics, [], "{text:?}");
    document.unwrap()
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// An edit of a test.
#[derive(Debug, Clone)]
enum Edit {
    Set(Value),
    Remove,
    Push(Scalar),
}

fn set(value: impl Into<Value>) -> Edit {
    Edit::Set(value.into())
}

fn push(item: impl Into<Scalar>) -> Edit {
    Edit::Push(item.into())
}

fn make(document: &mut Document, path: &str, edit: Edit) -> Result<(), Refused> {
    let keys: Vec<&str> = path.split('/').collect();
    match edit {
        Edit::Set(value) => document.set(&keys, value),
        Edit::Remove => document.remove(&keys),
        Edit::Push(item) => document.push(&keys, item),
    }
}

/// Pairs of before and after.
fn check(file: &str, pairs: Vec<(&str, &str, Edit, &str)>) {
    let mut wrong = Vec::new();
    for (before, path, edit, after) in pairs {
        let mut document = open(file, before);
        assert_eq!(document.text(), before);
        let made = make(&mut document, path, edit);
        if (made.as_ref(), document.text()) != (Ok(&()), after) {
            wrong.push(format!("{before:?} {path}: {made:?}\n  {:?}\n  {after:?}", document.text()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "\n{}", wrong.join("\n"));
}

fn check_yaml(pairs: Vec<(&str, &str, Edit, &str)>) {
    check("synod.yaml", pairs);
}

fn check_json(pairs: Vec<(&str, &str, Edit, &str)>) {
    check("agents/a/agent.json", pairs);
}

#[test]
fn a_new_value_is_written_as_the_old_one_was() {
    check_yaml(vec![
        ("a: x # why\nb: 1\n", "a", set("w"), "a: w # why\nb: 1\n"),
        ("a: 'x'  # why\n", "a", set("it's"), "a: 'it''s'  # why\n"),
        ("a: \"x\" # why\n", "a", set("w"), "a: \"w\" # why\n"),
        ("a:\t'x'\t# why\n", "a", set("w"), "a:\t'w'\t# why\n"),
        ("a : x\n", "a", set(5_i64), "a : 5\n"),
        ("'a': \"5\"\n", "a", set(6_i64), "'a': 6\n"),
        ("a: 5\n", "a", set("6"), "a: '6'\n"),
        ("a: x\n", "a", set("true"), "a: 'true'\n"),
        ("a: x\n", "a", set("null"), "a: 'null'\n"),
        ("a: x\n", "a", set(""), "a: ''\n"),
        ("a: x\n", "a", set("- x: #y"), "a: '- x: #y'\n"),
        ("a: x\n", "a", set("\u{7}"), "a: \"\\x07\"\n"),
        ("a: x\n", "a", set(Scalar::Nothing), "a: null\n"),
        ("a: x\n", "a", set(0.25), "a: 0.25\n"),
        ("a: x\n", "a", set(1e300), "a: 1e300\n"),
        ("a: hello\n  world  # c\nb: 1\n", "a", set("x"), "a: x  # c\nb: 1\n"),
        ("a: {x: 1}  # c\nb: 1\n", "a", set("x"), "a: x  # c\nb: 1\n"),
        ("a: # c\n  x: 1 # d\n  # e\nb: 1\n", "a", set("x"), "a: x # c\n  # e\nb: 1\n"),
    ]);
}

#[test]
fn a_text_of_many_lines_becomes_a_block() {
    check_yaml(vec![
        ("a: x  # why\nb: 1\n", "a", set("p\nq\n"), "a: |  # why\n  p\n  q\nb: 1\n"),
        ("a:\nb: 1\n", "a", set("p\nq"), "a: |-\n  p\n  q\nb: 1\n"),
        ("a: | # why\n    x\n\n    y\n\n# c\nb: 1\n", "a", set("z\n"), "a: | # why\n    z\n\n# c\nb: 1\n"),
        ("a: |+\n  x\n\n\nb: 1\n", "a", set(" z\n"), "a: |2\n   z\nb: 1\n"),
        ("a: >-\n  x\n  y\n\nb: 1\n", "a", set("z"), "a: |-\n  z\n\nb: 1\n"),
        ("a: |\n  x\nb: 1\n", "a", set(true), "a: true\nb: 1\n"),
        ("a: | # why\n  x\nb: 1\n", "a", set(""), "a: '' # why\nb: 1\n"),
        ("a:\n  - b: 1\n    c: x\n", "a/0/c", set("p\nq\n"), "a:\n  - b: 1\n    c: |\n      p\n      q\n"),
        ("a:\n  - x # c\n  - y\n", "a/0", set("p\nq\n"), "a:\n  - | # c\n    p\n    q\n  - y\n"),
        ("a:\n- x\n- y\n", "a/0", set(" p\nq\n"), "a:\n- |2\n   p\n  q\n- y\n"),
        ("a: {b: x, c: 1}\n", "a/b", set("p\nq\n"), "a: {b: \"p\\nq\\n\", c: 1}\n"),
        ("a: x # c\r\nb: 1\r\n", "a", set("p\nq\n"), "a: | # c\r\n  p\r\n  q\r\nb: 1\r\n"),
        ("a: |\r\n  x\r\n\r\nb: 1\r\n", "a", set("y\n"), "a: |\r\n  y\r\n\r\nb: 1\r\n"),
        ("a: |\n  x", "a", set("y\n"), "a: |\n  y"),
    ]);
}

#[test]
fn a_new_key_stands_behind_its_neighbours() {
    check_yaml(vec![
        ("", "a", set("x"), "a: x\n"),
        ("\u{feff}", "a", set("x"), "\u{feff}a: x\n"),
        ("# c\n", "a/b", set("x"), "# c\na:\n  b: x\n"),
        ("# c", "a", set("x"), "# c\na: x\n"),
        ("---\n...\n", "a", set("x"), "---\na: x\n...\n"),
        ("--- ~\n", "a", set("x"), "--- \na: x\n"),
        ("a: 1", "b", set("x"), "a: 1\nb: x"),
        ("\u{feff}a: 1 # c\r\n", "b", set("x"), "\u{feff}a: 1 # c\r\nb: x\r\n"),
        ("a: 1\n\n# end\n", "b", set("x"), "a: 1\nb: x\n\n# end\n"),
        ("---\na: 1\n...\n", "b", set("x"), "---\na: 1\nb: x\n...\n"),
        (
            "a:\n    b: 1 # c\n    # d\ne: 2\n",
            "a/x/z",
            set("x"),
            "a:\n    b: 1 # c\n    x:\n        z: x\n    # d\ne: 2\n",
        ),
        ("a: # c\n  # d\ne: 2\n", "a/x", set("x"), "a: # c\n  x: x\n  # d\ne: 2\n"),
        ("a: ~ # c\ne: 2\n", "a/x", set("x"), "a: # c\n  x: x\ne: 2\n"),
        ("a: {} # c\n", "a/x", set("x"), "a: {x: x} # c\n"),
        ("a: { b: 1 } # c\n", "a/x", set("x, y"), "a: { b: 1, x: 'x, y' } # c\n"),
        ("a: {b: 1, c: }\n", "a/x/z", set("x"), "a: {b: 1, c:, x: {z: x} }\n"),
        ("a: {b}\n", "a/b", set("x"), "a: {b: x}\n"),
        ("a: {b: , c}\n", "a/b", set("x"), "a: {b: x , c}\n"),
        ("'a': 1\n", "b", set("x"), "'a': 1\n'b': x\n"),
        ("a: |+\n  x\n\nb:\n  - |+\n    y\n\n", "c", set(1_i64), "a: |+\n  x\n\nb:\n  - |+\n    y\n\nc: 1\n"),
        ("a:\n  - b: 1\n", "a/0/c", set("x"), "a:\n  - b: 1\n    c: x\n"),
        ("a:\n- - b: 1\n", "a/0/0/c", set("x"), "a:\n- - b: 1\n    c: x\n"),
        ("a: 1\n", "df -h | x: y", set("allow"), "a: 1\n'df -h | x: y': allow\n"),
        ("a: 1\n", "b", set(vec!["x", "5"]), "a: 1\nb:\n  - x\n  - '5'\n"),
        ("a: [1]\n", "b", set(vec!["x", "5"]), "a: [1]\nb: [x, '5']\n"),
        ("a:\n- 1\n", "b", set(vec!["x", "p\nq"]), "a:\n- 1\nb:\n- x\n- |-\n  p\n  q\n"),
        ("a: 1\n", "b", set(Value::List(vec![])), "a: 1\nb: []\n"),
    ]);
    let before = "a: {\n  b: 1, # one\n  c: 2 # two\n}\n";
    check_yaml(vec![(before, "a/d", set(3_i64), "a: {\n  b: 1, # one\n  c: 2, # two\n  d: 3\n}\n")]);
}

#[test]
fn a_key_is_taken_out_with_its_own_lines() {
    check_yaml(vec![
        (
            "a: 1\n# about b\nb: 2 # b\n# about c\nc: 3\n",
            "b",
            Edit::Remove,
            "a: 1\n# about b\n# about c\nc: 3\n",
        ),
        ("\u{feff}a: 1\r\nb: 2\r\n", "a", Edit::Remove, "\u{feff}b: 2\r\n"),
        ("a: 1\nb: 2", "b", Edit::Remove, "a: 1\n"),
        ("a: 1\n", "a", Edit::Remove, ""),
        ("a: |\n  x\n\n  y\n\nb: 2\n", "a", Edit::Remove, "\nb: 2\n"),
        ("a: |+\n  x\n\nb: 2\n", "a", Edit::Remove, "b: 2\n"),
        ("a: 'x\n\n  y' # c\nb: 2\n", "a", Edit::Remove, "b: 2\n"),
        ("a:\n  # in\n  x: 1\n  # out\nb: 2\n", "a", Edit::Remove, "  # out\nb: 2\n"),
        ("a:\n  # in\n  x: 1\n  # out\nb: 2\n", "a/x", Edit::Remove, "a:\n  # in\n  # out\nb: 2\n"),
        ("a:\n  - x: 1\n    y: 2\n", "a/0/x", Edit::Remove, "a:\n  - y: 2\n"),
        ("a:\n  - x: 1 # x\n    # y\n    y: 2\n", "a/0/x", Edit::Remove, "a:\n  -\n    # y\n    y: 2\n"),
        ("a:\n  - x: 1 # x\n  - 2\n", "a/0/x", Edit::Remove, "a:\n  -\n  - 2\n"),
        ("a:\n  - x: 1\n    y: 2\n", "a/0/y", Edit::Remove, "a:\n  - x: 1\n"),
        ("a:\n- x # x\n- y # y\nb: 1\n", "a/0", Edit::Remove, "a:\n- y # y\nb: 1\n"),
        ("a:\n- x # x\n- y # y\nb: 1\n", "a/1", Edit::Remove, "a:\n- x # x\nb: 1\n"),
        ("a: # c\n- x # x\nb: 1\n", "a/0", Edit::Remove, "a: [] # c\nb: 1\n"),
        ("a: {x: 1, y: 2, z: 3}\n", "a/x", Edit::Remove, "a: {y: 2, z: 3}\n"),
        ("a: {x: 1, y: 2, z: 3}\n", "a/z", Edit::Remove, "a: {x: 1, y: 2}\n"),
        ("a: { x: 1 }\n", "a/x", Edit::Remove, "a: {}\n"),
        ("a: [x, y,]\n", "a/1", Edit::Remove, "a: [x,]\n"),
        ("? a\n: 1\n? b\n: 2\n", "a", Edit::Remove, "? b\n: 2\n"),
    ]);
    let list = "a: [\n  x, # x\n  y, # y\n  z # z\n]\n";
    check_yaml(vec![
        (list, "a/0", Edit::Remove, "a: [\n  y, # y\n  z # z\n]\n"),
        (list, "a/1", Edit::Remove, "a: [\n  x, # x\n  z # z\n]\n"),
        (list, "a/2", Edit::Remove, "a: [\n  x, # x\n  y, # y\n]\n"),
    ]);
}

#[test]
fn a_list_keeps_the_items_that_stay() {
    check_yaml(vec![
        ("a: [x, 'y']  # c\n", "a", push("z"), "a: [x, 'y', z]  # c\n"),
        ("a: ['x']\n", "a", push("z"), "a: ['x', 'z']\n"),
        ("a: [x,y]\n", "a", push("z"), "a: [x,y,z]\n"),
        ("a: [ x, y ]\n", "a", push("p, q"), "a: [ x, y, 'p, q' ]\n"),
        ("a: [x,]\n", "a", push("z"), "a: [x, z,]\n"),
        ("a: [] # c\n", "a", push("z"), "a: [z] # c\n"),
        ("a: # c\nb: 1\n", "a", push("z"), "a: # c\n  - z\nb: 1\n"),
        ("b: 1\n", "a/c", push("z"), "b: 1\na:\n  c:\n    - z\n"),
        ("a:\n- x # c\n# d\nb: 1\n", "a", push(5_i64), "a:\n- x # c\n- 5\n# d\nb: 1\n"),
        ("a:\n  - - x\n    - y\n", "a/0", push("z"), "a:\n  - - x\n    - y\n    - z\n"),
        ("a:\n  - x\n  - y", "a", push("z"), "a:\n  - x\n  - y\n  - z"),
        ("a:\r\n  - x\r\n", "a", push("p\nq"), "a:\r\n  - x\r\n  - |-\r\n    p\r\n    q\r\n"),
        ("a: [\n  x, # x\n  y # y\n]\n", "a", push("z"), "a: [\n  x, # x\n  y, # y\n  z\n]\n"),
        ("a: [\n  x, # x\n  y, # y\n]\n", "a", push("z"), "a: [\n  x, # x\n  y, # y\n  z,\n]\n"),
        (
            "a:\n  - x # x\n  - y # y\n  - z # z\n",
            "a",
            set(vec!["x", "q", "z"]),
            "a:\n  - x # x\n  - q # y\n  - z # z\n",
        ),
        ("a:\n  - x # x\n  - y # y\n  - z # z\n", "a", set(vec!["x", "z"]), "a:\n  - x # x\n  - z # z\n"),
        (
            "a:\n  - x # x\n  - z # z\n",
            "a",
            set(vec!["w", "x", "v", "z"]),
            "a:\n  - w\n  - x\n  - v\n  - z # z\n",
        ),
        ("a:\n  - x # x\n  - z # z\n", "a", set(vec!["w", "x", "z"]), "a:\n  - w\n  - x # x\n  - z # z\n"),
        ("a:\n  - x # x\n", "a", set(Value::List(vec![])), "a: []\n"),
        ("a: [x, y, z]\n", "a", set(vec!["x", "q", "r", "z"]), "a: [x, q, r, z]\n"),
        ("a: [x, y, z]\n", "a", set(vec!["y", "z"]), "a: [y, z]\n"),
        ("a: x # c\n", "a", set(vec!["w", "z"]), "a: # c\n  - w\n  - z\n"),
        ("a: {b: x}\n", "a/b", set(vec!["w", "z"]), "a: {b: [w, z]}\n"),
        ("- x\n- y\n", "1", Edit::Remove, "- x\n"),
        ("- x\n", "0", Edit::Remove, "[]\n"),
    ]);
}

#[test]
fn json_stays_json() {
    let pretty = "{\n  \"id\": \"a\",\n  \"tools\": [\n    \"x\"\n  ]\n}\n";
    check_json(vec![
        (pretty, "id", set("5\n"), "{\n  \"id\": \"5\\n\",\n  \"tools\": [\n    \"x\"\n  ]\n}\n"),
        (pretty, "tools", push("y"), "{\n  \"id\": \"a\",\n  \"tools\": [\n    \"x\",\n    \"y\"\n  ]\n}\n"),
        (
            pretty,
            "b/c",
            set(true),
            "{\n  \"id\": \"a\",\n  \"tools\": [\n    \"x\"\n  ],\n  \"b\": {\"c\": true}\n}\n",
        ),
        (pretty, "id", Edit::Remove, "{\n  \"tools\": [\n    \"x\"\n  ]\n}\n"),
        (pretty, "tools", Edit::Remove, "{\n  \"id\": \"a\"\n}\n"),
        (pretty, "tools/0", Edit::Remove, "{\n  \"id\": \"a\",\n  \"tools\": []\n}\n"),
        ("{\"a\":1,\"b\":[1,2]}", "c", set("#"), "{\"a\":1,\"b\":[1,2],\"c\":\"#\"}"),
        ("{\"a\":1}", "c", set("x"), "{\"a\":1,\"c\":\"x\"}"),
        ("\u{feff}{}\r\n", "a/b", set(vec![1_i64, 2]), "\u{feff}{\"a\": {\"b\": [1, 2]}}\r\n"),
        ("null", "a", set(Scalar::Nothing), "{\"a\": null}"),
        ("{\"a\": null}", "a/b", set(0.5), "{\"a\": {\"b\": 0.5}}"),
        ("{\n\t\"a\" : 1\n}", "b", set("x"), "{\n\t\"a\" : 1,\n\t\"b\" : \"x\"\n}"),
        ("[1, 2]", "1", Edit::Remove, "[1]"),
    ]);
}

/// Files of the golden home: the one part of each that an edit changes, also with a byte order mark and CRLF.
fn check_golden(edits: Vec<(&str, &str, Edit, &str, &str)>) {
    for (file, path, edit, from, to) in edits {
        for (from, to, before) in [
            (from.to_owned(), to.to_owned(), text(&format!("home/{file}"))),
            (crlf(from), crlf(to), crlf(&text(&format!("home/{file}")))),
        ] {
            let before = format!("\u{feff}{before}");
            assert_eq!(before.matches(&from).count(), 1, "{file} {path}");
            let mut document = open(file, &before);
            assert_eq!(make(&mut document, path, edit.clone()), Ok(()), "{file} {path}");
            assert_eq!(document.text(), before.replace(&from, &to), "{file} {path}");
        }
    }
}

#[test]
fn agents_are_edited_in_their_own_style() {
    let agent = "agents/executor-001.agent.yaml";
    let json = "agents/job-hunter/agent.json";
    let none = || Edit::Remove;
    check_golden(vec![
        (
            agent,
            "type",
            set("planner"),
            "type: executor                 # a role",
            "type: planner                 # a role",
        ),
        (agent, "model/temperature", set(0.5), "temperature: 0.2", "temperature: 0.5"),
        (agent, "model/fallback", none(), "fallback: haiku, ", ""),
        (
            agent,
            "system_prompt",
            set("You run.\n\nYou report.\n"),
            "  You run commands.\n",
            "  You run.\n\n  You report.\n",
        ),
        (agent, "responsibilities", push("disk:*"), "\"docker:inspect\"]", "\"docker:inspect\", \"disk:*\"]"),
        (agent, "permissions/tools/deny", push("slack_read"), "[slack_send]", "[slack_send, slack_read]"),
        (agent, "permissions/can_access_context", none(), "  can_access_context: true\n", ""),
        (agent, "metadata/owner", set("dana"), "{version: '1.0'}", "{version: '1.0', owner: dana}"),
        (
            "agents/planner-001.agent.yaml",
            "capabilities",
            push("search_files"),
            "  - read_file\n",
            "  - read_file\n  - search_files\n",
        ),
        ("agents/planner-001.agent.yaml", "metadata/version", set("2"), "version: '1.0'", "version: '2'"),
        (json, "model/temperature", set(1_i64), "0.7", "1"),
        (json, "permissions/tools/deny", push("fs_*"), "[\"system_*\"]", "[\"system_*\", \"fs_*\"]"),
        (json, "permissions/can_delegate", none(), "    \"can_delegate\": false,\n", ""),
        (json, "role/note", set("a\nb"), "\\ude00...\"\n", "\\ude00...\",\n    \"note\": \"a\\nb\"\n"),
    ]);
}

#[test]
fn settings_policy_modes_and_scripts_are_edited_in_their_own_style() {
    let none = || Edit::Remove;
    check_golden(vec![
        ("policy/commands.yaml", "commands/docker ps", set("deny"), "docker ps: ask", "docker ps: deny"),
        ("policy/commands.yaml", "commands/df -h/effect", none(), ", effect: read", ""),
        ("policy/commands.yaml", "commands/uptime", none(), "  uptime: true\n", ""),
        (
            "policy/commands.yaml",
            "commands/git log: x",
            set("allow"),
            "\": false\n",
            "\": false\n  'git log: x': allow\n",
        ),
        ("synod.yaml", "limits/turns_max", set(30_u32), "turns_max: 12", "turns_max: 30"),
        (
            "synod.yaml",
            "limits/calls_max",
            set(3_u32),
            "  parallel_max: 4\n",
            "  parallel_max: 4\n  calls_max: 3\n",
        ),
        (
            "synod.yaml",
            "models/haiku",
            none(),
            "  haiku:\n    provider: script\n    model: scripted-small\n",
            "",
        ),
        (
            "synod.yaml",
            "routing/tags/ops:*",
            set("planner-001"),
            "\"ops:*\": executor-001",
            "\"ops:*\": planner-001",
        ),
        (
            "synod.yaml",
            "roles/librarian/tools",
            set(vec!["search_files"]),
            "[read_file, search_files]",
            "[search_files]",
        ),
        ("run_mode.yaml", "mode", set("voting"), "mode: solo", "mode: voting"),
        (
            "run_mode.yaml",
            "roles/a/capabilities",
            set(vec!["plan"]),
            "mode: solo\n",
            "mode: solo\nroles:\n  a:\n    capabilities:\n      - plan\n",
        ),
        (
            "scripts/demo.yaml",
            "rules/0/answers",
            push("Done."),
            "      - The disk is fine.\n",
            "      - The disk is fine.\n      - Done.\n",
        ),
        (
            "scripts/demo.yaml",
            "rules/1",
            none(),
            "  - tool_result: execute_command\n    answer: \"It says: {last}\"\n",
            "",
        ),
        (
            "scripts/demo.yaml",
            "rules/2/error/message",
            set("too, busy"),
            "message: too busy",
            "message: 'too, busy'",
        ),
    ]);
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let refused = |before: &str, path: &str, edit: Edit| {
        let mut document = open("synod.yaml", before);
        let why = make(&mut document, path, edit).unwrap_err();
        assert_eq!(document.text(), before);
        why.to_string()
    };
    assert_eq!(refused("a: x\n", "a/b", set("y")), "`a` has no keys");
    assert_eq!(refused("a: [x]\n", "a/1", set("y")), "there is no `a.1`");
    assert_eq!(refused("a: [x]\n", "a/00", set("y")), "there is no `a.00`");
    assert_eq!(refused("a: x\n", "b", Edit::Remove), "there is no `b`");
    assert_eq!(refused("a: x\n", "a", push("y")), "`a` is not a list");
    assert_eq!(refused("a: x\n", "a", set(f64::NAN)), "`a` must be a finite number");
    // Without `b`, the blank line would go to `a`.
    assert_eq!(
        refused("a: |+\n  x\nb: 1\n\n", "b", Edit::Remove),
        "`b` cannot be changed without changing what stands around it"
    );
    assert_eq!(open("synod.yaml", "a: 1\n").set(&[], "x"), Err(Refused::NoPath));
    for anchored in ["a: &x 1\nb: *x\n", "a: !t 1\n", "a: 1\n---\nb: 1\n", "a: 1\na: 2\n"] {
        let (document, diagnostics) = Document::parse("synod.yaml", anchored);
        assert!(document.is_none() && !diagnostics.is_empty(), "{anchored:?}");
    }
}

#[test]
fn a_value_is_found_with_its_place() {
    let document = open("synod.yaml", "\u{feff}a:\n  - é: 'x'\n    b:\n");
    let found =
        |path: &[&str]| document.get(path).map(|f| (f.node.text().map(str::to_owned), f.line, f.column));
    assert_eq!(found(&["a", "0", "é"]), Some((Some("x".to_owned()), 2, 8)));
    assert_eq!(found(&["a", "0", "b"]), Some((None, 3, 6)));
    assert_eq!(found(&["a", "1"]), None);
    assert_eq!(found(&["a", "0", "c"]), None);
}
