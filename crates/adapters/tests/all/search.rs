//! Search: ranked, by an index that follows edits, and never lost when the index is.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use domain::tool::{Act, MemorySearch};
use ports::tools::Outcome;
use testkit::rng::Rng;
use testkit::tools::order;

use crate::home::{Home, search};

fn memory(query: &str, limit: Option<u32>) -> Act {
    Act::MemorySearch(MemorySearch { query: query.to_owned(), limit })
}

const INDEX: &str = ".synod/search.db";

/// Enough folders that a walk is shared.
#[tokio::test]
async fn an_edit_in_any_of_many_folders_is_found() {
    let home = Home::new();
    let place = |n: u32| {
        format!("memory/{}/part-{n:02}/deep/{n}.md", if n.is_multiple_of(2) { "even" } else { "odd" })
    };
    for n in 0..40 {
        home.write(&place(n), "before");
    }
    symlink("../../other", home.path("memory/even/link")).unwrap();
    home.write("other/out.md", "before after0");
    let all = home.run(order(1, "coder-001", memory("before", Some(100)))).await;
    assert_eq!(all.read.len(), 40, "{}", all.text);
    for n in 0..40 {
        // As long as what was there, so that only its times tell.
        home.write(&place(n), format!("aft{n:03}"));
        let found = home.run(order(1, "coder-001", memory(&format!("aft{n:03}"), None))).await;
        assert_eq!(found.read, [place(n)]);
    }
    fs::remove_dir_all(home.path("memory/even")).unwrap();
    let left = home.run(order(1, "coder-001", memory("aft001 aft002", None))).await;
    assert_eq!(left.read, [place(1)]);
}

#[tokio::test]
async fn files_with_every_word_come_first_then_those_with_some() {
    let home = Home::new();
    home.write("memory/one.md", "Redis keeps\nits disk full\n")
        .write("memory/deep/two.md", "# REDIS\nredis and the disk, redis\nnothing\n")
        .write("memory/three.md", "redis only\n")
        .write("memory/.git/four.md", "redis disk")
        .write("memory/node_modules/five.md", "redis disk")
        .write("memory/six.bin", b"redis disk\0")
        .write("other/seven.md", "redis disk")
        .write("workspaces/coder-001/eight.md", "the disks of redis")
        .write("workspaces/other-001/nine.md", "redis disk");
    symlink("../other", home.path("memory/link")).unwrap();
    let found = home.run(order(1, "coder-001", search("disk  Redis", None))).await;
    let mut files: Vec<&str> = found.read.iter().map(String::as_str).collect();
    assert_eq!(files.pop(), Some("memory/three.md"), "it has one of the words");
    files.sort_unstable();
    assert_eq!(files, ["memory/deep/two.md", "memory/one.md", "workspaces/coder-001/eight.md"]);
    for line in [
        "memory/deep/two.md:2: redis and the disk, redis",
        "memory/one.md:2: its disk full",
        "eight.md:1: the disks of redis",
    ] {
        assert!(found.text.contains(line), "{} has {line}", found.text);
    }
    assert_eq!(home.done(search("redis disk", Some("other"))).await, "home:other/seven.md:1: redis disk");
    assert_eq!(home.done(search("only", Some("memory/three.md"))).await, "memory/three.md:1: redis only");
    let deep = home.run(order(1, "coder-001", search("redis", Some("memory/deep")))).await;
    assert_eq!(deep.read, ["memory/deep/two.md"]);
    let of_other = home.run(order(1, "coder-001", search("redis", Some("workspaces/other-001")))).await;
    assert_eq!(of_other.read, ["workspaces/other-001/nine.md"]);
    let named = home.done(search("redis", Some("memory/node_modules"))).await;
    assert_eq!(named, "memory/node_modules/five.md:1: redis disk", "what is named is searched");
    let none = home.run(order(1, "coder-001", search("absent", None))).await;
    assert_eq!(none, Outcome::done("[no file in memory and your workspace has any of: absent]".to_owned()));
    assert!(home.failed(search("x", Some("absent"))).await.contains("does not exist"));
    assert!(home.failed(search("x", Some(".synod"))).await.contains("belongs to synod"));
    assert!(home.failed(search("  ", None)).await.contains("no words"));
}

