//! Reads a command with a shell's grammar, judges each simple command in it, and returns the script that is run. The
//! strictest verdict wins; in doubt the verdict is ask. Nothing here runs a command.

mod blocked;
mod danger;
mod finding;
mod hidden;
mod parse;
mod paths;
mod programs;
mod rules;
pub mod script;
mod table;
mod tool;
mod word;
mod wrapper;

pub use rules::{Problem, problem};
pub use script::Script;

use crate::{CommandVerdict, Nature, Policy, Risk};
use finding::{Finding, ask, deny, rule};
use parse::{Found, Parsed};
use rules::Applied;
use script::Simple;

/// A longer command is not read.
pub const COMMAND_BYTES_MAX: usize = 16 << 10;
/// More commands than this in one text are asked for.
pub const COMMANDS_MAX: usize = 32;

/// The policy's verdict on a command, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The strictest of all findings and rules.
    pub verdict: CommandVerdict,
    /// The highest of all findings.
    pub risk: Risk,
    /// The reasons against it, one each; empty if there are none.
    pub factors: Vec<String>,
    /// The rule that decided, in words that can be searched for.
    pub rule: String,
    /// What is run, word by word; `None` if only a shell could run it, and then it is never allowed.
    pub script: Option<Script>,
    /// Whether it needs the network to do its work.
    pub wants_network: bool,
    /// The worst of all its commands.
    pub nature: Nature,
}

impl Judgement {
    /// The message to an agent whose command is denied: the reason, and what to do instead.
    pub fn advice(&self, command: &str) -> String {
        let shown = command.trim();
        if self.rule.starts_with("policy/commands.yaml") {
            return format!("{shown:?} is denied by policy/commands.yaml; find another way");
        }
        let instead = match self.rule.as_str() {
            rule::HIDDEN => "write it without",
            rule::EMPTY => "say what to run",
            rule::LONG => "put the text into a file of the workspace with write_file, and run that",
            rule::SECRET => "no command may touch credentials; ask a person for what you need from them",
            rule::CONTROL => "no agent may touch them; use its own tools, or ask a person",
            _ => "find another way",
        };
        format!("the command is denied: {}; {instead}", self.factors.join(", "))
    }
}

/// What is known of the workspace that the command would run in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'a> {
    /// Reasons to ask that were found there, such as settings that make git run a program.
    pub notes: &'a [String],
}

/// The command as it would be run, if it stays inside the small grammar that can be allowed: words, quotes and
/// globs, `|`, `&&`, `||`, `;`, lines, `!`, redirects to and from the null device and between descriptors 1 and 2.
pub fn script(text: &str) -> Option<Script> {
    if text.len() > COMMAND_BYTES_MAX || hidden::character(text).is_some() {
        return None;
    }
    parse::parse(text).ok()?.script
}

/// Whether a path names credentials.
pub fn is_secret(path: &str) -> bool {
    paths::secret(path).is_some()
}

/// Whether a path names credentials or a control file of the home: no command may be given it, by whatever glob.
pub fn is_closed(path: &str) -> bool {
    paths::secret(path).or_else(|| paths::control(path)).is_some()
}

/// Judges a command by the tables and the owner's rules.
pub fn judge(policy: &Policy, place: &Place<'_>, text: &str) -> Judgement {
    let parsed = match read(text) {
        Ok(parsed) => parsed,
        Err(finding) => return settle(vec![Said::of(vec![finding])], None, Nature::Read),
    };
    let mut said = vec![Said::of(of_text(place, text, &parsed))];
    let whole = rules::for_text(policy, text, parsed.script.as_ref());
    if let Some(script) = &parsed.script {
        let commands = script.pipelines.iter().flat_map(|pipeline| &pipeline.commands);
        said.extend(commands.map(|command| of_command(policy, command, whole)));
    }
    for found in &parsed.found {
        said.push(of_found(policy, found, parsed.script.is_some()));
    }
    said.extend(whole.map(Said::by_owner));
    // What makes a reading command ask may be what makes it do more than read.
    let nature = match place.notes.is_empty() {
        true => said.iter().fold(Nature::Read, |worst, one| worse(worst, one.nature)),
        false => Nature::Once,
    };
    settle(said, parsed.script, nature)
}

