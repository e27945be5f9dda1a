//! `git`, as far as it only looks. What a repository's own settings make git run is found by whoever looks at the
//! repository; here no option that could run or write anything is on a list.

use std::sync::LazyLock;

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::script::Word;
use crate::command::table::WORDS;
use crate::command::tool::{Arguments, Tools, tools, unknown};

/// Options before the command that change nothing.
const BEFORE: [&str; 4] = ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// Commands that only look, each with its options.
static LOOKING: LazyLock<Tools> = LazyLock::new(|| tools(include_str!("../../../tables/git.txt")));

pub(super) fn findings(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let before = arguments.iter().take_while(|word| BEFORE.contains(&word.text.as_str())).count();
    let Some((command, rest)) = arguments[before..].split_first() else {
        return vec![ask(Risk::Low, rule::OPTION, "git without a command")];
    };
    match command.text.as_str() {
        "--version" => Vec::new(),
        "config" => config(rest),
        "remote" => remote(rest),
        name @ ("stash" | "notes") => sub(rest, &["list", "show"], name),
        "worktree" => sub(rest, &["list"], "worktree"),
        "reflog" => reflog(rest),
        name => match LOOKING.get(name) {
            Some(tool) => look(name, tool, rest),
            None => vec![changes(name)],
        },
    }
}

fn look(name: &str, tool: &Tool, rest: &[Word]) -> Vec<Finding> {
    let mut findings = tool.findings(rest);
    let read = tool.read(rest);
    let makes = match name {
        "branch" => !read.operands.is_empty() && !lists(&read),
        "tag" => !read.operands.is_empty() && !lists(&read) && !read.has_any(&["l"]),
        // With a second name it is set.
        "symbolic-ref" => read.operands.len() != 1,
        _ => false,
    };
    if makes {
        findings.push(changes(name));
    }
    // A range of lines names its file after a colon.
    let ranges = rest.windows(2).filter(|pair| pair[0].text == "-L").map(|pair| pair[1].text.as_str());
    let ranges = ranges.chain(rest.iter().filter_map(|word| word.text.strip_prefix("-L")));
    for range in ranges {
        let file = range.rsplit_once(':').map_or("", |(_, file)| file);
        findings.extend(crate::command::paths::findings(file, false));
    }
    findings
}

/// Whether a list is asked for, so that names only select.
fn lists(read: &Arguments<'_>) -> bool {
    read.has_any(&["list", "contains", "no-contains", "merged", "no-merged", "points-at"])
}

/// One of the commands below a command, which take what `log` and `diff` take.
fn sub(rest: &[Word], known: &[&str], name: &str) -> Vec<Finding> {
    match rest.split_first() {
        Some((command, rest)) if known.contains(&command.text.as_str()) => LOOKING[name].findings(rest),
        _ => vec![changes(name)],
    }
}

fn reflog(rest: &[Word]) -> Vec<Finding> {
    match rest.first().map(|word| word.text.as_str()) {
        Some("expire" | "delete" | "drop" | "write" | "exists") => vec![changes("reflog")],
        Some("show" | "list") => LOOKING["log"].findings(&rest[1..]),
        _ => LOOKING["log"].findings(rest),
    }
}

fn remote(rest: &[Word]) -> Vec<Finding> {
    let words: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        [] | ["-v" | "--verbose"] => Vec::new(),
        ["get-url", name] | ["get-url", "--all" | "--push", name] | ["show", "-n", name]
            if !name.starts_with('-') =>
        {
            Vec::new()
        }
        ["show", ..] | ["update", ..] | ["prune", ..] => vec![network("remote")],
        _ => vec![changes("remote")],
    }
}

/// Reading one setting, or listing all. A second name would set it.
fn config(rest: &[Word]) -> Vec<Finding> {
    let read = LOOKING["config"].read(rest);
    let mut operands: Vec<&str> = read.operands.iter().map(|word| word.text.as_str()).collect();
    let mut findings = read.findings;
    let asks = |names: &[&str]| read.options.iter().any(|option| names.contains(option));
    let by_option = asks(&["get", "get-all", "list", "l"]);
    if let (false, Some(&("get" | "list"))) = (by_option, operands.first()) {
        operands.remove(0);
    }
    if operands.len() > 1 {
        findings.push(changes("config"));
    }
    let key = operands.first().map(|key| key.to_lowercase()).unwrap_or_default();
    if WORDS.git_config_secrets.iter().any(|word| key.contains(word)) {
        findings.push(ask(Risk::High, rule::MAYBE_SECRET, format!("may hold credentials: git config {key}")));
    }
    findings.extend(read.operands.iter().filter(|word| word.is_glob).map(|word| unknown(&word.text)));
    findings
}

fn changes(name: &str) -> Finding {
    if WORDS.git_network.contains(&name) {
        return network(name);
    }
    let (risk, what) = match name {
        "clean" | "reset" | "filter-branch" | "gc" | "prune" | "rm" => (Risk::High, "deletes work"),
        name if name.starts_with('-') => (Risk::High, "changes what git runs"),
        // Whatever it adds can be taken back.
        "add" | "commit" => (Risk::Low, "changes the repository"),
        "switch" | "checkout" | "restore" | "stash" | "branch" | "tag" => {
            (Risk::Medium, "changes the repository")
        }
        _ => (Risk::Medium, "may change the repository or run something"),
    };
    ask(risk, rule::CHANGES, format!("{what}: git {name}"))
}

fn network(name: &str) -> Finding {
    let mut finding = ask(Risk::High, rule::CHANGES, format!("network: git {name}"));
    finding.network = true;
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_commands_that_the_source_names() {
        for name in ["log", "config", "stash", "notes", "worktree", "branch", "tag", "symbolic-ref"] {
            assert!(LOOKING.contains_key(name), "{name}");
        }
    }
}
