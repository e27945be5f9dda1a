//! The harm that programs could do which are not known to only read, in words that a person can weigh.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::finding::{Finding, ask, deny, rule};
use super::parse::Found;
use super::paths;
use super::table::{WORDS, blocks};
use super::wrapper::base;
use crate::Risk;

/// A kind of harm.
struct Kind {
    what: &'static str,
    risk: Risk,
    network: bool,
    /// Whether it changes the files that it is given.
    writes: bool,
}

/// The table `dangers.txt`: a program is of the first kind that names it.
struct Dangers {
    kinds: Vec<Kind>,
    kind_of: BTreeMap<&'static str, usize>,
}

static DANGERS: LazyLock<Dangers> = LazyLock::new(|| {
    let mut dangers = Dangers { kinds: Vec::new(), kind_of: BTreeMap::new() };
    for block in blocks(include_str!("../../tables/dangers.txt")) {
        let risk = match block.marks.first() {
            Some(&"medium") => Risk::Medium,
            Some(&"high") => Risk::High,
            Some(&"critical") => Risk::Critical,
            other => panic!("dangers.txt: {:?} has the risk {other:?}", block.head),
        };
        let has = |mark: &str| block.marks.contains(&mark);
        for program in block.lines.concat() {
            dangers.kind_of.entry(program).or_insert(dangers.kinds.len());
        }
        let kind = Kind { what: block.head, risk, network: has("network"), writes: has("writes") };
        dangers.kinds.push(kind);
    }
    dangers
});

impl Dangers {
    fn kind(&self, program: &str) -> Option<&Kind> {
        // `python3.12` is `python3`.
        let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        let exact = self.kind_of.get(program);
        let version = self.kind_of.get(plain).filter(|_| plain.len() > 2);
        exact.into_iter().chain(version).min().map(|at| &self.kinds[*at])
    }
}

/// What a program could do.
fn of_program(program: &str) -> Finding {
    let name = base(program);
    if let Some(kind) = DANGERS.kind(name) {
        let mut finding = ask(kind.risk, rule::CHANGES, format!("{}: {name}", kind.what));
        finding.network = kind.network;
        return finding;
    }
    if name.starts_with("mkfs") {
        return ask(Risk::Critical, rule::CHANGES, format!("destroys: {name}"));
    }
    if program.contains('/') {
        return ask(Risk::High, rule::UNKNOWN, format!("runs code by its path: {program}"));
    }
    ask(Risk::Medium, rule::UNKNOWN, format!("unknown program: {name}"))
}

/// What a program could do with these arguments.
pub(super) fn of_command(program: &str, arguments: &[&str]) -> Vec<Finding> {
    let mut findings = vec![of_program(program)];
    findings.extend(aggravating(base(program), arguments));
    findings
}

/// What speaks against a command that is not one of those that only read.
pub(super) fn findings(found: &Found) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some((program, arguments)) = found.words.split_first() {
        let arguments: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        if !program.is_literal {
            let factor = format!("runs a program that only a shell can name: {}", program.text);
            findings.push(ask(Risk::High, rule::GRAMMAR, factor));
        }
        findings.extend(of_command(&program.text, &arguments));
    }
    findings.extend(found.variables.iter().map(|variable| of_variable(variable)));
    findings
}

