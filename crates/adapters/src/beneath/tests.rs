//! Ways out of the home that must not be one.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{Mode, mkfifoat};
use tempfile::TempDir;

use super::*;

/// A home with everything that could be used to leave it.
fn home() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    for name in ["policy", "workspaces/a", ".synod", "notes"] {
        std::fs::create_dir_all(home.join(name)).unwrap();
    }
    std::fs::write(home.join("notes/plain.md"), "plain").unwrap();
    std::fs::write(home.join(".synod/journal.db"), "secret").unwrap();
    std::fs::write(folder.path().join("outside.txt"), "outside").unwrap();
    symlink("/etc", home.join("notes/absolute")).unwrap();
    symlink("../../outside.txt", home.join("notes/relative")).unwrap();
    symlink("/proc/self/root/etc", home.join("notes/magic")).unwrap();
    symlink("plain.md", home.join("notes/inside")).unwrap();
    symlink("../../policy", home.join("workspaces/a/link")).unwrap();
    symlink("../../.synod", home.join("workspaces/a/own")).unwrap();
    symlink("loop", home.join("notes/loop")).unwrap();
    mkfifoat(CWD, home.join("notes/pipe"), Mode::from_raw_mode(0o600)).unwrap();
    drop(UnixListener::bind(home.join("notes/socket")).unwrap());
    folder
}

fn both(folder: &TempDir) -> [Root; 2] {
    let home = folder.path().join("home");
    let kernel = Root::open(&home).unwrap();
    assert_eq!(kernel.resolver, Resolver::Kernel);
    [kernel, Root::by_steps(&home).unwrap()]
}

#[test]
fn a_plain_path_is_opened() {
    let folder = home();
    for root in both(&folder) {
        for path in ["notes/plain.md", "./notes//plain.md", "notes/./plain.md"] {
            assert_eq!(root.file(path).unwrap().1, 5, "{path}");
        }
        assert_eq!(root.folder("notes").unwrap().real, PathBuf::from("notes"));
        assert_eq!(root.folder(".").unwrap().real, PathBuf::new());
    }
}

#[test]
fn no_path_leads_out_of_the_home() {
    let folder = home();
    let outside = folder.path().join("outside.txt").display().to_string();
    for root in both(&folder) {
        for path in [
            "..",
            "../outside.txt",
            "notes/../../outside.txt",
            "notes/..",
            "/etc/passwd",
            "/",
            "//etc/passwd",
            outside.as_str(),
            "notes/absolute/passwd",
            "notes/absolute",
            "notes/relative",
            "notes/magic/passwd",
            "notes/loop",
            "",
            "a\0b",
            &"x/".repeat(4000),
            &"n".repeat(300),
        ] {
            assert!(root.file(path).is_err(), "{path} by {:?}", root.resolver);
            assert!(root.folder(path).is_err(), "{path} by {:?}", root.resolver);
            assert!(root.place(&format!("{path}/new.txt")).is_err(), "{path} by {:?}", root.resolver);
        }
    }
}

#[test]
fn a_link_that_stays_beneath_is_followed_by_the_kernel_only() {
    let folder = home();
    let [kernel, steps] = both(&folder);
    assert_eq!(kernel.file("notes/inside").unwrap().1, 5);
    assert!(steps.file("notes/inside").is_err());
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = home();
    for root in both(&folder) {
        for (path, found) in
            [("notes/pipe", "a pipe"), ("notes", "a folder"), ("notes/socket", "a device or a socket")]
        {
            let expected = PathRefused::Kind { path: path.to_owned(), found, wanted: "a file" };
            assert_eq!(root.file(path).unwrap_err(), expected);
        }
    }
    // A device where one can be had without rights: the null device itself, seen as a home.
    let devices = Root::open(Path::new("/dev")).unwrap();
    assert_eq!(
        devices.file("null").unwrap_err(),
        PathRefused::Kind { path: "null".to_owned(), found: "a device", wanted: "a file" }
    );
}

