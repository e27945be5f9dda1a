//! The check of a whole home: what every parser finds, and what only shows when files are read together.

mod cross;
mod cycle;

use std::collections::BTreeSet;

use domain::agent::Spec;
use domain::context::Acl;
use domain::layout;
use domain::mode::Mode;
use domain::settings::Settings;

use crate::approval::{self, Decision};
use crate::diagnostic::{Diagnostic, Notes, Severity};
use crate::session::SessionFile;
use crate::task::{QUEUE_FILE, TaskFile};
use crate::{acl, agent, inbox, policy, run_mode, script, settings};

/// A file of the home.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// Relative to the home, with `/`.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What kind of file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `synod.yaml`, or `eve.json` where there is none
    Settings,
    /// `run_mode.yaml`
    RunMode,
    /// `policy/commands.yaml`
    Policy,
    /// `agents/…`
    Agent,
    /// `sessions/*.session.yaml`
    Session,
    /// `tasks/*.task.md`
    Task,
    /// `approvals/*/*.approval.md`
    Approval,
    /// `inbox/*.jsonl`
    Inbox,
    /// `contexts/*.acl.yaml`
    Acl,
    /// `*.script.yaml`, or what a provider names.
    Script,
}

/// The kind of a file by its path; `None` for files that Synod does not read.
pub fn kind(path: &str) -> Option<FileKind> {
    let beneath = |folder: &str, end: &str| layout::is_inside(path, folder) && path.ends_with(end);
    match path {
        layout::SETTINGS | layout::EVE => Some(FileKind::Settings),
        layout::RUN_MODE | layout::PROJECT_RUN_MODE => Some(FileKind::RunMode),
        layout::COMMANDS => Some(FileKind::Policy),
        _ if beneath(layout::AGENTS, layout::AGENT_END) || beneath(layout::AGENTS, "/agent.json") => {
            Some(FileKind::Agent)
        }
        _ if beneath(layout::SESSIONS, layout::SESSION_END) => Some(FileKind::Session),
        _ if beneath(layout::TASKS, layout::TASK_END) => Some(FileKind::Task),
        _ if beneath(layout::APPROVALS, layout::APPROVAL_END) => Some(FileKind::Approval),
        _ if beneath(layout::INBOX, layout::LINES_END) && !path.ends_with(layout::OUTBOX_END) => {
            Some(FileKind::Inbox)
        }
        _ if beneath(layout::CONTEXTS, layout::GRANTS_END) => Some(FileKind::Acl),
        _ if path.ends_with(".script.yaml") => Some(FileKind::Script),
        _ => None,
    }
}

/// What the files say, each with its place in the list of files.
#[derive(Default)]
struct Home {
    settings: Option<(usize, Settings)>,
    /// There is a `synod.yaml`.
    is_settled: bool,
    /// The settings cannot be read, so an unknown role may be theirs.
    broken_settings: bool,
    agents: Vec<(usize, Spec)>,
    tasks: Vec<(usize, TaskFile)>,
    sessions: Vec<(usize, SessionFile)>,
    scripts: Vec<(usize, script::Script)>,
    acls: Vec<(usize, Acl)>,
    /// An agent, task or session whose file cannot be read may still be named by others.
    broken_agents: bool,
    broken_tasks: bool,
}

/// Checks all files together. Sorted by path, line and column.
pub fn check(files: &[SourceFile<'_>]) -> Vec<Diagnostic> {
    let mut home = Home::default();
    let mut found = Vec::new();
    let mut notes: Vec<Notes<'_>> = files.iter().map(|f| Notes::new(f.path, f.text)).collect();
    let scripts = script_paths(files);
    home.is_settled = files.iter().any(|f| f.path == layout::SETTINGS);
    for (index, file) in files.iter().enumerate() {
        match kind(file.path).or(scripts.contains(file.path).then_some(FileKind::Script)) {
            Some(kind) => found.extend(read(&mut home, &mut notes[index], index, file, kind)),
            None => continue,
        }
    }
    cross::check(&home, files, &mut notes);
    found.extend(notes.into_iter().flat_map(Notes::into_list));
    found.sort_by(|a, b| {
        (&a.path, a.line, a.column, &a.message).cmp(&(&b.path, b.line, b.column, &b.message))
    });
    found.dedup();
    found
}

/// The finding that the role of an agent does not exist, where its file names it.
pub fn no_role<'a>(
    file: &SourceFile<'_>,
    role: &str,
    roles: impl Iterator<Item = &'a str> + Clone,
) -> Vec<Diagnostic> {
    let mut notes = Notes::new(file.path, file.text);
    cross::note_role(role, cross::tree(file).as_ref(), &mut notes, roles);
    notes.into_list()
}

