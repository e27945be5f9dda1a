//! Parses a text: a [`Script`] if it stays inside the small grammar that can be allowed, and in any case every simple
//! command in it at any depth. Text that cannot be parsed is reported as such.

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, Pipeline as Piped, RedirectList, SeparatorOperator, SimpleCommand,
    SubshellCommand, UnexpandedArithmeticExpr, Word as RawWord,
};
use brush_parser::{Parser, ParserOptions};

use super::script::{Joint, Pipeline, Redirect, Script, Simple, Stream, Word};
use super::word::{self, Inside, Loose};

/// Substitutions and the like in one text: each takes the parser one level down.
const EXPANSIONS_MAX: usize = 50;
/// Brackets and braces in one text.
const BRACKETS_MAX: usize = 1_000;
/// Words in one text that open a compound command.
const KEYWORDS_MAX: usize = 200;
/// How deep texts inside texts are looked into.
const DEPTH_MAX: usize = 12;
/// How many simple commands are looked at; a text with more is refused.
const FOUND_MAX: usize = 1_024;

/// A text after parsing.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// The whole of it, if it stays inside the accepted grammar.
    pub script: Option<Script>,
    /// What takes it outside, in words; empty if and only if there is a script or nothing at all.
    pub outside: Vec<String>,
    /// Every simple command, wherever it stands.
    pub found: Vec<Found>,
    /// Functions it defines.
    pub functions: Vec<String>,
    /// Whether something is written so that it is hard to see.
    pub obfuscated: bool,
}

/// A simple command somewhere in the text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Program and arguments, as near as can be said.
    pub words: Vec<Loose>,
    /// Variables set for it.
    pub variables: Vec<String>,
    /// Files it is redirected from or to.
    pub files: Vec<File>,
    /// Which pipeline it is in: those of one pipeline have one number.
    pub pipeline: usize,
    /// The command whose words it stands in.
    pub parent: Option<usize>,
    /// Whether what it prints becomes a part of that command.
    pub is_substituted: bool,
}

/// A file in a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    /// As near as can be said.
    pub path: String,
    /// Whether it is written.
    pub is_written: bool,
}

/// Why a text was not read to its end: it has more levels or commands than anybody could check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooDeep;

/// Reads a command.
pub(super) fn parse(text: &str) -> Result<Parsed, TooDeep> {
    if is_too_deep(text) {
        return Err(TooDeep);
    }
    let mut walk = Walk::default();
    let pipelines = walk.text(text, Context { parent: None, depth: 0, is_substituted: false });
    let mut parsed = walk.parsed;
    if parsed.found.len() >= FOUND_MAX {
        return Err(TooDeep);
    }
    if parsed.outside.is_empty() && !pipelines.is_empty() {
        parsed.script = Some(Script { pipelines });
    }
    Ok(parsed)
}

/// Whether the parser might run out of stack. Counted without regard to quotes, so that none can fool it.
fn is_too_deep(text: &str) -> bool {
    let expansions = text.matches(['`', '$']).count();
    let brackets = text.matches(['(', '{', '[']).count();
    let keyword = |word: &&str| {
        let word = word.trim_matches([';', '(', ')', '&', '|']);
        matches!(
            word,
            "if" | "elif"
                | "while"
                | "until"
                | "for"
                | "case"
                | "select"
                | "coproc"
                | "time"
                | "!"
                | "do"
                | "function"
        )
    };
    let opened = text.matches("$(").count() + text.matches("${").count() + text.matches("$[").count();
    (opened + text.matches('`').count() > EXPANSIONS_MAX)
        || expansions > BRACKETS_MAX
        || brackets > BRACKETS_MAX
        || text.split_whitespace().filter(keyword).count() > KEYWORDS_MAX
}

/// The position of the walk.
#[derive(Clone, Copy)]
struct Context {
    parent: Option<usize>,
    depth: usize,
    is_substituted: bool,
}