fn worse(one: Nature, two: Nature) -> Nature {
    match (one, two) {
        (Nature::Once, _) | (_, Nature::Once) => Nature::Once,
        (Nature::Idempotent, _) | (_, Nature::Idempotent) => Nature::Idempotent,
        (Nature::Read, Nature::Read) => Nature::Read,
    }
}

/// Reads the text, unless it is hidden, too long, too deep or empty.
fn read(text: &str) -> Result<Parsed, Finding> {
    if let Some(bad) = hidden::character(text) {
        let what = format!("hidden character: U+{:04X}", u32::from(bad));
        return Err(deny(rule::HIDDEN, what));
    }
    if text.len() > COMMAND_BYTES_MAX {
        return Err(deny(rule::LONG, format!("longer than {COMMAND_BYTES_MAX} bytes")));
    }
    let Ok(parsed) = parse::parse(text) else {
        return Err(deny(rule::LONG, "it has more levels or commands than can be checked"));
    };
    if parsed.script.is_none() && parsed.outside.is_empty() {
        return Err(deny(rule::EMPTY, "the command is empty"));
    }
    Ok(parsed)
}

/// The findings of one part of the judgement.
struct Said {
    findings: Vec<Finding>,
    owner: Option<(CommandVerdict, String)>,
    network: bool,
    nature: Nature,
}

impl Said {
    fn of(findings: Vec<Finding>) -> Self {
        let network = findings.iter().any(|finding| finding.network);
        Self { findings, owner: None, network, nature: Nature::Read }
    }

    fn by_owner(applied: Applied<'_>) -> Self {
        let mut findings = Vec::new();
        if applied.rule.verdict == CommandVerdict::Ask {
            findings.push(ask(
                Risk::Low,
                rule::OWNER,
                reason(applied, "the owner wants to be asked for this command"),
            ));
        }
        if applied.rule.verdict == CommandVerdict::Deny {
            findings.push(deny(rule::OWNER, reason(applied, "the owner denies this command")));
        }
        let owner = Some((applied.rule.verdict, applied.name()));
        Self { findings, owner, network: applied.rule.network, nature: applied.rule.nature }
    }
}

fn reason(applied: Applied<'_>, otherwise: &str) -> String {
    applied.rule.reason.clone().unwrap_or_else(|| otherwise.to_owned())
}

/// Findings about the text as a whole: its grammar, its looks, blocked patterns, notes from the workspace.
fn of_text(place: &Place<'_>, text: &str, parsed: &Parsed) -> Vec<Finding> {
    let mut findings = blocked::findings(text, parsed);
    let risk = if parsed.obfuscated { Risk::High } else { Risk::Medium };
    findings.extend(parsed.outside.iter().map(|why| ask(risk, rule::GRAMMAR, format!("the command {why}"))));
    if parsed.obfuscated {
        findings.push(ask(Risk::High, rule::GRAMMAR, "obfuscated: it is written so that it is hard to see"));
    }
    if hidden::is_padded(text) {
        findings.push(ask(Risk::High, rule::PADDED, "hidden tail: blanks push a part of it out of sight"));
    }
    if let Some(c) = hidden::look_alike(text) {
        let factor = format!("obfuscated: {c} (U+{:04X}) looks like another character", u32::from(c));
        findings.push(ask(Risk::High, rule::PADDED, factor));
    }
    if parsed.found.len() > COMMANDS_MAX {
        let factor = format!("has {} commands, more than {COMMANDS_MAX}", parsed.found.len());
        findings.push(ask(Risk::High, rule::MANY, factor));
    }
    findings.extend(place.notes.iter().map(|note| ask(Risk::Medium, rule::SEEN, note.clone())));
    findings
}

