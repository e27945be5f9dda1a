//! `approvals/pending/<id>.approval.md`: one approval with all that a person needs to decide.

use std::fmt::Write as _;
use std::ops::Range;

use domain::approval::{Answer, Outcome, Request};
use domain::id::Time;
use domain::tool::Runs;

use super::review::{self, Label};
use super::{Decision, Detail, show, visible};
use crate::diagnostic::{Notes, Read, did_you_mean};
use crate::time;

/// A new file for an approval that is asked for.
pub fn print_detail(r: &Request) -> String {
    let shown = show(&r.act);
    let mut out = format!("# Approval {}\n\n", r.id);
    let mut put =
        |key: &str, value: &str| out.push_str(&format!("{key}: {}\n", visible(value).replace('\n', " ")));
    put("agent", r.agent.as_str());
    if let Some(task) = &r.task {
        put("task", task.as_str());
    }
    // A question about a budget is about no call.
    if !r.session.as_str().is_empty() {
        put("session", r.session.as_str());
        put("call", r.call.as_str());
    }
    put("created", &time::print(r.created));
    put("expires", &r.expires.map_or_else(|| "never".to_owned(), time::print));
    put("digest", &r.digest);
    put("status", "pending");
    let _ = write!(
        out,
        "\n## What would be done\n\n**Type:** {}\n\n**{}:**\n\n",
        shown.kind,
        shown.label.replace('\n', " ")
    );
    let ticks = fence(&shown.text);
    let whose = if r.session.as_str().is_empty() { "Why it is asked" } else { "Why the agent asks" };
    let _ = write!(out, "{ticks}{}\n{}\n{ticks}\n\n**{}:**\n\n", shown.language, shown.text, whose);
    for line in visible(&r.why).split('\n') {
        let _ = writeln!(out, "{}", format!("> {line}").trim_end());
    }
    let _ = write!(out, "\n**Risk level:** {}\n\n", r.risk.as_str());
    for factor in &r.factors {
        let _ = writeln!(out, "- {}", visible(factor).replace('\n', " "));
    }
    for path in r.seen.iter().flat_map(|seen| &seen.paths) {
        let shown = format!("{} leads by a link to {}", visible(&path.named), visible(&path.real));
        let _ = write!(out, "\n**Resolved path:** {}\n", shown.replace('\n', " "));
    }
    if let Some(patch) = r.seen.as_ref().and_then(|seen| seen.patch.as_ref()) {
        let patch = visible(patch);
        let ticks = fence(&patch);
        let _ = write!(out, "\n**What it commits:**\n\n{ticks}diff\n{}\n{ticks}\n", patch.trim_end());
    }
    if let Runs::Command(_) = r.act.runs() {
        let words = match (r.permit.writes, r.permit.network) {
            (false, false) => "it can read its workspace, and neither write nor reach the network",
            (true, false) => "it can read and write its workspace, and not reach the network",
            (false, true) => "it can read its workspace and reach the network",
            (true, true) => "it can read and write its workspace, and reach the network",
        };
        let _ = write!(out, "\n**With a yes:** {words}\n");
    }
    if !r.chain.is_empty() || r.label.counts() {
        let _ = write!(
            out,
            "\n**Where it comes from:** {}\n\n",
            visible(&r.label.to_string()).replace('\n', " ")
        );
        for (index, step) in r.chain.iter().enumerate() {
            let _ = writeln!(out, "{}. {}", index + 1, visible(step).replace('\n', " "));
        }
    }
    if let Some(seen) = r.seen.as_ref().filter(|seen| !seen.parts.is_empty()) {
        out.push_str("\n**For exactly this; if anything of it changes, the yes is void:**\n\n");
        for part in &seen.parts {
            let _ = writeln!(out, "- {}: {}", visible(&part.what).replace('\n', " "), part.digest);
        }
    }
    let record = serde_json::to_string(r).unwrap_or_default();
    let _ = write!(
        out,
        "\n## Record\n\nThe same for Synod, to the letter. If it is changed, the approval is void.\n\n```json\n{record}\n```\n"
    );
    out.push_str(
        "\n## Review\n\n<!-- Write APPROVED or REJECTED behind \"Decision:\" and save the file. -->\n\n\
         **Decision:** <!-- APPROVED | REJECTED -->\n\n**Notes:** <!-- why, if you reject -->\n\n\
         **Reviewed by:**\n\n**Reviewed at:**\n",
    );
    out
}

