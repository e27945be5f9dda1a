//! `git`, as far as it only looks. What a repository's own settings make git run is found by whoever looks at the
//! repository; here no option that could run or write anything is on a list.

use super::{NONE, Operands, Tool};
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::script::Word;
use crate::command::tool::{Arguments, unknown};

/// Options before the command that change nothing.
const BEFORE: [&str; 4] = ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// What `log`, `show`, `diff` and their kin may be given.
const HISTORY: Tool = Tool {
    flags: "pusazwbRWcmgtqiFEPMCBrD#",
    values: "nUSGL",
    long: &[
        "oneline",
        "graph",
        "all",
        "decorate?",
        "no-decorate",
        "clear-decorations",
        "decorate-refs=",
        "stat?",
        "shortstat",
        "numstat",
        "dirstat?",
        "summary",
        "compact-summary",
        "name-only",
        "name-status",
        "patch",
        "no-patch",
        "raw",
        "patch-with-stat",
        "unified=",
        "color?",
        "no-color",
        "word-diff?",
        "word-diff-regex=",
        "color-words?",
        "color-moved?",
        "no-renames",
        "find-renames?",
        "find-copies?",
        "find-copies-harder",
        "diff-filter=",
        "ignore-space-change",
        "ignore-all-space",
        "ignore-space-at-eol",
        "ignore-cr-at-eol",
        "ignore-blank-lines",
        "minimal",
        "patience",
        "histogram",
        "diff-algorithm=",
        "cached",
        "staged",
        "merge-base",
        "exit-code",
        "quiet",
        "relative?",
        "full-index",
        "abbrev?",
        "no-abbrev",
        "binary",
        "check",
        "pickaxe-all",
        "pickaxe-regex",
        "inter-hunk-context=",
        "function-context",
        "src-prefix=",
        "dst-prefix=",
        "no-prefix",
        "submodule?",
        "ignore-submodules?",
        "no-ext-diff",
        "no-textconv",
        "text",
        "max-count=",
        "skip=",
        "since=",
        "after=",
        "until=",
        "before=",
        "author=",
        "committer=",
        "grep=",
        "all-match",
        "invert-grep",
        "regexp-ignore-case",
        "extended-regexp",
        "fixed-strings",
        "perl-regexp",
        "basic-regexp",
        "merges",
        "no-merges",
        "first-parent",
        "min-parents=",
        "max-parents=",
        "branches?",
        "tags?",
        "remotes?",
        "glob=",
        "exclude=",
        "walk-reflogs",
        "reflog",
        "cherry-pick",
        "cherry-mark",
        "cherry",
        "left-right",
        "left-only",
        "right-only",
        "boundary",
        "simplify-by-decoration",
        "simplify-merges",
        "full-history",
        "dense",
        "sparse",
        "ancestry-path",
        "topo-order",
        "date-order",
        "author-date-order",
        "reverse",
        "pretty?",
        "format=",
        "abbrev-commit",
        "no-abbrev-commit",
        "encoding=",
        "notes?",
        "no-notes",
        "date=",
        "relative-date",
        "parents",
        "children",
        "log-size",
        "follow",
        "source",
        "use-mailmap",
        "mailmap",
        "no-mailmap",
        "full-diff",
        "no-walk?",
        "cc",
        "remerge-diff",
        "diff-merges=",
        "line-prefix=",
        "show-pulls",
        "count",
        "objects",
        "no-commit-id",
        "root",
        "not",
        "ita-invisible-in-index",
        "break-rewrites?",
    ],
    operands: Operands::Git,
    ..NONE
};