#[tokio::test]
async fn words_are_found_in_their_forms_and_names_by_their_parts() {
    let home = Home::new();
    home.write("memory/a.md", "the server was running\n")
        .write("workspaces/coder-001/b.rs", "fn readTheFile() { tool_ms_max(); }\n")
        .write("memory/grün.md", "Ärger mit Überlauf\n")
        .write("memory/jp.md", "これは検索のテストです\n")
        .write("memory/redis-notes.md", "\nfirst line\n");
    for (query, file) in [
        ("runs", "memory/a.md"),
        ("file", "workspaces/coder-001/b.rs"),
        ("readthefile", "workspaces/coder-001/b.rs"),
        ("tool_ms_max", "workspaces/coder-001/b.rs"),
        ("\"was running\"", "memory/a.md"),
        ("überlauf", "memory/grün.md"),
        ("検索", "memory/jp.md"),
        ("serv", "memory/a.md"),
    ] {
        let found = home.run(order(1, "coder-001", search(query, None))).await;
        assert_eq!(found.read, [file], "{query}: {}", found.text);
    }
    assert_eq!(home.done(search("redis", None)).await, "memory/redis-notes.md:2: first line");
    let apart = home.run(order(1, "coder-001", search("\"running was\"", None))).await;
    assert_eq!(apart.read, Vec::<String>::new(), "{}", apart.text);
}

#[tokio::test]
async fn memory_search_looks_into_memory_only_and_nothing_finds_shared_contexts() {
    let home = Home::new();
    home.write("memory/a.md", "redis\n")
        .write("memory/d.md", "redis\n")
        .write("contexts/b.json", "{\"cache\": \"redis\"}\n")
        .write("contexts/b.acl.yaml", "redis: read\n")
        .write("workspaces/coder-001/c.md", "redis\n");
    let mut found = home.run(order(1, "coder-001", memory("redis", None))).await.read;
    found.sort_unstable();
    assert_eq!(found, ["memory/a.md", "memory/d.md"]);
    for place in [Some("."), Some("contexts"), Some("contexts/b.json")] {
        let found = home.run(order(1, "coder-001", search("redis", place))).await;
        assert!(!found.text.contains("cache"), "{}", found.text);
        assert!(found.read.iter().all(|path| !path.starts_with("contexts")), "{:?}", found.read);
    }
    let one = home.run(order(1, "coder-001", memory("redis", Some(1)))).await;
    assert_eq!(one.read.len(), 1);
    assert!(one.text.contains("[cut: the best 1 files"), "{}", one.text);
}

#[tokio::test]
async fn a_search_is_bounded_and_says_what_is_left_out() {
    let home = Home::new();
    home.write("memory/big.md", "word ".repeat(300_000));
    for n in 0..30 {
        home.write(&format!("memory/{n:02}.md"), "a word\n".repeat(20));
    }
    let shown = home.done(search("word", None)).await;
    assert_eq!(shown.lines().filter(|line| line.contains(": a word")).count(), 100);
    assert_eq!(shown.matches("[15 more lines in this file]").count(), 20, "{shown}");
    assert!(shown.contains("[cut: the best 20 files; more words find fewer]"), "{shown}");
    assert!(shown.contains("[not searched: 1 files larger than 1 MiB in memory]"), "{shown}");
    let mut order = order(1, "coder-001", search("word", None));
    order.output_bytes_max = 100;
    let short = home.run(order).await.text;
    assert!(short.len() < 200 && short.contains("[cut: the first"), "{short}");
}

