//! `synod audit`: what was decided and done, and whether the record is as it was written. Reads files only, so it
//! works with and without a daemon, and on a copy.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use adapters::audit::line::{Kind, LINE_BYTES_MAX, Line};
use adapters::audit::note::Verifier;
use adapters::audit::verify::{self, Fault, Report, Wanted};
use adapters::audit::{CHECKPOINTS, KEYS, LOG};
use adapters::clock::SystemClock;
use anyhow::Context as _;
use domain::id::Time;
use policy::glob;
use ports::clock::Clock;
use serde_json::json;

use crate::args::AuditFilter;
use crate::failure::{Exit, fail};
use crate::out::{Out, SCHEMA_VERSION};
use crate::text;
use crate::wire;

/// So many lines are shown to people unless they ask for another number.
const SHOWN_MAX: usize = 200;

/// Shows lines.
pub fn log(home: &Path, filter: &AuditFilter, out: &Out) -> anyhow::Result<Exit> {
    let wanted = Filter::new(filter)?;
    let most = filter.limit.unwrap_or(if out.json { usize::MAX } else { SHOWN_MAX });
    let mut shown: VecDeque<(Vec<u8>, Line)> = VecDeque::new();
    let (mut more, mut unread) = (0_usize, 0_usize);
    each_line(home, |bytes| {
        let Some(line) = Line::parse(bytes) else {
            unread += 1;
            return;
        };
        if !wanted.takes(&line) {
            return;
        }
        // Without a limit a stream is not kept: a program may read millions.
        if most == usize::MAX {
            print(bytes, out);
            return;
        }
        shown.push_back((bytes.to_owned(), line));
        if shown.len() > most {
            shown.pop_front();
            more += 1;
        }
    })?;
    if unread > 0 {
        out.say(format!("{unread} lines of {LOG} cannot be read; `synod audit verify` names the first"));
    }
    if out.json {
        shown.iter().for_each(|(bytes, _)| print(bytes, out));
        return Ok(Exit::Ok);
    }
    if shown.is_empty() {
        out.line("Nothing in the audit log fits.");
        return Ok(Exit::Ok);
    }
    let rows = shown.iter().map(|(_, line)| row(line)).collect();
    let head = ["TIME", "AGENT", "KIND", "ACTION", "OUTCOME", "DETAILS"];
    text::table(&head, rows).into_iter().for_each(|line| out.line(line));
    if more > 0 {
        out.say(format!("{more} earlier ones are not shown; --limit shows more, --since fewer"));
    }
    Ok(Exit::Ok)
}

/// A line for programs: as it stands in the log, behind the version of what is printed.
fn print(bytes: &[u8], out: &Out) {
    let line = String::from_utf8_lossy(bytes);
    let rest = line.trim_start().strip_prefix('{').unwrap_or_default();
    out.line(format!("{{\"schema_version\":{SCHEMA_VERSION},{rest}"));
}

fn row(line: &Line) -> Vec<String> {
    let by = if line.by.is_empty() || line.by == "gate" { String::new() } else { format!("by {}", line.by) };
    let to = if line.to.is_empty() { String::new() } else { format!("to {}", line.to) };
    let details: Vec<&str> = [&line.task, &line.approval, &to, &by, &line.args, &line.rule, &line.note]
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    vec![
        line.at.clone(),
        if line.agent.is_empty() { "-".to_owned() } else { text::line(&line.agent) },
        line.kind.as_str().to_owned(),
        if line.action.is_empty() { "-".to_owned() } else { text::line(&line.action) },
        text::line(&line.outcome),
        text::line(&details.join("; ")),
    ]
}

/// Gives every whole line of the log to `take`; a log that is not there has none.
fn each_line(home: &Path, mut take: impl FnMut(&[u8])) -> anyhow::Result<()> {
    let file = match File::open(home.join(LOG)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{LOG} cannot be read")),
    };
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let count = reader.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        if let Some(line) = bytes.strip_suffix(b"\n") {
            take(line);
        }
    }
}

struct Filter<'a> {
    given: &'a AuditFilter,
    kind: Option<Kind>,
    since: Option<Time>,
    until: Option<Time>,
}

