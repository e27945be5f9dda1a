//! What a kill leaves in a repository, made by hand: the next one comes to the right end, and nothing is in a person's way.

use std::fs;
use std::path::{Path, PathBuf};

use domain::tool::{Act, GitCommit};
use git2::{Repository, Status};
use testkit::tools::order;

use crate::home::Home;
use crate::reviews::{GOOD, code, is_clean, merge, merges, submit, team};

/// No process has this number: it is beyond what the system gives.
const DEAD: u32 = 2_147_483_646;

fn commit(message: &str) -> Act {
    Act::GitCommit(GitCommit { message: message.to_owned(), paths: Vec::new() })
}

/// The lock of a Synod that was killed while it had the index.
fn lock(git_dir: &Path, branch: &str) {
    fs::write(git_dir.join("index.lock"), format!("synod {DEAD} {branch}\n")).unwrap();
}

/// What stands beside the index.
fn beside_index(git_dir: &Path) -> Vec<String> {
    let all = fs::read_dir(git_dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    all.filter(|name| name.starts_with("index.")).collect()
}

fn admin(home: &Home) -> PathBuf {
    let link = fs::read_to_string(home.path("workspaces/coder-001/.git")).unwrap();
    PathBuf::from(link.trim_end().strip_prefix("gitdir: ").unwrap())
}

fn tip(folder: &Path) -> git2::Oid {
    Repository::open(folder).unwrap().head().unwrap().target().unwrap()
}

#[tokio::test]
async fn a_kill_while_the_next_index_is_written_holds_no_commit_up() {
    let home = Home::new();
    home.write("workspaces/coder-001/a", "one");
    home.done(commit("one")).await;
    let git_dir = home.path("workspaces/coder-001/.git");
    lock(&git_dir, "refs/heads/main");
    fs::write(git_dir.join("index.synod"), "DIRC").unwrap();
    fs::write(git_dir.join("index.synod.lock"), "").unwrap();
    fs::write(git_dir.join(format!("index.synod-{DEAD}")), "").unwrap();
    home.write("workspaces/coder-001/a", "two");
    let outcome = home.run(order(2, "coder-001", commit("two"))).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert!(is_clean(&home.path("workspaces/coder-001")));
    assert_eq!(beside_index(&git_dir), Vec::<String>::new());
}

#[tokio::test]
async fn a_kill_while_the_next_index_is_written_holds_no_worktree_up() {
    let (home, _service) = team();
    code(&home, GOOD).await;
    let admin = admin(&home);
    lock(&admin, "refs/heads/agent/coder-001");
    fs::write(admin.join("index.synod.lock"), "").unwrap();
    code(&home, "echo two\n").await;
    assert!(is_clean(&home.path("workspaces/coder-001")));
    assert_eq!(beside_index(&admin), Vec::<String>::new());
}

#[tokio::test]
async fn a_merge_that_was_killed_while_the_next_index_is_written_is_finished() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    // The files went first.
    fs::write(service.join("greet.sh"), GOOD).unwrap();
    let git_dir = service.join(".git");
    lock(&git_dir, "refs/heads/main");
    fs::copy(git_dir.join("index"), git_dir.join("index.synod")).unwrap();
    fs::write(git_dir.join("index.synod.lock"), "").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(merges(&service).len(), 1);
    assert!(is_clean(&service));
    assert_eq!(beside_index(&git_dir), Vec::<String>::new());
}

/// A commit whose branch has moved when a kill came, and whose index is the one before.
fn take_index_back(folder: &Path, git_dir: &Path, branch: &str, index: &[u8]) {
    fs::rename(git_dir.join("index"), git_dir.join("index.synod")).unwrap();
    fs::write(git_dir.join("index"), index).unwrap();
    fs::write(git_dir.join("index.synod-moved"), format!("{branch} {}\n", tip(folder))).unwrap();
    lock(git_dir, branch);
    assert!(!is_clean(folder), "the reverse is staged");
}

#[tokio::test]
async fn a_kill_between_the_branch_and_the_index_stages_nothing() {
    let home = Home::new();
    let (place, git_dir) = (home.path("workspaces/coder-001"), home.path("workspaces/coder-001/.git"));
    home.write("workspaces/coder-001/a", "one").write("workspaces/coder-001/gone", "soon");
    home.done(commit("one")).await;
    let index = fs::read(git_dir.join("index")).unwrap();
    home.write("workspaces/coder-001/a", "two").write("workspaces/coder-001/b/new", "new");
    fs::remove_file(place.join("gone")).unwrap();
    assert!(home.run(order(7, "coder-001", commit("two"))).await.ok);
    take_index_back(&place, &git_dir, "refs/heads/main", &index);
    let again = home.run(order(7, "coder-001", commit("two"))).await;
    assert!(again.ok && again.text.ends_with("before a restart"), "{}", again.text);
    assert!(is_clean(&place));
    assert_eq!(beside_index(&git_dir), Vec::<String>::new());
}

