//! `grep`.

use std::os::unix::fs::symlink;

use domain::id::AgentId;
use domain::settings::Settings;
use domain::tool::{Act, Grep};
use ports::tools::{Order, Tools as _};
use testkit::tools::order;

use crate::home::Home;

fn grep(pattern: &str) -> Grep {
    Grep { pattern: pattern.to_owned(), path: None, glob: None, context: None, count: false }
}

fn beneath(path: &str, pattern: &str) -> Grep {
    Grep { path: Some(path.to_owned()), ..grep(pattern) }
}

#[tokio::test]
async fn lines_are_found_by_a_regular_expression_with_their_indentation() {
    let home = Home::new();
    home.write("memory/a.rs", "fn one() {\n    two_file();\n}\n")
        .write("memory/b.md", "no match\nread_file\n");
    let outcome = home.run(order(1, "coder-001", Act::Grep(beneath("memory", r"\b\w+_file\b")))).await;
    assert!(outcome.ok);
    assert_eq!(outcome.text, "memory/a.rs:2:     two_file();\nmemory/b.md:2: read_file");
    assert_eq!(outcome.read, ["memory/a.rs", "memory/b.md"]);
    assert_eq!(home.done(Act::Grep(beneath("memory/a.rs", "^}$"))).await, "memory/a.rs:3: }");
    assert_eq!(home.done(Act::Grep(beneath("memory", "x{9}"))).await, "[no line in memory matches x{9}]");
}

#[tokio::test]
async fn the_workspace_is_searched_if_no_path_is_given() {
    let home = Home::new();
    assert_eq!(home.done(Act::Grep(grep("a"))).await, "[no line in . matches a]");
    home.write("workspaces/coder-001/a.rs", "alpha\n").write("memory/a.md", "alpha\n");
    assert_eq!(home.done(Act::Grep(grep("alpha"))).await, "a.rs:1: alpha");
}

#[tokio::test]
async fn a_glob_chooses_files_by_name_or_by_path() {
    let home = Home::new();
    for path in ["memory/a.rs", "memory/src/b.rs", "memory/src/deep/c.rs", "memory/d.c", "memory/e.h"] {
        home.write(path, "x\n");
    }
    let found = async |glob: &str| {
        let act = Grep { glob: Some(glob.to_owned()), count: true, ..beneath("memory", "x") };
        let text = home.done(Act::Grep(act)).await;
        let names = text.lines().filter_map(|line| line.strip_suffix(": 1"));
        names.map(|name| name.trim_start_matches("memory/").to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("*.rs").await, "a.rs src/b.rs src/deep/c.rs");
    assert_eq!(found("**/*.rs").await, "a.rs src/b.rs src/deep/c.rs");
    assert_eq!(found("src/**/*.rs").await, "src/b.rs src/deep/c.rs");
    assert_eq!(found("*.{c,h}").await, "d.c e.h");
    assert_eq!(found("*.none").await, "");
}

#[tokio::test]
async fn lines_of_context_are_shown_once_and_marked() {
    let home = Home::new();
    home.write("memory/a", "1\nx2\n3\nx4\n5\n6\n7\n8\nx9\n");
    let act = Grep { context: Some(1), ..beneath("memory/a", "x") };
    assert_eq!(
        home.done(Act::Grep(act)).await,
        "memory/a-1- 1\nmemory/a:2: x2\nmemory/a-3- 3\nmemory/a:4: x4\nmemory/a-5- 5\n--\n\
         memory/a-8- 8\nmemory/a:9: x9"
    );
}

#[tokio::test]
async fn lines_are_counted_for_each_file_and_in_all() {
    let home = Home::new();
    home.write("memory/a", "x\nx\ny\n").write("memory/b", "x\n");
    let act = Grep { count: true, ..beneath("memory", "x") };
    assert_eq!(home.done(Act::Grep(act)).await, "memory/a: 2\nmemory/b: 1\n[3 lines in 2 files]");
}

#[tokio::test]
async fn what_is_left_out_is_said() {
    let home = Home::new();
    home.write("memory/a", "x\n".repeat(66));
    let shown = home.done(Act::Grep(beneath("memory", "x"))).await;
    assert!(shown.ends_with("memory/a:50: x\n[16 more lines in this file]"), "{shown}");
    for n in 0..4 {
        home.write(&format!("memory/{n}"), "x\n");
    }
    let order = Order { output_bytes_max: 20, ..order(1, "coder-001", Act::Grep(beneath("memory", "x"))) };
    let shown = home.run(order).await;
    assert_eq!(shown.text, "memory/0:1: x\n[4 more files; a narrower pattern, path or glob finds fewer]");
    assert_eq!(shown.read, ["memory/0"], "only what is shown is read");
    home.write("memory/large", "x".repeat((1 << 20) + 1));
    let shown = home.done(Act::Grep(beneath("memory", "x"))).await;
    assert!(shown.ends_with("[not searched: 1 files larger than 1 MiB]"), "{shown}");
}

#[tokio::test]
async fn a_pattern_that_is_none_is_an_error_with_its_place() {
    let home = Home::new();
    let error = home.failed(Act::Grep(grep("a(b"))).await;
    assert_eq!(error, "the pattern is not a regular expression: unclosed group, at character 2");
    assert!(home.failed(Act::Grep(grep(r"(?=x)"))).await.contains("look-around"));
    assert!(home.failed(Act::Grep(grep(&r"\w{1000}".repeat(20)))).await.contains("too large"));
    let error = "home:none does not exist; your workspace has no none either";
    assert_eq!(home.failed(Act::Grep(beneath("none", "x"))).await, error);
    assert!(home.failed(Act::Grep(beneath("../x", "x"))).await.contains("'..'"));
}

#[tokio::test]
async fn nothing_is_found_that_the_agent_may_not_see() {
    let home = Home::new();
    for path in ["memory/a.md", "workspaces/coder-001/.env", "contexts/plan.json", ".synod/x", ".git/config"]
    {
        home.write(path, "needle\n");
    }
    home.write("sessions/planner-001-000001.yaml", "needle\n").write("memory/pay/june.md", "needle\n");
    symlink("/etc", home.path("memory/etc")).unwrap();
    let mut settings = Settings::default();
    settings.trust.secret.insert("memory/pay/*".to_owned(), vec![AgentId::new("finance-001")]);
    home.tools.settle(&settings);
    let shown = home.run(order(1, "coder-001", Act::Grep(beneath(".", "needle|root:")))).await;
    assert_eq!(shown.read, ["memory/a.md"], "{}", shown.text);
}

#[tokio::test]
async fn a_credential_is_neither_shown_nor_found() {
    let home = Home::new();
    home.write("memory/a", "password = hunter2hunter2\n");
    let shown = home.done(Act::Grep(beneath("memory", "password"))).await;
    assert!(shown.starts_with("memory/a:1: password = [redacted: "), "{shown}");
    let shown = home.done(Act::Grep(beneath("memory", "hunter2"))).await;
    assert_eq!(shown, "[no line in memory matches hunter2]");
}