#[derive(Default)]
struct Walk {
    parsed: Parsed,
    pipelines: usize,
    options: ParserOptions,
}

impl Walk {
    fn outside(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.parsed.outside.contains(&why) {
            self.parsed.outside.push(why);
        }
    }

    /// Reads a text as commands; the pipelines in it that a script can hold.
    fn text(&mut self, text: &str, at: Context) -> Vec<Pipeline> {
        if at.depth > DEPTH_MAX {
            self.outside("is nested too deep to be read");
            return Vec::new();
        }
        let read = |text: &str| Parser::new(text.as_bytes(), &self.options).parse_program();
        let mut pipelines = Vec::new();
        match read(text) {
            Ok(program) => {
                for list in &program.complete_commands {
                    pipelines.extend(self.list(list, at));
                }
            }
            Err(_) => {
                // Its parts may still show what is blocked.
                let mut programs = Vec::new();
                for part in text.split(['\n', ';']) {
                    match read(part) {
                        Ok(program) => programs.push(program),
                        Err(_) => programs.extend(part.split(['&', '|']).filter_map(|part| read(part).ok())),
                    }
                }
                for list in programs.iter().flat_map(|program| &program.complete_commands) {
                    self.list(list, at);
                }
                self.outside("cannot be read as a shell command");
            }
        }
        pipelines
    }

    fn list(&mut self, list: &CompoundList, at: Context) -> Vec<Pipeline> {
        let mut pipelines = Vec::new();
        for item in &list.0 {
            match item.1 {
                SeparatorOperator::Sequence => {}
                SeparatorOperator::Async => self.outside("runs in the background (&)"),
            }
            pipelines.extend(self.and_or(&item.0, at));
        }
        pipelines
    }

    fn and_or(&mut self, list: &AndOrList, at: Context) -> Vec<Pipeline> {
        let mut pipelines = Vec::new();
        pipelines.extend(self.pipeline(&list.first, Joint::Always, at));
        for more in &list.additional {
            let (joint, piped) = match more {
                AndOr::And(piped) => (Joint::And, piped),
                AndOr::Or(piped) => (Joint::Or, piped),
            };
            pipelines.extend(self.pipeline(piped, joint, at));
        }
        pipelines
    }

    fn pipeline(&mut self, piped: &Piped, joint: Joint, at: Context) -> Option<Pipeline> {
        self.pipelines += 1;
        let number = self.pipelines;
        if piped.timed.is_some() {
            self.outside("is timed (time)");
        }
        let commands = piped.seq.iter().filter_map(|command| self.command(command, number, at)).collect();
        Some(Pipeline { joint, negated: piped.bang, commands })
    }

    fn command(&mut self, command: &Command, pipeline: usize, at: Context) -> Option<Simple> {
        match command {
            Command::Simple(simple) => self.simple(simple, pipeline, at),
            Command::Compound(compound, redirects) => {
                self.compound(compound, pipeline, at);
                self.redirect_list(redirects.as_ref(), pipeline, at);
                None
            }
            Command::Function(function) => {
                self.function(function, pipeline, at);
                None
            }
            Command::ExtendedTest(test, redirects) => {
                self.outside("has an extended test ([[ … ]])");
                self.test(&test.expr, at);
                self.redirect_list(redirects.as_ref(), pipeline, at);
                None
            }
        }
    }

    fn function(&mut self, function: &FunctionDefinition, pipeline: usize, at: Context) {
        self.outside("defines a function");
        self.parsed.functions.push(function.fname.value.clone());
        self.compound(&function.body.0, pipeline, at);
        self.redirect_list(function.body.1.as_ref(), pipeline, at);
    }

