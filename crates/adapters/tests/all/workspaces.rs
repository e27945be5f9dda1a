//! Workspaces and the git tools: whose files they are, what is committed once, and that nothing that a repository
//! brings along runs or leads elsewhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use adapters::git::workspace::{Workspaces, clean_up};
use domain::evidence::Evidence;
use domain::id::{AgentId, TaskId};
use domain::settings::Settings;
use domain::tool::{Act, Check, GitCommit, GitDiff, RunTests};
use git2::{Repository, Signature};
use ports::tools::Tools as _;
use testkit::tools::order;

use crate::home::{Home, command, write};

fn commit(message: &str) -> Act {
    Act::GitCommit(GitCommit { message: message.to_owned(), paths: Vec::new() })
}

fn commit_only(paths: &[&str]) -> Act {
    Act::GitCommit(GitCommit {
        message: "some".to_owned(),
        paths: paths.iter().map(|p| (*p).to_owned()).collect(),
    })
}

fn diff() -> Act {
    Act::GitDiff(GitDiff { path: None, against: None })
}

fn ensure(home: &Home, agent: &str) -> Result<(), String> {
    Workspaces::of(&home.path(".")).ensure(&AgentId::new(agent)).map(|_| ())
}

/// A repository beside the home with one commit.
fn service(home: &Home) -> PathBuf {
    let place = home.path("../service");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("main.rs"), "fn main() {}\n").unwrap();
    fs::write(place.join(".gitattributes"), "*.bat text eol=crlf\n").unwrap();
    fs::write(place.join("run.bat"), "one\ntwo\n").unwrap();
    let repo = Repository::init(&place).unwrap();
    let mut index = repo.index().unwrap();
    index.add_all(["."], git2::IndexAddOption::DEFAULT, None).unwrap();
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let dana = Signature::now("dana", "dana@example.org").unwrap();
    repo.commit(Some("HEAD"), &dana, &dana, "begin", &tree, &[]).unwrap();
    place
}

fn agent(home: &Home, id: &str, workspace: &str) {
    let text = format!("id: {id}\ntype: coder\nmodel: m\nworkspace: {workspace}\n");
    home.write(&format!("agents/{id}.agent.yaml"), text);
}

fn log_of(folder: &Path) -> Vec<(String, String)> {
    let repo = Repository::open(folder).unwrap();
    let mut walk = repo.revwalk().unwrap();
    walk.push_head().unwrap();
    let entry = |id: Result<git2::Oid, _>| {
        let commit = repo.find_commit(id.unwrap()).unwrap();
        (commit.author().name().unwrap().to_owned(), commit.summary().unwrap().unwrap().to_owned())
    };
    walk.map(entry).collect()
}

fn names_at_head(folder: &Path) -> Vec<String> {
    let repo = Repository::open(folder).unwrap();
    let tree = repo.head().unwrap().peel_to_tree().unwrap();
    let mut names = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(git2::ObjectType::Blob) {
            names.push(format!("{folder}{}", entry.name().unwrap()));
        }
        git2::TreeWalkResult::Ok
    })
    .unwrap();
    names
}

#[tokio::test]
async fn an_agent_commits_in_a_repository_of_its_own() {
    let home = Home::new();
    home.done(write("workspaces/coder-001/src/a.rs", "one\n")).await;
    home.write("workspaces/coder-001/.gitignore", "target/\n").write("workspaces/coder-001/target/x", "no");
    let shown = home.done(diff()).await;
    assert!(shown.contains("added src/a.rs\n@@ -0,0 +1,1 @@\n+one\n"), "{shown}");
    assert!(!shown.contains("target/x"), "{shown}");
    let said = home.done(commit("begin\n\nSynod-Effect: 9")).await;
    assert!(said.contains(" on main:\nadded .gitignore\nadded src/a.rs"), "{said}");
    let place = home.path("workspaces/coder-001");
    assert_eq!(log_of(&place), [("coder-001".to_owned(), "begin".to_owned())]);
    assert_eq!(names_at_head(&place), [".gitignore", "src/a.rs"]);
    assert_eq!(home.done(diff()).await, "nothing differs");
    // What git itself would say: nothing is staged, nothing differs.
    let repo = Repository::open(&place).unwrap();
    assert!(repo.statuses(None).unwrap().iter().all(|entry| entry.status() == git2::Status::IGNORED));
}

