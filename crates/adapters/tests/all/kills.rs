//! What a kill leaves in a repository, made by hand: the next one comes to the right end, and nothing is in a person's way.

use std::fs;
use std::path::{Path, PathBuf};

use domain::tool::Act;
use testkit::tools::order;

use crate::home::Home;
use crate::reviews::{GOOD, code, is_clean, merge, merges, submit, team};

/// No process has this number: it is beyond what the system gives.
const DEAD: u32 = 2_147_483_646;

fn commit(message: &str) -> Act {
    Act::GitCommit { message: message.to_owned(), paths: Vec::new() }
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
