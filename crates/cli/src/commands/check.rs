//! `synod check`: reads every file and tells what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use adapters::contexts::{Store, Text};
use adapters::git::workspace::look::{self, Trouble};
use adapters::sandbox::places::place;
use domain::context::{acl_path, places};
use domain::layout;
use formats::check::{FileKind, SourceFile};
use formats::{Diagnostic, Severity, render};
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::text::count;
use crate::view::files::{self, Unreadable};

const SETTINGS: &str = layout::SETTINGS;

/// What the check found.
pub struct Found {
    /// Errors and warnings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// Every file that was looked at, and its text.
    pub texts: BTreeMap<String, String>,
    /// Whether these are all files of the home.
    pub whole: bool,
}

pub fn run(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let Found { diagnostics, texts, .. } = look(home, u64::MAX);
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    let errors = diagnostics.iter().filter(is_error).count();
    if out.json {
        out.value(
            json!({ "diagnostics": diagnostics.iter().map(json).collect::<Vec<_>>(), "files": texts.len() }),
        );
    } else {
        for d in &diagnostics {
            out.line(render(d, texts.get(&d.path).map(String::as_str), out.color()));
        }
        let warnings = diagnostics.len() - errors;
        let paths: BTreeSet<&str> = diagnostics.iter().map(|d| d.path.as_str()).collect();
        let said = [(errors, "error"), (warnings, "warning")].into_iter().filter(|(n, _)| *n > 0);
        let said: Vec<String> = said.map(|(n, word)| count(n, word)).collect();
        out.line(match said.is_empty() {
            true => format!("{}, nothing wrong", count(texts.len(), "file")),
            false => format!("{} in {}", said.join(", "), count(paths.len(), "file")),
        });
    }
    Ok(if errors > 0 { Exit::Failed } else { Exit::Ok })
}

/// Checks the home. If its files together have more than `bytes_max` bytes, only what all work depends on: settings,
/// agents and policy.
pub fn look(home: &Path, bytes_max: u64) -> Found {
    let mut paths = files::all(home);
    let size = |path: &String| home.join(path).metadata().map_or(0, |m| m.len());
    let whole = bytes_max == u64::MAX || paths.iter().map(size).sum::<u64>() <= bytes_max;
    if !whole {
        paths.retain(|path| match formats::check::kind(path) {
            Some(FileKind::Settings | FileKind::RunMode | FileKind::Policy | FileKind::Agent) => true,
            Some(
                FileKind::Session
                | FileKind::Task
                | FileKind::Approval
                | FileKind::Inbox
                | FileKind::Acl
                | FileKind::Script,
            )
            | None => false,
        });
    }
    let mut diagnostics = Vec::new();
    let mut texts = BTreeMap::new();
    let mut unreadable = BTreeSet::new();
    for path in paths {
        let text = files::read(home, &path).unwrap_or_else(|error| {
            diagnostics.push(unread(&path, &error));
            unreadable.insert(path.clone());
            stand_in(error)
        });
        texts.insert(path, text);
    }
    let sources: Vec<SourceFile<'_>> = texts.iter().map(|(path, text)| SourceFile { path, text }).collect();
    // Of a file that is no text, one finding is enough.
    let found = formats::check::check(&sources).into_iter().filter(|d| !unreadable.contains(&d.path));
    diagnostics.extend(found);
    let contexts = if whole { wrong_contexts(home) } else { Vec::new() };
    let torn = if whole { torn_contexts(home) } else { Vec::new() };
    diagnostics.extend(contexts.into_iter().filter(|d| !unreadable.contains(&d.path)));
    diagnostics.extend(wrong_places(home, &texts));
    diagnostics.extend(sources.iter().filter_map(|file| wrong_repo(home, file)));
    drop(sources);
    for (found, text) in torn {
        texts.insert(found.path.clone(), text);
        diagnostics.push(found);
    }
    diagnostics.sort_by(|a, b| {
        (&a.path, a.line, a.column, &a.message).cmp(&(&b.path, b.line, b.column, &b.message))
    });
    Found { diagnostics, texts, whole }
}

/// What others may refer to must stay known, or at least possible: one bad file does not make all wrong.
fn stand_in(error: Unreadable) -> String {
    match error {
        Unreadable::NotUtf8 { bytes, .. } => String::from_utf8_lossy(&bytes).into_owned(),
        // Wrong in every format: the check then takes it that names it does not know stand here.
        Unreadable::System(_) | Unreadable::NotAFile | Unreadable::TooLarge { .. } => "- [%]".to_owned(),
    }
}

