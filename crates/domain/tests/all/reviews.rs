//! Reviews from the first request to the merge: who is asked, what counts, who hears of it, and where it stops.

use domain::agent::Workspace;
use domain::approval::Answer;
use domain::event::CallEvent;
use domain::event::Event;
use domain::id::{AgentId, ReviewId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput, ToolInput};
use domain::review::{Check, Finding, Place, Review, Stage, of_call};
use domain::role::{Permission, Role};
use domain::state::{On, State, Step};
use domain::task::{End, Mark};
use domain::tool::{Act, ApproveWork, Lint, MergeBranch, RequestReview, RunTests, SpawnAgent};

use crate::home::{Home, create, no, read, update};

const TEAM: [&str; 4] = ["coordinator-001", "coder-001", "coder-002", "reviewer-001"];

pub fn ask() -> Act {
    Act::RequestReview(RequestReview { summary: "greets by name".to_owned(), to: None })
}

fn verdict(approved: bool, issues: &[&str]) -> Act {
    Act::ApproveWork(ApproveWork { approved, issues: issues.iter().map(|i| (*i).to_owned()).collect() })
}

fn merge() -> Act {
    Act::MergeBranch(MergeBranch { review: ReviewId::new("review-0001") })
}

fn place(commit: &str) -> Place {
    Place {
        branch: "agent/coder-001".to_owned(),
        target: "main".to_owned(),
        commit: commit.to_owned(),
        base: "ba5e".to_owned(),
    }
}

impl Home {
    /// The first of the agent's tools comes to its end, and this was found out.
    pub fn finds(&mut self, agent: &str, ok: bool, finding: Finding) -> Vec<Event> {
        let (session, call, ticket) = self.calls_to_tools(agent).remove(0);
        let text = format!("{finding:?}");
        let (read, wrote) = (Vec::new(), Vec::new());
        self.give(Input::Tool(ToolInput::Finished {
            session,
            call,
            ticket,
            ok,
            text,
            read,
            wrote,
            finding: Some(Box::new(finding)),
        }))
    }

    fn review(&self) -> &Review {
        &self.state.reviews.by_id[&ReviewId::new("review-0001")]
    }

    /// The coder asks for a review of `commit`.
    pub fn submits(&mut self, commit: &str) -> Vec<Event> {
        self.wants("coder-001", &[ask()]);
        self.finds("coder-001", true, Finding::Submitted(place(commit)))
    }

    /// The reviewer runs its checks on `commit`.
    pub fn checks(&mut self, commit: &str, results: &[(Check, bool)]) {
        for (check, passed) in results {
            let act = if *check == Check::Lint { Act::Lint(Lint {}) } else { Act::RunTests(RunTests {}) };
            self.wants("reviewer-001", &[act]);
            let (commit, check, passed) = (commit.to_owned(), *check, *passed);
            self.finds("reviewer-001", true, Finding::Checked { commit, check, passed });
        }
    }

    /// The reviewer sends `commit` back; the coder gets a turn.
    fn rejects(&mut self, issue: &str) {
        self.wants("reviewer-001", &[verdict(false, &[issue])]);
        self.says("reviewer-001", "sent back");
    }
}

/// The coordinator has made a task for the coder, who works on it.
fn coding() -> Home {
    let mut home = Home::new(&TEAM);
    home.task("greet", "coordinator-001");
    home.wants("coordinator-001", &[create("greet by name", "coder-001", &[])]);
    home.says("coordinator-001", "I wait");
    home
}

const PASSED: [(Check, bool); 2] = [(Check::Lint, true), (Check::Test, true)];

