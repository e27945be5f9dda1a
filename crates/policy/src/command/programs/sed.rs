//! `sed`: scripts that print and change what passes through, and nothing else: no `w`, `e`, `r`, no `-i`.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;

pub(super) fn findings(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    let mut operands = read.operands.iter();
    let mut scripts: Vec<&str> = expressions(arguments);
    if scripts.is_empty() {
        scripts.extend(operands.next().map(|word| word.text.as_str()));
    }
    let mut findings: Vec<Finding> =
        operands.flat_map(|word| paths::findings(&word.text, word.is_glob)).collect();
    let bad = scripts.iter().find(|script| Script { rest: script }.check().is_none());
    if let Some(script) = bad {
        let factor = format!("a sed script that may write or run: {script}");
        findings.push(ask(Risk::Medium, rule::OPTION, factor));
    }
    findings.extend(read.findings);
    findings
}

/// The scripts given with `-e`. What is spelled in any other way is an unknown option, or an operand.
fn expressions(arguments: &[Word]) -> Vec<&str> {
    let mut scripts = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        if let Some(script) = text.strip_prefix("--expression=") {
            scripts.push(script);
        } else if text == "--expression" {
            scripts.extend(rest.next().map(|next| next.text.as_str()));
        } else if text.starts_with('-') && !text.starts_with("--") {
            match text.find(['e', 'l']) {
                Some(at) if at + 1 < text.len() && text[at..].starts_with('e') => {
                    scripts.push(&text[at + 1..])
                }
                Some(at) if at + 1 == text.len() => {
                    let next = rest.next().map(|next| next.text.as_str());
                    scripts.extend(next.filter(|_| text.ends_with('e')));
                }
                _ => {}
            }
        }
    }
    scripts
}

/// Reads a script; `None` as soon as something is not known to be harmless.
struct Script<'a> {
    rest: &'a str,
}

impl Script<'_> {
    fn check(mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest.is_empty() {
                return (depth == 0).then_some(());
            }
            self.address()?;
            if self.take(',') {
                self.blanks();
                if !(self.take('+') || self.take('~')) {
                    self.address()?;
                } else {
                    self.number();
                }
            }
            self.blanks();
            self.skip(|c| c == '!');
            self.blanks();
            match self.next()? {
                // Only after this may a command follow at once.
                '{' => {
                    depth += 1;
                    continue;
                }
                '}' => depth = depth.checked_sub(1)?,
                'p' | 'd' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' | 'n' | 'N' | '=' | 'z' | 'F' => {}
                'q' | 'Q' | 'l' => {
                    self.blanks();
                    self.number();
                }
                's' => self.substitution()?,
                'y' => {
                    let end = self.mark()?;
                    self.until(end)?;
                    self.until(end)?;
                }
                'b' | 't' | 'T' | ':' => {
                    self.blanks();
                    self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
                }
                _ => return None,
            }
            self.blanks();
            if !self.rest.is_empty() && !self.rest.starts_with([';', '\n', '}', '#']) {
                return None;
            }
            if self.rest.starts_with('#') {
                self.skip(|c| c != '\n');
            }
        }
    }

    fn substitution(&mut self) -> Option<()> {
        let end = self.mark()?;
        self.until(end)?;
        self.until(end)?;
        // `e` would run the result and `w` write it.
        self.skip(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'));
        Some(())
    }

    /// What divides the parts of `s` and `y`.
    fn mark(&mut self) -> Option<char> {
        self.next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && !"\\[]".contains(*c))
    }

    /// Up to a mark that is not escaped, and past it. Whether a mark inside brackets counts differs from one sed
    /// to the next, so it is not read at all.
    fn until(&mut self, end: char) -> Option<()> {
        let mut in_brackets = false;
        loop {
            match self.next()? {
                '\n' => return None,
                '\\' => drop(self.next()?),
                c if c == end => return (!in_brackets).then_some(()),
                '[' if self.rest.starts_with(']') || self.rest.starts_with("^]") => return None,
                '[' => in_brackets = true,
                ']' => in_brackets = false,
                _ => {}
            }
        }
    }

    fn address(&mut self) -> Option<()> {
        if self.take('$') {
            return Some(());
        }
        if self.take('/') {
            self.until('/')?;
            self.skip(|c| c == 'I' || c == 'M');
            return Some(());
        }
        if self.take('\\') {
            let end = self.mark()?;
            self.until(end)?;
            self.skip(|c| c == 'I' || c == 'M');
            return Some(());
        }
        self.number();
        if self.take('~') {
            self.number();
        }
        Some(())
    }

    fn number(&mut self) {
        self.skip(|c| c.is_ascii_digit());
    }

    fn blanks(&mut self) {
        self.skip(|c| c == ' ' || c == '\t');
    }

    fn skip(&mut self, which: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(which);
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.rest.strip_prefix(c);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }
}
