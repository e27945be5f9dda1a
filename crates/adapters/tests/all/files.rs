//! Reading, listing and writing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use domain::id::{Seq, Ticket};
use domain::tool::{Act, CreateDirectory, ReadFile};
use ports::tools::{Order, Outcome};
use testkit::contract;
use testkit::tools::order;

use crate::home::{Home, list, read, search, write};

#[tokio::test]
async fn the_toolbox_keeps_the_contract() {
    contract::tools::holds(&Home::new().tools).await;
}

#[tokio::test]
async fn a_long_file_is_cut_and_says_so() {
    let home = Home::new();
    home.write("memory/long.md", "äö".repeat(100));
    let mut order = order(1, "coder-001", read("memory/long.md"));
    order.output_bytes_max = 7;
    let expected = "     1\täöä\n[lines 1-1 of 1; cut: only the first 6 bytes of line 1]";
    assert_eq!(home.run(order).await, Outcome::done(expected.to_owned()).reading("memory/long.md"));
}

#[tokio::test]
async fn a_long_file_is_read_on_line_by_line_until_its_end() {
    let home = Home::new();
    let text: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    home.write("memory/long.md", &text);
    let part =
        |from_line, lines| Act::ReadFile(ReadFile { path: "memory/long.md".to_owned(), from_line, lines });
    let (mut seen, mut next) = (String::new(), Some(1));
    while let Some(from) = next {
        let mut order = order(1, "coder-001", part(Some(from), None));
        order.output_bytes_max = 60;
        let shown = home.run(order).await.text;
        let (lines, note) = shown.split_once('[').unwrap_or((&shown, ""));
        assert!(lines.len() <= 60 && lines.lines().count() >= 2, "{shown}");
        seen.push_str(lines);
        next = note.rsplit_once("from_line ").map(|(_, n)| n.trim_end_matches(']').parse().unwrap());
    }
    let numbered: String = (1..=50).map(|n| format!("{n:>6}\tline {n}\n")).collect();
    assert_eq!(seen, numbered);
    assert_eq!(home.done(part(None, None)).await, numbered, "a whole file has no note");
    assert_eq!(home.done(part(None, Some(50))).await, numbered, "nor has one of which all was wanted");
    assert_eq!(
        home.done(part(Some(49), Some(1))).await,
        "    49\tline 49\n[lines 49-49 of 50; read on with from_line 50]"
    );
    assert_eq!(home.done(part(Some(50), Some(9))).await, "    50\tline 50\n[lines 50-50 of 50]");
    assert_eq!(home.done(part(Some(51), None)).await, "[memory/long.md has only 50 lines]");
    assert_eq!(home.done(part(Some(900), None)).await, "[memory/long.md has only 50 lines]");
}

#[tokio::test]
async fn no_page_of_a_file_shows_a_part_of_a_credential() {
    let home = Home::new();
    let body = "MIIEpAIBAAKCAQEA7bq\n".repeat(20);
    home.write(
        "memory/key.md",
        format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nb\n"),
    );
    for (from, lines) in [(1, 30), (2, 3), (5, 4), (20, 5), (22, 9)] {
        let act = Act::ReadFile(ReadFile {
            path: "memory/key.md".to_owned(),
            from_line: Some(from),
            lines: Some(lines),
        });
        let shown = home.done(act).await;
        assert!(!shown.contains("MIIEpA"), "{from}: {shown}");
    }
    let last = Act::ReadFile(ReadFile { path: "memory/key.md".to_owned(), from_line: Some(24), lines: None });
    assert_eq!(home.done(last).await, "    24\tb\n[lines 24-24 of 24]");
    let whole = home.done(read("memory/key.md")).await;
    assert!(
        whole.starts_with("     1\ta\n     2\t[redacted: private key]\n     3\t[redacted]\n")
            && whole.ends_with("\n    24\tb\n"),
        "{whole}"
    );
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let home = Home::new();
    home.write("a.bin", b"a\0b").write("latin.txt", b"caf\xe9").write("empty", "").write("crlf", "a\r\nb");
    assert_eq!(home.failed(read("a.bin")).await, "home:a.bin is not a text file in UTF-8 (3 bytes)");
    assert!(home.failed(read("latin.txt")).await.contains("not a text file"));
    assert_eq!(home.done(read("empty")).await, "[home:empty is empty]");
    assert_eq!(home.done(read("crlf")).await, "     1\ta\r\n     2\tb");
    let error = "home:absent does not exist; your workspace has no absent either";
    assert_eq!(home.failed(read("absent")).await, error);
    assert_eq!(home.failed(read(".")).await, "home: is a folder, not a file");
}

