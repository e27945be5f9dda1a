//! House rules for one Rust file. Each takes a [`Source`] and gives what breaks it.

use super::Finding;
use super::source::{Source, close};

/// All rules that hold in every file.
pub fn everywhere(source: &Source<'_>) -> Vec<Finding> {
    [module_doc, attributes, unfinished, sleep].iter().flat_map(|rule| rule(source)).collect()
}

fn module_doc(source: &Source<'_>) -> Vec<Finding> {
    if source.text.trim_start_matches('\u{feff}').starts_with("//!") {
        return Vec::new();
    }
    vec![Finding::new(1, "the file does not begin with //!; say what it is for and what it must never do")]
}

fn attributes(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in source.tokens.iter().enumerate() {
        if token.text != "#" {
            continue;
        }
        let open = if source.has(index + 1, &["!"]) { index + 2 } else { index + 1 };
        if source.has(open, &["[", "ignore"]) {
            findings.push(Finding::new(token.line, "#[ignore]: a test runs or is deleted"));
        }
        let words =
            if source.has(open, &["["]) { &source.tokens[open..close(&source.tokens, open)] } else { &[] };
        // Also those behind a condition: cfg_attr(unix, allow(…)).
        let lint = |name| words.windows(2).any(|pair| pair[0].text == name && pair[1].text == "(");
        if lint("allow") {
            findings.push(Finding::new(
                token.line,
                "#[allow(…)]: write #[expect(…, reason = \"…\")], it goes when it is no longer needed",
            ));
        }
        let reason = words.windows(2).any(|pair| pair[0].text == "reason" && pair[1].text == "=");
        if lint("expect") && !reason {
            findings.push(Finding::new(token.line, "#[expect(…)] without a reason; add reason = \"…\""));
        }
    }
    findings
}

fn unfinished(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in source.tokens.iter().enumerate() {
        if matches!(token.text, "todo" | "unimplemented") && source.has(index + 1, &["!"]) {
            findings.push(Finding::new(token.line, format!("{}!: finish it or leave it out", token.text)));
        }
    }
    findings
}

fn sleep(source: &Source<'_>) -> Vec<Finding> {
    let sleeps = |path: &[&str]| path.ends_with(&["thread", "sleep"]) || path.ends_with(&["time", "sleep"]);
    let found = source.paths().into_iter().filter(|(index, path)| sleeps(path) && source.is_test(*index));
    let what = "a test sleeps; wait for the thing itself, with a limit, or use the virtual clock";
    found.map(|(index, _)| Finding::new(source.tokens[index].line, what)).collect()
}

/// Paths that do not belong into a pure crate, with what to do instead.
const IMPURE_PATHS: [(&[&str], &str); 13] = [
    (&["std", "time"], "time comes in with the input, as domain::id::Time"),
    (&["std", "fs"], "ask for it with an effect"),
    (&["std", "io"], "ask for it with an effect"),
    (&["std", "net"], "ask for it with an effect"),
    (&["std", "process"], "ask for it with an effect"),
    (&["std", "env"], "settings come in with the input"),
    (&["std", "thread"], "the engine drives, the domain decides"),
    (&["std", "sync", "Mutex"], "the state has one owner"),
    (&["std", "sync", "RwLock"], "the state has one owner"),
    (&["std", "sync", "mpsc"], "return events and effects"),
    (&["std", "sync", "atomic"], "the state has one owner"),
    (&["rand"], "ids come from the journal's sequence"),
    (&["tokio"], "the engine drives, the domain decides"),
];

/// Words that do not belong into a pure crate.
const IMPURE_WORDS: [(&str, &str); 6] = [
    ("async", "the engine drives, the domain decides"),
    ("await", "the engine drives, the domain decides"),
    ("Instant", "time comes in with the input, as domain::id::Time"),
    ("SystemTime", "time comes in with the input, as domain::id::Time"),
    ("HashMap", "its order differs between runs; use BTreeMap"),
    ("HashSet", "its order differs between runs; use BTreeSet"),
];

const IMPURE_MACROS: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];

