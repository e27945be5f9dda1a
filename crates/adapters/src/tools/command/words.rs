//! Splitting plain commands into words, so that they run without a shell.

/// The words of a command that has only words and quotes; `None` if a shell would see anything else in it.
/// In doubt it is the shell's: what is taken apart here means exactly the same to every POSIX shell.
pub(super) fn plain(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.trim_matches([' ', '\t']).chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inside => word.push(inside),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        inside => word.push(inside),
                    }
                }
            }
            // Before the first word ends, `a=b` sets a variable.
            '=' if words.is_empty() => return None,
            _ if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    let first = words.first()?;
    (!first.is_empty() && !RESERVED.contains(&first.as_str())).then_some(words)
}

/// Words that mean something to a shell in the first place, and programs that exist only inside one.
const RESERVED: [&str; 44] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "function", "select", "time", "coproc", ".", ":", "alias", "bg", "break", "cd", "command", "continue",
    "eval", "exec", "exit", "export", "fg", "getopts", "hash", "jobs", "read", "readonly", "return", "set",
    "shift", "source", "times", "trap", "umask", "unset", "wait",
];

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes_are_split_as_a_shell_does() {
        for (command, words) in [
            ("df -h", vec!["df", "-h"]),
            ("  ls\t-la  ", vec!["ls", "-la"]),
            ("echo 'a b' \"c  d\"", vec!["echo", "a b", "c  d"]),
            ("echo a'b'\"c\"d", vec!["echo", "abcd"]),
            ("echo ''", vec!["echo", ""]),
            ("grep --color=never x", vec!["grep", "--color=never", "x"]),
            ("echo '$HOME; rm -rf /'", vec!["echo", "$HOME; rm -rf /"]),
            ("echo 'two\nlines'", vec!["echo", "two\nlines"]),
            ("du -sh ./größe", vec!["du", "-sh", "./größe"]),
        ] {
            assert_eq!(plain(command), Some(words.iter().map(|w| (*w).to_owned()).collect()), "{command}");
        }
    }

    #[test]
    fn what_a_shell_would_see_more_in_is_the_shells() {
        for command in [
            "",
            "   ",
            "a | b",
            "a && b",
            "a; b",
            "a & b",
            "a > b",
            "a < b",
            "$(a)",
            "`a`",
            "echo $HOME",
            "echo \"$HOME\"",
            "echo \\n",
            "ls *.md",
            "ls ?",
            "ls [ab]",
            "ls {a,b}",
            "ls ~",
            "a=b c",
            "echo # no",
            "! a",
            "(a)",
            "a\nb",
            "echo 'open",
            "echo \"open",
            "''",
            "cd x",
            "exit 3",
            "if a",
            "echo \"a\\b\"",
            "echo a^b",
            "a\rb",
        ] {
            assert_eq!(plain(command), None, "{command:?}");
        }
    }

    #[test]
    fn a_shell_agrees_on_every_word() {
        let mut rng = testkit::rng::Rng::new(2);
        let pieces = [
            "a", "b", " ", "  ", "\t", "'", "'", "\"", "\"", "-", "=", ".", "/", ",", ":", "@", "%", "+",
            "$", "`", "\\", "*", "~", "#", ";", "&", "|", "<", "(", "{", "[", "!", "^", "\n", "\r", "ä",
            "\u{a0}", "1", ">",
        ];
        let mut split = Vec::new();
        let mut script = String::new();
        while split.len() < 2_000 {
            let text: String = (0..=rng.below(9)).filter_map(|_| rng.pick(&pieces).copied()).collect();
            let command = format!("x {text}");
            let Some(words) = plain(&command) else { continue };
            script.push_str(&format!("printf '%s\\001' {command}\nprintf '\\002'\n"));
            split.push((command, words));
        }
        let output = std::process::Command::new("/bin/sh").arg("-c").arg(&script).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        for ((command, words), printed) in split.iter().zip(printed.split('\u{2}')) {
            let seen: Vec<&str> = printed.split_terminator('\u{1}').collect();
            assert_eq!(&seen, words, "{command:?}");
        }
    }
}
