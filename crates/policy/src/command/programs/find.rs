//! `find`: its tests and what it prints; not what it runs, deletes or writes.

use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::tool::unknown;

/// Tests and actions that stand alone.
const ALONE: [&str; 32] = [
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-depth",
    "-d",
    "-empty",
    "-nouser",
    "-nogroup",
    "-readable",
    "-writable",
    "-executable",
    "-true",
    "-false",
    "-xdev",
    "-mount",
    "-daystart",
    "-follow",
    "-quit",
    "-noleaf",
    "-nowarn",
    "-ignore_readdir_race",
    "-not",
    "!",
    "-o",
    "-or",
    "-a",
    "-and",
    ",",
    "(",
    ")",
    "-help",
];

/// Those that take a value of no consequence.
const VALUES: [&str; 32] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newermt",
    "-newerct",
    "-newerat",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-maxdepth",
    "-mindepth",
    "-printf",
    "-fstype",
];

/// Those that take a path.
const PATHS: [&str; 4] = ["-newer", "-anewer", "-cnewer", "-samefile"];

/// Those that do more than find.
const ACTIONS: [&str; 9] =
    ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

pub(super) fn findings(arguments: &[Word]) -> Vec<Finding> {
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
        if ALONE.contains(&text) {
            continue;
        }
        if ACTIONS.contains(&text) {
            let what = if text == "-delete" { "deletes recursively" } else { "runs or writes" };
            findings.push(ask(Risk::High, rule::CHANGES, format!("{what}: find {text}")));
            continue;
        }
        let (is_value, is_path) = (VALUES.contains(&text), PATHS.contains(&text));
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
