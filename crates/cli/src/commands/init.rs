//! `synod init`: makes a home with a small team. Every choice in it has a comment.

mod repo;

use std::path::Path;

use adapters::disk::{self, Flush};
use domain::layout;
use serde_json::json;

use crate::failure::{Exit, Failure, fail};
use crate::out::Out;
use crate::site::{self, Occupied};
use crate::templates::{REPO, Template};

pub use repo::{Wanted, run as run_for_repository};

/// A folder is a home once it has this, so it is made last.
const LAST: &str = layout::SETTINGS;

/// Folders that people look for, even while they are empty.
const FOLDERS: [&str; 5] =
    [layout::TASKS, layout::SESSIONS, layout::INBOX, "approvals/pending", layout::WORKSPACES];

/// Whether a new home becomes a git repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Git {
    /// It does, unless it is inside one.
    Begin,
    /// It does not.
    Leave,
}

impl Git {
    /// What a `--no-git` flag says.
    pub fn unless(no_git: bool) -> Self {
        if no_git { Self::Leave } else { Self::Begin }
    }
}

pub fn run(dir: &Path, template: Template, occupied: Occupied, git: Git, out: &Out) -> anyhow::Result<Exit> {
    if dir.join(layout::SETTINGS).exists() {
        let message = format!("{} is a home already", dir.display());
        return Err(fail(Exit::Failed, message, "go on with `synod up` in it, or choose another folder"));
    }
    site::check(dir, occupied)?;
    let made = make_example(dir, template).map_err(|error| unmade(dir, error))?;
    let kept = begin_history(dir, &made, git, out);
    if out.json {
        out.value(json!({ "home": dir.display().to_string(), "files": made, "git": kept }));
        return Ok(Exit::Ok);
    }
    out.line(format!("{} is a home now:", dir.display()));
    for file in &made {
        out.line(format!("  {file}"));
    }
    if kept {
        out.line("Its history is kept in git: `synod history` shows it, `synod undo` takes something back.");
    }
    let go = if dir == Path::new(".") { String::new() } else { format!("cd {} && ", dir.display()) };
    out.line("");
    out.line("The models are scripted: no key is needed. Try it:");
    out.line(format!("  {go}{}", template.example()));
    Ok(Exit::Ok)
}

/// Makes a home, or goes on with the one that is there.
pub fn make_or_keep(dir: &Path, git: Git, out: &Out) -> anyhow::Result<()> {
    if !dir.join(layout::SETTINGS).exists() {
        site::check(dir, Occupied::Refused)?;
        let made = make_example(dir, Template::Team).map_err(|error| unmade(dir, error))?;
        begin_history(dir, &made, git, out);
    }
    Ok(())
}

/// Makes a new home a git repository; says whether its history is kept. A home without one works as well.
fn begin_history(dir: &Path, made: &[String], git: Git, out: &Out) -> bool {
    if git == Git::Leave {
        return false;
    }
    match adapters::git::init::begin(dir, made) {
        Ok(_) => true,
        Err(why) => {
            out.say(format!("warning: the history of the home is not kept: {why}"));
            false
        }
    }
}

/// Names the folder in an error that only has the words of the system.
fn unmade(dir: &Path, error: anyhow::Error) -> anyhow::Error {
    if error.is::<Failure>() {
        return error;
    }
    let message = format!("{} cannot become a home: {error}", dir.display());
    fail(Exit::Failed, message, "choose a folder that you may write to")
}

/// Makes the home of a template.
fn make_example(dir: &Path, template: Template) -> anyhow::Result<Vec<String>> {
    make(dir, &template.texts(), || begin_repository(dir, template))
}

/// Writes what is missing of a home, and gives the names of what it wrote. A file that stands there with other
/// content is somebody's, and nothing is written at all. `before_last` runs while the folder is no home yet.
fn make(
    dir: &Path,
    files: &[(String, String)],
    before_last: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<String>> {
    let schemas: Vec<(String, String)> = formats::schema::KINDS
        .iter()
        .filter_map(|kind| Some((format!("schemas/{kind}.json"), formats::schema::schema(kind)?)))
        .collect();
    // The schemas go first, for the same reason that synod.yaml goes last.
    let files: Vec<&(String, String)> = schemas.iter().chain(files).collect();
    for (name, text) in &files {
        match std::fs::read_to_string(dir.join(name)) {
            Ok(there) if there != *text => {
                let message = format!("{} exists and is not part of a new home", dir.join(name).display());
                return Err(fail(Exit::Failed, message, "choose an empty folder"));
            }
            _ => {}
        }
    }
    // It comes first: by it, a home that is not whole is known as one that may be completed.
    std::fs::create_dir_all(dir.join(layout::OWN))?;
    for folder in FOLDERS {
        std::fs::create_dir_all(dir.join(folder))?;
    }
    let mut made = Vec::new();
    let (last, first): (Vec<_>, Vec<_>) = files.into_iter().partition(|(name, _)| name == LAST);
    let mut write = |files: Vec<&(String, String)>| -> anyhow::Result<()> {
        for (name, text) in files {
            let path = dir.join(name);
            if !path.exists() {
                disk::replace(&path, None, text, Flush::Before)?;
                made.push(name.clone());
            }
        }
        Ok(())
    };
    write(first)?;
    before_last()?;
    write(last)?;
    Ok(made)
}

/// The repository that a template brings along gets its first commit.
fn begin_repository(dir: &Path, template: Template) -> anyhow::Result<()> {
    let files = template.files().iter().filter_map(|(name, _)| name.strip_prefix(REPO)?.strip_prefix('/'));
    let files: Vec<String> = files.map(str::to_owned).collect();
    if !files.is_empty() {
        adapters::git::init::example(&dir.join(REPO), &files)?;
    }
    Ok(())
}
