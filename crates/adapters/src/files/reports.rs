//! What is wrong with files, reported to people once.

use std::collections::BTreeMap;

use formats::diagnostic::{Diagnostic, Read, Severity};
use tokio::sync::mpsc;

use super::hold::Hold;
use crate::problem::{Problem, of_file};

/// All problems that are known, and the way to people.
pub(super) struct Reports {
    problems: BTreeMap<String, Vec<Diagnostic>>,
    /// Errors of the disk that were reported, by file.
    refused: BTreeMap<String, String>,
    to_people: mpsc::Sender<Problem>,
    /// Settings that do not read may keep the home from beginning.
    pub(super) hold: Hold,
}

impl Reports {
    pub(super) fn new(to_people: mpsc::Sender<Problem>, hold: Hold) -> Self {
        Self { problems: BTreeMap::new(), refused: BTreeMap::new(), to_people, hold }
    }

    /// Sends a problem to people. Nobody may listen, or not fast enough; `synod check` finds it again.
    pub(super) fn send(&self, diagnostic: Diagnostic, text: Option<String>) {
        _ = self.to_people.try_send(Problem { diagnostic, text });
    }

    /// Reports what is wrong with a file, once.
    pub(super) fn complain(&mut self, path: &str, diagnostics: Vec<Diagnostic>) {
        if domain::layout::SETTINGS_FILES.contains(&path) {
            self.hold.note(&diagnostics);
        }
        if diagnostics.is_empty() {
            self.problems.remove(path);
            return;
        }
        if self.problems.get(path) == Some(&diagnostics) {
            return;
        }
        for diagnostic in &diagnostics {
            self.send(diagnostic.clone(), None);
        }
        self.problems.insert(path.to_owned(), diagnostics);
    }

    /// Reports what is wrong with a file as a whole, once.
    pub(super) fn complain_text(&mut self, path: &str, message: String) {
        self.complain(path, vec![of_file(path, message)]);
    }

    /// The value of a file that reads; its problems are reported.
    pub(super) fn take<T>(&mut self, path: &str, read: Read<T>) -> Option<T> {
        self.complain(path, read.diagnostics);
        read.value
    }

    /// Whether a file has a problem.
    pub(super) fn has_problem(&self, path: &str) -> bool {
        self.problems.contains_key(path)
    }

    /// Whether the file does not read as it is.
    pub(super) fn is_broken(&self, path: &str) -> bool {
        self.problems.get(path).is_some_and(|all| all.iter().any(|d| d.severity == Severity::Error))
    }

    /// Reports an error of the disk, once until it is over; says whether there was none.
    pub(super) fn note(&mut self, path: &str, done: std::io::Result<()>) -> bool {
        let Err(error) = done else {
            self.refused.remove(path);
            return true;
        };
        let message = format!("{path} cannot be read or written: {error}");
        let before = self.refused.insert(path.to_owned(), message.clone());
        if before.as_ref() == Some(&message) {
            // Retried, and reported already: that the file reads well in between is no news.
            self.problems.insert(path.to_owned(), vec![of_file(path, message)]);
        } else {
            self.complain_text(path, message);
        }
        false
    }
}
