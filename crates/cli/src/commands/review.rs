//! `synod review`: work that agents had looked at, as the files of their tasks tell it.

use std::collections::BTreeMap;
use std::path::Path;

use domain::id::ReviewId;
use domain::review::{Review, Stage, short, written};
use domain::task::Mark;
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::text;
use crate::view::{self, tasks};

/// One round, with the words of its answer.
struct Round {
    review: Review,
    /// What the reviewer's task says came of it.
    answer: String,
}

impl Round {
    /// What is wrong, one thing each.
    fn issues(&self) -> Vec<&str> {
        let is_rejected = matches!(self.review.stage, Stage::Rejected { .. });
        let lines = self.answer.lines().filter(|_| is_rejected);
        lines.filter_map(|line| line.trim().strip_prefix("- ")).collect()
    }

    /// How far it is; a task that ended without an answer has lapsed.
    fn state(&self) -> &'static str {
        self.review.stage.as_str()
    }

    fn checks(&self) -> String {
        let word = |passed: bool| if passed { "passed" } else { "failed" };
        let checks = self.review.checks.iter();
        checks
            .map(|(check, passed)| format!("{} {}", check.as_str(), word(*passed)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn merge(&self) -> Option<&str> {
        match &self.review.stage {
            Stage::Merged { merge } => Some(merge),
            Stage::Asked
            | Stage::Rejected { .. }
            | Stage::Approved
            | Stage::Conflicted { .. }
            | Stage::Lapsed => None,
        }
    }

    fn conflicts(&self) -> &[String] {
        match &self.review.stage {
            Stage::Conflicted { files } => files,
            Stage::Asked
            | Stage::Rejected { .. }
            | Stage::Approved
            | Stage::Merged { .. }
            | Stage::Lapsed => &[],
        }
    }

    fn value(&self) -> Value {
        let Review { round, reviewer, task, place, checks, .. } = &self.review;
        let checks: BTreeMap<&str, bool> =
            checks.iter().map(|(check, passed)| (check.as_str(), *passed)).collect();
        json!({
            "round": round, "state": self.state(), "reviewer": reviewer, "task": task, "commit": place.commit,
            "base": place.base, "checks": checks, "issues": self.issues(), "conflicts": self.conflicts(),
            "merge": self.merge(),
        })
    }
}

/// All reviews with their rounds, the first first.
fn read(home: &Path) -> BTreeMap<ReviewId, Vec<Round>> {
    let mut all: BTreeMap<ReviewId, Vec<Round>> = BTreeMap::new();
    for task in tasks::read(home).list {
        let Some(mut review) = written::read(&task.spec) else { continue };
        if review.stage == Stage::Asked && matches!(task.mark, Mark::Done | Mark::Failed | Mark::Cancelled) {
            review.stage = Stage::Lapsed;
        }
        let answer = task.property("result").unwrap_or_default().to_owned();
        all.entry(review.id.clone()).or_default().push(Round { review, answer });
    }
    for rounds in all.values_mut() {
        rounds.sort_by_key(|round| round.review.round);
    }
    all
}

pub fn list(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let all = read(home);
    let last = || all.values().rev().filter_map(|rounds| rounds.last());
    if out.json {
        let brief = |round: &Round| {
            let mut value = round.value();
            value["id"] = json!(round.review.id);
            value["author"] = json!(round.review.author);
            value["title"] = json!(round.review.title);
            value
        };
        out.value(json!({ "reviews": last().map(brief).collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        out.line("No agent has asked for a review.");
        return Ok(Exit::Ok);
    }
    let cells = |round: &Round| {
        let Review { id, author, reviewer, round: number, place, title, .. } = &round.review;
        vec![
            id.to_string(),
            round.state().to_owned(),
            number.to_string(),
            format!("{author} → {reviewer}"),
            short(&place.commit).to_owned(),
            text::line(title),
        ]
    };
    let table =
        text::table(&["REVIEW", "STATE", "ROUND", "AGENTS", "COMMIT", "TITLE"], last().map(cells).collect());
    for (number, line) in table.iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    Ok(Exit::Ok)
}

pub fn show(home: &Path, id: &str, out: &Out) -> anyhow::Result<Exit> {
    let all = read(home);
    let ids = all.keys().map(ReviewId::as_str);
    let found = all.iter().find(|(known, _)| known.as_str() == id);
    let Some((id, rounds, last)) = found.and_then(|(id, rounds)| Some((id, rounds, rounds.last()?))) else {
        return Err(view::unknown("review", id, ids));
    };
    let Review { author, title, about, place, .. } = &last.review;
    if out.json {
        out.value(json!({ "review": {
            "id": id, "state": last.state(), "author": author, "title": title, "about": about,
            "branch": place.branch, "target": place.target, "merge": last.merge(),
            "rounds": rounds.iter().map(Round::value).collect::<Vec<_>>(),
        }}));
        return Ok(Exit::Ok);
    }
    out.line(out.bold(&format!("{id}  {}", last.state())));
    let fields = [
        ("work", title.as_str()),
        ("task", about.as_ref().map(|about| about.as_str()).unwrap_or_default()),
        ("author", author.as_str()),
        ("branch", &place.branch),
        ("into", &place.target),
        ("merge", last.merge().unwrap_or_default()),
    ];
    for (key, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        out.line(format!("  {:<8} {}", format!("{key}:"), text::line(value)));
    }
    for round in rounds {
        let Review { round: number, reviewer, task, place, .. } = &round.review;
        out.line("");
        out.line(format!("Round {number}: {}  {reviewer}  {task}", round.state()));
        out.line(format!("  {:<8} {}", "commit:", place.commit));
        if !round.review.checks.is_empty() {
            out.line(format!("  {:<8} {}", "checks:", round.checks()));
        }
        for issue in round.issues() {
            out.line(format!("  - {}", text::line(issue)));
        }
        for file in round.conflicts() {
            out.line(format!("  both sides changed {}", text::line(file)));
        }
    }
    Ok(Exit::Ok)
}
