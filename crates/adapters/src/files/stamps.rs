//! What the files of a home were when Synod last stopped, so that a start reads only those that changed since.

use std::collections::BTreeMap;
use std::path::Path;

use domain::layout;

use crate::disk::Stamp;

const FILE: &str = layout::STAMPS;

/// The stamps of the last good stop. They are good for one start: after a crash there are none, and every file
/// is looked at.
pub(super) fn take(home: &Path) -> BTreeMap<String, Stamp> {
    let path = home.join(FILE);
    let Ok(text) = std::fs::read_to_string(&path) else { return BTreeMap::new() };
    if std::fs::remove_file(&path).is_err() {
        return BTreeMap::new();
    }
    serde_json::from_str(&text).unwrap_or_default()
}

/// Keeps stamps for the next start. Failing to only makes that start slower.
pub(super) fn keep(home: &Path, stamps: &BTreeMap<String, Stamp>) {
    if let Ok(text) = serde_json::to_string(stamps) {
        _ = std::fs::write(home.join(FILE), text);
    }
}
