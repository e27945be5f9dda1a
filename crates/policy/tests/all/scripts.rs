//! What a command is run as: the words a shell would see, or no script at all.

use std::process::Command;

use policy::command::script::{Joint, Redirect, Stream};
use policy::command::{Script, script};

/// The words of a script of one command, without globs.
fn words(text: &str) -> Option<Vec<String>> {
    let script = script(text)?;
    let [pipeline] = script.pipelines.as_slice() else { return None };
    let [command] = pipeline.commands.as_slice() else { return None };
    let plain = command.redirects.is_empty() && !pipeline.negated && command.words.iter().all(|w| !w.is_glob);
    plain.then(|| command.words.iter().map(|w| w.text.clone()).collect())
}

#[test]
fn words_and_quotes_are_split_as_a_shell_does() {
    for (text, expected) in [
        ("df -h", vec!["df", "-h"]),
        ("  ls\t-la  # all of it", vec!["ls", "-la"]),
        ("echo 'a b' \"c  d\" a'b'\"c\"d ''", vec!["echo", "a b", "c  d", "abcd", ""]),
        ("echo \"a\\\"b\\\\c\\d\" \\$x 'x$' \"x$\" x$", vec!["echo", "a\"b\\c\\d", "$x", "x$", "x$", "x$"]),
        ("grep \\\n  -n x", vec!["grep", "-n", "x"]),
        ("git show HEAD~2 stash@{0} HEAD^ a~b", vec!["git", "show", "HEAD~2", "stash@{0}", "HEAD^", "a~b"]),
        ("[ -f x ]", vec!["[", "-f", "x", "]"]),
        ("echo 'two\nlines' größe", vec!["echo", "two\nlines", "größe"]),
    ] {
        assert_eq!(words(text), Some(expected.iter().map(|w| (*w).to_owned()).collect()), "{text}");
    }
}

#[test]
fn joints_redirects_and_globs_are_kept() {
    let text = "cd src && ls *.rs 2>/dev/null | wc -l; ! test -f a || echo b >&2\necho c &> /dev/null";
    let script = script(text).unwrap();
    let joints: Vec<Joint> = script.pipelines.iter().map(|p| p.joint).collect();
    assert_eq!(joints, [Joint::Always, Joint::And, Joint::Always, Joint::Or, Joint::Always]);
    assert!(script.pipelines[1].commands[0].words[1].is_glob);
    assert_eq!(script.pipelines[1].commands[0].redirects, [Redirect::ToNull(Stream::Err)]);
    assert!(script.pipelines[2].negated);
    assert_eq!(script.pipelines[3].commands[0].redirects, [Redirect::Join(Stream::Out, Stream::Err)]);
    let both = [Redirect::ToNull(Stream::Out), Redirect::ToNull(Stream::Err)];
    assert_eq!(script.pipelines[4].commands[0].redirects, both);
    assert_eq!(
        script.to_string(),
        "cd src && ls *.rs 2> /dev/null | wc -l; ! test -f a || echo b 1>&2; echo c > /dev/null 2> /dev/null"
    );
}

#[test]
fn what_only_a_shell_can_tell_is_no_script() {
    for text in [
        "",
        "# x",
        "a &",
        "a & b",
        "a > b",
        "a < b",
        "a >> b",
        "a 2> b",
        "a <<< b",
        "a 3>&1",
        "a >&-",
        "a <> b",
        "$(a)",
        "`a`",
        "$a",
        "${a}",
        "echo $HOME",
        "echo \"$HOME\"",
        "echo \"`a`\"",
        "echo $((1))",
        "echo {a,b}",
        "echo {1..3}",
        "echo ~",
        "echo ~root",
        "echo a=~",
        "a=b c",
        "a=b",
        "(a)",
        "{ a; }",
        "if a; then b; fi",
        "for a in b; do c; done",
        "while a; do b; done",
        "case a in b) c;; esac",
        "f() { a; }",
        "[[ -f a ]]",
        "time a",
        "((1))",
        "a <(b)",
        "a >(b)",
        "cat <<E\nx\nE\n",
        "echo $'a'",
        "echo $\"a\"",
        "echo 'open",
        "echo \"open",
        "a |",
        "a &&",
        "| a",
        "a;;",
        "*",
        "/bin/l?",
        "echo '*'*",
        "echo !(a)",
        "coproc a",
        "echo a\\",
        "a[1]=2",
        "export a=(1 2)",
        "\u{a0}$a",
        "echo \"a$(b)\"",
        "echo ${a:-$(b)}",
        "> /dev/null",
    ] {
        assert_eq!(script(text), None, "{text:?}");
    }
}

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

const PIECES: [&str; 46] = [
    "a", "b", " ", "  ", "\t", "'", "'", "\"", "\"", "-", "=", ".", "/", ",", ":", "@", "%", "+", "$", "`",
    "\\", "*", "~", "#", ";", "&", "|", "<", "(", "{", "}", "[", "]", "!", "^", "\n", "ä", "1", ">", "\\\n",
    "$ ", "\"$\"", "''", "\\\"", "\\'", "?",
];

#[test]
fn a_shell_agrees_on_every_word() {
    let mut chance = Chance(2);
    let mut split = Vec::new();
    let mut run = String::new();
    while split.len() < 3_000 {
        let text: String = (0..=chance.below(9)).map(|_| PIECES[chance.below(PIECES.len())]).collect();
        let command = format!("printf '%s\\001' x {text}");
        let Some(words) = words(&command) else { continue };
        run.push_str(&format!("{command}\nprintf '\\002'\n"));
        split.push((command, words));
    }
    for shell in ["/bin/sh", "/bin/bash"] {
        let Ok(output) = Command::new(shell).arg("-c").arg(&run).output() else { continue };
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.matches('\u{2}').count(), split.len(), "{shell} ran all of them");
        for ((command, words), printed) in split.iter().zip(printed.split('\u{2}')) {
            let seen: Vec<&str> = printed.split_terminator('\u{1}').collect();
            assert_eq!(&seen, &words[2..], "{command:?} in {shell}");
        }
    }
}

#[test]
fn a_script_prints_as_text_that_is_the_same_script() {
    let mut chance = Chance(3);
    let mut seen = 0;
    while seen < 3_000 {
        let text: String = (0..=chance.below(14)).map(|_| PIECES[chance.below(PIECES.len())]).collect();
        let Some(read) = script(&text) else { continue };
        seen += 1;
        let again: Option<Script> = script(&read.to_string());
        assert_eq!(again.as_ref(), Some(&read), "{text:?} printed as {read}");
    }
}