#[tokio::test]
async fn what_was_written_a_moment_ago_is_found_and_what_is_gone_is_not() {
    let home = Home::new();
    let names = |found: &Outcome| found.read.clone();
    let mut rng = Rng::new(7);
    for n in 0..40 {
        // The same length and often the same tick of the clock: only the words differ.
        let word = format!("word{:02}", rng.below(90) + 10);
        home.write("memory/a.md", format!("{word}\n"));
        let found = home.run(order(1, "coder-001", search(&word, None))).await;
        assert_eq!(names(&found), ["memory/a.md"], "{n} {word}");
        assert_eq!(found.text, format!("memory/a.md:1: {word}"));
    }
    home.write("memory/a.md", "alpha\n");
    fs::rename(home.path("memory/a.md"), home.path("memory/b.md")).unwrap();
    assert_eq!(names(&home.run(order(1, "coder-001", search("alpha", None))).await), ["memory/b.md"]);
    fs::remove_file(home.path("memory/b.md")).unwrap();
    assert!(names(&home.run(order(1, "coder-001", search("alpha", None))).await).is_empty());
}

#[tokio::test]
async fn no_text_is_an_operator() {
    let home = Home::new();
    home.write("memory/a.md", "alpha beta\n");
    let mut rng = Rng::new(3);
    let pieces = [
        "alpha", " ", "\"", "'", "*", "(", ")", "AND", "OR", "NOT", "NEAR(", ":", "text:", "-", "^", "+",
        "{", "}", "\u{0}", "ß", "İ", ";", "--", "%", "\\", "\n", "🦀", "a\u{301}",
    ];
    for _ in 0..300 {
        let text: String = (0..rng.below(10)).filter_map(|_| rng.pick(&pieces).copied()).collect();
        let outcome = home.run(order(1, "coder-001", search(&text, None))).await;
        assert!(outcome.ok || outcome.text.contains("no words"), "{text:?}: {}", outcome.text);
        assert!(!outcome.text.contains("one by one"), "{text:?}: {}", outcome.text);
        if text.contains("alpha ") {
            assert_eq!(outcome.read, ["memory/a.md"], "{text:?}: {}", outcome.text);
        }
    }
}

#[tokio::test]
async fn a_damaged_or_deleted_index_is_made_anew() {
    let home = Home::new();
    home.write("memory/a.md", "alpha\n");
    let find = || async { home.run(order(1, "coder-001", search("alpha", None))).await };
    assert_eq!(find().await.read, ["memory/a.md"]);
    for ending in ["", "-wal", "-shm"] {
        _ = fs::remove_file(home.path(&format!("{INDEX}{ending}")));
    }
    assert_eq!(find().await.text, "memory/a.md:1: alpha", "it was deleted while it was open");
    for rubbish in ["", "not a database at all", "SQLite format 3\0 and then nothing"] {
        let home = Home::new();
        home.write("memory/a.md", "alpha\n").write(INDEX, rubbish);
        let found = home.run(order(1, "coder-001", search("alpha", None))).await;
        assert_eq!(found.read, ["memory/a.md"], "{rubbish:?}: {}", found.text);
        let again = home.run(order(1, "coder-001", search("alpha", None))).await;
        assert_eq!(again.text, "memory/a.md:1: alpha");
    }
    // Pages in the middle.
    let home = Home::new();
    for n in 0..200 {
        home.write(&format!("memory/{n}.md"), format!("alpha and number{n}\n"));
    }
    home.run(order(1, "coder-001", search("alpha", None))).await;
    let mut other = fs::read(home.path(INDEX)).unwrap();
    let length = other.len();
    other[length / 3..].fill(0xee);
    fs::remove_file(home.path(INDEX)).unwrap();
    fs::write(home.path(INDEX), other).unwrap();
    let found = home.run(order(1, "coder-001", search("number77", None))).await;
    assert_eq!(found.read, ["memory/77.md"], "{}", found.text);
}

#[tokio::test]
async fn without_an_index_files_are_searched_one_by_one() {
    let home = Home::new();
    // Nothing can be opened there, as on a disk that is full.
    home.write("memory/a.md", "alpha\n").write(&format!("{INDEX}/x"), "");
    let found = home.run(order(1, "coder-001", search("alpha", None))).await;
    assert_eq!(found.read, ["memory/a.md"]);
    assert!(found.text.contains("the files were searched one by one]"), "{}", found.text);
}

