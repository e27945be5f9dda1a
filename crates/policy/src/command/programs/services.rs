//! What the system has to tell: its services, its logs, its mounts. As far as nothing is changed, no other machine is
//! asked and no settings of a service are shown, which may hold its secrets.

use super::{NONE, Operands, Tool};
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::script::Word;
use crate::command::tool::unknown;

/// `systemctl`, as far as it tells how units are. Not `show` and `cat`: they print a unit's environment.
pub(super) fn systemctl(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "alq",
        values: "tn",
        long: &[
            "all",
            "full",
            "quiet",
            "failed",
            "plain",
            "no-pager",
            "no-legend",
            "type=",
            "state=",
            "lines=",
            "version",
            "help",
        ],
        operands: Operands::Plain,
        ..NONE
    };
    const TELLS: [&str; 11] = [
        "status",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-sockets",
        "list-dependencies",
        "get-default",
    ];
    let read = TOOL.read(arguments);
    let asks = read.operands.first().filter(|word| !TELLS.contains(&word.text.as_str()));
    let mut findings: Vec<Finding> = asks
        .map(|word| ask(Risk::High, rule::CHANGES, format!("changes the system: systemctl {}", word.text)))
        .into_iter()
        .collect();
    findings.extend(TOOL.findings(arguments));
    findings
}

/// `journalctl` reads the log of this machine; other options delete parts of it, read other files, or write one.
pub(super) fn journalctl(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "abekqrx#",
        values: "ugnoptSU",
        long: &[
            "all",
            "boot?",
            "catalog",
            "disk-usage",
            "dmesg",
            "grep=",
            "help",
            "identifier=",
            "lines=",
            "list-boots",
            "no-hostname",
            "no-pager",
            "output=",
            "pager-end",
            "priority=",
            "quiet",
            "reverse",
            "since=",
            "unit=",
            "until=",
            "utc",
            "version",
        ],
        operands: Operands::Plain,
        ..NONE
    };
    let read = TOOL.read(arguments);
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

/// `dmesg` shows what the kernel said; other options clear it or set what goes to the console.
pub(super) fn dmesg(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "ekrtTux",
        values: "fl",
        long: &[
            "ctime",
            "decode",
            "facility=",
            "help",
            "json",
            "kernel",
            "level=",
            "nopager",
            "notime",
            "raw",
            "reltime",
            "userspace",
            "version",
        ],
        ..NONE
    };
    TOOL.findings(arguments)
}

/// `last` tells who was logged in. Not `-d`, which looks names up over the network, and no other file.
pub(super) fn last(arguments: &[Word]) -> Vec<Finding> {
    const TOOL: Tool = Tool {
        flags: "aFiRwx#",
        values: "nst",
        long: &["fullnames", "fulltimes", "help", "ip", "limit=", "nohostname", "version"],
        operands: Operands::Plain,
        ..NONE
    };
    TOOL.findings(arguments)
}

/// `mount` alone lists.
pub(super) fn mount(arguments: &[Word]) -> Vec<Finding> {
    match arguments {
        [] => Vec::new(),
        [only] if only.text == "-l" => Vec::new(),
        _ => vec![ask(Risk::High, rule::CHANGES, "changes the system: mount")],
    }
}