#[test]
fn a_worktree_that_a_crash_left_half_made_is_made() {
    let home = Home::new();
    service(&home);
    agent(&home, "coder-001", "{repo: ../service}");
    home.write("workspaces/coder-001/.git", "");
    ensure(&home, "coder-001").unwrap();
    assert!(home.path("workspaces/coder-001/main.rs").exists());
}

#[test]
fn locks_that_a_kill_left_in_a_worktree_and_on_its_branch_go_and_those_of_others_stay() {
    let home = Home::new();
    let service = service(&home);
    agent(&home, "coder-001", "{repo: ../service}");
    let branch = service.join(".git/refs/heads/agent/coder-001.lock");
    let main = service.join(".git/refs/heads/main.lock");
    let lock = |place: &Path| {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "").unwrap();
    };
    // Killed while the branch was made, then while its files were put in place.
    lock(&branch);
    ensure(&home, "coder-001").unwrap();
    let link = fs::read_to_string(home.path("workspaces/coder-001/.git")).unwrap();
    let admin = PathBuf::from(link.trim_end().strip_prefix("gitdir: ").unwrap());
    fs::write(admin.join("synod-unfinished"), "").unwrap();
    let index = admin.join("index.lock");
    for place in [&branch, &index, &main] {
        lock(place);
    }
    let workspaces = Workspaces::of(&home.path("."));
    workspaces.ensure(&AgentId::new("coder-001")).unwrap();
    assert!(!branch.exists() && !index.exists() && main.exists());
    // What is locked from now on is locked by somebody who works.
    lock(&index);
    workspaces.ensure(&AgentId::new("coder-001")).unwrap();
    assert!(index.exists());
    assert_eq!(ends(&home, "coder-001", Some("../service")), Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_that_reads_first_finds_its_checkout() {
    let home = Home::new();
    service(&home);
    agent(&home, "coder-001", "{repo: ../service}");
    let read = home.done(Act::read_file("workspaces/coder-001/main.rs")).await;
    assert!(read.contains("fn main() {}"), "{read}");
}

#[tokio::test]
async fn a_commit_that_a_crash_kept_from_being_told_is_not_made_again() {
    let home = Home::new();
    home.write("workspaces/coder-001/a", "one");
    let first = home.run(order(7, "coder-001", commit("one"))).await;
    home.write("workspaces/coder-001/a", "two");
    let again = home.run(order(7, "coder-001", commit("one"))).await;
    assert!(first.ok && again.ok, "{first:?} {again:?}");
    assert!(again.text.ends_with("before a restart"), "{}", again.text);
    assert_eq!(again.text[..50], first.text[..50], "the same commit is named");
    let place = home.path("workspaces/coder-001");
    assert_eq!(log_of(&place).len(), 1);
    // Another effect is another commit, even with the same words.
    assert!(home.run(order(8, "coder-001", commit("one"))).await.ok);
    assert_eq!(log_of(&place).len(), 2);
    assert!(home.failed(commit("three")).await.contains("nothing has changed"));
}

#[tokio::test]
async fn only_the_named_paths_are_committed() {
    let home = Home::new();
    for file in ["a/one", "a/two", "ab/three", "b"] {
        home.write(&format!("workspaces/coder-001/{file}"), file);
    }
    let locate = |act| home.tools.locate("workspaces/coder-001", act, true);
    home.done(locate(commit_only(&["./a/", "b"]))).await;
    let place = home.path("workspaces/coder-001");
    assert_eq!(names_at_head(&place), ["a/one", "a/two", "b"]);
    for path in ["../../synod.yaml", "/etc/passwd", "a/../../x"] {
        assert!(
            home.failed(locate(commit_only(&[path]))).await.contains("is not in your workspace"),
            "{path}"
        );
    }
    // A file that became a folder, and one that went.
    fs::remove_file(place.join("b")).unwrap();
    home.write("workspaces/coder-001/b/now", "a folder");
    fs::remove_dir_all(place.join("a")).unwrap();
    home.run(order(9, "coder-001", commit("change"))).await;
    assert_eq!(names_at_head(&place), ["ab/three", "b/now"]);
}

#[tokio::test]
async fn a_diff_is_bounded_and_shows_nothing_that_steers_a_terminal() {
    let home = Home::new();
    home.write("workspaces/coder-001/a\n\u{1b}[31m", "x\u{1b}[2Jy\n")
        .write("workspaces/coder-001/bin", b"\0\x01");
    let shown = home.done(diff()).await;
    assert!(shown.contains("added \"a\\n\\x1b[31m\"\n@@ -0,0 +1,1 @@\n+x\\u{1b}[2Jy\n"), "{shown}");
    assert!(shown.contains("added bin\n  binary, 0 bytes before, 2 now\n"), "{shown}");
    for n in 0..40 {
        home.write(&format!("workspaces/coder-001/long-{n}"), "word\n".repeat(200));
    }
    let mut short = order(1, "coder-001", diff());
    short.output_bytes_max = 1_000;
    let text = home.run(short).await.text;
    assert!(text.len() < 1_100 && text.contains("more files differ; give a path]"), "{}", text.len());
    for against in ["--output=x", ":/begin", "@{upstream}", "no-such"] {
        let act = Act::GitDiff(GitDiff { path: None, against: Some(against.to_owned()) });
        assert!(home.failed(act).await.contains("names no commit"), "{against}");
    }
}

#[tokio::test]
async fn a_worktree_is_made_on_the_agents_branch_with_plain_bytes() {
    let home = Home::new();
    let source = service(&home);
    agent(&home, "coder-001", "{repo: ../service}");
    assert_eq!(home.done(diff()).await, "nothing differs");
    assert_eq!(home.read("workspaces/coder-001/run.bat"), "one\ntwo\n");
    home.done(write("workspaces/coder-001/new.rs", "new\n")).await;
    let said = home.done(commit("add new.rs")).await;
    assert!(said.contains(" on agent/coder-001:\nadded new.rs"), "{said}");
    let repo = Repository::open(&source).unwrap();
    let tip =
        repo.find_branch("agent/coder-001", git2::BranchType::Local).unwrap().get().peel_to_commit().unwrap();
    assert_eq!(tip.summary().unwrap(), Some("add new.rs"));
    assert_eq!(
        repo.head().unwrap().peel_to_commit().unwrap().summary().unwrap(),
        Some("begin"),
        "theirs stays"
    );
    assert!(!source.join("new.rs").exists());
    let act = Act::GitDiff(GitDiff { path: None, against: Some("agent/coder-001~1".to_owned()) });
    assert!(home.done(act).await.contains("added new.rs"));
    // The folder is deleted: the worktree is made anew, with what was committed.
    fs::remove_dir_all(home.path("workspaces/coder-001")).unwrap();
    assert_eq!(home.done(diff()).await, "nothing differs");
    assert_eq!(home.read("workspaces/coder-001/new.rs"), "new\n");
}

#[tokio::test]
async fn two_agents_never_share_a_branch_or_a_folder() {
    let home = Home::new();
    let source = service(&home);
    agent(&home, "coder-001", "{repo: ../service, branch: work}");
    agent(&home, "coder-002", "{repo: ../service, branch: work}");
    agent(&home, "coder-003", "{repo: workspaces/coder-001}");
    agent(&home, "coder-004", "{repo: .}");
    agent(&home, "coder-005", "{repo: ../service, branch: \"--output=x\"}");
    agent(&home, "coder-006", "{repo: ../nothing}");
    ensure(&home, "coder-001").unwrap();
    assert!(ensure(&home, "coder-002").unwrap_err().contains("is checked out in"), "a branch");
    for id in ["coder-003", "coder-004"] {
        assert!(ensure(&home, id).unwrap_err().contains("is the home or a workspace"), "{id}");
    }
    assert!(ensure(&home, "coder-005").unwrap_err().contains("no name of a branch"));
    assert!(ensure(&home, "coder-006").unwrap_err().contains("cannot be opened"));
    // Not even the branch that people have checked out.
    let main = Repository::open(&source).unwrap().head().unwrap().shorthand().unwrap().to_owned();
    agent(&home, "coder-007", &format!("{{repo: ../service, branch: {main}}}"));
    assert!(ensure(&home, "coder-007").unwrap_err().contains("is checked out in"));
    // A folder that is somebody's: nothing of it is touched.
    home.write("workspaces/coder-008/notes.md", "mine");
    agent(&home, "coder-008", "{repo: ../service}");
    assert!(ensure(&home, "coder-008").unwrap_err().contains("it has files already. Move it away"));
    assert_eq!(home.read("workspaces/coder-008/notes.md"), "mine");
}

#[tokio::test]
async fn a_workspace_that_leads_elsewhere_is_refused() {
    let home = Home::new();
    let source = service(&home);
    home.write("policy/commands.yaml", "commands: {}\n");
    let workspace = |id: &str| {
        ensure(&home, id).unwrap();
        home.path(&format!("workspaces/{id}"))
    };
    let config = |id: &str, text: &str| {
        let place = workspace(id).join(".git/config");
        let before = fs::read_to_string(&place).unwrap();
        fs::write(place, format!("{before}{text}")).unwrap();
    };
    config("a", &format!("[core]\n\tworktree = {}\n", home.path("policy").display()));
    config("b", "[core]\n\tbare = true\n");
    let c = workspace("c");
    fs::remove_dir_all(c.join(".git")).unwrap();
    fs::write(c.join(".git"), format!("gitdir: {}\n", source.join(".git").display())).unwrap();
    let d = workspace("d");
    fs::remove_dir_all(d.join(".git")).unwrap();
    symlink(source.join(".git"), d.join(".git")).unwrap();
    fs::write(
        workspace("e").join(".git/objects/info/alternates"),
        source.join(".git/objects").to_str().unwrap(),
    )
    .unwrap();
    fs::write(workspace("f").join(".git/commondir"), source.join(".git").to_str().unwrap()).unwrap();
    let g = workspace("g").join(".git/config");
    fs::remove_file(&g).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &g,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    fs::create_dir_all(home.path("workspaces")).unwrap();
    symlink(home.path("policy"), home.path("workspaces/h")).unwrap();
    let i = workspace("i");
    fs::remove_dir_all(i.join(".git/objects")).unwrap();
    symlink(source.join(".git/objects"), i.join(".git/objects")).unwrap();
    for id in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        let why = ensure(&home, id).unwrap_err();
        for act in [commit("x"), diff(), write(&format!("workspaces/{id}/x"), "x")] {
            let outcome = home.run(order(1, id, act.clone())).await;
            assert!(!outcome.ok, "{id} {act:?}: {outcome:?}");
        }
        assert!(why.contains("workspaces/"), "{why}");
    }
    assert_eq!(home.read("policy/commands.yaml"), "commands: {}\n");
    assert_eq!(log_of(&source).len(), 1, "the other repository is as it was");
}