/// A fence that nothing in `text` can close.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Reads an approval's own file.
pub fn read_detail(path: &str, text: &str) -> Read<Detail> {
    let mut notes = Notes::new(path, text);
    let value = record(text, &mut notes).map(|r| Detail {
        decision: match decision(text, &mut notes) {
            Decision::Approved { by } => approved(text, &r, by, &mut notes),
            other => other,
        },
        request: r,
    });
    notes.finish(value)
}

fn record(text: &str, notes: &mut Notes<'_>) -> Option<Request> {
    let (lines, fences) = review::open_lines(text);
    let heading = lines.iter().find(|l| text[(*l).clone()].trim_end() == "## Record");
    let fence = heading.and_then(|h| fences.iter().find(|f| f.language == "json" && f.inner.start > h.end));
    let Some(fence) = fence else {
        let help = "put the text back that Synod wrote below `## Record`, or reject with `synod reject`";
        notes.error_with(0..0, "the record of the approval is missing", Some(help.to_owned()));
        return None;
    };
    let changed = Some("put it back as it was: an approval is for exactly what was asked".to_owned());
    match serde_json::from_str::<Request>(text[fence.inner.clone()].trim()) {
        Ok(request) if request.digest == request.act.digest(request.seen.as_ref(), request.permit) => {
            Some(request)
        }
        Ok(_) => {
            notes.error_with(fence.inner.clone(), "the record was changed: its digest is another", changed);
            None
        }
        Err(error) => {
            notes.error_with(fence.inner.clone(), format!("the record was changed: {error}"), changed);
            None
        }
    }
}

/// A yes counts for what the person read: if that part of the file was changed, nobody knows what they meant.
fn approved(text: &str, request: &Request, by: String, notes: &mut Notes<'_>) -> Decision {
    let (lines, fences) = review::open_lines(text);
    let heading = lines.iter().find(|l| text[(*l).clone()].trim_end() == "## What would be done");
    let fence = heading.and_then(|h| fences.iter().find(|f| f.inner.start > h.end));
    let shown = format!("{}\n", show(&request.act).text);
    let is_same = |f: &&review::Fence| text[f.inner.clone()].lines().eq(shown.lines());
    if fence.filter(is_same).is_some() {
        return Decision::Approved { by };
    }
    let (line, column) = notes.position(fence.or(fences.first()).map_or(0, |f| f.inner.start));
    let why = "what would be done was changed here, and an approval is for exactly what was asked; \
               put it back, or reject and say in the notes what to do instead";
    Decision::Unclear { line, column, why: why.to_owned() }
}

/// What the review decides.
fn decision(text: &str, notes: &mut Notes<'_>) -> Decision {
    let mut unclear = |at: usize, why: String| {
        let (line, column) = notes.position(at);
        Decision::Unclear { line, column, why }
    };
    let labels = review::labels(text);
    let value = |name: &str| labels.iter().find(|l| l.name == name).map_or("", |l| &text[l.value.clone()]);
    let decisions: Vec<&Label> = labels.iter().filter(|l| l.name == "Decision").collect();
    let Some(first) = decisions.first() else {
        let at = review::review(text).map_or(0, |r| r.start.saturating_sub(1));
        return unclear(at, "the line `**Decision:**` is missing; put it back below `## Review`".to_owned());
    };
    let words: Vec<Word> = decisions.iter().map(|l| word(&clean(&text[l.value.clone()]))).collect();
    if words.iter().any(|w| *w != words[0]) {
        return unclear(decisions[1].value_start, "there are two decisions; leave one".to_owned());
    }
    match &words[0] {
        Word::None => match hidden(text, first) {
            Some(why) => unclear(first.value_start, why),
            None => Decision::None,
        },
        Word::Approved => Decision::Approved { by: one_line(&clean(value("Reviewed by"))) },
        Word::Rejected => {
            Decision::Rejected { by: one_line(&clean(value("Reviewed by"))), reason: clean(value("Notes")) }
        }
        Word::Other(found) => {
            let meant = did_you_mean(found, ["APPROVED", "REJECTED"]);
            let help = meant
                .map_or_else(|| "write APPROVED or REJECTED".to_owned(), |m| format!("did you mean {m}?"));
            let shown: String = found.chars().take(40).collect();
            unclear(first.value.start, format!("`{}` is not a decision; {help}", one_line(&shown)))
        }
    }
}