/// A pure crate decides and does nothing else: no async, clock, randomness, IO, unordered map or shared state.
pub fn pure(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, path) in source.paths().into_iter().filter(|(index, _)| !source.is_test(*index)) {
        // A plain name such as `rand` may be a variable; a path has more than one part.
        let impure = |(banned, _): &&(&[&str], &str)| path.len() > 1 && path.starts_with(banned);
        if let Some((banned, instead)) = IMPURE_PATHS.iter().find(impure) {
            let what = format!("a pure crate uses {}; {instead}", banned.join("::"));
            findings.push(Finding::new(source.tokens[index].line, what));
        }
    }
    for (index, token) in source.tokens.iter().enumerate().filter(|(index, _)| !source.is_test(*index)) {
        if let Some((word, instead)) = IMPURE_WORDS.iter().find(|(word, _)| *word == token.text) {
            findings.push(Finding::new(token.line, format!("a pure crate uses {word}; {instead}")));
        }
        if IMPURE_MACROS.contains(&token.text) && source.has(index + 1, &["!"]) {
            findings.push(Finding::new(
                token.line,
                format!("a pure crate uses {}!; return an event", token.text),
            ));
        }
    }
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `rule` finds in a file with this text, as `line what`, up to the first semicolon.
    fn check(rule: fn(&Source<'_>) -> Vec<Finding>, path: &str, text: &str) -> Vec<String> {
        let short = |f: Finding| format!("{} {}", f.line, f.what.split(';').next().unwrap_or_default());
        rule(&Source::read(path, text)).into_iter().map(short).collect()
    }

    #[test]
    fn a_file_begins_with_its_doc() {
        assert_eq!(check(module_doc, "a.rs", "//! Yes.\n"), [""; 0]);
        assert_eq!(check(module_doc, "a.rs", "// No.\n"), ["1 the file does not begin with //!"]);
    }

    #[test]
    fn a_test_is_not_ignored() {
        assert_eq!(
            check(attributes, "a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}"),
            ["2 #[ignore]: a test runs or is deleted"]
        );
    }

    #[test]
    fn a_lint_is_expected_with_a_reason_and_never_allowed() {
        let allowed = "#[allow(…)]: write #[expect(…, reason = \"…\")], it goes when it is no longer needed";
        let text =
            "#![allow(dead_code)]\n#[allow(\n  unused)]\n#[cfg_attr(unix, allow(unused))]\n// #[allow(x)]";
        assert_eq!(check(attributes, "a.rs", text), [1, 2, 4].map(|line| format!("{line} {allowed}")));
        assert_eq!(check(attributes, "a.rs", "#[expect(a)]"), ["1 #[expect(…)] without a reason"]);
        assert_eq!(check(attributes, "a.rs", "#[expect(a, reason = \"b\")]\nx.expect(\"c\")"), [""; 0]);
    }

    #[test]
    fn nothing_is_left_for_later() {
        let text = "todo!();\nlet todo = 1;\nunimplemented!()";
        assert_eq!(
            check(unfinished, "a.rs", text),
            ["1 todo!: finish it or leave it out", "3 unimplemented!: finish it or leave it out"]
        );
    }

    #[test]
    fn a_test_does_not_sleep() {
        let text = "use std::thread;\nfn a() { thread::sleep(x) }\n#[cfg(test)]\nmod tests {\nuse tokio::time::{sleep, timeout};\n}";
        assert_eq!(check(sleep, "crates/a/src/a.rs", text), ["5 a test sleeps"]);
        assert_eq!(check(sleep, "crates/a/tests/a.rs", text), ["2 a test sleeps", "5 a test sleeps"]);
    }

    #[test]
    fn the_domain_is_pure() {
        let samples = [
            ("async fn a() {}", "async"),
            ("x().await", "await"),
            ("use std::{fmt, time::Duration};", "std::time"),
            ("let now = std::time::Instant::now;", "Instant"),
            ("fn a(now: SystemTime) {}", "SystemTime"),
            ("std::fs::read(x)", "std::fs"),
            ("use std::io;", "std::io"),
            ("use std::net::IpAddr;", "std::net"),
            ("std::process::exit(1)", "std::process"),
            ("std::env::var(x)", "std::env"),
            ("use std::thread;", "std::thread"),
            ("use std::sync::{Arc, Mutex};", "std::sync::Mutex"),
            ("use std::sync::RwLock;", "std::sync::RwLock"),
            ("use std::sync::mpsc;", "std::sync::mpsc"),
            ("use std::sync::atomic::AtomicU64;", "std::sync::atomic"),
            ("let m = HashMap::new();", "HashMap"),
            ("fn a(x: &HashSet<u8>) {}", "HashSet"),
            ("rand::random()", "rand"),
            ("use tokio::sync::mpsc;", "tokio"),
            ("println!(x)", "println!"),
            ("eprintln!(x)", "eprintln!"),
            ("print!(x)", "print!"),
        ];
        for (text, word) in samples {
            let findings = check(pure, "crates/domain/src/a.rs", text);
            assert!(findings.contains(&format!("1 a pure crate uses {word}")), "{text}: {findings:?}");
        }
    }

    #[test]
    fn comments_texts_and_tests_of_the_domain_may_name_anything() {
        let text = "// async\nuse std::sync::Arc;\nlet rand = \"std::fs HashMap\";\n#[cfg(test)]\nmod tests { use std::fs; }";
        assert_eq!(check(pure, "crates/domain/src/a.rs", text), [""; 0]);
        assert_eq!(check(pure, "crates/domain/src/gate/tests.rs", "use std::collections::HashSet;"), [""; 0]);
    }
}
