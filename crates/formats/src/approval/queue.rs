//! An approval as an item of `tasks/approvals.task.md`.

use domain::approval::Request;
use domain::id::{AgentId, TaskId};
use domain::layout;
use domain::task::{Mark, Priority, Spec};

use super::{Decision, show, visible};
use crate::task::TaskItem;
use crate::time;

/// The file that the queue is.
pub const QUEUE_PATH: &str = layout::QUEUE;

/// The item of an approval, for [`crate::task::TaskFile::add`].
pub fn queue_item(r: &Request) -> (Spec, Vec<(String, String)>) {
    let shown = show(&r.act);
    let mut spec = Spec::new(TaskId::new(r.id.as_str()), QUEUE_PATH, shown.title);
    spec.priority = Some(Priority::A);
    spec.assignee = Some(AgentId::new("human"));
    spec.tags = vec!["approval".to_owned()];
    let mut text = format!("{} wants this. The risk is {}", r.agent, r.risk.as_str());
    text.push_str(if r.factors.is_empty() { ".\n" } else { ":\n" });
    for factor in &r.factors {
        text.push_str(&format!("  - {}\n", visible(factor).replace('\n', " ")));
    }
    text.push_str(&format!("\n{}:\n", shown.label));
    for line in shown.text.split('\n') {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str("\nTo approve: change [_] to [x]. You may add\n  approved_by: <your name>\n");
    text.push_str(
        "To reject: change [_] to [-]. You may add\n  rejected_by: <your name>\n  rejection_reason: <why>\n",
    );
    text.push_str(&format!("More is in approvals/pending/{}.approval.md", r.id));
    let mut extra: Vec<(&str, String)> = vec![
        ("type", "approval_request".to_owned()),
        ("approval_type", shown.kind.to_string()),
        ("agent", r.agent.to_string()),
    ];
    extra.extend(r.task.as_ref().map(|t| ("task", t.to_string())));
    extra.push(("created", time::print(r.created)));
    extra.extend(r.expires.map(|t| ("expires", time::print(t))));
    extra.push(("risk", r.risk.as_str().to_owned()));
    extra.push(("digest", r.digest.clone()));
    extra.push(("status", "pending".to_owned()));
    extra.push(("description", text));
    (spec, extra.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}

/// What the box and the properties of an item decide.
pub fn read_queue(item: &TaskItem) -> Decision {
    let said = |key: &str| item.property(key).map(str::trim).filter(|v| !v.is_empty());
    let (yes, no) = (said("approved_by"), said("rejected_by").or(said("rejection_reason")));
    let status = said("status").map(str::to_lowercase);
    let unclear = |why: &str| Decision::Unclear { line: item.line, column: item.column, why: why.to_owned() };
    match item.mark {
        Mark::Done if no.is_some() => {
            unclear("the box says approved, but `rejected_by` or `rejection_reason` is given")
        }
        Mark::Done if status.as_deref() == Some("rejected") => {
            unclear("the box says approved, but the status says rejected")
        }
        Mark::Done => Decision::Approved { by: yes.unwrap_or_default().to_owned() },
        Mark::Cancelled if yes.is_some() => unclear("the box says rejected, but `approved_by` is given"),
        Mark::Cancelled if status.as_deref() == Some("approved") => {
            unclear("the box says rejected, but the status says approved")
        }
        Mark::Cancelled => Decision::Rejected {
            by: said("rejected_by").unwrap_or_default().to_owned(),
            reason: said("rejection_reason").unwrap_or_default().to_owned(),
        },
        Mark::Open | Mark::Asking if yes.is_some() && no.is_some() => {
            unclear("both sides are given, and the box is open")
        }
        Mark::Open | Mark::Asking if yes.is_some() => {
            unclear("`approved_by` is given, but the box is open: write `[x]`")
        }
        Mark::Open | Mark::Asking if no.is_some() => {
            unclear("a rejection is given, but the box is open: write `[-]`")
        }
        Mark::Open | Mark::Asking if matches!(status.as_deref(), Some("approved" | "rejected")) => {
            unclear("the status is changed, but the box is open: write `[x]` or `[-]`")
        }
        Mark::Open | Mark::Asking => Decision::None,
        Mark::Running | Mark::Failed => {
            unclear("an approval is open `[_]`, approved `[x]` or rejected `[-]`")
        }
    }
}
