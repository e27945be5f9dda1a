//! Reads the options of a read-only program against the list in its table. An option that is abbreviated or not on the
//! list is a finding.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Finding, ask, rule};
use super::paths;
use super::script::Word;
use super::table::blocks;
use crate::Risk;

/// A program and all that it may be given unasked: a block of `programs.txt` or `git.txt`, which say what each part means.
#[derive(Debug, Clone, Default)]
pub(super) struct Tool {
    flags: &'static str,
    values: &'static str,
    paths: &'static str,
    names_like: &'static str,
    long: Vec<&'static str>,
    whole: Vec<&'static str>,
    operands: Operands,
}

/// Tools by name.
pub(super) type Tools = BTreeMap<&'static str, Arc<Tool>>;

/// The tools of a table.
pub(super) fn tools(text: &'static str) -> Tools {
    let mut tools = Tools::new();
    for block in blocks(text) {
        let mut tool = Tool::default();
        for line in &block.lines {
            match (line[0], &line[1..]) {
                ("flags", [letters]) => tool.flags = letters,
                ("values", [letters]) => tool.values = letters,
                ("paths", [letters]) => tool.paths = letters,
                ("names", [letters]) => tool.names_like = letters,
                ("long", words) => tool.long.extend(words),
                ("whole", words) => tool.whole.extend(words),
                ("like", [other]) => tool = Tool::clone(&tools[other]),
                (key, _) => panic!("{} has the line {key}", block.head),
            }
        }
        tool.operands = match block.marks.as_slice() {
            [] => Operands::Nothing,
            ["plain"] => Operands::Plain,
            ["paths"] => Operands::Paths,
            ["one-path"] => Operands::OnePath,
            ["pattern"] => Operands::Pattern,
            ["git"] => Operands::Git,
            ["git-pattern"] => Operands::GitPattern,
            other => panic!("{} has the operands {other:?}", block.head),
        };
        let tool = Arc::new(tool);
        for name in block.head.split_whitespace() {
            assert!(tools.insert(name, Arc::clone(&tool)).is_none(), "{name} is in a table twice");
        }
    }
    tools
}

/// What the words of a program mean that are not options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Operands {
    /// A word is a finding.
    #[default]
    Nothing,
    /// Text of no consequence.
    Plain,
    /// Paths to read.
    Paths,
    /// At most one path: a second one would be written.
    OnePath,
    /// A pattern, unless an option gave one; then paths.
    Pattern,
    /// Revisions and paths of git.
    Git,
    /// A pattern, then revisions and paths of git.
    GitPattern,
}

/// The arguments of a program, taken apart.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    /// Options by name, without dashes.
    pub options: Vec<&'a str>,
    pub operands: Vec<&'a Word>,
    pub findings: Vec<Finding>,
}

impl Arguments<'_> {
    /// Whether one of these options was given.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(option))
    }
}

impl Tool {
    /// Findings about these arguments.
    pub(super) fn findings(&self, arguments: &[Word]) -> Vec<Finding> {
        let read = self.read(arguments);
        let mut findings = self.judge_operands(&read);
        findings.extend(read.findings);
        findings
    }

