//! `awk`: programs that print and count what passes through, and nothing else. No `system`, no pipes, no files
//! of their own, no environment.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::table::WORDS;

pub(super) fn findings(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    // Awk reads no options after its program.
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        let takes_next = ["-F", "-v", "--field-separator", "--assign"].contains(&word.text.as_str());
        at += if takes_next { 2 } else { 1 };
        if word.text == "--" {
            break;
        }
    }
    let at = at.min(arguments.len());
    let read = tool.read(&arguments[..at]);
    let mut findings = Vec::new();
    let mut operands = arguments[at..].iter();
    match operands.next() {
        Some(program) if is_harmless(&program.text) && !program.is_glob => {}
        Some(program) => {
            let factor = format!("an awk program that may write or run: {}", program.text);
            findings.push(ask(Risk::Medium, rule::OPTION, factor));
        }
        None if read.has_any(&["version", "help"]) => {}
        None => findings.push(ask(Risk::Low, rule::OPTION, "awk without a program")),
    }
    // What follows is a file, or sets a variable.
    let is_assignment = |text: &str| {
        text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let files = operands.filter(|word| !is_assignment(&word.text));
    findings.extend(files.flat_map(|word| paths::findings(&word.text, word.is_glob)));
    findings.extend(read.findings);
    findings
}

/// Whether a program can do nothing but print.
fn is_harmless(program: &str) -> bool {
    if WORDS.awk_reaching.iter().any(|name| program.contains(name)) {
        return false;
    }
    match tokens(program) {
        Some(tokens) => !redirects(&tokens),
        None => false,
    }
}

/// A piece of an awk program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A name or a number.
    Word(&'a str),
    /// A string or a regular expression.
    Quoted,
    /// One character of anything else.
    Mark(char),
}

/// The pieces of a program; `None` where it could be read in two ways.
fn tokens(program: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = program;
    let mut is_ambiguous = false;
    while let Some(c) = rest.chars().next() {
        if c == '#' {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if c == ' ' || c == '\t' {
            rest = &rest[1..];
        } else if c.is_ascii_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        } else if c == '"' || (c == '/' && begins_regex(&tokens)) {
            rest = quoted(&rest[1..], c)?;
            tokens.push(Token::Quoted);
        } else {
            // A slash after a value divides, unless it is a regular expression after all.
            is_ambiguous |= c == '/';
            tokens.push(Token::Mark(c));
            rest = &rest[c.len_utf8()..];
        }
    }
    let single_pipe = program.replace("||", "").contains('|');
    let greater = program.replace(">=", "").contains('>');
    (!is_ambiguous || !(single_pipe || greater || program.contains('@'))).then_some(tokens)
}

/// Whether a slash here can only begin a regular expression.
fn begins_regex(tokens: &[Token<'_>]) -> bool {
    match tokens.last() {
        None => true,
        Some(Token::Mark(c)) => matches!(c, '{' | '}' | '(' | ',' | ';' | '\n' | '!' | '~' | '&' | '|' | '='),
        Some(Token::Word(_) | Token::Quoted) => false,
    }
}

fn quoted(text: &str, end: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()?),
            '\n' => return None,
            // A slash inside brackets may or may not end it.
            '[' if end == '/' => {
                let close = text[at..].find(']').map(|found| at + found)?;
                if text[at..close].contains('/') {
                    return None;
                }
            }
            c if c == end => return Some(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}

/// Whether something is piped, written to a file, or loaded.
fn redirects(tokens: &[Token<'_>]) -> bool {
    let mut printing = false;
    let mut previous = None;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        match token {
            Token::Word("print" | "printf") => printing = true,
            Token::Mark(';' | '}' | '\n') => printing = false,
            Token::Mark('@') => return true,
            Token::Mark('|') => {
                let doubled = previous == Some(&Token::Mark('|')) || next == Some(&Token::Mark('|'));
                if !doubled {
                    return true;
                }
            }
            Token::Mark('>') if printing || next == Some(&Token::Mark('>')) => return true,
            Token::Word(_) | Token::Quoted | Token::Mark(_) => {}
        }
        previous = Some(token);
    }
    false
}