#[test]
fn work_is_sent_back_once_then_approved_and_merged_once() {
    let mut home = coding();
    home.submits("c1");
    assert_eq!(home.review().reviewer.as_str(), "reviewer-001");
    let (_, coder) = home.session_of("coder-001");
    assert_eq!(
        coder.pending(&home.review().call).unwrap().step,
        Step::Waiting { on: On::Review { review: home.review().id.clone() } }
    );
    let brief = home.heard("reviewer-001").remove(0);
    assert!(brief.contains("round 1 of 3") && brief.contains("commit c1 on agent/coder-001"), "{brief}");
    home.checks("c1", &[(Check::Lint, true), (Check::Test, false)]);
    home.rejects("greet.sh: the name is missing");
    assert_eq!(
        home.results("coder-001"),
        ["review-0001 round 1: reviewer-001 rejected c1:\n- greet.sh: the name is missing"]
    );
    home.submits("c2");
    let brief = home.heard("reviewer-001").remove(1);
    assert!(
        brief.contains("What was wrong in the round before:\n- greet.sh: the name is missing"),
        "{brief}"
    );
    home.checks("c2", &PASSED);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    assert_eq!((home.review().round, &home.review().stage), (2, &Stage::Approved));
    home.says("coder-001", "done: review-0001 is approved");
    home.wants("coordinator-001", &[merge()]);
    let (commit, made) = ("c2".to_owned(), "m1".to_owned());
    home.finds("coordinator-001", true, Finding::Merged { commit, merge: made });
    home.says("coordinator-001", "merged");
    assert_eq!(home.review().stage, Stage::Merged { merge: "m1".to_owned() });
    assert_eq!(home.end(&TaskId::new("task-001")), Some(End::Done));
    assert!(home.state.is_idle());
}

#[test]
fn the_answer_carries_the_issues_in_its_envelope() {
    let mut home = coding();
    home.submits("c1");
    home.rejects("no test");
    let envelope = home.events.iter().rev().find_map(|event| match event {
        Event::Call(CallEvent::Finished { message, .. }) => message.envelope.clone(),
        _ => None,
    });
    let envelope = envelope.expect("the coder's call has one");
    assert_eq!((envelope.approved, envelope.issues), (Some(false), vec!["no test".to_owned()]));
    assert_eq!(envelope.in_reply_to.as_deref(), Some("review-0001"));
}

#[test]
fn a_check_for_which_the_reviewer_has_no_command_is_told_as_what_it_is() {
    let workspace = Workspace {
        repo: Some("repo".to_owned()),
        test: Some("sh test.sh".to_owned()),
        ..Workspace::default()
    };
    let mut home = Home::with(&TEAM, |_| {}, |spec| spec.workspace = Some(workspace.clone()));
    home.task("greet", "coder-001");
    home.submits("c1");
    home.checks("c1", &[(Check::Test, true)]);
    let refused = "not approved: reviewer-001 has no command for lint, which `review.checks` in synod.yaml wants: the owner of the home can set one in the file of reviewer-001, as `workspace: {lint: \"…\"}`";
    // Also where an earlier version took it for a check that failed.
    for _ in 0..2 {
        home.wants("reviewer-001", &[verdict(true, &[])]);
        assert_eq!(home.results("reviewer-001").pop().as_deref(), Some(refused));
        home.checks("c1", &[(Check::Lint, false)]);
    }
    assert_eq!(home.review().stage, Stage::Asked);
}

#[test]
fn an_approval_without_passed_checks_of_this_commit_is_refused() {
    let mut home = coding();
    home.submits("c1");
    home.wants("reviewer-001", &[verdict(true, &[])]);
    assert!(home.results("reviewer-001")[0].starts_with("not approved: lint has not run on c1"));
    home.checks("c1", &[(Check::Lint, true), (Check::Test, false)]);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    assert!(home.results("reviewer-001")[3].starts_with("not approved: run_tests did not pass on c1"));
    // What was found out about another commit counts for nothing.
    home.wants("reviewer-001", &[Act::RunTests(RunTests {})]);
    let commit = "c0".to_owned();
    home.finds("reviewer-001", true, Finding::Checked { commit, check: Check::Test, passed: true });
    home.wants("reviewer-001", &[verdict(true, &[])]);
    assert_eq!(home.review().stage, Stage::Asked);
    home.checks("c1", &[(Check::Test, true)]);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    assert_eq!(home.review().stage, Stage::Approved);
}