#[tokio::test]
async fn nothing_that_a_hostile_repository_brings_along_runs() {
    let home = Home::new();
    let source = service(&home);
    let marker = home.path("../marker");
    let run = hostile(&source, &marker);
    home.write("workspaces/coder-002/seed", "x");
    ensure(&home, "coder-002").unwrap();
    hostile(&home.path("workspaces/coder-002"), &marker);
    agent(&home, "coder-001", "{repo: ../service}");
    for id in ["coder-001", "coder-002"] {
        let own = home.path(&format!("workspaces/{id}"));
        ensure(&home, id).unwrap();
        litter(&home, &own);
        for act in [
            diff(),
            Act::GitDiff(GitDiff { path: None, against: Some("HEAD".to_owned()) }),
            commit("one"),
            commit_only(&["--output=x", "a\nb"]),
        ] {
            let outcome = home.run(order(3, id, act)).await;
            assert!(!outcome.text.contains('\u{1b}'), "{}", outcome.text);
        }
        let names = names_at_head(&own);
        assert!(names.contains(&"--output=x".to_owned()) && names.contains(&"a\nb".to_owned()), "{names:?}");
        let bad = |name: &String| name.to_lowercase().contains(".git/") || name.contains("git~1");
        assert!(!names.iter().any(bad), "{names:?}");
        let repo = Repository::open(&own).unwrap();
        let tree = repo.head().unwrap().peel_to_tree().unwrap();
        // A link is kept as a link; what it points at is not read.
        let link = tree.get_path(Path::new("link")).unwrap();
        assert_eq!(link.filemode(), 0o120_000);
        assert!(!names.iter().any(|name| name.starts_with("linked/")), "{names:?}");
        assert!(!own.join("x").exists(), "no option was taken from a file name");
    }
    assert!(!marker.exists(), "something ran: {run}");
    // And it would have, had git been asked.
    let git =
        std::process::Command::new("git").arg("-C").arg(&source).args(["diff", "HEAD"]).output().unwrap();
    assert!(marker.exists(), "{git:?}");
}

