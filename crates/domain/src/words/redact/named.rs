//! Values that are credentials because of what they are called: `password=…`, `"token": "…"`, `API_KEY: …`,
//! `Authorization: …`.

use super::Span;

/// The longest name that is looked at.
const NAME_BYTES_MAX: usize = 64;
/// So much of a value is looked at to tell what it is.
const VALUE_BYTES_MAX: usize = 128;
/// Spaces that may stand around the sign between name and value.
const SPACES_MAX: usize = 8;
/// A token or a secret is at least this long.
const TOKEN_BYTES_MIN: usize = 12;
const PASSWORD_BYTES_MIN: usize = 4;
/// What stands behind a value without quotes, and is no part of it.
const BEHIND: [char; 5] = [')', ']', '}', ':', ' '];

/// How much a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// People choose such values.
    Password,
    /// Machines make such values.
    Token,
    /// `Authorization`, `Cookie`: all of the line.
    Header,
}

/// Words that stand where a value would: types, and values that are none.
const NO_VALUES: [&str; 34] = [
    "string",
    "str",
    "text",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "optional",
    "required",
    "number",
    "integer",
    "int",
    "bool",
    "boolean",
    "bytes",
    "any",
    "object",
    "array",
    "list",
    "dict",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "self",
    "this",
    "missing",
    "invalid",
    "unset",
    "empty",
    "default",
];

pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'=', b':', bytes.get(at..).unwrap_or_default()) {
        at += next;
        let Some(kind) = name_before(text, at) else {
            at += 1;
            continue;
        };
        match value_after(text, at, kind) {
            Some(span) => {
                at = span.end;
                spans.push(span);
            }
            None => at += 1,
        }
    }
}

/// What the name that ends before the sign at `at` says.
fn name_before(text: &str, at: usize) -> Option<Name> {
    let bytes = text.as_bytes();
    let mut end = at;
    let back = |end: usize, skip: &[u8], most: usize| {
        let count = bytes[..end].iter().rev().take(most).take_while(|byte| skip.contains(byte)).count();
        end - count
    };
    end = back(end, b" \t", SPACES_MAX);
    end = back(end, b"\"'`]", 2);
    end = back(end, b"\\", 1);
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = bytes[..end].iter().rev().take(NAME_BYTES_MAX).take_while(is_name).count();
    classify(text.get(end - length..end)?)
}

/// The parts of a name: split at `_`, `-`, `.`, and where a capital follows a small letter.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = matches!(c, '_' | '-' | '.') || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
        if begins {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            last.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn classify(name: &str) -> Option<Name> {
    let parts = parts(name);
    let last = parts.last()?.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = parts.len().checked_sub(2).map_or("", |i| parts[i].as_str());
    match last {
        "password" | "passwd" | "passphrase" | "pwd" | "passcode" | "pgpassword" => Some(Name::Password),
        "pass" if !before.is_empty() => Some(Name::Password),
        // Where a list goes on is no secret.
        "token"
            if matches!(
                before,
                "page" | "next" | "continuation" | "sync" | "csrf" | "eos" | "bos" | "pad"
            ) =>
        {
            None
        }
        "token" | "secret" | "secrets" | "credential" | "credentials" | "apikey" | "secretkey"
        | "accesskey" | "privatekey" | "authtoken" | "accesstoken" | "apitoken" | "clientsecret"
        | "bearer" => Some(Name::Token),
        "key" => match before {
            "api" | "secret" | "access" | "private" | "auth" | "encryption" | "signing" | "account"
            | "master" | "service" | "storage" | "license" | "deploy" | "app" => Some(Name::Token),
            "public" | "primary" | "foreign" | "sort" | "partition" | "cache" | "" => None,
            _ if name.len() > 4 && !name.contains(|c: char| c.is_ascii_lowercase()) => Some(Name::Token),
            _ => None,
        },
        "authorization" | "cookie" => Some(Name::Header),
        _ => None,
    }
}

fn value_after(text: &str, sign: usize, name: Name) -> Option<Span> {
    let bytes = text.as_bytes();
    let mut at = sign + 1;
    // `:=`, `=>`, `==`
    at += usize::from(bytes.get(at).is_some_and(|byte| matches!(byte, b'=' | b'>')));
    let spaces = bytes[at.min(bytes.len())..]
        .iter()
        .take(SPACES_MAX)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let tight = spaces == 0 && bytes[..sign].last().is_none_or(|byte| *byte != b' ');
    at += spaces;
    let escaped = bytes.get(at) == Some(&b'\\') && matches!(bytes.get(at + 1), Some(b'"' | b'\''));
    at += usize::from(escaped);
    let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let start = at + usize::from(quote.is_some());
    let ends = |byte: &u8| match quote {
        Some(quote) => *byte == quote || *byte == b'\n' || (escaped && *byte == b'\\'),
        None if name == Name::Header => matches!(byte, b'\n' | b'\r' | b'"' | b'\''),
        None => {
            byte.is_ascii_whitespace()
                || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'|' | b'<' | b'\\')
        }
    };
    let rest = bytes.get(start..)?;
    let seen = rest.iter().take(VALUE_BYTES_MAX).position(ends).unwrap_or(rest.len().min(VALUE_BYTES_MAX));
    let most = text.floor_char_boundary(start + seen);
    let value = text.get(start..most)?;
    let value = if quote.is_some() { value } else { value.trim_end_matches(BEHIND) };
    let (skip, kind) = match name {
        Name::Header => (header(value)?, "token"),
        Name::Password if is_password(value, quote.is_some(), tight) => (0, "password"),
        Name::Token if is_token(value, quote.is_some(), tight) => (0, "secret"),
        Name::Password | Name::Token => return None,
    };
    // The value is one: all of it, however long.
    let end = start + rest.iter().position(ends).unwrap_or(rest.len());
    let trimmed = text[start..end].trim_end_matches(BEHIND).len();
    let end = if quote.is_some() { end } else { start + trimmed };
    Some(Span { start: start + skip, end, kind })
}

