//! One kind of path: agents name files of their workspace by relative paths, and are shown the same spelling.

use domain::tool::{Act, GitCommit, GitDiff, Grep, ListDirectory, MoveFile};
use ports::tools::Tools as _;

use crate::home::{Home, read, write};

const OWN: &str = "workspaces/coder-001";

fn located(home: &Home, act: Act) -> Act {
    home.tools.locate(OWN, act, true)
}

fn home() -> Home {
    let home = Home::new();
    home.write("workspaces/coder-001/src/main.rs", "fn main() {}\n")
        .write("memory/a.md", "alpha\n")
        .write("guide.md", "beta\n");
    home
}

#[tokio::test]
async fn every_spelling_of_a_file_reads_it() {
    let home = home();
    let absolute = home.path(".").canonicalize().unwrap().join("memory/a.md");
    for (path, text) in [
        ("src/main.rs", "fn main() {}"),
        ("./src/main.rs", "fn main() {}"),
        ("workspaces/coder-001/src/main.rs", "fn main() {}"),
        ("home:workspaces/coder-001/src/main.rs", "fn main() {}"),
        ("memory/a.md", "alpha"),
        ("home:memory/a.md", "alpha"),
        ("../../memory/a.md", "alpha"),
        (absolute.to_str().unwrap(), "alpha"),
        ("guide.md", "beta"),
    ] {
        let shown = home.done(located(&home, read(path))).await;
        assert_eq!(shown, format!("     1\t{text}\n"), "{path}");
    }
}

#[tokio::test]
async fn results_name_files_as_the_agent_does() {
    let home = home();
    let grep = Grep { pattern: "main|alpha".to_owned(), path: None, glob: None, context: None, count: false };
    assert_eq!(home.done(Act::Grep(grep.clone())).await, "src/main.rs:1: fn main() {}");
    let all = located(&home, Act::Grep(Grep { path: Some("home:memory".to_owned()), ..grep }));
    assert_eq!(home.done(all).await, "memory/a.md:1: alpha");
    let made = located(&home, write("notes/new.md", "x"));
    assert_eq!(home.done(made).await, "notes/new.md is made: 1 bytes");
    assert_eq!(home.read("workspaces/coder-001/notes/new.md"), "x");
    let list = located(&home, Act::ListDirectory(ListDirectory { path: ".".to_owned() }));
    assert_eq!(home.done(list).await, ".git/\nnotes/\nsrc/");
    let (from, to) = ("notes/new.md".to_owned(), "old.md".to_owned());
    let moved = located(&home, Act::MoveFile(MoveFile { from, to, replace: false }));
    assert_eq!(home.done(moved).await, "notes/new.md is moved to old.md");
}

#[tokio::test]
async fn a_workspace_that_has_memory_hides_that_of_the_home() {
    let home = home();
    home.write("workspaces/coder-001/memory/b.md", "own\n");
    assert_eq!(home.done(located(&home, read("memory/b.md"))).await, "     1\town\n");
    let grep = Grep {
        pattern: "alpha".to_owned(),
        path: Some("memory".to_owned()),
        glob: None,
        context: None,
        count: false,
    };
    assert_eq!(home.done(Act::Grep(grep)).await, "home:memory/a.md:1: alpha");
}

#[tokio::test]
async fn a_path_that_names_nothing_is_an_error_with_what_is_near() {
    let home = home();
    for (path, error) in [
        (
            "src/mian.rs",
            "src/mian.rs does not exist: neither in your workspace, workspaces/coder-001/, nor as home:src/mian.rs; similar: \
             src/main.rs",
        ),
        (
            "main.rs",
            "main.rs does not exist: neither in your workspace, workspaces/coder-001/, nor as home:main.rs; similar: src/main.rs",
        ),
        (
            "memory/b.md",
            "memory/b.md does not exist; your workspace has no memory/b.md either; similar: memory/a.md",
        ),
    ] {
        assert_eq!(home.failed(located(&home, read(path))).await, error);
    }
}

#[tokio::test]
async fn git_refuses_a_path_that_names_nothing() {
    let home = Home::new();
    home.write("workspaces/coder-001/a", "one\n");
    home.done(Act::GitCommit(GitCommit { message: "first".to_owned(), paths: Vec::new() })).await;
    let diff =
        |path: &str| located(&home, Act::GitDiff(GitDiff { path: Some(path.to_owned()), against: None }));
    for spelled in ["a", "./a", "workspaces/coder-001/a", "home:workspaces/coder-001/a"] {
        assert_eq!(home.done(diff(spelled)).await, "nothing differs", "{spelled}");
    }
    assert!(home.failed(diff("b")).await.contains("b does not exist"));
    let commit = Act::GitCommit(GitCommit { message: "b".to_owned(), paths: vec!["b".to_owned()] });
    assert!(home.failed(located(&home, commit)).await.contains("b does not exist in your workspace"));
}
