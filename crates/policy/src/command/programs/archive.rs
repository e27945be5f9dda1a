//! Archives, as far as they are only listed.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;

/// `tar` may list (`t`) and nothing else: most of its other options write or run something.
pub(super) fn tar(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    // `tar tf x` without a dash is the same as with one.
    let mut words = arguments.to_vec();
    if let Some(first) = words.first_mut()
        && !first.text.starts_with('-')
    {
        first.text.insert(0, '-');
    }
    let read = tool.read(&words);
    let mut findings = Vec::new();
    let is_listing = read.has_any(&["t", "list"]);
    if !is_listing && !read.has_any(&["help", "version"]) {
        findings.push(ask(Risk::Medium, rule::CHANGES, "packs or unpacks files: tar"));
    }
    // A colon in the name makes it a file on another machine.
    if words.iter().any(|word| word.text.contains(':')) {
        findings.push(ask(Risk::High, rule::CHANGES, "network: tar with a colon in a name"));
    }
    findings.extend(read.findings);
    findings
}

/// `unzip -l` lists.
pub(super) fn unzip(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    match arguments {
        [how, file] if ["-l", "-lv", "-Z1", "-Z"].contains(&how.text.as_str()) => {
            paths::findings(&file.text, file.is_glob)
        }
        _ => vec![ask(Risk::Medium, rule::CHANGES, "unpacks files: unzip")],
    }
}

/// `zipinfo` lists.
pub(super) fn zipinfo(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    tool.findings(arguments)
}

/// `gzip` may list and test; without that it puts a packed file in place of each.
pub(super) fn gzip(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    let mut findings = tool.findings(arguments);
    if !read.has_any(&["l", "list", "t", "test", "help", "version"]) {
        findings.push(ask(Risk::Medium, rule::CHANGES, "writes files: gzip"));
    }
    findings
}
