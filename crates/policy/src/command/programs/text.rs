//! Programs that print or compare what they are given, and `cd`.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::table::WORDS;
use crate::command::tool::unknown;

/// `cd` is the runner's own: one folder beneath where it is.
pub(super) fn change_folder(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    match arguments {
        [folder] if !folder.text.starts_with('-') && !folder.text.is_empty() && !folder.is_glob => {
            let mut findings = paths::findings(&folder.text, false);
            // From inside, the names of what may hold credentials no longer tell.
            let telling = [".git", ".docker", ".config"];
            if folder.text.to_lowercase().split('/').any(|part| telling.contains(&part)) {
                let factor = format!("may hold credentials: {}", folder.text);
                findings.push(ask(Risk::Medium, rule::MAYBE_SECRET, factor));
            }
            findings
        }
        _ => vec![ask(Risk::Low, rule::OPTION, "cd without one folder beneath the workspace")],
    }
}

/// `xxd` shows one file; its options stand before it, and a second file would be written.
pub(super) fn xxd(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let mut rest = arguments.iter().peekable();
    let mut findings = Vec::new();
    while let Some(option) = rest.next_if(|word| word.text.starts_with('-')) {
        match option.text.as_str() {
            "-p" | "-ps" | "-b" | "-u" | "-i" | "-e" | "-a" | "-d" => {}
            "-c" | "-g" | "-l" | "-o" | "-s" => drop(rest.next()),
            other => findings.push(unknown(other)),
        }
    }
    let files: Vec<&Word> = rest.collect();
    if files.len() > 1 || files.iter().any(|file| file.is_glob) {
        findings.push(ask(Risk::Medium, rule::CHANGES, "writes a file: xxd with two names"));
    }
    findings.extend(files.iter().flat_map(|file| paths::findings(&file.text, file.is_glob)));
    findings
}

/// Programs to which no argument makes a difference. A glob becomes names of files.
pub(super) fn anything(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    globs(arguments)
}

/// `printf` in a shell can set a variable, and run what its index says.
pub(super) fn printf(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let mut findings = globs(arguments);
    if let Some(first) = arguments.first()
        && first.text.starts_with('-')
        && first.text != "--"
    {
        findings.push(unknown(&first.text));
    }
    findings
}

/// `test` looks whether files exist and compares texts.
pub(super) fn test(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for word in arguments {
        let text = word.text.as_str();
        let number =
            text.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if WORDS.test_operators.contains(&text) || number || text.is_empty() {
            continue;
        }
        match text.starts_with('-') {
            true => findings.push(unknown(text)),
            false => findings.extend(paths::findings(text, word.is_glob)),
        }
    }
    findings
}

fn globs(arguments: &[Word]) -> Vec<Finding> {
    let globs = arguments.iter().filter(|word| word.is_glob);
    let outside = globs.filter_map(|word| paths::outside(&word.text));
    outside.map(|finding| ask(Risk::Medium, rule::OUTSIDE, finding.factor)).collect()
}