#[test]
fn synods_own_folder_is_not_seen_under_any_name() {
    let folder = home();
    for root in both(&folder) {
        for path in [
            ".synod",
            ".synod/journal.db",
            "./.synod/journal.db",
            ".SYNOD/journal.db",
            ".Synod",
            ".synod./journal.db",
            ".synod /journal.db",
            ".syn\u{200c}od/journal.db",
            ".synod\u{feff}",
            "workspaces/a/own/journal.db",
            "workspaces/a/own",
            "workspaces/a.ignored/task-001/.env",
            "workspaces/a.Ignored.",
        ] {
            assert!(root.file(path).is_err(), "{path}");
            assert!(root.folder(path).is_err(), "{path}");
            assert!(root.place(&format!("{path}/x")).is_err(), "{path}");
            assert!(root.make_folder(path).is_err(), "{path}");
        }
    }
}

#[test]
fn control_files_are_not_written_under_any_name_or_before_they_exist() {
    let folder = home();
    for root in both(&folder) {
        for path in [
            "policy/commands.yaml",
            "policy/deep/er/x",
            "tasks/x.task.md",
            "tasks",
            "approvals/pending/a.approval.md",
            "agents/x.agent.yaml",
            "sessions/s",
            "inbox/x.jsonl",
            "log/audit.jsonl",
            "schemas/x.json",
            "synod.yaml",
            "run_mode.yaml",
            ".project/run_mode.yaml",
            "Synod.YAML",
            "synod.yaml.",
            "POLICY/x",
            ".git/hooks/pre-commit",
            "workspaces/a/.git/config",
            "workspaces/a/.GIT",
            "workspaces/a/link/commands.yaml",
            "workspaces/a/link/new/x",
        ] {
            match root.place(path) {
                Err(PathRefused::Control { .. }) => {}
                // Without the kernel, a link is refused before anybody looks where it leads.
                Err(_) if path.contains("link") && root.resolver == Resolver::Steps => {}
                other => panic!("{path}: {other:?}"),
            }
        }
        assert!(root.make_folder("policy").is_err(), "also if it is there");
        assert!(root.make_folder("tasks").is_err(), "also if it is not");
        assert_eq!(std::fs::read_dir(root.path().join("policy")).unwrap().count(), 0);
        assert!(!root.path().join("tasks").exists());
    }
}

#[test]
fn a_place_to_write_has_its_folders_made() {
    let folder = home();
    for root in both(&folder) {
        let place = root.place("artifacts/a/b/file.md").unwrap();
        assert_eq!(place.folder.real, PathBuf::from("artifacts/a/b"));
        assert_eq!(place.name, "file.md");
        assert_eq!(root.place("top.md").unwrap().folder.real, PathBuf::new());
        assert!(root.place("artifacts/").is_err());
        assert!(root.place(".").is_err());
        assert_eq!(root.make_folder("artifacts/a/b").unwrap().real, PathBuf::from("artifacts/a/b"));
    }
}

#[test]
fn a_home_that_moves_stays_the_same_home() {
    let folder = home();
    let root = Root::open(&folder.path().join("home")).unwrap();
    std::fs::rename(folder.path().join("home"), folder.path().join("moved")).unwrap();
    std::fs::create_dir_all(folder.path().join("home/notes")).unwrap();
    assert_eq!(root.file("notes/plain.md").unwrap().1, 5);
    assert!(root.file(".synod/journal.db").is_err());
}

#[test]
fn shared_contexts_are_seen_by_their_grants_and_not_by_their_path() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("contexts")).unwrap();
    std::fs::write(home.path().join("contexts/pay.json"), "{}").unwrap();
    std::os::unix::fs::symlink("contexts/pay.json", home.path().join("link.json")).unwrap();
    let root = Root::open(home.path()).unwrap();
    for path in ["contexts/pay.json", "link.json"] {
        assert_eq!(root.file(path).unwrap_err(), PathRefused::Granted { path: path.to_owned() });
    }
    assert!(root.folder("contexts").is_err());
    assert!(root.place("contexts/new.json").is_err());
    assert!(Root::with_contexts(home.path()).unwrap().file("contexts/pay.json").is_ok());
}
