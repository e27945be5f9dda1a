//! `cargo xtask tidy`: what the compiler and clippy do not check. Each finding has a place and says what to do.
//! The rules work on text, the files are read here.

mod edges;
mod modules;
mod rules;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::flags::Flags;
use crate::shell::{self, Failure, say};
use modules::Graph;
use source::Source;

/// Where our sources are.
const FOLDERS: [&str; 4] = ["crates", "xtask", "benches", "fuzz"];

/// Crates that only decide.
const PURE: [&str; 2] = ["crates/domain/src/", "crates/policy/src/"];

/// What a repository of ours has.
const DOCUMENTS: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"];

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// From 1.
    line: usize,
    /// What is wrong; what to do.
    what: String,
}

impl Finding {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// Checks the whole workspace; with `--graph`, prints the module graph of every crate instead.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let graph_only = args == ["--graph"];
    if !graph_only {
        Flags::read(args, &[]).map_err(|_| Failure::usage("unknown argument; known: --graph"))?;
    }
    let files = read()?;
    let graphs = graphs(&files);
    if graph_only {
        for (name, graph) in &graphs {
            shell::print(graph.print(name));
        }
        return Ok(());
    }
    let mut count = 0;
    for (path, text) in &files {
        for finding in file(path, text) {
            count += 1;
            say(format!("{path}:{}: {}", finding.line, finding.what));
        }
    }
    for (path, finding) in graphs.iter().flat_map(|(name, graph)| graph.check(name)) {
        count += 1;
        say(format!("{path}:{}: {}", finding.line, finding.what));
    }
    for name in missing(|name| shell::root().join(name).exists()) {
        count += 1;
        say(format!("{name}:1: the file is missing; every reader looks for it"));
    }
    if count > 0 {
        return Err(Failure::new(format!("tidy: {count} findings in {} files", files.len())));
    }
    say(format!("tidy: {} files are in order", files.len()));
    Ok(())
}

/// Every manifest and Rust file of ours: its path, relative to the root, and its text.
fn read() -> Result<BTreeMap<String, String>, Failure> {
    let root = shell::root();
    let mut paths = Vec::new();
    for folder in FOLDERS {
        walk(&root, folder, &mut paths).map_err(|e| Failure::new(format!("cannot list {folder}: {e}")))?;
    }
    let text = |path: String| match fs::read_to_string(root.join(&path)) {
        Ok(text) => Ok((path, text)),
        Err(e) => Err(Failure::new(format!("cannot read {path}: {e}"))),
    };
    paths.into_iter().map(text).collect()
}

/// The module graph of each crate, by the name of its folder.
fn graphs(files: &BTreeMap<String, String>) -> BTreeMap<&str, Graph> {
    let mut graphs: BTreeMap<&str, Graph> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
        let Some((folder, _)) = path.split_once("/src/") else { continue };
        let name = folder.rsplit('/').next().unwrap_or(folder);
        graphs.entry(name).or_default().add(&format!("{folder}/src/"), &Source::read(path, text));
    }
    graphs
}

/// All rules that concern a file with this path.
fn file(path: &str, text: &str) -> Vec<Finding> {
    if let Some(folder) = path.strip_suffix("/Cargo.toml") {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        return edges::check(name, text);
    }
    let source = Source::read(path, text);
    let mut findings = rules::everywhere(&source);
    if PURE.iter().any(|folder| path.starts_with(folder)) {
        findings.extend(rules::pure(&source));
    }
    findings.sort();
    findings
}

fn missing(exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    DOCUMENTS.into_iter().filter(|name| !exists(name)).collect()
}

/// Every manifest and Rust file below a folder, relative to the root.
fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> std::io::Result<()> {
    if !root.join(folder).is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !matches!(name.as_str(), "target" | "corpus" | "artifacts") {
                walk(root, &path, paths)?;
            }
        } else if name.ends_with(".rs") || name == "Cargo.toml" {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_readers_look_for_exist() {
        assert_eq!(missing(|_| true), [""; 0]);
        assert_eq!(missing(|name| name != "LICENSE"), ["LICENSE"]);
    }

    #[test]
    fn only_crates_that_decide_must_be_pure() {
        let text = "//! x\nasync fn a() {}\n";
        assert_eq!(file("crates/engine/src/a.rs", text), []);
        assert_eq!(file("crates/domain/src/a.rs", text).len(), 1);
        assert_eq!(file("crates/policy/src/a.rs", text).len(), 1);
    }

    #[test]
    fn a_manifest_is_judged_by_its_folder() {
        let text = "[lints]\nworkspace = true\n[dependencies]\nengine = { workspace = true }";
        assert_eq!(file("crates/web/Cargo.toml", text), []);
        assert_eq!(file("crates/ports/Cargo.toml", text).len(), 1);
    }
}