    fn compound(&mut self, compound: &CompoundCommand, pipeline: usize, at: Context) {
        self.outside("has a compound command");
        match compound {
            CompoundCommand::Arithmetic(command) => self.arithmetic(Some(&command.expr), at),
            CompoundCommand::ArithmeticForClause(command) => {
                self.arithmetic(command.initializer.as_ref(), at);
                self.arithmetic(command.condition.as_ref(), at);
                self.arithmetic(command.updater.as_ref(), at);
                self.list(&command.body.list, at);
            }
            CompoundCommand::BraceGroup(command) => drop(self.list(&command.list, at)),
            CompoundCommand::Subshell(command) => drop(self.list(&command.list, at)),
            CompoundCommand::ForClause(command) => {
                self.words(command.values.iter().flatten(), at);
                self.list(&command.body.list, at);
            }
            CompoundCommand::CaseClause(command) => {
                self.words([&command.value], at);
                for case in &command.cases {
                    self.words(&case.patterns, at);
                    self.lists(&case.cmd, at);
                }
            }
            CompoundCommand::IfClause(command) => {
                self.list(&command.condition, at);
                self.list(&command.then, at);
                for clause in command.elses.iter().flatten() {
                    self.lists(&clause.condition, at);
                    self.list(&clause.body, at);
                }
            }
            CompoundCommand::WhileClause(command) | CompoundCommand::UntilClause(command) => {
                self.list(&command.0, at);
                self.list(&command.1.list, at);
            }
            CompoundCommand::Coprocess(command) => {
                self.words(&command.name, at);
                self.command(&command.body, pipeline, at);
            }
        }
    }