/// Arguments that make it worse.
fn aggravating(program: &str, arguments: &[&str]) -> Vec<Finding> {
    let has = |letter: char, long: &str| {
        let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
        arguments.contains(&long) || arguments.iter().any(|word| short(&word))
    };
    let recursive = has('r', "--recursive") || has('R', "--recursive");
    let mut findings = Vec::new();
    match program {
        "rm" if recursive && arguments.iter().all(|word| is_named_folder(word)) => {
            findings.push(ask(Risk::Medium, rule::CHANGES, "deletes recursively: rm -r"));
        }
        "rm" if recursive && has('f', "--force") => {
            findings.push(ask(Risk::Critical, rule::CHANGES, "deletes recursively without asking: rm -rf"));
        }
        "rm" if recursive => findings.push(ask(Risk::High, rule::CHANGES, "deletes recursively: rm -r")),
        "chmod" | "chown" | "chgrp" if recursive => {
            findings.push(ask(
                Risk::Critical,
                rule::CHANGES,
                format!("changes rights recursively: {program} -R"),
            ));
        }
        "npm" | "yarn" | "pnpm" | "cargo" | "go" | "pip" | "pip3" => {
            let fetches =
                ["install", "i", "add", "ci", "get", "publish", "update", "upgrade", "download", "fetch"];
            if arguments.first().is_some_and(|word| fetches.contains(word)) {
                let mut finding =
                    ask(Risk::High, rule::CHANGES, format!("network: {program} {}", arguments[0]));
                finding.network = true;
                findings.push(finding);
            }
        }
        _ => {}
    }
    findings
}

/// Whether a word is an option, or names one folder beneath the workspace: no hidden one, nothing a glob may stand for.
fn is_named_folder(word: &str) -> bool {
    let is_plain = |part: &str| !part.starts_with('.') && !part.contains(['*', '?', '[', '~', '$']);
    word.starts_with('-')
        || word.trim_end_matches('/').split('/').all(|part| !part.is_empty() && is_plain(part))
}

/// A variable set for a command.
fn of_variable(variable: &str) -> Finding {
    let name = variable.split('=').next().unwrap_or_default();
    let risk = match WORDS.variable_starts.iter().any(|start| name.starts_with(start))
        || WORDS.variables.contains(&name)
    {
        true => Risk::High,
        false => Risk::Low,
    };
    ask(risk, rule::GRAMMAR, format!("changes what runs: sets {name}"))
}

/// Credentials and control files among the words and redirects of any command.
pub(super) fn reached(found: &Found) -> Vec<Finding> {
    let program = found.words.first().map_or("", |word| base(&word.text));
    // What is only printed or looked for is no path.
    let words = match program {
        "echo" | "printf" | "true" | "false" | "expr" => &[][..],
        "grep" | "egrep" | "fgrep" | "rg" | "sed" | "awk" | "jq" => found.words.get(2..).unwrap_or_default(),
        "find" => found.words.get(1..2).unwrap_or_default(),
        _ => found.words.get(1..).unwrap_or_default(),
    };
    let mut findings = Vec::new();
    let runs_git = |shown: &str| deny(rule::CONTROL, format!("a folder whose files git runs: {shown}"));
    for word in words {
        let text = word.text.as_str();
        let path = text.split_once('=').map_or(text, |(_, value)| value);
        findings.extend(paths::closed(paths::secret_word(text), paths::control(path)));
        if writes(program) && paths::runs_git(path) {
            findings.push(runs_git(text));
        }
    }
    for file in &found.files {
        findings.extend(paths::closed(paths::secret(&file.path), paths::control(&file.path)));
        if file.is_written && paths::runs_git(&file.path) {
            findings.push(runs_git(&file.path));
        }
        let risk = if file.is_written { Risk::Medium } else { Risk::Low };
        let how = if file.is_written { "writes" } else { "reads" };
        findings.push(ask(risk, rule::GRAMMAR, format!("{how} a file: {}", file.path)));
        findings.extend(paths::outside(&file.path));
    }
    findings
}

fn writes(program: &str) -> bool {
    let kind = DANGERS.kind_of.get(program).map(|at| &DANGERS.kinds[*at]);
    kind.is_some_and(|kind| kind.writes) || ["sed", "dd", "git"].contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_one_kind_of_danger() {
        let named: usize = blocks(include_str!("../../tables/dangers.txt"))
            .iter()
            .map(|block| block.lines.concat().len())
            .sum();
        assert_eq!(DANGERS.kind_of.len(), named);
    }
}