/// Gives a repository every setting, hook and attribute that makes git run something, all the same program.
fn hostile(place: &Path, marker: &Path) -> String {
    let git = place.join(".git");
    let run = place.join("run.sh");
    fs::write(&run, format!("#!/bin/sh\necho ran >> {}\ncat\n", marker.display())).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    let run = run.display().to_string();
    fs::write(place.join("outside.config"), format!("[core]\n\tpager = {run}\n\tfsmonitor = {run}\n"))
        .unwrap();
    fs::write(
        git.join("config"),
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tfsmonitor = {run}\n\tpager = {run}\n\teditor = {run}\n\
             \tsshCommand = {run}\n\taskPass = {run}\n\thooksPath = {hooks}\n\tgitProxy = {run}\n\talternateRefsCommand = {run}\n\
             \tattributesFile = {place}/.gitattributes\n\texcludesFile = {place}/none\n\tautocrlf = true\n\
             [include]\n\tpath = {place}/outside.config\n[diff]\n\texternal = {run}\n\
             [diff \"evil\"]\n\ttextconv = {run}\n\tcommand = {run}\n[merge \"evil\"]\n\tdriver = {run}\n\
             [filter \"evil\"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\trequired = true\n\
             [alias]\n\tcommit = !{run}\n\tdiff = !{run}\n[credential]\n\thelper = !{run}\n[gpg]\n\tprogram = {run}\n\
             [commit]\n\tgpgSign = true\n\ttemplate = {run}\n[sequence]\n\teditor = {run}\n[uploadpack]\n\tpackObjectsHook = {run}\n\
             [init]\n\ttemplateDir = {place}\n[trailer \"x\"]\n\tcommand = {run}\n[interactive]\n\tdiffFilter = {run}\n\
             [submodule \"sub\"]\n\turl = ext::{run}\n\tupdate = !{run}\n[protocol \"ext\"]\n\tallow = always\n",
            place = place.display(),
            hooks = git.join("hooks").display(),
        ),
    )
    .unwrap();
    fs::create_dir_all(git.join("hooks")).unwrap();
    fs::create_dir_all(git.join("info")).unwrap();
    for hook in [
        "applypatch-msg",
        "commit-msg",
        "fsmonitor-watchman",
        "p4-changelist",
        "post-applypatch",
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-receive",
        "post-rewrite",
        "post-update",
        "pre-applypatch",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-push",
        "pre-rebase",
        "pre-receive",
        "prepare-commit-msg",
        "proc-receive",
        "push-to-checkout",
        "reference-transaction",
        "sendemail-validate",
        "update",
    ] {
        fs::copy(&run, git.join("hooks").join(hook)).unwrap();
    }
    let attributes = "* filter=evil diff=evil merge=evil ident text=auto working-tree-encoding=UTF-16\n";
    fs::write(place.join(".gitattributes"), attributes).unwrap();
    fs::write(git.join("info/attributes"), attributes).unwrap();
    fs::write(place.join(".gitmodules"), format!("[submodule \"sub\"]\n\tpath = sub\n\turl = ext::{run}\n"))
        .unwrap();
    run
}

