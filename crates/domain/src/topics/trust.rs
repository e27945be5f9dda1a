//! Labels of files: where their words come from, and who vouches for them.

use crate::words::label::Label;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

/// Where words came from: inbox files as far as they were read, and files that agents wrote from what they read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Origins {
    /// Files and folders that agents wrote from what is not to be trusted, or not for all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Label>,
    /// How many lines of each inbox file were taken.
    pub inbox: BTreeMap<String, u64>,
}

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
