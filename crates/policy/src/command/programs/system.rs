//! Programs that tell about the machine, its processes and its network, without changing any of them.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::table::WORDS;
use crate::command::tool::unknown;

/// `date` tells the time; with other arguments it sets it.
pub(super) fn date(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    let sets = read.operands.iter().filter(|word| !word.text.starts_with('+') || word.is_glob);
    let mut findings: Vec<Finding> =
        sets.map(|word| ask(Risk::High, rule::CHANGES, format!("sets the clock: {}", word.text))).collect();
    findings.extend(read.findings);
    findings
}

/// `sleep` for so long.
pub(super) fn sleep(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let is_time = |word: &&Word| {
        let number = word.text.trim_end_matches(['s', 'm', 'h']);
        word.text.len() - number.len() <= 1
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    arguments.iter().filter(|word| !is_time(word)).map(|word| unknown(&word.text)).collect()
}

/// `ps` in both of its styles, without what shows the environment of processes.
pub(super) fn ps(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    let is_fine = |text: &str| {
        text.chars().all(|c| "auxfwljrThvSmnp".contains(c))
            || text.chars().all(|c| c.is_ascii_digit() || c == ',')
    };
    let mut findings: Vec<Finding> =
        read.operands.iter().filter(|word| !is_fine(&word.text)).map(|word| unknown(&word.text)).collect();
    findings.extend(read.findings);
    findings
}

/// `netstat` looks names up over the network unless it is told not to.
pub(super) fn netstat(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    let mut findings: Vec<Finding> = read.operands.iter().map(|word| unknown(&word.text)).collect();
    if !read.has_any(&["n", "numeric"]) {
        findings.push(ask(Risk::Medium, rule::CHANGES, "network: netstat without -n looks names up"));
    }
    findings.extend(read.findings);
    findings
}

/// `ip`, as far as it only shows.
pub(super) fn ip(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let mut words = arguments.iter().map(|word| word.text.as_str()).peekable();
    while words
        .peek()
        .is_some_and(|word| ["-4", "-6", "-br", "-brief", "-o", "-s", "-c", "-j", "-d", "-p"].contains(word))
    {
        words.next();
    }
    let shown = ["a", "addr", "address", "l", "link", "r", "route", "n", "neigh", "rule"];
    match (words.next(), words.next()) {
        (Some(what), None) if shown.contains(&what) => Vec::new(),
        (Some(what), Some("show" | "list" | "ls")) if shown.contains(&what) => words
            .filter(|word| {
                word.starts_with('-') || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
            })
            .map(unknown)
            .collect(),
        _ => vec![ask(Risk::High, rule::CHANGES, "changes the network: ip")],
    }
}

/// `systemctl`, as far as it tells how units are. Not `show` and `cat`: they print a unit's environment.
pub(super) fn systemctl(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    let asks = read.operands.first().filter(|word| !WORDS.systemctl_commands.contains(&word.text.as_str()));
    let mut findings: Vec<Finding> = asks
        .map(|word| ask(Risk::High, rule::CHANGES, format!("changes the system: systemctl {}", word.text)))
        .into_iter()
        .collect();
    findings.extend(tool.findings(arguments));
    findings
}

/// `journalctl` reads the log of this machine; other options delete parts of it, read other files, or write one.
pub(super) fn journalctl(tool: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let read = tool.read(arguments);
    // `FIELD=value`; anything else is a path.
    let is_match = |text: &str| {
        text.split_once('=').is_some_and(|(field, _)| {
            !field.is_empty() && field.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
    };
    let mut findings: Vec<Finding> = read
        .operands
        .iter()
        .filter(|word| word.is_glob || !is_match(&word.text))
        .map(|word| unknown(&word.text))
        .collect();
    findings.extend(read.findings);
    findings
}

/// `mount` alone lists.
pub(super) fn mount(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    match arguments {
        [] => Vec::new(),
        [only] if only.text == "-l" => Vec::new(),
        _ => vec![ask(Risk::High, rule::CHANGES, "changes the system: mount")],
    }
}

/// `dpkg`, as far as it only lists.
pub(super) fn dpkg(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    listing(
        "dpkg",
        arguments,
        &["-l", "-L", "-s", "-S", "--list", "--listfiles", "--status", "--search", "--get-selections"],
    )
}

/// `rpm`, as far as it only lists.
pub(super) fn rpm(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    listing("rpm", arguments, &["-q", "-qa", "-qi", "-ql", "-qf"])
}

fn listing(program: &str, arguments: &[Word], known: &[&str]) -> Vec<Finding> {
    let Some((first, rest)) = arguments.split_first() else { return Vec::new() };
    if !known.contains(&first.text.as_str()) {
        return vec![ask(
            Risk::High,
            rule::CHANGES,
            format!("changes installed packages: {program} {}", first.text),
        )];
    }
    let mut findings: Vec<Finding> =
        rest.iter().filter(|word| word.text.starts_with('-')).map(|word| unknown(&word.text)).collect();
    findings.extend(rest.iter().filter(|word| word.is_glob).flat_map(|word| paths::outside(&word.text)));
    findings
}
