//! Paths by their spelling: which ones people keep control by, and when two spellings name the same file.

/// Folders and files that no tool ever writes: they are how people keep control.
pub const CONTROL: [&str; 7] = ["approvals", "policy", "agents", "log", ".synod", ".project", "schemas"];
/// Names that no tool ever writes at any depth: git runs what its folder says. The second is its short name on
/// file systems that make such.
pub const CONTROL_ANYWHERE: [&str; 2] = [".git", "git~1"];
/// Single files likewise.
pub const CONTROL_FILES: [&str; 3] = ["tasks/approvals.task.md", "synod.yaml", "run_mode.yaml"];

/// A path as the least careful file system compares it: without case, where `ſ` is `s` and `ß` is `ss`.
pub fn folded(path: &str) -> String {
    if path.is_ascii() { path.to_ascii_lowercase() } else { path.to_uppercase().to_lowercase() }
}

/// The parts of a folded path without dots and spaces at the end, which some file systems drop. Dots at the
/// beginning count: `.synod` is not `synod`.
pub fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(|part| part.trim_end_matches(['.', ' ']))
}
