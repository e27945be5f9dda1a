//! The branch that the work of an agent is merged into, and the repository that has it.

use git2::{Commit, Oid, Repository};

use super::commit;
use super::workspace::{self, Workspace};

/// Where the work on a branch shall go, and the last commit there.
pub(super) fn aim<'r>(
    workspace: &Workspace,
    repo: &'r Repository,
    branch: &str,
) -> Result<(String, Commit<'r>), String> {
    let target = target_of(workspace)?;
    if target == branch {
        return Err(format!(
            "{branch} has no branch to go into: the workspace is a repository of its own. The owner of the home can give it one: `workspace: {{repo: …}}`"
        ));
    }
    let onto = repo.find_reference(&format!("refs/heads/{target}")).and_then(|r| r.peel_to_commit());
    let onto = onto.map_err(|_| format!("{target}, into which {branch} should go, has no commit"))?;
    Ok((target, onto))
}

/// The branch that is checked out where `repo:` says: what is merged goes there.
fn target_of(workspace: &Workspace) -> Result<String, String> {
    let repo = shared(workspace)?;
    let head = commit::head(&repo).map_err(|why| format!("the repository behind the workspace: {why}"))?;
    Ok(head.branch.trim_start_matches("refs/heads/").to_owned())
}

/// The repository that a workspace is a worktree of, as the folder that `repo:` names has it: branch, index and files.
pub(super) fn shared(workspace: &Workspace) -> Result<Repository, String> {
    let at = workspace.source.display();
    let repo = workspace::look::open(&workspace.source).map_err(|why| format!("{at} {why}"))?;
    match repo.commondir().canonicalize() {
        Ok(common) if common == workspace.common_dir => Ok(repo),
        Ok(_) | Err(_) => Err(format!("{at} is no longer the repository of {}", workspace.path.display())),
    }
}

/// Whether `commit` is `older` or comes after it.
pub(super) fn contains(repo: &Repository, commit: Oid, older: Oid) -> bool {
    commit == older || repo.graph_descendant_of(commit, older).unwrap_or(false)
}