    /// Takes options and operands apart; options and their values are judged on the way.
    pub(super) fn read<'a>(&self, words: &'a [Word]) -> Arguments<'a> {
        let mut read = Arguments::default();
        let mut rest = words.iter();
        let mut only_operands = false;
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if only_operands || text == "-" || !text.starts_with('-') {
                read.operands.push(word);
            } else if text == "--" {
                only_operands = true;
            } else if self.whole.contains(&text) {
                read.options.push(text.trim_start_matches('-'));
            } else if let Some(long) = text.strip_prefix("--") {
                self.long(long, &mut rest, &mut read);
            } else {
                self.short(&text[1..], &mut rest, &mut read);
            }
        }
        read
    }

    fn long<'a>(&self, text: &'a str, rest: &mut std::slice::Iter<'a, Word>, read: &mut Arguments<'a>) {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        read.options.push(name);
        let known = self.long.iter().find(|known| {
            let end = known.find(['=', '?']).unwrap_or(known.len());
            &known[..end] == name
        });
        let Some(known) = known else { return read.findings.push(unknown(&format!("--{name}"))) };
        match (known.as_bytes().iter().position(|b| *b == b'='), value) {
            (None, None) => {}
            (None, Some(_)) if known.ends_with('?') => {}
            (None, Some(_)) => read.findings.push(unknown(&format!("--{text}"))),
            (Some(at), Some(value)) => self.value(&known[at + 1..], value, false, read),
            (Some(at), None) => match rest.next() {
                Some(word) => self.value(&known[at + 1..], &word.text, true, read),
                None => read.findings.push(unknown(&format!("--{name} without a value"))),
            },
        }
    }

    fn short<'a>(&self, letters: &'a str, rest: &mut std::slice::Iter<'a, Word>, read: &mut Arguments<'a>) {
        if self.flags.contains('#') && letters.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        for (at, letter) in letters.char_indices() {
            let after = at + letter.len_utf8();
            read.options.push(&letters[at..after]);
            if letter != '#' && self.flags.contains(letter) {
                continue;
            }
            let kind = [(self.values, ""), (self.paths, "@"), (self.names_like, "*")];
            let Some((_, kind)) = kind.into_iter().find(|(known, _)| known.contains(letter)) else {
                return read.findings.push(unknown(&format!("-{letters}")));
            };
            if after < letters.len() {
                return self.value(kind, &letters[after..], false, read);
            }
            return match rest.next() {
                Some(word) => self.value(kind, &word.text, true, read),
                None => read.findings.push(unknown(&format!("-{letter} without a value"))),
            };
        }
    }

    fn value(&self, kind: &str, value: &str, is_own_word: bool, read: &mut Arguments<'_>) {
        match kind {
            "@" => read.findings.extend(paths::findings(value, false)),
            "*" => {
                let name = value.trim_start_matches('!');
                let secret = paths::secret(name).filter(|_| !value.starts_with('!'));
                read.findings.extend(secret.and_then(|_| paths::findings(name, false).into_iter().next()));
            }
            // Git reads some options in two ways; what might be a path after all is judged as one.
            _ if is_own_word && matches!(self.operands, Operands::Git | Operands::GitPattern) => {
                read.findings.extend(paths::findings(value, false));
            }
            _ => {}
        }
    }

    fn judge_operands(&self, read: &Arguments<'_>) -> Vec<Finding> {
        let as_path = |word: &&Word| paths::findings(&word.text, word.is_glob);
        let as_git = |word: &&Word| git_operand(word);
        let operands = &read.operands;
        let has_pattern = read.has_any(&["e", "regexp", "f", "file", "files", "type-list"]);
        let skip = usize::from(!has_pattern);
        let mut findings: Vec<Finding> = match self.operands {
            Operands::Nothing => operands.iter().map(|word| unknown(&word.text)).collect(),
            // A glob becomes names of files, so it is held to the rule for paths.
            Operands::Plain => operands.iter().filter(|word| word.is_glob).flat_map(as_path).collect(),
            Operands::Paths => operands.iter().flat_map(as_path).collect(),
            Operands::OnePath => operands.iter().flat_map(as_path).collect(),
            Operands::Pattern => operands.iter().skip(skip).flat_map(as_path).collect(),
            Operands::Git => operands.iter().flat_map(as_git).collect(),
            Operands::GitPattern => operands.iter().skip(skip).flat_map(as_git).collect(),
        };
        let is_output =
            self.operands == Operands::OnePath && (operands.len() > 1 || operands.iter().any(|w| w.is_glob));
        if is_output {
            let second = operands.last().map_or("", |word| word.text.as_str());
            findings.push(ask(Risk::Medium, rule::OPTION, format!("writes a file: {second}")));
        }
        findings
    }
}

/// A revision, a path, or both: `HEAD~2:src/main.rs`.
fn git_operand(word: &Word) -> Vec<Finding> {
    let text = word.text.as_str();
    let mut findings = paths::findings(text, word.is_glob);
    if let Some((_, path)) = text.rsplit_once(':')
        && findings.is_empty()
    {
        findings.extend(paths::findings(path, word.is_glob));
    }
    findings
}

/// An option that is on no list.
pub(super) fn unknown(option: &str) -> Finding {
    ask(Risk::Medium, rule::OPTION, format!("unknown option or argument: {option}"))
}
