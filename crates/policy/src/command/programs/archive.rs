//! Archives, as far as they are only listed.

use super::{NONE, Operands, Tool};
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;

/// `tar` may list (`t`) and nothing else: most of its other options write or run something.
pub(super) fn tar(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "tvzjJa",
        paths: "f",
        long: &[
            "list",
            "verbose",
            "gzip",
            "bzip2",
            "xz",
            "zstd",
            "file=@",
            "full-time",
            "numeric-owner",
            "help",
            "version",
        ],
        operands: Operands::Plain,
        ..NONE
    };
    // `tar tf x` without a dash is the same as with one.
    let mut words = arguments.to_vec();
    if let Some(first) = words.first_mut()
        && !first.text.starts_with('-')
    {
        first.text.insert(0, '-');
    }
    let read = TOOL.read(&words);
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
pub(super) fn unzip(arguments: &[Word]) -> Vec<Finding> {
    match arguments {
        [how, file] if ["-l", "-lv", "-Z1", "-Z"].contains(&how.text.as_str()) => {
            paths::findings(&file.text, file.is_glob)
        }
        _ => vec![ask(Risk::Medium, rule::CHANGES, "unpacks files: unzip")],
    }
}

/// `zipinfo` lists.
pub(super) fn zipinfo(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool { flags: "12smlvhtTz", operands: Operands::Paths, ..NONE };
    TOOL.findings(arguments)
}

/// `gzip` may list and test; without that it puts a packed file in place of each.
pub(super) fn gzip(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "lqtv",
        long: &["list", "quiet", "test", "verbose", "help", "version"],
        operands: Operands::Paths,
        ..NONE
    };
    let read = TOOL.read(arguments);
    let mut findings = TOOL.findings(arguments);
    if !read.has_any(&["l", "list", "t", "test", "help", "version"]) {
        findings.push(ask(Risk::Medium, rule::CHANGES, "writes files: gzip"));
    }
    findings
}