    fn lists<'a>(&mut self, lists: impl IntoIterator<Item = &'a CompoundList>, at: Context) {
        for list in lists {
            self.list(list, at);
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr, at: Context) {
        match test {
            ExtendedTestExpr::And(one, two) | ExtendedTestExpr::Or(one, two) => {
                self.test(one, at);
                self.test(two, at);
            }
            ExtendedTestExpr::Not(one) | ExtendedTestExpr::Parenthesized(one) => self.test(one, at),
            ExtendedTestExpr::UnaryTest(_, word) => self.words([word], at),
            ExtendedTestExpr::BinaryTest(_, one, two) => self.words([one, two], at),
        }
    }

    /// Looks into words that are no command's.
    fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a RawWord>, at: Context) {
        for word in words {
            self.loose(&word.value, at);
        }
    }

    fn arithmetic(&mut self, expression: Option<&UnexpandedArithmeticExpr>, at: Context) {
        if let Some(expression) = expression {
            self.loose(&expression.value, at);
        }
    }

    /// A word's text, after everything in it was looked into.
    fn loose(&mut self, raw: &str, at: Context) -> Loose {
        let mut inside = Inside::default();
        let loose = word::read_loosely(raw, &self.options, &mut inside);
        self.inside(inside, at);
        loose
    }

    fn inside(&mut self, inside: Inside, at: Context) {
        self.parsed.obfuscated |= inside.obfuscated;
        let below = Context { depth: at.depth + 1, is_substituted: true, ..at };
        if below.depth > DEPTH_MAX {
            return self.outside("is nested too deep to be read");
        }
        for text in &inside.commands {
            self.outside("has a command substitution");
            self.text(text, below);
        }
        for text in &inside.words {
            self.loose(text, below);
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, pipeline: usize, at: Context) -> Option<Simple> {
        if self.parsed.found.len() >= FOUND_MAX {
            return None;
        }
        let own = self.parsed.found.len();
        self.parsed.found.push(Found {
            pipeline,
            parent: at.parent,
            is_substituted: at.is_substituted,
            ..Found::default()
        });
        let at = Context { parent: Some(own), ..at };
        let mut command = Simple { words: Vec::new(), redirects: Vec::new() };
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, true, &mut command, own, at);
        }
        if let Some(word) = &simple.word_or_name {
            self.word(word, &mut command, own, at);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, false, &mut command, own, at);
        }
        match command.words.first() {
            None => self.outside("has a part without a program"),
            Some(program) if program.is_glob => self.outside("has a glob for a program"),
            Some(_) => {}
        }
        self.unwrap_texts(own, at);
        self.unwrap_words(own, at);
        Some(command)
    }

    fn item(
        &mut self,
        item: &CommandPrefixOrSuffixItem,
        is_prefix: bool,
        command: &mut Simple,
        own: usize,
        at: Context,
    ) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                let made = self.redirect(redirect, own, at);
                command.redirects.extend(made);
            }
            CommandPrefixOrSuffixItem::Word(word) => self.word(word, command, own, at),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                self.assignment(assignment, at);
                if is_prefix {
                    self.outside("sets a variable");
                    self.parsed.found[own].variables.push(word.value.clone());
                } else {
                    self.word(word, command, own, at);
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => self.process(subshell, at),
        }
    }

    fn process(&mut self, subshell: &SubshellCommand, at: Context) {
        self.outside("has a process substitution");
        self.list(&subshell.list, Context { is_substituted: true, ..at });
    }

    fn assignment(&mut self, assignment: &Assignment, at: Context) {
        match &assignment.name {
            AssignmentName::VariableName(_) => {}
            AssignmentName::ArrayElementName(_, index) => {
                self.outside("sets an array");
                self.loose(index, at);
            }
        }
        match &assignment.value {
            // Its text is looked into with the word it stands in.
            AssignmentValue::Scalar(word) => self.words([word], at),
            AssignmentValue::Array(pairs) => {
                self.outside("sets an array");
                for (key, value) in pairs {
                    self.words(key, at);
                    self.words([value], at);
                }
            }
        }
    }

    fn word(&mut self, raw: &RawWord, command: &mut Simple, own: usize, at: Context) {
        match word::read(&raw.value) {
            Ok(word) => {
                self.parsed.found[own].words.push(Loose { text: word.text.clone(), is_literal: true });
                command.words.push(word);
            }
            Err(why) => {
                self.outside(why);
                let loose = self.loose(&raw.value, at);
                let parts = split(&raw.value, loose);
                self.parsed.found[own].words.extend(parts);
                command.words.push(Word { text: String::new(), is_glob: false });
            }
        }
    }

    /// A program that is given commands as text: what it runs is looked at as well.
    fn unwrap_texts(&mut self, own: usize, at: Context) {
        let below = Context { parent: Some(own), depth: at.depth + 1, is_substituted: false };
        if below.depth > DEPTH_MAX {
            return self.outside("is nested too deep to be read");
        }
        for text in super::wrapper::texts(&self.parsed.found[own].words) {
            if is_too_deep(&text) {
                self.outside("is nested too deep to be read");
            } else {
                self.text(&text, below);
            }
        }
    }

    /// The same for one whose arguments are a command. A wrapper of wrappers shows all of them at once.
    fn unwrap_words(&mut self, own: usize, at: Context) {
        let Found { words, pipeline, .. } = self.parsed.found[own].clone();
        for words in super::wrapper::commands(&words) {
            let inner = self.parsed.found.len();
            if inner >= FOUND_MAX {
                return;
            }
            self.parsed.found.push(Found { words, pipeline, parent: Some(own), ..Found::default() });
            self.unwrap_texts(inner, at);
        }
    }

    fn redirect_list(&mut self, list: Option<&RedirectList>, pipeline: usize, at: Context) {
        let Some(list) = list else { return };
        let own = self.parsed.found.len();
        if own >= FOUND_MAX {
            return;
        }
        self.parsed.found.push(Found { pipeline, parent: at.parent, ..Found::default() });
        for redirect in &list.0 {
            self.redirect(redirect, own, at);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect, own: usize, at: Context) -> Vec<Redirect> {
        match redirect {
            IoRedirect::File(descriptor, kind, target) => {
                self.file(*descriptor, kind, target, own, at).into_iter().collect()
            }
            IoRedirect::OutputAndError(word, _) => {
                let path = self.loose(&word.value, at);
                if path.is_literal && path.text == NULL {
                    return vec![Redirect::ToNull(Stream::Out), Redirect::ToNull(Stream::Err)];
                }
                self.touched(own, path.text, true);
                Vec::new()
            }
            IoRedirect::HereDocument(_, here) => {
                self.outside("has a here-document");
                if here.requires_expansion {
                    let mut inside = Inside::default();
                    word::read_here(&here.doc.value, &self.options, &mut inside);
                    self.inside(inside, at);
                }
                self.here(own, &here.doc.value, at);
                Vec::new()
            }
            IoRedirect::HereString(_, word) => {
                self.outside("has a here-string");
                let text = self.loose(&word.value, at).text;
                self.here(own, &text, at);
                Vec::new()
            }
        }
    }

    /// What a shell is given to read is run by it.
    fn here(&mut self, own: usize, text: &str, at: Context) {
        let below = Context { parent: Some(own), depth: at.depth + 1, is_substituted: false };
        if super::wrapper::reads_commands(&self.parsed.found[own].words) && below.depth <= DEPTH_MAX {
            self.text(text, below);
        }
    }

    fn file(
        &mut self,
        descriptor: Option<i32>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        own: usize,
        at: Context,
    ) -> Option<Redirect> {
        let is_written = match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => false,
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => true,
        };
        match target {
            IoFileRedirectTarget::Filename(word) => {
                let path = self.loose(&word.value, at);
                if path.is_literal && path.text == NULL {
                    let stream = stream(descriptor.unwrap_or(i32::from(is_written)));
                    match (kind, stream) {
                        (IoFileRedirectKind::Read, None) if descriptor.unwrap_or(0) == 0 => {
                            return Some(Redirect::FromNull);
                        }
                        (IoFileRedirectKind::Write | IoFileRedirectKind::Append, Some(stream)) => {
                            return Some(Redirect::ToNull(stream));
                        }
                        _ => {}
                    }
                }
                self.touched(own, path.text, is_written);
                None
            }
            IoFileRedirectTarget::Duplicate(word) => {
                let from = stream(descriptor.unwrap_or(1));
                let to = word.value.parse().ok().and_then(stream);
                if let (IoFileRedirectKind::DuplicateOutput, Some(from), Some(to)) = (kind, from, to) {
                    return Some(Redirect::Join(from, to));
                }
                let path = self.loose(&word.value, at);
                self.touched(own, path.text, is_written);
                None
            }
            IoFileRedirectTarget::Fd(number) => {
                match (kind, stream(descriptor.unwrap_or(1)), stream(*number)) {
                    (IoFileRedirectKind::DuplicateOutput, Some(from), Some(to)) => {
                        Some(Redirect::Join(from, to))
                    }
                    _ => {
                        self.outside("uses other descriptors than 1 and 2");
                        None
                    }
                }
            }
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                self.process(subshell, at);
                None
            }
        }
    }

    fn touched(&mut self, own: usize, path: String, is_written: bool) {
        let what = if is_written { "writes to a file (>)" } else { "reads from a file (<)" };
        self.outside(what);
        self.parsed.found[own].files.push(File { path, is_written });
    }
}

/// The only file that a redirect may name.
const NULL: &str = "/dev/null";

fn stream(descriptor: i32) -> Option<Stream> {
    match descriptor {
        1 => Some(Stream::Out),
        2 => Some(Stream::Err),
        _ => None,
    }
}

/// The words that a shell would make of one: `{a,b}` and `$IFS` are ways to hide spaces.
fn split(raw: &str, loose: Loose) -> Vec<Loose> {
    let spaced = loose.text.replace("${IFS}", " ").replace("$IFS", " ");
    let inner = raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let parts: Vec<&str> = match inner {
        Some(inner) if inner.contains(',') => inner.split(',').collect(),
        _ if spaced != loose.text => spaced.split_whitespace().collect(),
        _ => return vec![loose],
    };
    parts.into_iter().map(|part| Loose { text: part.to_owned(), is_literal: false }).collect()
}
