//! What is wrong with a file of the home, for people to see.

use formats::diagnostic::{Diagnostic, Severity};

/// A file that cannot be read or written as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What is wrong, and the place in the file.
    pub diagnostic: Diagnostic,
    /// The text that the place refers to, if the file may have changed since.
    pub text: Option<String>,
}

impl Problem {
    /// A problem of the file as a whole.
    pub(crate) fn of_file(path: &str, message: String) -> Self {
        Self { diagnostic: of_file(path, message), text: None }
    }
}

/// A diagnostic of a file as a whole.
pub(crate) fn of_file(path: &str, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: path.to_owned(),
        line: 1,
        column: 1,
        span: 0..0,
        message,
        help: None,
    }
}