#[derive(PartialEq, Eq)]
enum Word {
    None,
    Approved,
    Rejected,
    Other(String),
}

fn word(value: &str) -> Word {
    let bare = value.trim_matches(|c: char| c.is_whitespace() || "*_`\"'.!".contains(c));
    match bare.to_ascii_lowercase().as_str() {
        "" => Word::None,
        "approved" | "approve" => Word::Approved,
        "rejected" | "reject" => Word::Rejected,
        _ => Word::Other(bare.to_owned()),
    }
}

/// A decision that nobody can see: written inside the comment, or only as the status.
fn hidden(text: &str, decision: &Label) -> Option<String> {
    let line_end = text[decision.value_start..].find('\n').map_or(text.len(), |i| decision.value_start + i);
    let line = &text[decision.value_start..line_end];
    let comment = line.trim().strip_prefix("<!--").and_then(|l| l.strip_suffix("-->")).unwrap_or_default();
    if matches!(word(comment), Word::Approved | Word::Rejected) {
        return Some("the decision stands inside a comment; write it in front of `<!--`".to_owned());
    }
    let (status, _) = status(text)?;
    let decided = matches!(word(&text[status]), Word::Approved | Word::Rejected);
    decided.then(|| "the status is changed, but `**Decision:**` is empty".to_owned())
}

fn clean(value: &str) -> String {
    review::without_comments(value)
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

fn one_line(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What somebody said, on one line. It cannot open a comment and so hide what stands below.
fn said(words: &str) -> String {
    one_line(&visible(words)).replace("<!--", "<! --")
}

/// The value of `status:` in the head, and where the head ends.
fn status(text: &str) -> Option<(Range<usize>, usize)> {
    let (lines, _) = review::open_lines(text);
    for line in lines {
        let body = &text[line.clone()];
        if body.starts_with("## ") {
            return None;
        }
        if let Some(value) = body.strip_prefix("status:") {
            let start = line.start + "status:".len() + (value.len() - value.trim_start().len());
            return Some((start..start.max(line.start + body.trim_end().len()), line.end));
        }
    }
    None
}

/// The file with its end written in: status, decision, by whom and when. What already stands there and says
/// the same is kept; a decision that came too late is replaced by the one that counted.
pub fn close_detail(text: &str, outcome: &Outcome, at: Time) -> String {
    let (word, by, reason) = match outcome {
        Outcome::Answered { answer: Answer::Approved, by, .. } => ("approved", Some(by.as_str()), ""),
        Outcome::Answered { answer: Answer::Rejected { reason }, by, .. } => {
            ("rejected", Some(by.as_str()), reason.as_str())
        }
        Outcome::Expired => ("expired", None, ""),
        Outcome::Withdrawn { reason } => ("withdrawn", None, reason.as_str()),
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    if let Some((span, _)) = status(text) {
        edits.push((span, word.to_owned()));
    }
    let same = |value: &str| match self::word(&clean(value)) {
        Word::Approved => word == "approved",
        Word::Rejected => word == "rejected",
        Word::None | Word::Other(_) => false,
    };
    for label in review::labels(text) {
        let (old, empty) = (&text[label.value.clone()], label.value.is_empty());
        let new = match label.name {
            "Decision" if by.is_some() && !same(old) => word.to_uppercase(),
            "Reviewed by" if empty => by.map(said).unwrap_or_default(),
            "Reviewed at" if empty => time::print(at),
            "Notes" if empty => said(reason),
            _ => continue,
        };
        if new.is_empty() {
            continue;
        }
        // Comments inside a value that is replaced stay.
        let mut pieces = review::pieces(text, &label.value).into_iter();
        match pieces.next() {
            Some(first) => edits.push((first, new)),
            None => edits.push((label.value.clone(), format!(" {new}"))),
        }
        edits.extend(pieces.map(|piece| (piece, String::new())));
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut out = text.to_owned();
    for (span, with) in edits.into_iter().rev() {
        out.replace_range(span, &with);
    }
    out
}