impl<'a> Filter<'a> {
    fn new(given: &'a AuditFilter) -> anyhow::Result<Self> {
        let kind = given.kind.as_deref().map(|word| {
            Kind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
                let all = Kind::ALL.map(Kind::as_str).join(", ");
                fail(Exit::Usage, format!("there is no kind {word:?}"), format!("there are: {all}"))
            })
        });
        Ok(Self {
            given,
            kind: kind.transpose()?,
            since: given.since.as_deref().map(time).transpose()?,
            until: given.until.as_deref().map(time).transpose()?,
        })
    }

    fn takes(&self, line: &Line) -> bool {
        let same = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        let when = || formats::time::parse(&line.at);
        same(&self.given.agent, &line.agent)
            && same(&self.given.outcome, &line.outcome)
            && same(&self.given.task, &line.task)
            && self.given.action.as_ref().is_none_or(|pattern| glob(pattern, &line.action))
            && self.kind.is_none_or(|kind| kind == line.kind)
            && self.since.is_none_or(|since| when().is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| when().is_some_and(|at| at <= until))
    }
}

/// A time, or how long ago it was.
fn time(text: &str) -> anyhow::Result<Time> {
    let ago = || formats::time::parse_duration(text).and_then(|ms| i64::try_from(ms).ok());
    formats::time::parse(text).or_else(|| ago().map(|ms| Time(SystemClock.now().0 - ms))).ok_or_else(|| {
        let help = "write 2026-01-31T12:00:00Z, or how long ago: 30m, 24h, 7d";
        fail(Exit::Usage, format!("{text:?} is not a time"), help)
    })
}

/// Checks the log.
pub fn verify(
    home: &Path,
    keys: &[String],
    checkpoints: &[PathBuf],
    against_git: bool,
    out: &Out,
) -> anyhow::Result<Exit> {
    let mut wanted = Wanted { git: against_git, live: wire::is_running(home), ..Wanted::default() };
    for key in keys.iter().flat_map(|given| given.lines()).filter(|line| !line.trim().is_empty()) {
        let read = Verifier::parse(key).map_err(|error| {
            fail(Exit::Usage, format!("{key:?}: {error}"), "`synod audit key` prints the one of a home")
        });
        wanted.keys.push(read?);
    }
    for path in checkpoints {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        wanted.kept.push((path.display().to_string(), text));
    }
    let report = verify::verify(home, &wanted).with_context(|| format!("{LOG} cannot be checked"))?;
    if out.json {
        out.value(json_of(&report));
    } else {
        tell(&report, keys.is_empty(), out);
    }
    Ok(if report.is_good() { Exit::Ok } else { Exit::Failed })
}

fn tell(report: &Report, key_of_log: bool, out: &Out) {
    for fault in &report.faults {
        let Fault { file, line, what, why } = fault;
        out.line(format!("{file}:{line}: {}: {why}", what.as_str()));
    }
    report.warnings.iter().for_each(|warning| out.say(format!("warning: {warning}")));
    if !report.is_good() {
        out.say("The audit log is not as it was written. Keep a copy before you do anything else.");
        return;
    }
    if report.lines == 0 {
        out.line("There is no audit log yet.");
        return;
    }
    let git = report.commits.map_or_else(String::new, |n| format!(", {n} commits looked at"));
    out.line(format!(
        "{} lines, each as it was written; {} checkpoints fit, the newest at line {}{git}",
        report.lines, report.checkpoints, report.signed
    ));
    if report.lines > report.signed {
        out.line(format!("lines {} to {} are not signed yet", report.signed + 1, report.lines));
    }
    report.keys.iter().for_each(|key| out.line(format!("signed by {key}")));
    if key_of_log {
        out.say("The key is the one that the log itself names; --key checks against one that you kept.");
    }
}

fn json_of(report: &Report) -> serde_json::Value {
    let faults = report
        .faults
        .iter()
        .map(|f| json!({ "file": f.file, "line": f.line, "what": f.what.as_str(), "why": f.why }));
    json!({
        "ok": report.is_good(),
        "lines": report.lines,
        "origin": report.origin,
        "checkpoints": report.checkpoints,
        "signed": report.signed,
        "verifiers": report.keys,
        "commits": report.commits,
        "faults": faults.collect::<Vec<_>>(),
        "warnings": report.warnings,
    })
}

/// Prints the key that checks signatures.
pub fn key(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let keys = std::fs::read_to_string(home.join(KEYS)).unwrap_or_default();
    let Some(key) = keys.lines().last() else {
        let help =
            format!("Synod makes one when it first works in the home; {CHECKPOINTS} then has signatures");
        return Err(fail(Exit::Failed, "this home has no audit log yet", help));
    };
    let verifier = Verifier::parse(key).with_context(|| format!("{KEYS} does not end with a key"))?;
    if out.json {
        out.value(json!({ "verifier": verifier.to_string() }));
    } else {
        out.line(verifier.to_string());
    }
    Ok(Exit::Ok)
}