/// File names that are taken for something else.
fn litter(home: &Home, own: &Path) {
    for name in [
        "--output=x",
        "a\nb",
        "-c",
        ".GIT/config",
        ".git. /config",
        "git~1/config",
        "e\u{1b}[31m",
        "nested/.git/HEAD",
    ] {
        let place = own.join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "[core]\n\tfsmonitor = evil\n").unwrap();
    }
    fs::write(own.join(".gitattributes"), "* filter=evil diff=evil ident text=auto\n").unwrap();
    home.write("policy/commands.yaml", "commands: {}\n");
    symlink(home.path("policy/commands.yaml"), own.join("link")).unwrap();
    symlink(home.path("policy"), own.join("linked")).unwrap();
    let pipe = own.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
}

fn ends(home: &Home, agent: &str, repo: Option<&str>) -> Vec<String> {
    let spec = domain::agent::Workspace { repo: repo.map(str::to_owned), ..Default::default() };
    let kept = clean_up(&home.path("."), &AgentId::new(agent), Some(&spec));
    assert_eq!(clean_up(&home.path("."), &AgentId::new(agent), Some(&spec)), kept, "again after a crash");
    kept
}

#[test]
fn of_a_workspace_that_ends_stays_what_is_nowhere_else() {
    let home = Home::new();
    let place = service(&home);
    for name in ["clean", "dirty", "ahead"] {
        agent(&home, name, "{repo: ../service}");
        ensure(&home, name).unwrap();
    }
    fs::write(home.path("workspaces/dirty/new.txt"), "x").unwrap();
    // What was put aside because git leaves it out has the end of its workspace.
    home.write("workspaces/clean.ignored/task-001/out", "x");
    home.write("workspaces/dirty.ignored/task-001/out", "x");
    let repo = Repository::open(home.path("workspaces/ahead")).unwrap();
    let (dana, tip) =
        (Signature::now("dana", "d@example.org").unwrap(), repo.head().unwrap().peel_to_commit().unwrap());
    repo.commit(Some("HEAD"), &dana, &dana, "more", &tip.tree().unwrap(), &[&tip]).unwrap();
    assert_eq!(ends(&home, "clean", Some("../service")), Vec::<String>::new());
    assert_eq!(
        ends(&home, "dirty", Some("../service")),
        ["workspaces/dirty is kept: 1 of its files are not committed (branch agent/dirty)"]
    );
    assert_eq!(
        ends(&home, "ahead", Some("../service")),
        ["the branch agent/ahead of ../service is kept: 1 of its commits are not merged"]
    );
    let there = |path: &str| home.path(path).exists();
    assert_eq!(
        ["clean", "dirty", "ahead", "clean.ignored", "dirty.ignored"]
            .map(|name| there(&format!("workspaces/{name}"))),
        [false, true, false, false, true]
    );
    let source = Repository::open(&place).unwrap();
    let branches: Vec<String> = source
        .branches(Some(git2::BranchType::Local))
        .unwrap()
        .map(|branch| branch.unwrap().0.name().unwrap().unwrap().to_owned())
        .filter(|name| name.starts_with("agent/"))
        .collect();
    assert_eq!(branches, ["agent/ahead", "agent/dirty"]);
    assert_eq!(fs::read_dir(place.join(".git/worktrees")).unwrap().count(), 1);
    for name in ["empty", "files"] {
        ensure(&home, name).unwrap();
    }
    fs::write(home.path("workspaces/files/a.txt"), "x").unwrap();
    assert_eq!(ends(&home, "empty", None), Vec::<String>::new());
    assert_eq!(ends(&home, "files", None), ["workspaces/files is kept: it has files that are nowhere else"]);
    assert_eq!(["empty", "files"].map(|name| there(&format!("workspaces/{name}"))), [false, true]);
    assert_eq!(ends(&home, "never", None), Vec::<String>::new(), "one that was never made");
}