/// Commands that only look, each with its options.
const LOOKING: [Tool; 22] = [
    Tool {
        names: &[
            "log",
            "show",
            "diff",
            "whatchanged",
            "diff-tree",
            "diff-index",
            "diff-files",
            "rev-list",
            "range-diff",
        ],
        ..HISTORY
    },
    Tool {
        names: &["status"],
        flags: "sbuvz",
        whole: &["-uno", "-uall", "-unormal"],
        long: &[
            "short",
            "branch",
            "porcelain?",
            "long",
            "verbose",
            "untracked-files?",
            "ignored?",
            "ignore-submodules?",
            "column?",
            "no-column",
            "ahead-behind",
            "no-ahead-behind",
            "renames",
            "no-renames",
            "find-renames?",
            "show-stash",
            "null",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["blame", "annotate"],
        flags: "wsefnlpcbtMCk",
        values: "L",
        long: &[
            "porcelain",
            "line-porcelain",
            "date=",
            "since=",
            "show-name",
            "show-number",
            "show-email",
            "root",
            "incremental",
            "first-parent",
            "abbrev=",
            "ignore-rev=",
            "color-lines",
            "color-by-age",
            "minimal",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["ls-files"],
        flags: "cdmoikstuvz",
        values: "x",
        long: &[
            "cached",
            "deleted",
            "modified",
            "others",
            "ignored",
            "stage",
            "unmerged",
            "killed",
            "directory",
            "no-empty-directory",
            "exclude=",
            "exclude-standard",
            "error-unmatch",
            "full-name",
            "recurse-submodules",
            "abbrev?",
            "eol",
            "deduplicate",
            "sparse",
            "format=",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["ls-tree"],
        flags: "drtlz",
        long: &[
            "name-only",
            "name-status",
            "object-only",
            "full-name",
            "full-tree",
            "long",
            "abbrev?",
            "format=",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["rev-parse"],
        flags: "q",
        long: &[
            "abbrev-ref?",
            "short?",
            "verify",
            "quiet",
            "show-toplevel",
            "git-dir",
            "absolute-git-dir",
            "git-common-dir",
            "is-inside-work-tree",
            "is-inside-git-dir",
            "is-bare-repository",
            "is-shallow-repository",
            "show-prefix",
            "show-cdup",
            "symbolic",
            "symbolic-full-name",
            "all",
            "branches?",
            "tags?",
            "remotes?",
            "path-format=",
            "show-object-format?",
            "show-superproject-working-tree",
            "since=",
            "until=",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["shortlog"],
        flags: "nsecw#",
        long: &[
            "numbered",
            "summary",
            "email",
            "committer",
            "group=",
            "all",
            "no-merges",
            "merges",
            "since=",
            "until=",
            "after=",
            "before=",
            "author=",
            "format=",
            "first-parent",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["describe"],
        long: &[
            "tags",
            "all",
            "always",
            "long",
            "dirty?",
            "broken?",
            "abbrev=",
            "match=",
            "exclude=",
            "exact-match",
            "first-parent",
            "contains",
            "candidates=",
            "debug",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["grep"],
        flags: "nilLcwvhHEFGPoqazrpWI#",
        values: "eABCm",
        long: &[
            "line-number",
            "ignore-case",
            "files-with-matches",
            "name-only",
            "files-without-match",
            "count",
            "word-regexp",
            "invert-match",
            "extended-regexp",
            "fixed-strings",
            "perl-regexp",
            "basic-regexp",
            "cached",
            "untracked",
            "recurse-submodules",
            "max-depth=",
            "heading",
            "break",
            "and",
            "or",
            "not",
            "all-match",
            "context=",
            "after-context=",
            "before-context=",
            "show-function",
            "function-context",
            "color?",
            "no-color",
            "column",
            "full-name",
            "only-matching",
            "text",
            "exclude-standard",
            "max-count=",
            "no-textconv",
            "threads=",
        ],
        operands: Operands::GitPattern,
        ..NONE
    },
    Tool {
        names: &["merge-base"],
        flags: "a",
        long: &["all", "is-ancestor", "fork-point", "octopus", "independent"],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["name-rev"],
        long: &["name-only", "tags", "refs=", "all", "always"],
        operands: Operands::Git,
        ..NONE
    },
    Tool { names: &["count-objects"], flags: "vH", long: &["verbose", "human-readable"], ..NONE },
    Tool {
        names: &["for-each-ref"],
        long: &[
            "format=",
            "sort=",
            "count=",
            "points-at=",
            "merged?",
            "no-merged?",
            "contains?",
            "no-contains?",
            "ignore-case",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["show-ref"],
        flags: "dsq",
        long: &["heads", "branches", "tags", "hash?", "verify", "abbrev?", "dereference", "head", "quiet"],
        operands: Operands::Git,
        ..NONE
    },
    Tool { names: &["symbolic-ref"], flags: "q", long: &["short", "quiet"], operands: Operands::Git, ..NONE },
    Tool { names: &["cat-file"], flags: "ptse", operands: Operands::Git, ..NONE },
    Tool { names: &["cherry"], flags: "v", long: &["verbose", "abbrev?"], operands: Operands::Git, ..NONE },
    Tool {
        names: &["check-ignore"],
        flags: "vnqz",
        long: &["verbose", "no-index"],
        operands: Operands::Git,
        ..NONE
    },
    Tool { names: &["check-attr"], flags: "az", long: &["all", "cached"], operands: Operands::Git, ..NONE },
    Tool { names: &["version"], long: &["build-options"], ..NONE },
    Tool {
        names: &["branch"],
        flags: "avr",
        long: &[
            "list",
            "all",
            "remotes",
            "verbose",
            "show-current",
            "contains?",
            "no-contains?",
            "merged?",
            "no-merged?",
            "points-at=",
            "sort=",
            "format=",
            "color?",
            "no-color",
            "column?",
            "no-column",
            "ignore-case",
            "abbrev=",
            "no-abbrev",
        ],
        operands: Operands::Git,
        ..NONE
    },
    Tool {
        names: &["tag"],
        flags: "ln",
        long: &[
            "list",
            "contains?",
            "no-contains?",
            "merged?",
            "no-merged?",
            "points-at=",
            "sort=",
            "format=",
            "color?",
            "column?",
            "no-column",
            "ignore-case",
        ],
        operands: Operands::Git,
        ..NONE
    },
];

pub(super) fn findings(arguments: &[Word]) -> Vec<Finding> {
    let before = arguments.iter().take_while(|word| BEFORE.contains(&word.text.as_str())).count();
    let Some((command, rest)) = arguments[before..].split_first() else {
        return vec![ask(Risk::Low, rule::OPTION, "git without a command")];
    };
    match command.text.as_str() {
        "--version" => Vec::new(),
        "config" => config(rest),
        "remote" => remote(rest),
        "stash" => sub(rest, &["list", "show"], "git stash"),
        "worktree" => sub(rest, &["list"], "git worktree"),
        "notes" => sub(rest, &["list", "show"], "git notes"),
        "reflog" => reflog(rest),
        name => match LOOKING.iter().find(|tool| tool.names.contains(&name)) {
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
        Some((command, rest)) if known.contains(&command.text.as_str()) => {
            let tool = Tool { whole: &["--porcelain"], ..HISTORY };
            tool.findings(rest)
        }
        _ => vec![changes(name.trim_start_matches("git "))],
    }
}

fn reflog(rest: &[Word]) -> Vec<Finding> {
    match rest.first().map(|word| word.text.as_str()) {
        Some("expire" | "delete" | "drop" | "write" | "exists") => vec![changes("reflog")],
        Some("show" | "list") => HISTORY.findings(&rest[1..]),
        _ => HISTORY.findings(rest),
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
    const TOOL: Tool = Tool {
        flags: "lz",
        long: &[
            "get",
            "get-all",
            "list",
            "local",
            "show-origin",
            "show-scope",
            "name-only",
            "null",
            "type=",
            "bool",
            "int",
            "bool-or-int",
            "default=",
            "includes",
            "no-includes",
        ],
        operands: Operands::Plain,
        ..NONE
    };
    let read = TOOL.read(rest);
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
    let telling =
        ["credential", "extraheader", "token", "password", "insteadof", "cookie", "secret", "proxy"];
    if telling.iter().any(|word| key.contains(word)) {
        findings.push(ask(Risk::High, rule::MAYBE_SECRET, format!("may hold credentials: git config {key}")));
    }
    findings.extend(read.operands.iter().filter(|word| word.is_glob).map(|word| unknown(&word.text)));
    findings
}

fn changes(name: &str) -> Finding {
    if [
        "push",
        "pull",
        "fetch",
        "clone",
        "ls-remote",
        "submodule",
        "remote-http",
        "send-email",
        "request-pull",
    ]
    .contains(&name)
    {
        return network(name);
    }
    let (risk, what) = match name {
        "clean" | "reset" | "filter-branch" | "gc" | "prune" | "rm" => (Risk::High, "deletes work"),
        name if name.starts_with('-') => (Risk::High, "changes what git runs"),
        "add" | "commit" | "switch" | "checkout" | "restore" | "stash" | "branch" | "tag" => {
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