#[tokio::test]
async fn a_folder_is_listed_by_name_with_sizes() {
    let home = Home::new();
    home.write("b.md", "four").write("a/x", "").write(".synod/journal.db", "").write("line\nbreak", "");
    symlink("b.md", home.path("link")).unwrap();
    assert_eq!(home.done(list(".")).await, "a/\nb.md  4 bytes\n\"line\\nbreak\"  0 bytes\nlink  a link");
    fs::create_dir(home.path("empty")).unwrap();
    assert_eq!(home.done(list("empty")).await, "[home:empty is empty]");
    assert!(home.failed(list("b.md")).await.contains("not a folder"));
    assert!(home.failed(list(".synod")).await.contains("belongs to synod"));
}

#[tokio::test]
async fn a_large_folder_is_cut_and_says_so() {
    let home = Home::new();
    for n in 0..510 {
        home.write(&format!("many/{n:04}"), "");
    }
    let shown = home.done(list("many")).await;
    assert_eq!(shown.lines().count(), 501);
    assert!(
        shown.ends_with(
            "0499  0 bytes\n[cut: the first 500 of 510 entries; search_files finds others by name]"
        ),
        "{shown}"
    );
}

#[tokio::test]
async fn a_write_keeps_the_mode_and_leaves_nothing_beside_the_file() {
    let home = Home::new();
    home.write("artifacts/run.sh", "old");
    fs::set_permissions(home.path("artifacts/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    // What a crash in the middle of the same effect left behind.
    home.write("artifacts/.synod-write-1-1.tmp", "half");
    assert_eq!(home.done(write("artifacts/run.sh", "new")).await, "artifacts/run.sh is replaced: 3 bytes");
    assert_eq!(home.read("artifacts/run.sh"), "new");
    assert_eq!(fs::metadata(home.path("artifacts/run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_dir(home.path("artifacts")).unwrap().count(), 1);
    assert_eq!(
        home.done(write("artifacts/deep/new.md", "x")).await,
        "artifacts/deep/new.md is made: 1 bytes"
    );
}

#[tokio::test]
async fn what_earlier_tries_of_a_write_left_aside_goes_and_what_others_write_stays() {
    let home = Home::new();
    for name in ["1-1", "1-2", "11-1", "2-1"] {
        home.write(&format!("artifacts/.synod-write-{name}.tmp"), "half");
    }
    let ticket = Ticket { effect: Seq(1), attempt: 3 };
    let third = Order { ticket, ..order(1, "coder-001", write("artifacts/a.md", "new")) };
    assert!(home.run(third).await.ok);
    let names = fs::read_dir(home.path("artifacts")).unwrap();
    let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".synod-write-11-1.tmp", ".synod-write-2-1.tmp", "a.md"]);
}

#[tokio::test]
async fn a_write_never_goes_through_a_link_or_into_something_else() {
    let home = Home::new();
    home.write("policy/commands.yaml", "commands: {}\n").write("workspaces/coder-001/x", "");
    symlink("../../policy", home.path("workspaces/coder-001/link")).unwrap();
    symlink("../../policy/commands.yaml", home.path("workspaces/coder-001/file")).unwrap();
    symlink("/tmp", home.path("workspaces/coder-001/out")).unwrap();
    for path in [
        "workspaces/coder-001/link/commands.yaml",
        "workspaces/coder-001/link/new.yaml",
        "workspaces/coder-001/file",
        "workspaces/coder-001/out/synod-escape",
        "workspaces/coder-001",
        "policy/commands.yaml",
        "synod.yaml",
        "tasks/approvals.task.md",
        "sessions/a.session.yaml",
        ".synod/lock",
        "../escape",
        "/tmp/synod-escape",
    ] {
        home.failed(write(path, "bad")).await;
        if !path.starts_with('/') {
            home.failed(write(&format!("./{path}"), "bad")).await;
        }
    }
    assert_eq!(home.read("policy/commands.yaml"), "commands: {}\n");
    assert_eq!(fs::read_dir(home.path("policy")).unwrap().count(), 1);
    assert!(!std::path::Path::new("/tmp/synod-escape").exists());
}

#[tokio::test]
async fn a_folder_is_made_where_agents_may_write() {
    let home = Home::new();
    let make = |path: &str| Act::CreateDirectory(CreateDirectory { path: path.to_owned() });
    for _ in 0..2 {
        assert_eq!(home.done(make("artifacts/a/b")).await, "artifacts/a/b is there");
    }
    assert!(home.path("artifacts/a/b").is_dir());
    home.write("artifacts/file", "");
    for path in ["policy", "tasks/new", ".git/hooks", "../x", "artifacts/file", "artifacts/file/x", ""] {
        home.failed(make(path)).await;
    }
}

#[tokio::test]
async fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
    let home = Home::new();
    home.write("artifacts/a.md", "old");
    // A folder stands where the new text is written aside: as good as a disk that takes nothing more.
    fs::create_dir(home.path("artifacts/.synod-write-1-1.tmp")).unwrap();
    assert!(home.failed(write("artifacts/a.md", "new")).await.contains("artifacts/a.md cannot be written"));
    assert_eq!(home.read("artifacts/a.md"), "old");
    assert_eq!(fs::read_dir(home.path("artifacts")).unwrap().count(), 2);
}

#[tokio::test]
async fn two_effects_that_write_the_same_file_leave_one_of_them_whole() {
    let home = Home::new();
    let (one, two) = ("1".repeat(100_000), "2".repeat(100_000));
    let first = home.run(order(1, "coder-001", write("artifacts/a", &one)));
    let second = home.run(order(2, "coder-001", write("artifacts/a", &two)));
    let (first, second) = tokio::join!(first, second);
    assert!(matches!((first, second), (Outcome { ok: true, .. }, Outcome { ok: true, .. })));
    let found = home.read("artifacts/a");
    assert!(found == one || found == two);
}

#[tokio::test]
async fn what_takes_too_long_is_said_to() {
    let home = Home::new();
    home.write("memory/a.md", "word");
    let mut order = order(1, "coder-001", search("word", None));
    order.ms_max = 0;
    match home.run(order).await {
        Outcome { ok: false, text, .. } => assert!(text.contains("longer than 0 ms"), "{text}"),
        // The work may be faster than the clock; it then says what it left out.
        Outcome { ok: true, text, .. } => assert!(text.contains("time did not suffice"), "{text}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_in_meanwhile_leads_nowhere() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let home = Home::new();
    home.write("policy/x.md", "control")
        .write("workspaces/coder-001/folder/x.md", "own")
        .write("../x.md", "outside");
    let workspace = home.path("workspaces/coder-001");
    symlink("../../policy", workspace.join("control")).unwrap();
    symlink("../../..", workspace.join("out")).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (is_over, workspace) = (Arc::clone(&is_over), workspace.clone());
        move || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            let mut swaps = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                for link in ["control", "out"] {
                    for _ in 0..2 {
                        let (folder, link) = (workspace.join("folder"), workspace.join(link));
                        renameat_with(CWD, folder, CWD, link, RenameFlags::EXCHANGE).unwrap();
                        swaps += 1;
                    }
                }
            }
            swaps
        }
    });
    let (mut done, mut refused) = (0, 0);
    for n in 0..50_000 {
        if n >= 600 && done > 0 && refused > 0 {
            break;
        }
        let act = if n % 2 == 0 {
            write("workspaces/coder-001/folder/x.md", "own")
        } else {
            read("workspaces/coder-001/folder/x.md")
        };
        match home.run(order(n, "coder-001", act)).await {
            Outcome { ok: true, text, .. } => {
                assert!(!text.contains("outside"), "{text}");
                done += 1;
            }
            Outcome { ok: false, .. } => refused += 1,
        }
        assert_eq!(home.read("policy/x.md"), "control");
        assert_eq!(home.read("../x.md"), "outside");
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(swapper.join().unwrap() > 0);
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused: the race was not run");
    assert_eq!(fs::read_dir(home.path("policy")).unwrap().count(), 1);
}