#[tokio::test]
async fn what_a_rule_covers_is_told_by_commands_diffs_and_evidence() {
    let home = Home::new();
    service(&home);
    agent(&home, "coder-001", "{repo: ../service, test: 'cat vendor/x.c'}");
    assert_eq!(home.done(diff()).await, "nothing differs");
    let mut settings = Settings::default();
    settings.trust.outside = vec!["workspaces/*/vendor/*".to_owned(), "memory/*".to_owned()];
    home.tools.settle(&settings);
    let own = "workspaces/coder-001";
    let told = |read: Vec<String>| read.into_iter().filter(|place| place != own).collect::<Vec<_>>();
    let read = async |act: Act| told(home.run(order(1, "coder-001", act)).await.read);
    let nothing: [&str; 0] = [];
    assert_eq!(read(command("make test")).await, nothing, "no rule covers anything that is there");
    home.write(&format!("{own}/vendor/x.c"), "theirs\n");
    symlink("vendor/x.c", home.path(&format!("{own}/link.c"))).unwrap();
    let (file, folder) = (format!("{own}/vendor/x.c"), format!("{own}/vendor"));
    for (words, expected) in [
        ("cat vendor/x.c", vec![&file]),
        ("cat vendor/*.c", vec![&file]),
        ("cat link.c", vec![&file]),
        ("ls vendor", vec![&folder]),
        ("ls", vec![]),
        ("cat main.rs", vec![]),
        ("ls -R", vec![&folder]),
        ("grep -r x .", vec![&folder]),
        ("make test", vec![&folder]),
        ("cd vendor && cat x.c", vec![&folder]),
        ("cat $(echo vendor/x.c)", vec![&folder]),
    ] {
        assert_eq!(read(command(words)).await, expected.into_iter().cloned().collect::<Vec<_>>(), "{words}");
    }
    assert_eq!(read(Act::RunTests(RunTests {})).await, std::slice::from_ref(&file));
    assert_eq!(read(diff()).await, std::slice::from_ref(&file));
    let check =
        |evidence| Act::Check(Check { task: TaskId::new("task-001"), evidence, result: String::new() });
    assert_eq!(read(check(Evidence::File(file.clone()))).await, std::slice::from_ref(&file));
    assert_eq!(read(check(Evidence::Command("make".to_owned()))).await, [folder]);
}
