//! A review as its task file tells it: properties of the reviewer's task that a person can read, and from which the
//! review is known again when nothing else of it is left. Agents write no task files, so no agent writes these.

use std::collections::BTreeMap;

use crate::topics::review::{Check, PROPERTY, Place, Review, Stage};
use crate::topics::task::Spec;
use crate::words::id::{AgentId, CallId, ReviewId, SessionId};

const VERDICT: &str = "verdict";
const CHECKS: &str = "checks";
const MERGED: &str = "merged ";
const CONFLICT: &str = "conflict: ";

/// The properties of the reviewer's task that tell how the review stands.
pub(crate) fn write(review: &Review) -> BTreeMap<String, String> {
    let Place { branch, target, commit, base } = &review.place;
    let mut all = BTreeMap::from([
        (PROPERTY, review.id.to_string()),
        ("author", review.author.to_string()),
        ("round", review.round.to_string()),
        ("branch", branch.clone()),
        ("target", target.clone()),
        ("commit", commit.clone()),
        ("base", base.clone()),
    ]);
    let verdict = match &review.stage {
        // Of one that lapsed the task's end tells.
        Stage::Asked | Stage::Lapsed => None,
        Stage::Rejected { .. } => Some("rejected".to_owned()),
        Stage::Approved => Some("approved".to_owned()),
        Stage::Conflicted { files } => Some(format!("{CONFLICT}{}", files.join(", "))),
        Stage::Merged { merge } => Some(format!("{MERGED}{merge}")),
    };
    all.extend(verdict.map(|verdict| (VERDICT, verdict)));
    if !review.checks.is_empty() {
        let word = |passed: bool| if passed { "passed" } else { "failed" };
        let checks: Vec<String> = review
            .checks
            .iter()
            .map(|(check, passed)| format!("{} {}", check.as_str(), word(*passed)))
            .collect();
        all.insert(CHECKS, checks.join(", "));
    }
    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The review that a reviewer's task is about, as its file tells it; `None` if it is no such task. Nobody waits for it yet.
pub fn read(spec: &Spec) -> Option<Review> {
    let get = |key: &str| spec.properties.get(key).cloned();
    let stage = match get(VERDICT).as_deref() {
        None => Stage::Asked,
        Some("approved") => Stage::Approved,
        Some("rejected") => Stage::Rejected { issues: vec![format!("what {} says", spec.id)] },
        Some(other) => match (other.strip_prefix(MERGED), other.strip_prefix(CONFLICT)) {
            (Some(merge), _) => Stage::Merged { merge: merge.to_owned() },
            (None, Some(files)) => {
                Stage::Conflicted { files: files.split(", ").map(str::to_owned).collect() }
            }
            (None, None) => return None,
        },
    };
    let title = spec.title.strip_prefix("Review of ").unwrap_or(&spec.title);
    Some(Review {
        id: ReviewId::parse(&get(PROPERTY)?).ok()?,
        author: AgentId::parse(&get("author")?).ok()?,
        reviewer: spec.assignee.clone()?,
        about: spec.parent.clone(),
        title: title.rsplit_once(", round ").map_or(title, |(title, _)| title).to_owned(),
        session: SessionId::new(get("requested_by")?),
        call: CallId::new(""),
        task: spec.id.clone(),
        place: Place {
            branch: get("branch")?,
            target: get("target")?,
            commit: get("commit")?,
            base: get("base")?,
        },
        round: get("round")?.parse().ok()?,
        stage,
        checks: get(CHECKS).map(|text| checks(&text)).unwrap_or_default(),
    })
}

fn checks(text: &str) -> BTreeMap<Check, bool> {
    let one = |part: &str| {
        let (check, how) = part.split_once(' ')?;
        Some((Check::parse(check)?, how == "passed"))
    };
    text.split(", ").filter_map(one).collect()
}