#[tokio::test]
async fn links_pipes_and_odd_names_lead_nowhere() {
    let home = Home::new();
    home.write("memory/a.md", "alpha\n")
        .write("memory/line\nbreak.md", "alpha\n")
        .write("secret/x.md", "alpha\n");
    symlink("../secret/x.md", home.path("memory/link.md")).unwrap();
    symlink("/etc", home.path("memory/etc")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, home.path("memory/pipe.md"), rustix::fs::Mode::RWXU).unwrap();
    let mut found = home.run(order(1, "coder-001", search("alpha", None))).await;
    found.read.sort_unstable();
    assert_eq!(found.read, ["memory/a.md", "memory/line\nbreak.md"]);
    assert!(found.text.contains("\"memory/line\\nbreak.md\":1: alpha"), "{}", found.text);
    // What was a file becomes a link to something else with the same words.
    fs::remove_file(home.path("memory/a.md")).unwrap();
    symlink("../secret/x.md", home.path("memory/a.md")).unwrap();
    let found = home.run(order(1, "coder-001", search("alpha", None))).await;
    assert_eq!(found.read, ["memory/line\nbreak.md"]);
    // The folder itself, too.
    fs::rename(home.path("memory"), home.path("old")).unwrap();
    symlink("secret", home.path("memory")).unwrap();
    let found = home.run(order(1, "coder-001", search("alpha", None))).await;
    assert_eq!(found.read, Vec::<String>::new());
}

#[tokio::test]
async fn a_huge_file_costs_nothing() {
    let home = Home::new();
    home.write("memory/a.md", "alpha\n").write("memory/huge.md", "");
    fs::OpenOptions::new().write(true).open(home.path("memory/huge.md")).unwrap().set_len(100 << 20).unwrap();
    let found = home.run(order(1, "coder-001", search("alpha", None))).await;
    assert_eq!(found.text, "memory/a.md:1: alpha\n[not searched: 1 files larger than 1 MiB in memory]");
}

#[tokio::test]
async fn folders_that_git_ignores_are_left_out() {
    let home = Home::new();
    home.write("workspaces/coder-001/a.md", "alpha\n")
        .write("workspaces/coder-001/build/b.md", "alpha\n")
        .write("workspaces/coder-001/.gitignore", "build/\n");
    git2::Repository::init(home.path("workspaces/coder-001")).unwrap();
    let found = home.run(order(1, "coder-001", search("alpha", None))).await;
    assert_eq!(found.read, ["workspaces/coder-001/a.md"]);
    let named = home.run(order(1, "coder-001", search("alpha", Some("workspaces/coder-001/build")))).await;
    assert_eq!(named.read, ["workspaces/coder-001/build/b.md"], "{}", named.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_and_edits_at_the_same_time_show_only_what_stands_in_files() {
    let home = Arc::new(Home::new());
    for n in 0..60 {
        home.write(&format!("memory/{n:02}.md"), format!("common word{n:02}\n"));
    }
    let mut searches = tokio::task::JoinSet::new();
    for n in 0..8 {
        let home = Arc::clone(&home);
        searches.spawn(async move {
            for round in 0..6 {
                let agent = format!("coder-{n:03}");
                let found = home.run(order(1, &agent, search("common", None))).await;
                assert!(found.ok, "{}", found.text);
                for line in found.text.lines().filter(|line| !line.starts_with('[')) {
                    assert!(line.contains(": common word"), "{line}");
                }
                let own = format!("own{n}x{round}");
                home.write(&format!("workspaces/{agent}/own.md"), format!("{own}\n"));
                let found = home.run(order(1, &agent, search(&own, None))).await;
                assert_eq!(found.read, [format!("workspaces/{agent}/own.md")], "{}", found.text);
                let path = home.path(&format!("memory/{:02}.md", n * 6 + round));
                match round % 3 {
                    0 => fs::remove_file(path).unwrap(),
                    1 => fs::rename(&path, path.with_extension("txt")).unwrap(),
                    _ => {
                        fs::remove_file(&path).unwrap();
                        symlink("/etc/passwd", &path).unwrap();
                    }
                }
            }
        });
    }
    while let Some(done) = searches.join_next().await {
        done.unwrap();
    }
}