/// A finding about a value of a file, by its keys.
pub fn at(
    file: &SourceFile<'_>,
    keys: &[&str],
    severity: Severity,
    message: String,
    help: &str,
) -> Diagnostic {
    let span = cross::span(cross::tree(file).as_ref(), keys);
    let before = &file.text[..span.start];
    let line = before.rsplit('\n').next().unwrap_or_default();
    Diagnostic {
        severity,
        path: file.path.to_owned(),
        line: 1 + before.matches('\n').count(),
        column: 1 + line.chars().count(),
        span,
        message,
        help: Some(help.to_owned()),
    }
}

fn script_paths(files: &[SourceFile<'_>]) -> BTreeSet<String> {
    let named = |name: &&str| files.iter().find(|f| f.path == *name);
    let settings = layout::SETTINGS_FILES.iter().find_map(named);
    let settings = settings.and_then(|f| settings::read(f.path, f.text).value).unwrap_or_default();
    settings.scripts().map(str::to_owned).collect()
}

/// Reads one file into the home and gives its own findings.
fn read(
    home: &mut Home,
    notes: &mut Notes<'_>,
    index: usize,
    file: &SourceFile<'_>,
    kind: FileKind,
) -> Vec<Diagnostic> {
    let SourceFile { path, text } = *file;
    match kind {
        FileKind::Settings => {
            let read = settings::read(path, text);
            if path == layout::EVE && home.is_settled {
                notes.warning(0..0, "synod.yaml counts, and this file does not", None);
                return read.diagnostics;
            }
            home.broken_settings = read.value.is_none();
            home.settings = read.value.map(|s| (index, s));
            read.diagnostics
        }
        FileKind::RunMode => {
            let read = run_mode::read(path, text);
            if let Some(mode) = read.value.map(|m| m.mode).filter(|m| *m != Mode::Solo) {
                let message =
                    format!("the mode `{}` is read, but this version runs `solo` only", mode.as_str());
                notes.warning(cross::span(cross::tree(file).as_ref(), &["mode"]), message, None);
            }
            read.diagnostics
        }
        FileKind::Policy => policy::read(path, text).diagnostics,
        FileKind::Agent => {
            let read = agent::read(path, text);
            home.broken_agents |= read.value.is_none();
            home.agents.extend(read.value.map(|a| (index, a)));
            read.diagnostics
        }
        FileKind::Session => {
            let (session, diagnostics) = SessionFile::parse(path, text);
            home.sessions.extend(session.map(|s| (index, s)));
            diagnostics
        }
        FileKind::Task => {
            let (tasks, diagnostics) = TaskFile::parse(path, text);
            home.broken_tasks |= !diagnostics.is_empty();
            if path.ends_with(QUEUE_FILE) {
                for item in tasks.tasks() {
                    unclear(approval::read_queue(item), notes, item.parts.mark.clone());
                }
            } else {
                home.tasks.push((index, tasks));
            }
            diagnostics
        }
        FileKind::Approval => read_approval(notes, path, text),
        FileKind::Inbox => {
            let lines = text.split('\n').enumerate().filter(|(_, l)| !l.trim().is_empty());
            lines
                .flat_map(|(i, l)| inbox::read_line(path, i + 1, l.trim_end_matches('\r')).diagnostics)
                .take(100)
                .collect()
        }
        FileKind::Acl => {
            let read = acl::read(path, text);
            home.acls.extend(read.value.map(|a| (index, a)));
            read.diagnostics
        }
        FileKind::Script => {
            let read = script::read(path, text);
            home.scripts.extend(read.value.map(|s| (index, s)));
            read.diagnostics
        }
    }
}

fn read_approval(notes: &mut Notes<'_>, path: &str, text: &str) -> Vec<Diagnostic> {
    let read = approval::read_detail(path, text);
    if let Some(detail) = read.value {
        let id = detail.request.id.as_str();
        if stem(path, layout::APPROVAL_END) != id {
            notes.error_with(0..0, format!("the file is named otherwise than its approval `{id}`"), None);
        }
        if let Decision::Unclear { line, .. } = detail.decision {
            let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
            let length = text[start..].lines().next().map_or(0, str::len);
            unclear(detail.decision, notes, start..start + length);
        }
    }
    read.diagnostics
}

fn unclear(decision: Decision, notes: &mut Notes<'_>, span: std::ops::Range<usize>) {
    if let Decision::Unclear { why, .. } = decision {
        notes.warning(span, format!("nothing is decided: {why}"), None);
    }
}

/// The name of a file without its folder and its ending.
fn stem<'a>(path: &'a str, end: &str) -> &'a str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(end).unwrap_or(name)
}
