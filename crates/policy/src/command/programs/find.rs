//! `find`: its tests and what it prints; not what it runs, deletes or writes.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::table::WORDS;
use crate::command::tool::unknown;

pub(super) fn findings(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rest = arguments.iter().peekable();
    while rest
        .peek()
        .is_some_and(|word| ["-L", "-H", "-P", "-O1", "-O2", "-O3"].contains(&word.text.as_str()))
    {
        rest.next();
    }
    let is_expression =
        |word: &Word| word.text.starts_with('-') || ["!", "(", ")", ","].contains(&word.text.as_str());
    while let Some(path) = rest.next_if(|word| !is_expression(word)) {
        findings.extend(paths::findings(&path.text, path.is_glob));
    }
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if WORDS.find_alone.contains(&text) {
            continue;
        }
        if WORDS.find_actions.contains(&text) {
            let what = if text == "-delete" { "deletes recursively" } else { "runs or writes" };
            findings.push(ask(Risk::High, rule::CHANGES, format!("{what}: find {text}")));
            continue;
        }
        let (is_value, is_path) = (WORDS.find_values.contains(&text), WORDS.find_paths.contains(&text));
        if !is_value && !is_path {
            findings.push(unknown(text));
            continue;
        }
        match rest.next() {
            None => findings.push(unknown(text)),
            Some(value) if is_path => findings.extend(paths::findings(&value.text, value.is_glob)),
            // An unquoted glob may become several words, of which all but the first are something else.
            Some(value) if value.is_glob => findings.extend(paths::outside(&value.text)),
            Some(_) => {}
        }
    }
    findings
}
