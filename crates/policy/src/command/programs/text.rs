//! Programs that sort, cut, count and turn text, and those that only print or compare.

use super::{NONE, Operands, Tool};
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::tool::unknown;

pub(super) const TOOLS: [Tool; 27] = [
    Tool {
        names: &["sort"],
        flags: "bcCdfghiMmnRrsuVz",
        values: "ktS",
        long: &[
            "reverse",
            "numeric-sort",
            "unique",
            "key=",
            "field-separator=",
            "human-numeric-sort",
            "ignore-case",
            "dictionary-order",
            "general-numeric-sort",
            "month-sort",
            "version-sort",
            "random-sort",
            "sort=",
            "check?",
            "stable",
            "zero-terminated",
            "ignore-leading-blanks",
            "ignore-nonprinting",
            "merge",
            "parallel=",
            "buffer-size=",
            "debug",
        ],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["uniq"],
        flags: "cdDiuz",
        values: "fsw",
        long: &[
            "count",
            "repeated",
            "all-repeated?",
            "group?",
            "ignore-case",
            "unique",
            "zero-terminated",
            "skip-fields=",
            "skip-chars=",
            "check-chars=",
        ],
        operands: Operands::OnePath,
        ..NONE
    },
    Tool {
        names: &["cut"],
        flags: "snz",
        values: "bcdf",
        long: &[
            "bytes=",
            "characters=",
            "delimiter=",
            "fields=",
            "complement",
            "only-delimited",
            "output-delimiter=",
            "zero-terminated",
        ],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["tr"],
        flags: "cCdst",
        long: &["complement", "delete", "squeeze-repeats", "truncate-set1"],
        operands: Operands::Plain,
        ..NONE
    },
    Tool {
        names: &["nl"],
        flags: "p",
        values: "bdfhilnsvw",
        long: &[
            "body-numbering=",
            "section-delimiter=",
            "footer-numbering=",
            "header-numbering=",
            "line-increment=",
            "join-blank-lines=",
            "number-format=",
            "no-renumber",
            "number-separator=",
            "starting-line-number=",
            "number-width=",
        ],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["tac"],
        flags: "br",
        values: "s",
        long: &["before", "regex", "separator="],
        operands: Operands::Paths,
        ..NONE
    },
    Tool { names: &["rev"], operands: Operands::Paths, ..NONE },
    Tool {
        names: &["comm"],
        flags: "123z",
        long: &["check-order", "nocheck-order", "output-delimiter=", "total", "zero-terminated"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["join"],
        flags: "iz",
        values: "aejotv12",
        long: &["ignore-case", "header", "check-order", "nocheck-order", "zero-terminated"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["paste"],
        flags: "sz",
        values: "d",
        long: &["delimiters=", "serial", "zero-terminated"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["fold"],
        flags: "bs",
        values: "w",
        long: &["bytes", "spaces", "width="],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["fmt"],
        flags: "cstu#",
        values: "wpg",
        long: &["width=", "split-only", "uniform-spacing"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["expand", "unexpand"],
        flags: "ia",
        values: "t",
        long: &["initial", "tabs=", "all", "first-only"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool { names: &["pr"], flags: "adFfmtTJrv#", values: "hlwWoN", operands: Operands::Paths, ..NONE },
    Tool {
        names: &["column"],
        flags: "txeJL",
        values: "cosNRHTEn",
        long: &[
            "table",
            "separator=",
            "output-separator=",
            "output-width=",
            "table-columns=",
            "table-right=",
            "json",
            "fillrows",
        ],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["shuf"],
        flags: "erz",
        values: "in",
        long: &["echo", "input-range=", "head-count=", "repeat", "zero-terminated"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool { names: &["tsort"], operands: Operands::OnePath, ..NONE },
    Tool {
        names: &["base64", "base32"],
        flags: "di",
        values: "w",
        long: &["decode", "ignore-garbage", "wrap="],
        operands: Operands::OnePath,
        ..NONE
    },
    Tool {
        names: &["od"],
        flags: "abcdfiloxsv",
        values: "AjNt",
        long: &["address-radix=", "skip-bytes=", "read-bytes=", "format=", "output-duplicates"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["hexdump", "hd"],
        flags: "bcCdovx",
        values: "nse",
        long: &["canonical", "length=", "skip=", "no-squeezing"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["strings"],
        flags: "afw",
        values: "nte",
        long: &["all", "print-file-name", "bytes=", "radix=", "encoding="],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["nm", "size"],
        flags: "aACDglnoprSux",
        long: &["demangle"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["readelf"],
        flags: "aehlSsWdnrVt",
        long: &["all", "file-header", "sections", "symbols", "wide"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["objdump"],
        flags: "dDfhpstTxCSr",
        values: "jM",
        long: &["disassemble", "section-headers", "syms"],
        operands: Operands::Paths,
        ..NONE
    },
    Tool {
        names: &["seq"],
        flags: "w#",
        values: "fs",
        long: &["equal-width", "format=", "separator="],
        operands: Operands::Plain,
        ..NONE
    },
    Tool {
        names: &["numfmt", "factor"],
        flags: "z",
        values: "d",
        long: &["to=", "from=", "suffix=", "field=", "padding=", "header?", "delimiter=", "format="],
        operands: Operands::Plain,
        ..NONE
    },
    Tool { names: &["bc"], flags: "lqsw", long: &["mathlib", "quiet", "standard", "warn"], ..NONE },
];

/// `xxd` shows one file; its options stand before it, and a second file would be written.
pub(super) fn xxd(arguments: &[Word]) -> Vec<Finding> {
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

/// Programs to which no argument makes a difference.
pub(super) fn anything(arguments: &[Word]) -> Vec<Finding> {
    globs(arguments)
}

/// `echo` prints whatever it is given; a glob becomes names of files.
pub(super) fn echo(arguments: &[Word]) -> Vec<Finding> {
    globs(arguments)
}

/// `printf` in a shell can set a variable, and run what its index says.
pub(super) fn printf(arguments: &[Word]) -> Vec<Finding> {
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
pub(super) fn test(arguments: &[Word]) -> Vec<Finding> {
    const KNOWN: [&str; 42] = [
        "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-o", "-p", "-r", "-s", "-S", "-t",
        "-u", "-w", "-x", "-z", "-O", "-G", "-N", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot",
        "-ef", "=", "==", "!=", "!", "(", ")", "<", ">", "]",
    ];
    let mut findings = Vec::new();
    for word in arguments {
        let text = word.text.as_str();
        let number =
            text.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if KNOWN.contains(&text) || number || text.is_empty() {
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
