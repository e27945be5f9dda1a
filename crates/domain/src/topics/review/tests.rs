//! The table: each stage with each thing that can happen in it, and what no sequence of them can do.

use proptest::prelude::*;

use super::*;

fn review(stage: Stage) -> Review {
    Review {
        id: ReviewId::new("review-0001"),
        author: AgentId::new("coder-001"),
        reviewer: AgentId::new("reviewer-001"),
        about: Some(TaskId::new("task-002")),
        title: "Add a greeting".to_owned(),
        session: SessionId::new("coder-001-000001"),
        call: CallId::new("call-1"),
        task: TaskId::new("task-003"),
        place: Place {
            branch: "agent/coder-001".to_owned(),
            target: "main".to_owned(),
            commit: "c0ffee".to_owned(),
            base: "ba5e".to_owned(),
        },
        round: 1,
        stage,
        checks: BTreeMap::new(),
    }
}

fn stages() -> [Stage; 6] {
    [
        Stage::Asked,
        Stage::Rejected { issues: vec!["it greets nobody".to_owned()] },
        Stage::Approved,
        Stage::Conflicted { files: vec!["a.sh".to_owned()] },
        Stage::Merged { merge: "3e46e".to_owned() },
        Stage::Lapsed,
    ]
}

fn moves() -> [Move; 8] {
    [
        Move::Checked { check: Check::Test, passed: true },
        Move::Checked { check: Check::Test, passed: false },
        Move::Approved,
        Move::Rejected { issues: vec!["no".to_owned()] },
        Move::Rejected { issues: Vec::new() },
        Move::Merged { merge: "3e46e".to_owned() },
        Move::Conflicted { files: vec!["a.sh".to_owned()] },
        Move::Lapsed,
    ]
}

#[test]
fn a_review_is_known_again_from_the_properties_of_its_task() {
    for stage in stages() {
        let checks = BTreeMap::from([(Check::Lint, true), (Check::Test, false)]);
        let known = Review { checks, ..review(stage.clone()) };
        let title = format!("Review of {}, round 1", known.title);
        let mut spec = crate::topics::task::Spec::new(known.task.clone(), "tasks/a.task.md", title);
        spec.assignee = Some(known.reviewer.clone());
        spec.parent.clone_from(&known.about);
        spec.properties = written::write(&known);
        assert_eq!(written::read(&spec), None, "nobody asked for it");
        spec.properties.insert("requested_by".to_owned(), known.session.to_string());
        let expected = match stage {
            // The task's result has them.
            Stage::Rejected { .. } => Stage::Rejected { issues: vec!["what task-003 says".to_owned()] },
            // The task has ended, which is said next.
            Stage::Lapsed => Stage::Asked,
            stage => stage,
        };
        let nobody = CallId::new("");
        assert_eq!(written::read(&spec), Some(Review { stage: expected, call: nobody, ..known }));
        spec.properties.insert("verdict".to_owned(), "fine".to_owned());
        assert_eq!(written::read(&spec), None);
    }
}

#[test]
fn each_stage_allows_what_the_table_says() {
    let nothing = BTreeSet::new();
    // In the order of `moves`.
    let table = [
        ("asked", ["asked", "asked", "approved", "rejected", "-", "-", "-", "lapsed"]),
        ("rejected", ["-"; 8]),
        ("approved", ["-", "-", "-", "-", "-", "merged", "conflicted", "-"]),
        ("conflicted", ["-"; 8]),
        ("merged", ["-", "-", "-", "-", "-", "merged", "-", "-"]),
        ("lapsed", ["-"; 8]),
    ];
    for (stage, (name, row)) in stages().into_iter().zip(table) {
        assert_eq!(stage.as_str(), name);
        for (next, expected) in moves().iter().zip(row) {
            let after = review(stage.clone()).after(next, &nothing);
            let shown = after.as_ref().map_or("-", |r| r.stage.as_str());
            assert_eq!(shown, expected, "{name} and {next:?}");
        }
    }
}

#[test]
fn a_second_merge_of_the_same_work_is_refused() {
    let merged = review(Stage::Merged { merge: "3e46e".to_owned() });
    let other = Move::Merged { merge: "0the4".to_owned() };
    assert!(merged.after(&other, &BTreeSet::new()).is_err());
}

#[test]
fn an_approval_counts_only_when_every_check_was_seen_to_pass() {
    let wanted = BTreeSet::from(Check::ALL);
    let with = |seen: &[(Check, bool)]| {
        let review = Review { checks: seen.iter().copied().collect(), ..review(Stage::Asked) };
        review.after(&Move::Approved, &wanted).map(|r| r.stage.as_str()).map_err(|why| why.to_string())
    };
    let (lint, test) = (Check::Lint, Check::Test);
    for (seen, expected) in [
        (&[][..], Err("lint has not run on c0ffee in this review; run it yourself before you approve")),
        (
            &[(lint, true)],
            Err("run_tests has not run on c0ffee in this review; run it yourself before you approve"),
        ),
        (
            &[(lint, true), (test, false)],
            Err("run_tests did not pass on c0ffee; reject it and name what failed"),
        ),
        (&[(lint, false), (test, true)], Err("lint did not pass on c0ffee; reject it and name what failed")),
        (&[(lint, true), (test, true)], Ok("approved")),
    ] {
        assert_eq!(with(seen), expected.map_err(str::to_owned), "{seen:?}");
    }
}

#[test]
fn the_same_commit_is_not_looked_at_twice() {
    let asked = |stage: Stage, commit: &str| {
        let review = review(stage);
        let place = Place { commit: commit.to_owned(), ..review.place.clone() };
        review.may_ask_again(&place).is_ok()
    };
    let same: Vec<bool> = stages().into_iter().map(|stage| asked(stage, "c0ffee")).collect();
    let other: Vec<bool> = stages().into_iter().map(|stage| asked(stage, "new")).collect();
    assert_eq!(same, [false, false, false, false, true, true]);
    assert_eq!(other, [false, true, true, true, true, true]);
}

proptest! {
    #[test]
    fn only_what_was_approved_after_its_checks_is_ever_merged(picks in prop::collection::vec(0usize..8, 0..40)) {
        let wanted = BTreeSet::from([Check::Test]);
        let moves = moves();
        let mut at = review(Stage::Asked);
        let (mut passed, mut approved, mut merges) = (false, false, 0);
        for pick in picks {
            let Ok(after) = at.after(&moves[pick], &wanted) else { continue };
            match &moves[pick] {
                Move::Checked { passed: now, .. } => passed = *now,
                Move::Approved => {
                    prop_assert!(passed, "approved without a check that passed");
                    approved = true;
                }
                Move::Merged { .. } => {
                    prop_assert!(approved, "merged without an approval");
                    merges += usize::from(after != at);
                }
                Move::Rejected { .. } | Move::Conflicted { .. } | Move::Lapsed => {}
            }
            at = after;
        }
        prop_assert!(merges <= 1);
    }
}