#[tokio::test]
async fn a_kill_between_the_branch_and_the_index_of_a_worktree_stages_nothing() {
    let (home, _service) = team();
    code(&home, GOOD).await;
    let (place, admin) = (home.path("workspaces/coder-001"), admin(&home));
    let index = fs::read(admin.join("index")).unwrap();
    let text = "echo two\n";
    code(&home, text).await;
    take_index_back(&place, &admin, "refs/heads/agent/coder-001", &index);
    code(&home, text).await;
    assert!(is_clean(&place));
    assert_eq!(beside_index(&admin), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_person_staged_after_the_kill_stays_staged() {
    let home = Home::new();
    let (place, git_dir) = (home.path("workspaces/coder-001"), home.path("workspaces/coder-001/.git"));
    home.write("workspaces/coder-001/a", "one").write("workspaces/coder-001/mine", "one");
    home.done(commit("one")).await;
    let index = fs::read(git_dir.join("index")).unwrap();
    home.write("workspaces/coder-001/a", "two");
    assert!(home.run(order(7, "coder-001", commit("two"))).await.ok);
    take_index_back(&place, &git_dir, "refs/heads/main", &index);
    fs::remove_file(git_dir.join("index.lock")).unwrap();
    home.write("workspaces/coder-001/mine", "two");
    let repo = Repository::open(&place).unwrap();
    let mut staged = repo.index().unwrap();
    staged.add_path(Path::new("mine")).unwrap();
    staged.write().unwrap();
    assert!(home.run(order(7, "coder-001", commit("two"))).await.ok);
    let repo = Repository::open(&place).unwrap();
    let statuses = repo.statuses(None).unwrap();
    let found: Vec<(String, Status)> =
        statuses.iter().map(|entry| (entry.path().unwrap().to_owned(), entry.status())).collect();
    assert_eq!(found, [("mine".to_owned(), Status::INDEX_MODIFIED)]);
}

#[tokio::test]
async fn a_kill_before_the_branch_moved_takes_nothing_that_is_staged_away() {
    let home = Home::new();
    let (place, git_dir) = (home.path("workspaces/coder-001"), home.path("workspaces/coder-001/.git"));
    home.write("workspaces/coder-001/a", "one");
    home.done(commit("one")).await;
    let index = fs::read(git_dir.join("index")).unwrap();
    home.write("workspaces/coder-001/a", "two");
    assert!(home.run(order(7, "coder-001", commit("two"))).await.ok);
    // A person staged what was before; then a commit was to be made, and never was.
    take_index_back(&place, &git_dir, "refs/heads/main", &index);
    fs::write(git_dir.join("index.synod-moved"), format!("refs/heads/main {}\n", "1".repeat(40))).unwrap();
    home.write("workspaces/coder-001/b", "new");
    assert!(home.run(order(8, "coder-001", commit("three"))).await.ok);
    let repo = Repository::open(&place).unwrap();
    let status = repo.status_file(Path::new("a")).unwrap();
    assert_eq!(status, Status::INDEX_MODIFIED | Status::WT_MODIFIED);
    assert_eq!(repo.status_file(Path::new("b")).unwrap(), Status::CURRENT);
    assert_eq!(beside_index(&git_dir), Vec::<String>::new());
}

#[tokio::test]
async fn a_merge_that_was_killed_when_it_was_made_leaves_the_owner_no_lock() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let made = merge(&home, &place).await;
    let git_dir = service.join(".git");
    lock(&git_dir, "refs/heads/main");
    let again = merge(&home, &place).await;
    assert_eq!(again.finding, made.finding, "{}", again.text);
    assert_eq!(beside_index(&git_dir), Vec::<String>::new());
    // Nor where nothing can be merged any more.
    code(&home, "echo more\n").await;
    let next = submit(&home).await.unwrap();
    code(&home, "echo even more\n").await;
    lock(&git_dir, "refs/heads/main");
    assert!(!merge(&home, &next).await.ok);
    assert_eq!(beside_index(&git_dir), Vec::<String>::new());
    // What a person's git holds stays.
    fs::write(git_dir.join("index.lock"), "").unwrap();
    assert_eq!(merge(&home, &place).await.finding, made.finding);
    assert_eq!(beside_index(&git_dir), ["index.lock"]);
}

#[tokio::test]
async fn what_a_killed_write_left_aside_is_never_committed() {
    let home = Home::new();
    home.write("workspaces/coder-001/a", "one").write("workspaces/coder-001/src/b", "one");
    home.write("workspaces/coder-001/.synod-write-51-1.tmp", "half");
    home.write("workspaces/coder-001/src/.synod-write-52-1.tmp", "half");
    let said = home.done(commit("one")).await;
    assert!(said.ends_with(" on main:\nadded a\nadded src/b"), "{said}");
    let nothing = home.run(order(2, "coder-001", commit("two"))).await;
    assert_eq!((nothing.ok, nothing.text.as_str()), (false, "nothing has changed since the last commit"));
}
