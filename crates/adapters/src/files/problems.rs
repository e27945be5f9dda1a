//! What is wrong with files, and telling people of it.

use formats::diagnostic::{Diagnostic, Severity};

use super::desk::Desk;
use super::hold::SETTINGS;
use crate::problem::{Problem, of_file};

impl Desk {
    /// Tells what is wrong with a file, once.
    pub(super) fn complain(&mut self, path: &str, diagnostics: Vec<Diagnostic>) {
        if path == SETTINGS {
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
            _ = self.tell.try_send(Problem { diagnostic: diagnostic.clone(), text: None });
        }
        self.problems.insert(path.to_owned(), diagnostics);
    }

    pub(super) fn complain_text(&mut self, path: &str, message: String) {
        self.complain(path, vec![of_file(path, message)]);
    }

    /// Whether the file does not read as it is.
    pub(super) fn is_broken(&self, path: &str) -> bool {
        self.problems.get(path).is_some_and(|all| all.iter().any(|d| d.severity == Severity::Error))
    }

    /// Tells of an error with a file, once until it is over; says whether there was none.
    pub(super) fn note(&mut self, path: &str, done: std::io::Result<()>) -> bool {
        let Err(error) = done else {
            self.refused.remove(path);
            return true;
        };
        let message = format!("{path} cannot be read or written: {error}");
        let before = self.refused.insert(path.to_owned(), message.clone());
        if before.as_ref() == Some(&message) {
            // Tried again, and told already: that the file reads well in between is no news.
            self.problems.insert(path.to_owned(), vec![of_file(path, message)]);
        } else {
            self.complain_text(path, message);
        }
        false
    }
}
