//! Programs that tell about the machine, its processes and its network, without changing any of them.

use super::{NONE, Operands, Tool};
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::tool::unknown;

pub(super) const TOOLS: [Tool; 25] = [
    Tool { names: &["cal", "ncal"], flags: "13jmyhN", operands: Operands::Plain, ..NONE },
    Tool {
        names: &["uname"],
        flags: "asnrvmpio",
        long: &[
            "all",
            "kernel-name",
            "nodename",
            "kernel-release",
            "kernel-version",
            "machine",
            "processor",
            "hardware-platform",
            "operating-system",
        ],
        ..NONE
    },
    Tool { names: &["arch", "whoami", "logname", "users"], ..NONE },
    Tool { names: &["nproc"], long: &["all", "ignore="], ..NONE },
    Tool {
        names: &["id"],
        flags: "Gagnruz",
        long: &["group", "groups", "name", "real", "user", "zero"],
        operands: Operands::Plain,
        ..NONE
    },
    Tool { names: &["groups"], operands: Operands::Plain, ..NONE },
    Tool { names: &["tty"], flags: "s", ..NONE },
    Tool { names: &["who"], flags: "abdHlmpqrstTuw", long: &["all", "boot", "heading", "count"], ..NONE },
    Tool { names: &["w"], flags: "hsuo", ..NONE },
    Tool { names: &["uptime"], flags: "ps", long: &["pretty", "since"], ..NONE },
    Tool {
        names: &["free"],
        flags: "bkmghtwl",
        values: "sc",
        long: &[
            "bytes", "kibi", "mebi", "gibi", "human", "total", "wide", "si", "lohi", "mega", "giga",
            "seconds=", "count=",
        ],
        ..NONE
    },
    Tool { names: &["vmstat"], flags: "anwtdms", values: "S", operands: Operands::Plain, ..NONE },
    Tool {
        names: &["lscpu"],
        flags: "aebcyJxB",
        long: &["all", "extended?", "parse?", "json", "online", "offline", "hex", "physical"],
        ..NONE
    },
    Tool {
        names: &["lsblk"],
        flags: "abdfiJlmnOpPrStTz",
        values: "oexIM",
        long: &[
            "all",
            "bytes",
            "fs",
            "json",
            "list",
            "output=",
            "output-all",
            "paths",
            "tree?",
            "nodeps",
            "noheadings",
        ],
        ..NONE
    },
    Tool {
        names: &["findmnt"],
        flags: "aAbDflnPrT",
        values: "ot",
        long: &["json", "list", "output=", "types="],
        ..NONE
    },
    Tool { names: &["hostname"], flags: "sI", long: &["short", "all-ip-addresses"], ..NONE },
    Tool {
        names: &["locale"],
        flags: "ackm",
        long: &["all-locales", "charmaps"],
        operands: Operands::Plain,
        ..NONE
    },
    Tool { names: &["getconf"], flags: "a", operands: Operands::Plain, ..NONE },
    Tool {
        names: &["lsb_release"],
        flags: "aidrcs",
        long: &["all", "short", "id", "release", "codename", "description"],
        ..NONE
    },
    Tool { names: &["which"], flags: "a", operands: Operands::Plain, ..NONE },
    Tool { names: &["whereis"], flags: "bms", operands: Operands::Plain, ..NONE },
    Tool {
        names: &["pgrep", "pidof"],
        flags: "aflnoxvicsS",
        values: "uUPGgt",
        long: &[
            "list-name",
            "list-full",
            "full",
            "count",
            "exact",
            "newest",
            "oldest",
            "ignore-case",
            "single-shot",
        ],
        operands: Operands::Plain,
        ..NONE
    },
    Tool { names: &["pstree"], flags: "acpnluhAG", operands: Operands::Plain, ..NONE },
    Tool { names: &["top"], flags: "bcHi", values: "nopuUdw", ..NONE },
    Tool {
        names: &["ss"],
        flags: "tulnpaeimosx460HOzw",
        long: &[
            "tcp",
            "udp",
            "listening",
            "numeric",
            "processes",
            "all",
            "extended",
            "info",
            "memory",
            "summary",
            "unix",
            "ipv4",
            "ipv6",
            "no-header",
            "oneline",
            "options",
            "raw",
        ],
        ..NONE
    },
];

/// `date` tells the time; with other arguments it sets it.
pub(super) fn date(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "uR",
        values: "d",
        paths: "r",
        long: &[
            "utc",
            "universal",
            "rfc-email",
            "rfc-2822",
            "iso-8601?",
            "rfc-3339=",
            "date=",
            "reference=@",
            "help",
            "version",
        ],
        whole: &["-I", "-Idate", "-Ihours", "-Iminutes", "-Iseconds", "-Ins"],
        operands: Operands::Plain,
        ..NONE
    };
    let read = TOOL.read(arguments);
    let sets = read.operands.iter().filter(|word| !word.text.starts_with('+') || word.is_glob);
    let mut findings: Vec<Finding> =
        sets.map(|word| ask(Risk::High, rule::CHANGES, format!("sets the clock: {}", word.text))).collect();
    findings.extend(read.findings);
    findings
}

/// `sleep` for so long.
pub(super) fn sleep(arguments: &[Word]) -> Vec<Finding> {
    let is_time = |word: &&Word| {
        let number = word.text.trim_end_matches(['s', 'm', 'h']);
        word.text.len() - number.len() <= 1
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    arguments.iter().filter(|word| !is_time(word)).map(|word| unknown(&word.text)).collect()
}

/// `ps` in both of its styles, without what shows the environment of processes.
pub(super) fn ps(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "AadefFHjlLmMNTwyZcV",
        values: "oOpuUCgGstk",
        long: &[
            "forest",
            "headers",
            "no-headers",
            "sort=",
            "format=",
            "pid=",
            "ppid=",
            "user=",
            "User=",
            "group=",
            "cols=",
            "columns=",
            "width=",
            "lines=",
            "rows=",
            "tty=",
            "sid=",
            "deselect",
            "help",
            "version",
        ],
        operands: Operands::Plain,
        ..NONE
    };
    let read = TOOL.read(arguments);
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
pub(super) fn netstat(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool =
        Tool { flags: "tulnapris46weM", long: &["tcp", "udp", "listening", "numeric", "all"], ..NONE };
    let read = TOOL.read(arguments);
    let mut findings: Vec<Finding> = read.operands.iter().map(|word| unknown(&word.text)).collect();
    if !read.has_any(&["n", "numeric"]) {
        findings.push(ask(Risk::Medium, rule::CHANGES, "network: netstat without -n looks names up"));
    }
    findings.extend(read.findings);
    findings
}

/// `ip`, as far as it only shows.
pub(super) fn ip(arguments: &[Word]) -> Vec<Finding> {
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

/// `dpkg`, as far as it only lists.
pub(super) fn dpkg(arguments: &[Word]) -> Vec<Finding> {
    listing(
        "dpkg",
        arguments,
        &["-l", "-L", "-s", "-S", "--list", "--listfiles", "--status", "--search", "--get-selections"],
    )
}

/// `rpm`, as far as it only lists.
pub(super) fn rpm(arguments: &[Word]) -> Vec<Finding> {
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