#[test]
fn checks_of_an_earlier_round_do_not_count() {
    let mut home = coding();
    home.submits("c1");
    home.checks("c1", &PASSED);
    home.rejects("names are bad");
    home.submits("c2");
    home.wants("reviewer-001", &[verdict(true, &[])]);
    assert!(home.results("reviewer-001").last().unwrap().starts_with("not approved: lint has not run on c2"));
}

#[test]
fn the_owner_says_which_checks_there_are() {
    let mut home = Home::with(&TEAM, |settings| settings.review.checks.clear(), |_| {});
    home.task("greet by name", "coder-001");
    home.submits("c1");
    home.wants("reviewer-001", &[verdict(true, &[])]);
    assert_eq!(home.review().stage, Stage::Approved);
}

#[test]
fn an_approval_names_what_passed_and_what_did_not() {
    let only_lint = |settings: &mut domain::settings::Settings| settings.review.checks = [Check::Lint].into();
    let mut home = Home::with(&TEAM, only_lint, |_| {});
    home.task("greet by name", "coder-001");
    home.submits("c1");
    home.checks("c1", &[(Check::Lint, true), (Check::Test, false)]);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    let told = home.results("coder-001").pop().unwrap();
    assert!(told.contains("approved c1; passed: lint; failed: test. It can be merged"), "{told}");
}

#[test]
fn what_a_reviewer_found_goes_only_to_who_may_know_it() {
    let mut home = Home::with(
        &["coordinator-001", "coder-001", "reviewer-001", "reviewer-002"],
        |settings| {
            let readers = [AgentId::new("reviewer-001")].into();
            settings.trust.secret.insert("memory/payroll/*".to_owned(), readers);
        },
        |_| {},
    );
    home.task("greet by name", "coder-001");
    home.submits("c1");
    home.wants("reviewer-001", &[read("memory/payroll/may.md")]);
    let (session, call, ticket) = home.calls_to_tools("reviewer-001").remove(0);
    let (text, read) = ("12345".to_owned(), vec!["memory/payroll/may.md".to_owned()]);
    let (ok, wrote, finding) = (true, Vec::new(), None);
    home.give(Input::Tool(ToolInput::Finished { session, call, ticket, ok, text, read, wrote, finding }));
    home.rejects("the salary is 12345");
    let told = home.results("coder-001").pop().unwrap();
    assert!(told.contains("withheld"), "{told}");
    home.write("coordinator-001", "merge it");
    home.wants("coordinator-001", &[merge()]);
    let told = home.results("coordinator-001").pop().unwrap();
    assert!(told.contains("review-0001 is rejected (task-002 says why)"), "{told}");
    // Nor does the author tell what it was not told.
    let to = Some(AgentId::new("reviewer-002"));
    home.wants("coder-001", &[Act::RequestReview(RequestReview { summary: "again".to_owned(), to })]);
    home.finds("coder-001", true, Finding::Submitted(place("c2")));
    let brief = home.heard("reviewer-002").pop().unwrap();
    assert!(brief.contains("round 2 of 3") && !brief.contains("12345"), "{brief}");
}

#[test]
fn a_rejection_says_what_is_wrong_and_an_approval_has_no_issues() {
    let mut home = coding();
    home.submits("c1");
    let wrong = [verdict(false, &[]), verdict(false, &["  "]), verdict(true, &["bad"])];
    home.wants_each("reviewer-001", &wrong);
    assert_eq!(home.review().stage, Stage::Asked);
    assert!(
        home.results("reviewer-001").iter().all(|r| r.contains("issues")),
        "{:?}",
        home.results("reviewer-001")
    );
}

