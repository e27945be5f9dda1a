//! A Rust file as words and signs, without comments and without what stands in quotes. Enough to check habits;
//! no parser.

use std::ops::Range;

/// A word, a number, a lifetime, or one sign. A text in quotes is the sign `"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub text: &'a str,
    /// From 1.
    pub line: usize,
}

/// A file, read.
pub struct Source<'a> {
    /// Relative to the root, with `/`.
    pub path: &'a str,
    pub text: &'a str,
    pub tokens: Vec<Token<'a>>,
    /// Tokens of `#[cfg(test)]` items, with the attribute.
    tests: Vec<Range<usize>>,
}

impl<'a> Source<'a> {
    pub fn read(path: &'a str, text: &'a str) -> Self {
        let tokens = Lexer { text, at: 0, line: 1, tokens: Vec::new() }.run();
        let tests = test_items(&tokens);
        Self { path, text, tokens, tests }
    }

    /// Whether the token at `index` is only compiled for tests.
    pub fn is_test(&self, index: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|range| range.contains(&index))
    }

    pub fn is_test_file(&self) -> bool {
        let mut parts = self.path.rsplit('/');
        parts.next() == Some("tests.rs") || parts.any(|folder| folder == "tests")
    }

    /// Whether `words` follow each other from `index` on.
    pub fn has(&self, index: usize, words: &[&str]) -> bool {
        has(&self.tokens, index, words)
    }

    /// Every path that is named, each `use` tree spread out: `use std::{fs, io}` gives `std::fs` and `std::io`.
    /// With each, the index of its first token.
    pub fn paths(&self) -> Vec<(usize, Vec<&'a str>)> {
        let mut paths = Vec::new();
        let mut index = 0;
        while index < self.tokens.len() {
            let is_use = self.tokens[index].text == "use" && !self.has(index + 1, &["<"]);
            let start = index + usize::from(is_use);
            let end = if is_use {
                use_tree(&self.tokens, start, &[], &mut paths)
            } else {
                let (path, end) = plain_path(&self.tokens, start);
                if !path.is_empty() {
                    paths.push((start, path));
                }
                end
            };
            index = end.max(index + 1);
        }
        paths
    }
}

fn has(tokens: &[Token<'_>], index: usize, words: &[&str]) -> bool {
    tokens.get(index..).is_some_and(|rest| {
        rest.len() >= words.len() && rest.iter().zip(words).all(|(token, word)| token.text == *word)
    })
}

/// `a::b::c` from `index` on, and where it ends.
fn plain_path<'a>(tokens: &[Token<'a>], mut index: usize) -> (Vec<&'a str>, usize) {
    let mut path = Vec::new();
    while let Some(token) = tokens.get(index).filter(|t| is_word(t.text)) {
        path.push(token.text);
        index += 1;
        let more = has(tokens, index, &[":", ":"]) && tokens.get(index + 2).is_some_and(|t| is_word(t.text));
        if !more {
            break;
        }
        index += 2;
    }
    (path, index)
}

