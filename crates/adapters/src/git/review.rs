//! What a review needs of a repository: where the author's branch stands, a checkout of exactly one commit for
//! whoever looks at it, and what that commit changes.

use domain::review::{Place, short};
use git2::build::CheckoutBuilder;

use super::changes::{self, Changed};
use super::clear::clear;
use super::commit;
use super::patch::{cut_patch, show};
use super::target::aim;
use super::update;
use super::workspace::{self, UNFINISHED, Workspace};
use crate::until::Until;

/// So many names of files are told.
const NAMES_MAX: usize = 20;

/// Where the work in a workspace stands, if all of it is committed and there is something to merge it into.
pub(crate) fn submit(workspace: &Workspace, until: &Until) -> Result<Place, String> {
    let repo = workspace::repository(workspace)?;
    let head = commit::head(&repo).map_err(|why| why.to_string())?;
    if update::merging(workspace, &repo, head.commit.as_ref())?.is_some() {
        return Err("a merge is under way in your workspace; git_commit finishes it".to_owned());
    }
    let branch = head.branch.trim_start_matches("refs/heads/").to_owned();
    let tip = head.commit.ok_or("there is no commit yet; commit your work first")?;
    let tree = tip.tree().map_err(words)?;
    let changed = changes::find(&repo, &workspace.path, &tree, &[], until)?;
    if !changed.files.is_empty() {
        let names: Vec<&str> = changed.files.iter().take(NAMES_MAX).map(|file| file.path.as_str()).collect();
        return Err(format!("not committed yet: {}; git_commit first, then ask", names.join(", ")));
    }
    let (target, onto) = aim(workspace, &repo, &branch)?;
    let base = repo.merge_base(tip.id(), onto.id());
    let base = base.map_err(|_| format!("{branch} and {target} have no commit in common"))?;
    if base == tip.id() {
        return Err(format!("{branch} has nothing that {target} does not have; commit your work first"));
    }
    Ok(Place { branch, target, commit: tip.id().to_string(), base: base.to_string() })
}

/// Whether a checkout is at a commit: it was put there whole.
pub(crate) fn is_at(checkout: &Workspace, commit: &str) -> bool {
    let at = workspace::repository(checkout).ok().and_then(|repo| repo.head().ok()?.target());
    let is_whole = !checkout.git_dir.join(UNFINISHED).exists();
    is_whole && at.is_some_and(|at| at.to_string() == commit)
}

/// Makes the files of a checkout those of `commit` and nothing else: whatever checks left behind goes, because it could make
/// the next check pass. No branch moves.
pub(crate) fn check_out(checkout: &Workspace, commit: &str, until: &Until) -> Result<(), String> {
    if checkout.branch.is_some() {
        return Err(format!("{} is somebody's workspace", checkout.path.display()));
    }
    let repo = workspace::repository(checkout)?;
    let found = commit::find(&repo, commit)?;
    let tree = found.tree().map_err(words)?;
    let failed = |error: git2::Error| format!("{} cannot be checked out: {}", short(commit), error.message());
    let mark = checkout.git_dir.join(UNFINISHED);
    let marked = |done: std::io::Result<()>| done.map_err(|error| format!("{}: {error}", mark.display()));
    marked(std::fs::write(&mark, ""))?;
    clear(&repo, &checkout.path, &tree, until)?;
    let mut options = CheckoutBuilder::new();
    options.force().disable_filters(true);
    repo.checkout_tree(tree.as_object(), Some(&mut options)).map_err(failed)?;
    repo.set_head_detached(found.id()).map_err(failed)?;
    let left = changes::find(&repo, &checkout.path, &tree, &[], until)?;
    match left.files.first() {
        Some(file) => Err(format!("{} cannot be made as in {}; remove it", file.path, short(commit))),
        None => marked(std::fs::remove_file(&mark)),
    }
}

/// What `place.commit` changes, as a patch of at most `bytes_max` bytes, with the files that it shows.
pub(crate) fn diff(
    workspace: &Workspace,
    place: &Place,
    path: Option<&str>,
    bytes_max: u64,
    until: &Until,
) -> Result<(String, Vec<String>), String> {
    let repo = workspace::repository(workspace)?;
    let old = commit::find(&repo, &place.base)?.tree().map_err(words)?;
    let new = commit::find(&repo, &place.commit)?.tree().map_err(words)?;
    let wanted = |file: &Changed| match path.map(|path| path.trim_matches('/')) {
        None | Some("" | ".") => true,
        Some(path) => file.path == path || file.path.starts_with(&format!("{path}/")),
    };
    let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let files: Vec<Changed> = changes::between(&repo, &old, &new)?.into_iter().filter(wanted).collect();
    let mut text = String::new();
    let mut left = files.len();
    for file in &files {
        if text.len() >= max || until.is_over() {
            break;
        }
        left -= 1;
        show(&repo, file, max, &mut text)?;
    }
    let shown = files.len() - left;
    let files = files.into_iter().take(shown).map(|file| file.path).collect();
    Ok((cut_patch(text, max, left), files))
}

fn words(error: git2::Error) -> String {
    error.message().to_owned()
}