fn unread(path: &str, error: &Unreadable) -> Diagnostic {
    let (line, column, help) = match error {
        Unreadable::NotUtf8 { bytes, good } => {
            let before = String::from_utf8_lossy(&bytes[..*good]);
            let line = before.rsplit('\n').next().unwrap_or_default();
            (1 + before.matches('\n').count(), 1 + line.chars().count(), Some("save the file as UTF-8"))
        }
        Unreadable::System(_) | Unreadable::NotAFile | Unreadable::TooLarge { .. } => (1, 1, None),
    };
    Diagnostic {
        severity: Severity::Error,
        path: path.to_owned(),
        line,
        column,
        span: 0..0,
        message: format!("the file cannot be read: {error}"),
        help: help.map(str::to_owned),
    }
}

/// Files of shared contexts that nobody gets to see, because of what they are.
fn wrong_contexts(home: &Path) -> Vec<Diagnostic> {
    let Ok(store) = Store::open(home) else { return Vec::new() };
    let paths = store.names().into_iter().flat_map(|name| {
        let [json, text] = places(&name);
        [acl_path(&name), json, text]
    });
    let wrong = paths.filter_map(|path| {
        let error = store.text(&path).err()?;
        Some(Diagnostic {
            severity: Severity::Error,
            path,
            line: 1,
            column: 1,
            span: 0..0,
            message: error.to_string(),
            help: Some("keep it as a plain file in contexts/; until then nobody sees it".to_owned()),
        })
    });
    wrong.collect()
}

/// Contexts that are called JSON and are not, with or without a grant, and what they say.
fn torn_contexts(home: &Path) -> Vec<(Diagnostic, String)> {
    let Ok(store) = Store::open(home) else { return Vec::new() };
    let contents = store.names().into_iter().filter_map(|name| store.content(&name).ok().flatten());
    let torn = contents.filter(Text::is_json).filter_map(|Text { path, text }| {
        let (line, column, why) = files::not_json(&text)?;
        let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let at = text[start..].char_indices().nth(column - 1).map_or(text.len(), |(at, _)| start + at);
        let found = Diagnostic {
            severity: Severity::Error,
            path,
            line,
            column,
            span: at..at,
            message: format!("it is not JSON: {why}"),
            help: Some("it is given as it stands, and to nobody from whom a part of it is hidden".to_owned()),
        };
        Some((found, text))
    });
    torn.collect()
}

/// What `synod.yaml` names outside of itself and cannot: scripts that are not there, places that no command may read.
fn wrong_places(home: &Path, texts: &BTreeMap<String, String>) -> Vec<Diagnostic> {
    let Some(text) = texts.get(SETTINGS) else { return Vec::new() };
    let Some(settings) = formats::settings::read(SETTINGS, text).value else { return Vec::new() };
    let missing = settings.scripts().filter(|script| !home.join(script).exists()).map(|script| {
        error_at(
            text,
            "script:",
            script,
            format!("there is no file `{script}`"),
            "paths are relative to the home",
        )
    });
    let unread = settings.sandbox.read.iter().filter_map(|named| {
        let why = place(named, home).err()?;
        Some(error_at(text, "sandbox:", named, format!("`{named}` {why}"), "name the folder that is needed"))
    });
    missing.chain(unread).collect()
}

/// What is wrong with the repository that an agent's file names, at its place.
fn wrong_repo(home: &Path, file: &SourceFile<'_>) -> Option<Diagnostic> {
    formats::agent::named(file.path)?;
    let repo = formats::agent::read(file.path, file.text).value?.workspace?.repo?;
    let (severity, why, help) = match look::look(home, &repo).err()? {
        Trouble::Unusable(why) => {
            (Severity::Error, why, "paths are relative to the home; `git init` and a commit make one")
        }
        Trouble::Detached => (
            Severity::Warning,
            "is on no branch, so nothing can be merged".to_owned(),
            "check out a branch in it",
        ),
    };
    let message = format!("the repository `{repo}` {why}");
    Some(formats::check::at(file, &["workspace", "repo"], severity, message, help))
}

/// An error about a value of `synod.yaml`, at its place behind a key.
fn error_at(text: &str, key: &str, value: &str, message: String, help: &str) -> Diagnostic {
    let at = text.find(key).and_then(|from| Some(from + text[from..].find(value)?)).unwrap_or(0);
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    Diagnostic {
        severity: Severity::Error,
        path: SETTINGS.to_owned(),
        line: 1 + text[..at].matches('\n').count(),
        column: 1 + text[start..at].chars().count(),
        span: at..at + value.len(),
        message,
        help: Some(help.to_owned()),
    }
}

fn json(d: &Diagnostic) -> Value {
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({
        "severity": severity,
        "path": d.path,
        "line": d.line,
        "column": d.column,
        "message": d.message,
        "help": d.help,
    })
}