/// Spreads one tree of a `use` out; gives back where it ends.
fn use_tree<'a>(
    tokens: &[Token<'a>],
    index: usize,
    before: &[&'a str],
    paths: &mut Vec<(usize, Vec<&'a str>)>,
) -> usize {
    let index = if has(tokens, index, &[":", ":"]) { index + 2 } else { index };
    let (own, mut end) = plain_path(tokens, index);
    let path: Vec<&str> = before.iter().copied().chain(own).collect();
    if !has(tokens, end, &[":", ":", "{"]) && !has(tokens, end, &["{"]) {
        paths.push((index, path));
        // A new name or a star.
        while tokens.get(end).is_some_and(|t| !matches!(t.text, "," | "}" | ";")) {
            end += 1;
        }
        return end;
    }
    end += if has(tokens, end, &["{"]) { 1 } else { 3 };
    while tokens.get(end).is_some_and(|t| t.text != "}") {
        end = use_tree(tokens, end, &path, paths).max(end + 1);
        if has(tokens, end, &[","]) {
            end += 1;
        }
    }
    end + 1
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The index behind the bracket that closes the one at `open`.
pub fn close(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

fn test_items(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    const MARKS: [&[&str]; 2] =
        [&["#", "[", "cfg", "(", "test", ")"], &["#", "[", "cfg", "(", "all", "(", "test"]];
    let starts = (0..tokens.len()).filter(|i| MARKS.iter().any(|mark| has(tokens, *i, mark)));
    starts.map(|start| start..item_end(tokens, start)).collect()
}

/// Where the item that has the attribute at `index` ends: behind its body, or behind its semicolon.
fn item_end(tokens: &[Token<'_>], mut index: usize) -> usize {
    while has(tokens, index, &["#", "["]) {
        index = close(tokens, index + 1);
    }
    while let Some(token) = tokens.get(index) {
        match token.text {
            "{" => return close(tokens, index),
            ";" => return index + 1,
            "(" | "[" => index = close(tokens, index),
            _ => index += 1,
        }
    }
    index
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn run(mut self) -> Vec<Token<'a>> {
        while let Some(c) = self.rest().chars().next() {
            if self.rest().starts_with("//") {
                self.skip(self.rest().find('\n').unwrap_or(self.rest().len()));
            } else if self.rest().starts_with("/*") {
                self.block_comment();
            } else if c == '"' {
                self.quoted(0, '"');
            } else if c == '\'' {
                self.quote();
            } else if c.is_alphanumeric() || c == '_' {
                self.word();
            } else if c.is_whitespace() {
                self.skip(c.len_utf8());
            } else {
                self.push(c.len_utf8());
            }
        }
        self.tokens
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest()[..bytes].matches('\n').count();
        self.at += bytes;
    }

    fn push(&mut self, bytes: usize) {
        self.tokens.push(Token { text: &self.rest()[..bytes], line: self.line });
        self.skip(bytes);
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest().starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest().starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else if let Some(c) = self.rest().chars().next() {
                self.skip(c.len_utf8());
            }
            if depth == 0 || self.rest().is_empty() {
                return;
            }
        }
    }

    /// A text between two `quote`s with escapes, behind a prefix of some bytes.
    fn quoted(&mut self, prefix: usize, quote: char) {
        self.tokens.push(Token { text: "\"", line: self.line });
        let mut escaped = false;
        let body = &self.rest()[prefix + 1..];
        let end = body.find(|c: char| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        self.skip(end.map_or(self.rest().len(), |end| prefix + 1 + end + 1));
    }

    /// `'a'` or `'a`.
    fn quote(&mut self) {
        let mut after = self.rest()[1..].chars();
        let (first, second) = (after.next(), after.next());
        if first == Some('\\') || second == Some('\'') {
            self.quoted(0, '\'');
        } else {
            let name = self.rest()[1..].find(|c: char| !(c.is_alphanumeric() || c == '_'));
            self.push(1 + name.unwrap_or(self.rest().len() - 1));
        }
    }

    /// A word or number, or a text in quotes that starts with a prefix such as `r#`.
    fn word(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let hashes = behind.len() - behind.trim_start_matches('#').len();
        let raw = matches!(word, "r" | "br" | "cr");
        if raw && behind[hashes..].starts_with('"') {
            let fence = format!("\"{}", &behind[..hashes]);
            let start = length + hashes + 1;
            let end = rest[start..].find(&fence).map_or(rest.len(), |end| start + end + fence.len());
            self.tokens.push(Token { text: "\"", line: self.line });
            self.skip(end);
        } else if word == "r" && hashes == 1 {
            // `r#type` is the word `type`.
            self.skip(2);
        } else if matches!(word, "b" | "c") && behind.starts_with('"') {
            self.quoted(1, '"');
        } else if word == "b" && behind.starts_with('\'') {
            self.quoted(1, '\'');
        } else {
            self.push(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        Source::read("a.rs", text).tokens.iter().map(|t| t.text).collect()
    }

    #[test]
    fn comments_and_quoted_texts_are_not_words() {
        assert_eq!(words("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(
            words(r#"a("b \" c", 'd', '\'', b'e', b"f")"#),
            ["a", "(", "\"", ",", "\"", ",", "\"", ",", "\"", ",", "\"", ")"]
        );
        assert_eq!(words("r#\"a \" b\"# + r\"c\""), ["\"", "+", "\""]);
    }

    #[test]
    fn lifetimes_and_raw_words_are_words() {
        assert_eq!(
            words("fn f<'a>(r#type: &'a str)"),
            ["fn", "f", "<", "'a", ">", "(", "type", ":", "&", "'a", "str", ")"]
        );
    }

    #[test]
    fn lines_are_counted_through_texts_and_comments() {
        let source = Source::read("a.rs", "\"a\nb\" /*\n*/ x");
        assert_eq!(source.tokens.last(), Some(&Token { text: "x", line: 3 }));
    }

    #[test]
    fn a_use_tree_is_spread_out() {
        let source = Source::read("a.rs", "use std::{fs, io::{self, Read as R}, time::*};\nx::y(z)");
        let paths: Vec<String> = source.paths().iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(paths, ["std::fs", "std::io::self", "std::io::Read", "std::time", "x::y", "z"]);
    }

    #[test]
    fn test_code_is_told_from_other_code() {
        let text = "fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests { fn b() {} }\nfn c() {}";
        let source = Source::read("a.rs", text);
        let test = |name| source.is_test(source.tokens.iter().position(|t| t.text == name).unwrap());
        assert_eq!((test("a"), test("b"), test("c")), (false, true, false));
        assert!(Source::read("crates/x/tests/all/a.rs", "a").is_test(0));
        assert!(Source::read("crates/x/src/gate/tests.rs", "a").is_test(0));
        assert!(!Source::read("crates/x/src/contests.rs", "a").is_test(0));
    }
}