/// Where the secret of a header's value begins.
fn header(value: &str) -> Option<usize> {
    let word = value.split(' ').next().unwrap_or_default();
    let scheme =
        matches!(word.to_ascii_lowercase().as_str(), "bearer" | "basic" | "token" | "digest" | "apikey");
    let skip = if scheme { word.len() + 1 } else { 0 };
    let secret = value.get(skip..)?.trim();
    let looks =
        secret.len() >= 8 && !stands_for_one(secret) && (scheme || secret.contains('=') || has_mix(secret));
    (looks && !secret.contains("redacted: ")).then_some(skip)
}

/// A variable, a template or a mask, not a value.
fn stands_for_one(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.starts_with(['$', '<', '{', '%', '[', '(', '@', '&'])
        || value.contains(['(', '{'])
        || value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '-' | '_' | '•'))
        || NO_VALUES.contains(&lower.as_str())
        || ["your", "example", "placeholder", "redacted", "env.", "environ"].iter().any(|w| lower.contains(w))
}

/// A name in a program: `self.token`, `user_password`.
fn is_code(value: &str) -> bool {
    let identifier = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let digits = value.chars().filter(char::is_ascii_digit).count();
    value.split("::").flat_map(|part| part.split('.')).all(identifier)
        && digits <= 2
        && (value.contains(['.', '_', ':']) || digits == 0)
}

fn has_mix(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit()) && value.contains(|c: char| c.is_ascii_alphabetic())
}

fn is_password(value: &str, quoted: bool, tight: bool) -> bool {
    if value.len() < PASSWORD_BYTES_MIN || value.contains(char::is_whitespace) || stands_for_one(value) {
        return false;
    }
    match (quoted, tight) {
        (true, _) => value.len() >= 6 || has_mix(value),
        (false, true) => !value.contains('.') || !is_code(value),
        (false, false) => !is_code(value),
    }
}

fn is_token(value: &str, quoted: bool, tight: bool) -> bool {
    if value.len() < TOKEN_BYTES_MIN || value.contains(char::is_whitespace) || stands_for_one(value) {
        return false;
    }
    let path = value.starts_with(['/', '.', '~']) || value.contains("://");
    let code = !quoted && is_code(value) && (!tight || value.contains('.'));
    !path && !code && is_dense(value)
}

/// Whether the characters are many and mixed, as those of a machine are.
fn is_dense(value: &str) -> bool {
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    distinct >= 8 && has_mix(value)
}