/// One command of a script: what the tables say of its program, unless a rule of the owner applies.
fn of_command(policy: &Policy, command: &Simple, whole: Option<Applied<'_>>) -> Said {
    let applied = rules::for_command(policy, command).or(whole);
    let (program, arguments) = match command.words.split_first() {
        Some((program, arguments)) => (program.text.as_str(), arguments),
        None => ("", &[][..]),
    };
    let known = programs::findings(program, arguments);
    let is_known = known.is_some();
    let findings = known.unwrap_or_else(|| {
        let arguments: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        danger::of_command(program, &arguments)
    });
    match applied {
        Some(applied) => {
            let mut said = Said::by_owner(applied);
            let keeps =
                |finding: &Finding| finding.is_denied || applied.rule.verdict != CommandVerdict::Allow;
            said.network |= findings.iter().any(|finding| finding.network);
            said.findings.extend(findings.into_iter().filter(keeps));
            said
        }
        None => {
            let nature = if is_known && findings.is_empty() { Nature::Read } else { Nature::Once };
            Said { nature, ..Said::of(findings) }
        }
    }
}

/// A command at any depth of the text: the owner's denials, closed paths, and, outside of a script, its dangers.
fn of_found(policy: &Policy, found: &Found, in_script: bool) -> Said {
    let mut findings = danger::reached(found);
    if !in_script {
        findings.extend(of_loose(found));
    }
    let nature = if in_script { Nature::Read } else { Nature::Once };
    let mut said = Said { nature, ..Said::of(findings) };
    if let Some(applied) = rules::for_found(policy, found) {
        let mut owner = Said::by_owner(applied);
        owner.findings.append(&mut said.findings);
        owner.network |= said.network;
        return owner;
    }
    said
}

fn of_loose(found: &Found) -> Vec<Finding> {
    let Some((program, arguments)) = found.words.split_first() else { return danger::findings(found) };
    let literal = |loose: &word::Loose| script::Word { text: loose.text.clone(), is_glob: false };
    let arguments: Vec<script::Word> = arguments.iter().map(literal).collect();
    match programs::findings(&program.text, &arguments) {
        Some(findings) if program.is_literal => {
            let mut all = findings;
            all.extend(danger::findings(&Found { words: Vec::new(), ..found.clone() }));
            all
        }
        Some(_) | None => danger::findings(found),
    }
}

/// The strictest of all findings.
fn settle(said: Vec<Said>, script: Option<Script>, nature: Nature) -> Judgement {
    let all = || said.iter().flat_map(|one| &one.findings);
    let mut factors: Vec<String> = Vec::new();
    for finding in all() {
        if !factors.contains(&finding.factor) {
            factors.push(finding.factor.clone());
        }
    }
    let worst = all().max_by_key(|finding| (finding.is_denied, finding.risk));
    let verdict = match worst {
        Some(finding) if finding.is_denied => CommandVerdict::Deny,
        Some(_) => CommandVerdict::Ask,
        None if script.is_none() => CommandVerdict::Ask,
        None => CommandVerdict::Allow,
    };
    let owner = said.iter().filter_map(|one| one.owner.as_ref()).find(|(says, _)| *says == verdict);
    let rule = match (owner, worst) {
        (_, Some(finding)) if finding.rule != rule::OWNER && finding.is_denied => finding.rule.to_owned(),
        (Some((_, name)), _) => name.clone(),
        (None, Some(finding)) => finding.rule.to_owned(),
        (None, None) => "programs that only read are allowed".to_owned(),
    };
    let nature = match verdict {
        CommandVerdict::Allow | CommandVerdict::Ask => nature,
        CommandVerdict::Deny => Nature::Read,
    };
    Judgement {
        verdict,
        risk: worst.map_or(Risk::Low, |finding| finding.risk),
        factors,
        rule,
        script,
        wants_network: said.iter().any(|one| one.network),
        nature,
    }
}
