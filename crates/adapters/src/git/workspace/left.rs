//! Locks that a killed Synod left in what is an agent's alone, its worktree and its branch, and what it wrote under them.
//! Git takes no lock away by itself, so every later step there would fail, and the agent would be told so for ever.

use std::fs;
use std::path::Path;

/// Takes the locks away, unless some git is at work in the folder. What is shared with the owner is not touched.
pub(super) fn sweep(path: &Path, admin: &Path, common: &Path, head: Option<String>) -> std::io::Result<()> {
    let branch = head.map(|head| common.join(format!("{head}.lock")));
    let own = ["index.lock", "index.synod.lock", "index.synod", "HEAD.lock"].map(|name| admin.join(name));
    let locks: Vec<_> = own.into_iter().chain(branch).collect();
    let left: Vec<_> = locks.iter().filter(|lock| fs::symlink_metadata(lock).is_ok()).collect();
    if left.is_empty() || is_git_in(path) {
        return Ok(());
    }
    left.into_iter().try_for_each(fs::remove_file)
}

/// Whether a git of somebody else works in a folder: it goes to the top of its worktree, and stays there while a person
/// writes a message.
fn is_git_in(folder: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    processes.flatten().any(|process| {
        let (at, name) = (process.path().join("cwd"), process.path().join("comm"));
        fs::read_link(at).is_ok_and(|at| at.starts_with(folder))
            && fs::read_to_string(name).is_ok_and(|name| name.starts_with("git"))
    })
}