#[test]
fn nobody_looks_at_their_own_work() {
    let mut home = coding();
    let own =
        Act::RequestReview(RequestReview { summary: "mine".to_owned(), to: Some(AgentId::new("coder-001")) });
    home.wants("coder-001", &[own]);
    home.finds("coder-001", true, Finding::Submitted(place("c1")));
    assert!(home.results("coder-001")[0].starts_with("nobody approves their own work"));
    // A person may give the reviewer's task to anybody, but the gate still knows whose work it is.
    let mut home = Home::with(
        &TEAM,
        |_| {},
        |spec| {
            if spec.id.as_str() == "coder-001" {
                spec.role = "lead".to_owned();
            }
        },
    );
    let mut settings = home.state.config.settings.clone();
    let both = home.state.role("coder").unwrap().clone();
    let mut lead = both.clone();
    lead.permissions.extend(home.state.role("reviewer").unwrap().permissions.iter().copied());
    lead.tools.push("*".to_owned());
    settings.roles.insert("lead".to_owned(), lead);
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
    home.task("greet", "coder-001");
    home.submits("c1");
    let task = home.review().task.clone();
    let mut spec = home.get(&task).spec.clone();
    spec.assignee = Some(AgentId::new("coder-001"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    home.wants("coder-001", &[verdict(true, &[])]);
    let said = home.results("coder-001").pop().unwrap();
    assert!(said.starts_with("denied by the rule: nobody approves their own work"), "{said}");
}

#[test]
fn only_who_may_approve_is_asked_and_answers() {
    let mut home = coding();
    let to =
        Act::RequestReview(RequestReview { summary: "x".to_owned(), to: Some(AgentId::new("coder-002")) });
    home.wants("coder-001", &[to]);
    home.finds("coder-001", true, Finding::Submitted(place("c1")));
    assert!(
        home.results("coder-001")[0].contains("no permission approve_work"),
        "{:?}",
        home.results("coder-001")
    );
    home.wants_each("coder-001", &[verdict(true, &[]), merge()]);
    for said in &home.results("coder-001")[1..] {
        assert!(said.starts_with("denied by the rule: role coder lacks approve_work"), "{said}");
    }
    let mut home = Home::new(&["coder-001"]);
    home.task("greet", "coder-001");
    home.submits("c1");
    assert!(home.results("coder-001")[0].starts_with("nobody here may review"));
}

#[test]
fn only_approved_work_is_merged() {
    let mut home = coding();
    home.submits("c1");
    home.write("coordinator-001", "merge it now");
    home.wants("coordinator-001", &[merge()]);
    let said = home.results("coordinator-001").pop().unwrap();
    assert!(
        said.starts_with("denied by the rule: only approved work is merged\nreview-0001 is asked"),
        "{said}"
    );
    home.rejects("bad");
    home.wants("coordinator-001", &[merge()]);
    assert!(
        home.results("coordinator-001")
            .pop()
            .unwrap()
            .contains("review-0001 is rejected (task-003 says why)")
    );
    home.wants("coordinator-001", &[Act::MergeBranch(MergeBranch { review: ReviewId::new("review-0009") })]);
    assert!(home.results("coordinator-001").pop().unwrap().contains("there is no review review-0009"));
    assert!(home.calls_to_tools("coordinator-001").is_empty(), "nothing was let through");
}

#[test]
fn the_same_commit_is_not_looked_at_again() {
    let mut home = coding();
    home.submits("c1");
    home.rejects("bad");
    home.submits("c1");
    assert!(home.results("coder-001")[1].starts_with("c1 was sent back already; mend it and commit first"));
    assert_eq!(home.review().round, 1);
}

#[test]
fn after_the_last_round_a_person_is_asked_before_each_more() {
    let mut home = Home::with(&TEAM, |settings| settings.review.max_review_rounds = 2, |_| {});
    home.task("greet", "coder-001");
    home.submits("c1");
    home.rejects("bad");
    home.submits("c2");
    home.rejects("still bad");
    assert!(
        home.results("coder-001")[1]
            .ends_with("This was round 2 of 2: a person is asked before the next one.")
    );
    home.wants("coder-001", &[ask()]);
    assert_eq!(home.state.people.approvals.len(), 1);
    let request = home.state.people.approvals.values().next().unwrap();
    assert!(
        request.factors[0].contains("looked at 2 times (review.max_review_rounds: 2)"),
        "{:?}",
        request.factors
    );
    home.answer("approval-0001", Answer::Approved);
    home.finds("coder-001", true, Finding::Submitted(place("c3")));
    assert_eq!(home.review().round, 3);
    home.rejects("no");
    home.wants("coder-001", &[Act::RequestReview(RequestReview { summary: "please".to_owned(), to: None })]);
    home.answer("approval-0002", no());
    assert!(home.results("coder-001").pop().unwrap().starts_with("rejected by dana"));
    assert_eq!(home.review().round, 3);
}

#[test]
fn a_second_request_in_one_answer_does_not_pass_the_last_round() {
    let mut home = Home::with(&TEAM, |settings| settings.review.max_review_rounds = 1, |_| {});
    home.task("greet", "coder-001");
    let again = Act::RequestReview(RequestReview { summary: "and again".to_owned(), to: None });
    home.wants("coder-001", &[ask(), again]);
    home.finds("coder-001", true, Finding::Submitted(place("c1")));
    assert_eq!(home.calls_to_tools("coder-001"), [], "the second waits for the verdict on the first");
    home.rejects("bad");
    assert_eq!(home.review().round, 1);
    home.looks();
    assert_eq!(home.state.people.approvals.len(), 1, "now a person is asked");
}

#[test]
fn whom_the_author_made_is_not_asked() {
    let able = |spec: &mut domain::agent::Spec| {
        if spec.id.as_str() == "coder-001" {
            spec.role = "lead".to_owned();
        }
    };
    let mut home = Home::with(
        &["coder-001"],
        |settings| {
            let role = Role { permissions: Permission::ALL.into(), tools: vec!["*".to_owned()] };
            settings.roles.insert("lead".to_owned(), role);
        },
        able,
    );
    home.task("greet", "coder-001");
    let spawn = Act::SpawnAgent(SpawnAgent {
        role: "reviewer".to_owned(),
        name: None,
        goal: String::new(),
        responsibilities: Vec::new(),
    });
    home.wants("coder-001", &[spawn]);
    let child = home.state.team.agents.keys().find(|id| id.as_str().starts_with("reviewer-")).cloned();
    for (to, why) in [(child, "was made by coder-001"), (None, "nobody here may review")] {
        home.wants("coder-001", &[Act::RequestReview(RequestReview { summary: "x".to_owned(), to })]);
        home.finds("coder-001", true, Finding::Submitted(place("c1")));
        let said = home.results("coder-001").pop().unwrap();
        assert!(said.contains(why), "{said}");
    }
    assert!(home.state.reviews.is_empty());
}

#[test]
fn a_merge_that_was_let_through_takes_no_commit_that_came_after() {
    let mut home = coding();
    home.submits("c1");
    home.checks("c1", &PASSED);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    home.write("coordinator-001", "merge it");
    home.wants("coordinator-001", &[merge()]);
    let (session, call, _) = home.calls_to_tools("coordinator-001").remove(0);
    let call = home.state.sessions[&session].pending(&call).unwrap().call.clone();
    let about = |home: &Home| of_call(&home.state, &session, &call).map(|review| review.place.commit.clone());
    assert_eq!(about(&home).as_deref(), Some("c1"));
    // Before the merge began, its author has something new looked at.
    home.submits("c2");
    assert_eq!(about(&home), None, "nobody approved c2");
}

#[test]
fn work_that_cannot_be_merged_goes_back_with_the_names_of_the_files() {
    let mut home = coding();
    home.submits("c1");
    home.checks("c1", &PASSED);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    home.says("coder-001", "approved");
    home.wants("coordinator-001", &[merge()]);
    let files = vec!["greet.sh".to_owned()];
    home.finds(
        "coordinator-001",
        false,
        Finding::Conflicted { commit: "c1".to_owned(), files: files.clone() },
    );
    assert_eq!(home.review().stage, Stage::Conflicted { files });
    let task = home.heard("coder-001").pop().unwrap();
    assert!(task.contains("Bring agent/coder-001 in line with main: greet.sh"), "{task}");
    let is_demanded = |home: &Home, title: &str| {
        let task = home.state.work.tasks.values().find(|task| task.spec.title.starts_with(title));
        task.unwrap().spec.approval_required
    };
    assert!(!is_demanded(&home, "Bring ") && !is_demanded(&home, "Review of "));
    home.wants("coordinator-001", &[merge()]);
    assert!(home.results("coordinator-001").pop().unwrap().contains("review-0001 is in conflict: greet.sh"));
}

#[test]
fn what_a_person_wants_to_be_asked_about_is_asked_also_in_reviews_and_after_a_conflict() {
    let mut home = Home::with(&TEAM, |settings| settings.review.checks.clear(), |_| {});
    let demand = |home: &mut Home, agent: &str| {
        home.task_with("greet", agent, |spec| spec.approval_required = true);
    };
    demand(&mut home, "coder-001");
    home.wants("coder-001", &[ask()]);
    home.finds("coder-001", true, Finding::Submitted(place("c1")));
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    home.says("coder-001", "approved");
    home.task("merge", "coordinator-001");
    home.wants("coordinator-001", &[merge()]);
    let files = vec!["greet.sh".to_owned()];
    home.finds("coordinator-001", false, Finding::Conflicted { commit: "c1".to_owned(), files });
    let made = ["Review of ", "Bring "].map(|title| {
        let task = home.state.work.tasks.values().find(|task| task.spec.title.starts_with(title));
        task.unwrap().spec.approval_required
    });
    assert_eq!(made, [true, true]);
}

#[test]
fn a_review_that_ends_without_an_answer_is_told_and_can_be_asked_for_again() {
    let mut home = coding();
    home.submits("c1");
    home.says("reviewer-001", "looks good to me");
    assert_eq!(home.review().stage, Stage::Asked, "words approve nothing");
    assert_eq!(
        home.heard("reviewer-001").last().map(String::as_str),
        Some(
            "synod: review-0001 has no verdict yet, and words are none. Give it with approve_work: approved: true, or approved: false with the issues."
        )
    );
    home.says("reviewer-001", "looks good to me");
    assert_eq!(home.review().stage, Stage::Lapsed);
    assert_eq!(
        home.results("coder-001"),
        [
            "review-0001 ended without a verdict: no verdict: reviewer-001 answered 2 times in words, without approve_work\nAsk again with request_review."
        ]
    );
    home.submits("c1");
    assert_eq!(home.review().round, 2);
}

#[test]
fn cancelling_the_work_cancels_its_review() {
    let mut home = coding();
    home.submits("c1");
    home.mark(&TaskId::new("task-002"), Mark::Cancelled);
    assert_eq!(home.end(&home.review().task.clone()), Some(End::Cancelled));
    assert!(home.calls_to_model("reviewer-001").is_empty());
    assert_eq!(home.review().stage, Stage::Lapsed);
}

#[test]
fn a_merge_that_a_crash_cut_off_is_carried_out_again_and_told_once() {
    let mut home = coding();
    home.submits("c1");
    home.checks("c1", &PASSED);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    home.says("coder-001", "approved");
    home.wants("coordinator-001", &[merge()]);
    home.give(Input::Started);
    assert_eq!(home.calls_to_tools("coordinator-001")[0].2.attempt, 2);
    let finding = Finding::Merged { commit: "c1".to_owned(), merge: "m1".to_owned() };
    home.finds("coordinator-001", true, finding.clone());
    home.wants("coordinator-001", &[merge()]);
    home.finds("coordinator-001", true, finding);
    let merges = home.events.iter().filter(|event| event.kind() == "review_moved").count();
    assert_eq!(home.review().stage, Stage::Merged { merge: "m1".to_owned() });
    assert_eq!(merges, 5, "two checks, one approval, one merge that was told twice");
}

#[test]
fn who_ended_its_own_task_and_waits_for_a_review_is_told_when_all_above_ends() {
    let mut home = coding();
    home.wants("coder-001", &[update(&TaskId::new("task-002"), Mark::Cancelled, "no"), ask()]);
    home.finds("coder-001", true, Finding::Submitted(place("c0ffee")));
    home.give(Input::Person(PersonInput::Cancel { what: "task-001".to_owned(), by: "dana".to_owned() }));
    let results = home.results("coder-001");
    assert!(results.iter().any(|text| text.starts_with("review-0001 was cancelled")), "{results:?}");
    assert_eq!(home.calls_to_model("coder-001").len(), 1, "it goes on");
}

/// The same team, of which nothing is left but the task files.
fn from_files(before: &Home) -> Home {
    let mut home = Home::new(&TEAM);
    for task in before.state.work.tasks.values() {
        let (spec, mark) = (Box::new(task.spec.clone()), before.state.mark_of(task));
        home.give(Input::File(FileInput::TaskRead { spec, mark, result: task.result.clone() }));
    }
    home
}

#[test]
fn an_approval_is_known_from_the_files_alone() {
    let mut home = coding();
    home.submits("c1");
    home.rejects("no test");
    home.submits("c2");
    let asked = from_files(&home);
    assert_eq!((asked.review().round, &asked.review().stage), (2, &Stage::Asked));
    home.checks("c2", &PASSED);
    home.wants("reviewer-001", &[verdict(true, &[])]);
    home.says("reviewer-001", "approved");
    let found = from_files(&home);
    assert_eq!(found.review(), &Review { call: domain::id::CallId::new(""), ..home.review().clone() });
    home.says("coder-001", "done: review-0001 is approved");
    let mut found = from_files(&home);
    found.task("merge it", "coordinator-001");
    found.wants("coordinator-001", &[merge()]);
    assert_eq!(found.calls_to_tools("coordinator-001").len(), 1, "the gate lets it through");
}

#[test]
fn who_asks_about_what_is_looked_at_already_waits_for_that_answer() {
    let mut home = coding();
    home.submits("c1");
    let mut found = from_files(&home);
    let (round, task) = (found.review().round, found.review().task.clone());
    found.submits("c1");
    assert_eq!((found.review().round, &found.review().task), (round, &task));
    let reviews = found.state.work.tasks.values().filter(|t| t.spec.properties.contains_key("review"));
    assert_eq!(reviews.count(), 1, "no second one is asked for");
    found.checks("c1", &PASSED);
    found.wants("reviewer-001", &[verdict(true, &[])]);
    assert!(found.results("coder-001")[0].contains("It can be merged"), "{:?}", found.results("coder-001"));
}

#[test]
fn a_review_gets_a_number_that_was_not_given_before_the_journal_began() {
    let mut home = coding();
    home.give(Input::File(FileInput::IdsFound { delegations: 0, reviews: 12 }));
    let stored = serde_json::to_string(&home.state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&stored).unwrap(), home.state, "a snapshot has it");
    home.submits("c1");
    let given: Vec<&str> = home.state.reviews.by_id.keys().map(ReviewId::as_str).collect();
    assert_eq!(given, ["review-0013"]);
}
