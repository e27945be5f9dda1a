//! One word of a shell: its text without quotes, or the reason why only a shell knows its text.

use brush_parser::ParserOptions;
use brush_parser::word::{self, Parameter, ParameterExpr, WordPiece, WordPieceWithSource};

use super::script::Word;

/// The word that `raw` stands for, or why only a shell knows.
pub(super) fn read(raw: &str) -> Result<Word, &'static str> {
    let mut text = String::with_capacity(raw.len());
    let mut glob = false;
    let mut quoted_special = false;
    let mut braces = false;
    let mut listed = false;
    let mut chars = raw.chars().peekable();
    let mut last = None;
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next().ok_or("has an open quote")? {
                    '\'' => break,
                    inside => {
                        quoted_special |= special_in_glob(inside);
                        text.push(inside);
                    }
                }
            },
            '"' => quoted_special |= double_quoted(&mut chars, &mut text)?,
            '\\' => match chars.next().ok_or("ends in a backslash")? {
                '\n' => {}
                escaped => {
                    quoted_special |= special_in_glob(escaped);
                    text.push(escaped);
                }
            },
            // At the very end it stands for itself.
            '$' if chars.peek().is_none() => text.push('$'),
            '$' => return Err("has an expansion ($)"),
            '`' => return Err("has a command substitution (`)"),
            '~' if matches!(last, None | Some('=' | ':')) => return Err("has a home folder (~)"),
            '(' | ')' | '<' | '>' | '|' | '&' | ';' => return Err("has an operator inside a word"),
            c => {
                match c {
                    '*' | '?' => glob = true,
                    ']' => glob |= text.contains('['),
                    '{' => braces = true,
                    ',' => listed |= braces,
                    '.' => listed |= braces && last == Some('.'),
                    _ => {}
                }
                text.push(c);
            }
        }
        last = Some(c);
    }
    if listed {
        return Err("has a brace expansion ({…})");
    }
    if glob && !text.starts_with('-') && (quoted_special || text.contains('\\')) {
        return Err("has quotes inside a glob");
    }
    // Nobody means files by `--include=*.rs`; taken as it is written, it is an option whatever files there are.
    let is_glob = glob && !text.starts_with('-');
    Ok(Word { text, is_glob })
}

/// The rest of a double-quoted part; whether it has what would be special in a glob.
fn double_quoted(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    text: &mut String,
) -> Result<bool, &'static str> {
    let mut special = false;
    loop {
        let c = chars.next().ok_or("has an open quote")?;
        match c {
            '"' => return Ok(special),
            '`' => return Err("has a command substitution (`)"),
            // A dollar before these starts nothing in any shell.
            '$' if matches!(chars.peek(), Some('"' | ' ' | '|' | ')' | '/' | '.')) => text.push('$'),
            '$' => return Err("has an expansion ($)"),
            '\\' => match chars.peek().copied() {
                Some(next @ ('$' | '`' | '"' | '\\')) => {
                    chars.next();
                    special |= special_in_glob(next);
                    text.push(next);
                }
                Some('\n') => {
                    chars.next();
                }
                _ => {
                    special = true;
                    text.push('\\');
                }
            },
            c => {
                special |= special_in_glob(c);
                text.push(c);
            }
        }
    }
}

fn special_in_glob(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | ']' | '\\' | '!' | '^' | '-')
}

/// A word that may hold anything, as near to its text as can be said without running it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Loose {
    /// Quotes taken away; what a shell would fill in stands as it was written.
    pub text: String,
    /// Whether the text is all of it.
    pub is_literal: bool,
}

/// Programs inside a word: the texts of its substitutions.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// To be parsed as commands.
    pub commands: Vec<String>,
    /// Other texts that are expanded once more: operands of parameters, arithmetic.
    pub words: Vec<String>,
    /// Marks of hiding, such as ANSI-C quotes.
    pub obfuscated: bool,
}

/// Reads a word that [`read`] refused.
pub(super) fn read_loosely(raw: &str, options: &ParserOptions, inside: &mut Inside) -> Loose {
    let mut loose = Loose { text: String::new(), is_literal: true };
    match word::parse(raw, options) {
        Ok(pieces) => add_pieces(raw, &pieces, &mut loose, inside),
        Err(_) => loose = Loose { text: raw.to_owned(), is_literal: false },
    }
    loose
}

