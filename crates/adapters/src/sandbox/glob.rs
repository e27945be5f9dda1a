//! Names of files that fit a pattern, as a shell finds them: sorted, and those with a dot in front only if asked for.

use std::fs;
use std::path::Path;

/// More names than this are not looked for.
const NAMES_MAX: usize = 10_000;

/// The words that a pattern stands for in `folder`; the pattern itself if there are none.
pub(crate) fn expand(folder: &Path, pattern: &str) -> Vec<String> {
    let mut found = vec![if pattern.starts_with('/') { "/".to_owned() } else { String::new() }];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = found.iter().flat_map(|before| step(folder, before, part)).take(NAMES_MAX).collect();
    }
    if found.is_empty() {
        return vec![pattern.to_owned()];
    }
    found.sort_unstable();
    // A file whose name looks like an option stays a file.
    found.into_iter().map(|name| if name.starts_with('-') { format!("./{name}") } else { name }).collect()
}

/// The paths one step further.
fn step(folder: &Path, before: &str, part: &str) -> Vec<String> {
    let joined = |name: &str| match before {
        "" | "/" => format!("{before}{name}"),
        _ => format!("{before}/{name}"),
    };
    if !part.contains(['*', '?', '[']) {
        let path = joined(part);
        return folder.join(&path).symlink_metadata().map(|_| path).into_iter().collect();
    }
    let entries = fs::read_dir(folder.join(before)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| !name.starts_with('.') || part.starts_with('.'));
    let part: Vec<char> = part.chars().collect();
    names.filter(|name| fits(&part, &name.chars().collect::<Vec<_>>())).map(|name| joined(&name)).collect()
}

/// Whether a name fits one part of a pattern. In the order of both lengths multiplied.
fn fits(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on if the last star takes one character more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let next = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => match class(&pattern[p..], name[n]) {
                Some((true, length)) => Some(p + length),
                Some((false, _)) => None,
                None => (name[n] == '[').then_some(p + 1),
            },
            Some(c) => (*c == name[n]).then_some(p + 1),
            None => None,
        };
        match (next, star) {
            (Some(next), _) => (p, n) = (next, n + 1),
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether `[…]` at the beginning has the character, and how long it is; `None` if it has no end.
fn class(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    // A bracket in the first place is a member.
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|c| *c == ']')?;
    let members = &pattern[first..end];
    let mut has = false;
    let mut at = 0;
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == '-' {
            has |= (members[at]..=members[at + 2]).contains(&c);
            at += 3;
        } else {
            has |= members[at] == c;
            at += 1;
        }
    }
    Some((has != negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_as_in_a_shell() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rsx", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbY", false),
            ("?", "", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[", "[", true),
            ("a[", "ab", false),
            ("**a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false),
        ] {
            assert_eq!(fits(&chars(pattern), &chars(name)), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_are_sorted_visible_and_never_options() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        for name in ["b", "a", ".hidden", "-rf", "sub/x.rs", "sub/y.rs"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let expand = |pattern| expand(folder.path(), pattern);
        assert_eq!(expand("*"), ["./-rf", "a", "b", "sub"]);
        assert_eq!(expand("*/*.rs"), ["sub/x.rs", "sub/y.rs"]);
        assert_eq!(expand(".h*"), [".hidden"]);
        assert_eq!(expand("no*"), ["no*"]);
    }
}
