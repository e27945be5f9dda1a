//! Labels of files: where their words come from, and who vouches for them.

use crate::words::label::Label;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

/// What is known of the origin of files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A person vouches for what stands in a file, as it stands.
    FileTrusted {
        /// Relative to the home.
        path: String,
        /// SHA-256 of its content.
        digest: String,
        /// Who.
        by: String,
    },
    /// Labels of files were found in their list, without a journal.
    #[strum(to_string = "labels_found")]
    Found {
        /// By path.
        labels: BTreeMap<String, Label>,
    },
}