/// Reads the text of a here-document.
pub(super) fn read_here(raw: &str, options: &ParserOptions, inside: &mut Inside) {
    let mut loose = Loose::default();
    match word::parse_heredoc(raw, options) {
        Ok(pieces) => add_pieces(raw, &pieces, &mut loose, inside),
        Err(_) => inside.obfuscated = true,
    }
}

fn add_pieces(raw: &str, pieces: &[WordPieceWithSource], loose: &mut Loose, inside: &mut Inside) {
    for WordPieceWithSource { piece, start_index, end_index } in pieces {
        let source = raw.get(*start_index..*end_index).unwrap_or_default();
        match piece {
            WordPiece::Text(text) => loose.text.push_str(text),
            WordPiece::SingleQuotedText(text) => loose.text.push_str(text),
            WordPiece::EscapeSequence(text) => loose.text.push_str(text.strip_prefix('\\').unwrap_or(text)),
            WordPiece::AnsiCQuotedText(text) => {
                inside.obfuscated = true;
                loose.text.push_str(&ansi_c(text));
            }
            WordPiece::DoubleQuotedSequence(within) | WordPiece::GettextDoubleQuotedSequence(within) => {
                add_pieces(raw, within, loose, inside);
            }
            WordPiece::TildeExpansion(_) => {
                loose.is_literal = false;
                loose.text.push_str(source);
            }
            WordPiece::ParameterExpansion(expression) => {
                loose.is_literal = false;
                loose.text.push_str(source);
                add_operands(expression, inside);
            }
            WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                loose.is_literal = false;
                loose.text.push_str(source);
                inside.commands.push(text.clone());
            }
            WordPiece::ArithmeticExpression(expression) => {
                loose.is_literal = false;
                loose.text.push_str(source);
                inside.words.push(expression.value.clone());
            }
        }
    }
}

/// What a parameter expansion expands in its turn.
fn add_operands(expression: &ParameterExpr, inside: &mut Inside) {
    let (parameter, texts): (&Parameter, [Option<&String>; 2]) = match expression {
        ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => return,
        ParameterExpr::Parameter { parameter, .. } | ParameterExpr::ParameterLength { parameter, .. } => {
            (parameter, [None, None])
        }
        // `${x@P}` runs what stands in x.
        ParameterExpr::Transform { parameter, .. } => {
            inside.obfuscated = true;
            (parameter, [None, None])
        }
        ParameterExpr::UseDefaultValues { parameter, default_value: text, .. }
        | ParameterExpr::AssignDefaultValues { parameter, default_value: text, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, error_message: text, .. }
        | ParameterExpr::UseAlternativeValue { parameter, alternative_value: text, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { parameter, pattern: text, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { parameter, pattern: text, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { parameter, pattern: text, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { parameter, pattern: text, .. }
        | ParameterExpr::UppercaseFirstChar { parameter, pattern: text, .. }
        | ParameterExpr::UppercasePattern { parameter, pattern: text, .. }
        | ParameterExpr::LowercaseFirstChar { parameter, pattern: text, .. }
        | ParameterExpr::LowercasePattern { parameter, pattern: text, .. } => {
            (parameter, [text.as_ref(), None])
        }
        ParameterExpr::Substring { parameter, offset, length, .. } => {
            (parameter, [Some(&offset.value), length.as_ref().map(|l| &l.value)])
        }
        ParameterExpr::ReplaceSubstring { parameter, pattern, replacement, .. } => {
            (parameter, [Some(pattern), replacement.as_ref()])
        }
    };
    inside.words.extend(texts.into_iter().flatten().cloned());
    match parameter {
        Parameter::NamedWithIndex { index, .. } => inside.words.push(index.clone()),
        Parameter::Positional(_)
        | Parameter::Special(_)
        | Parameter::Named(_)
        | Parameter::NamedWithAllIndices { .. } => {}
    }
}

/// What `$'…'` stands for, as far as its escapes are letters in disguise.
fn ansi_c(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else { break };
        let (radix, start, digits_max) = match kind {
            'x' => (16, 1, 2),
            'u' => (16, 1, 4),
            'U' => (16, 1, 8),
            '0'..='7' => (8, 0, 3),
            other => {
                plain.push(match other {
                    'n' => '\n',
                    't' => '\t',
                    'e' | 'E' => '\u{1b}',
                    same => same,
                });
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        let digits: String =
            rest.chars().skip(start).take(digits_max).take_while(|c| c.is_digit(radix)).collect();
        plain.extend(u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32));
        rest = &rest[start + digits.len()..];
    }
    plain.push_str(rest);
    plain
}
