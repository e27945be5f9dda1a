//! What a review does in a real repository: exactly one commit is looked at, checked and merged, once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adapters::git::workspace::clean_up;
use domain::id::{AgentId, CallId, ReviewId, SessionId, TaskId};
use domain::review::{Check, Finding, Place, Review, Stage};
use domain::tool::{
    Act, ExecuteCommand, GitCommit, GitDiff, GitUpdate, Lint, MergeBranch, RequestReview, RunTests,
    SearchFiles, WriteFile,
};
use git2::{Oid, Repository, Signature};
use ports::tools::{Order, Outcome, Tools as _};
use testkit::tools::order;

use crate::home::{Home, write};

const TEST: &str =
    "#!/bin/sh\n[ \"$(sh greet.sh Ada)\" = \"Hello, Ada!\" ] && ! [ -e left-over ] && touch left-over\n";

/// A home with a coder and a reviewer on one repository, which has a test that leaves something behind.
pub fn team() -> (Home, PathBuf) {
    let home = Home::new();
    let place = home.path("../service");
    fs::create_dir(&place).unwrap();
    for (name, text) in [("greet.sh", "echo hello\n"), ("test.sh", TEST), (".gitignore", "left-over\n")] {
        fs::write(place.join(name), text).unwrap();
    }
    let repo = Repository::init(&place).unwrap();
    repo.set_head("refs/heads/main").unwrap();
    commit_all(&place, "begin");
    for (id, role) in [("coder-001", "coder"), ("reviewer-001", "reviewer")] {
        let checks = "test: sh test.sh, lint: sh -n greet.sh";
        let text = format!("id: {id}\ntype: {role}\nmodel: m\nworkspace: {{repo: ../service, {checks}}}\n");
        home.write(&format!("agents/{id}.agent.yaml"), text);
    }
    (home, place)
}

pub fn commit_all(folder: &Path, text: &str) -> Oid {
    let repo = Repository::open(folder).unwrap();
    let mut index = repo.index().unwrap();
    index.add_all(["."], git2::IndexAddOption::DEFAULT, None).unwrap();
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let dana = Signature::now("dana", "dana@example.org").unwrap();
    let parent = repo.head().ok().and_then(|head| head.peel_to_commit().ok());
    repo.commit(Some("HEAD"), &dana, &dana, text, &tree, &Vec::from_iter(&parent)).unwrap()
}

pub async fn code(home: &Home, text: &str) {
    home.done(write("workspaces/coder-001/greet.sh", text)).await;
    let effect = text.len() as u64;
    let act = Act::GitCommit(GitCommit { message: "greet".to_owned(), paths: Vec::new() });
    assert!(home.run(order(effect, "coder-001", act)).await.ok);
}

pub async fn submit(home: &Home) -> Result<Place, String> {
    let act = Act::RequestReview(RequestReview { summary: "look".to_owned(), to: None });
    match home.run(order(1, "coder-001", act)).await {
        Outcome { finding: Some(Finding::Submitted(place)), .. } => Ok(place),
        Outcome { text, .. } => Err(text),
    }
}

fn review(place: Place) -> Review {
    Review {
        id: ReviewId::new("review-0001"),
        author: AgentId::new("coder-001"),
        reviewer: AgentId::new("reviewer-001"),
        about: None,
        title: "greet by name".to_owned(),
        session: SessionId::new("coder-001-000001"),
        call: CallId::new("c-1"),
        task: TaskId::new("task-002"),
        place,
        round: 1,
        stage: Stage::Approved,
        checks: BTreeMap::new(),
    }
}

pub async fn looks(home: &Home, place: &Place, act: Act) -> Outcome {
    let review = Some(Box::new(review(place.clone())));
    home.run(Order { review, ..order(2, "reviewer-001", act) }).await
}

pub async fn merge(home: &Home, place: &Place) -> Outcome {
    let review = Some(Box::new(review(place.clone())));
    let act = Act::MergeBranch(MergeBranch { review: ReviewId::new("review-0001") });
    home.run(Order { review, ..order(3, "coordinator-001", act) }).await
}

pub fn merges(folder: &Path) -> Vec<Vec<Oid>> {
    let repo = Repository::open(folder).unwrap();
    let mut walk = repo.revwalk().unwrap();
    walk.push_head().unwrap();
    let parents = |id: Oid| repo.find_commit(id).unwrap().parent_ids().collect::<Vec<_>>();
    walk.flatten().map(parents).filter(|parents| parents.len() > 1).collect()
}

pub fn is_clean(folder: &Path) -> bool {
    let repo = Repository::open(folder).unwrap();
    let statuses = repo.statuses(None).unwrap();
    statuses.iter().all(|entry| entry.status() == git2::Status::IGNORED)
}

pub const GOOD: &str = "echo \"Hello, $1!\"\n";

#[tokio::test]
async fn only_committed_work_is_submitted() {
    let (home, _) = team();
    assert_eq!(
        submit(&home).await.unwrap_err(),
        "agent/coder-001 has nothing that main does not have; commit your work first"
    );
    home.done(write("workspaces/coder-001/greet.sh", GOOD)).await;
    assert_eq!(submit(&home).await.unwrap_err(), "not committed yet: greet.sh; git_commit first, then ask");
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert_eq!((place.branch.as_str(), place.target.as_str()), ("agent/coder-001", "main"));
    home.write("agents/coder-001.agent.yaml", "id: coder-001\ntype: coder\nmodel: m\n");
    fs::rename(home.path("workspaces"), home.path("old")).unwrap();
    code(&home, GOOD).await;
    assert!(submit(&home).await.unwrap_err().contains("is a repository of its own"));
}

#[tokio::test]
async fn the_reviewer_sees_and_checks_exactly_the_commit_it_was_asked_about() {
    let (home, _) = team();
    code(&home, "echo \"Hello, $0!\"\n").await;
    let place = submit(&home).await.unwrap();
    // The author goes on; nobody was asked about that.
    code(&home, GOOD).await;
    let shown = looks(&home, &place, Act::GitDiff(GitDiff { path: None, against: None })).await;
    assert!(shown.text.contains("-echo hello\n+echo \"Hello, $0!\"\n"), "{}", shown.text);
    let seen = looks(&home, &place, Act::read_file("workspaces/reviewer-001.review/greet.sh")).await;
    assert!(seen.text.contains("$0"), "{}", seen.text);
    let failed = looks(&home, &place, Act::RunTests(RunTests {})).await;
    let checked = |check, passed| Some(Finding::Checked { commit: place.commit.clone(), check, passed });
    assert_eq!(failed.finding, checked(Check::Test, false), "{}", failed.text);
    let linted = looks(&home, &place, Act::Lint(Lint {})).await;
    assert_eq!(linted.finding, checked(Check::Lint, true), "{}", linted.text);
}

#[tokio::test]
async fn what_a_check_leaves_behind_is_gone_before_the_next() {
    let (home, _) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    for _ in 0..2 {
        let outcome = looks(&home, &place, Act::RunTests(RunTests {})).await;
        let expected = Finding::Checked { commit: place.commit.clone(), check: Check::Test, passed: true };
        assert_eq!(outcome.finding, Some(expected), "{}", outcome.text);
    }
}

/// All that is in a folder, beneath it too; links are not followed.
fn all_in(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            all.extend(all_in(&entry.path()).into_iter().map(|inner| format!("{name}/{inner}")));
        }
        all.push(name);
    }
    all.sort();
    all
}

#[tokio::test]
async fn whatever_a_check_leaves_behind_the_next_finds_the_commit_and_nothing_else() {
    let (home, service) = team();
    fs::create_dir(service.join("docs")).unwrap();
    fs::write(service.join("docs/a"), "a\n").unwrap();
    commit_all(&service, "docs");
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert!(looks(&home, &place, Act::Lint(Lint {})).await.ok);
    let checkout = home.path("workspaces/reviewer-001.review");
    let whole = all_in(&checkout);
    let outside = home.path("../outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("mine"), "mine\n").unwrap();
    for name in ["left/.git/HEAD", "left/marker", "docs/.git/HEAD", "docs/new", "left-over/a/b", "locked/x"] {
        let file = checkout.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "ref: refs/heads/x\n").unwrap();
    }
    fs::create_dir(checkout.join("empty")).unwrap();
    fs::write(checkout.join(std::ffi::OsStr::from_bytes(b"\xff")), "no UTF-8").unwrap();
    fs::set_permissions(checkout.join("locked"), fs::Permissions::from_mode(0o500)).unwrap();
    let pipe = rustix::fs::Mode::from_raw_mode(0o600);
    for name in ["pipe", "docs/pipe"] {
        let place = checkout.join(name);
        rustix::fs::mknodat(rustix::fs::CWD, &place, rustix::fs::FileType::Fifo, pipe, 0).unwrap();
    }
    std::os::unix::fs::symlink(&outside, checkout.join("link")).unwrap();
    // Also in the place of what is in the commit.
    fs::remove_file(checkout.join("test.sh")).unwrap();
    std::os::unix::fs::symlink(outside.join("mine"), checkout.join("test.sh")).unwrap();
    fs::remove_file(checkout.join("greet.sh")).unwrap();
    fs::create_dir(checkout.join("greet.sh")).unwrap();
    fs::write(checkout.join("greet.sh/x"), "x").unwrap();
    let again = looks(&home, &place, Act::Lint(Lint {})).await;
    assert!(again.ok, "{}", again.text);
    assert_eq!(all_in(&checkout), whole);
    assert_eq!(fs::read_to_string(checkout.join("greet.sh")).unwrap(), GOOD);
    assert_eq!(fs::read_to_string(outside.join("mine")).unwrap(), "mine\n");
    // A folder of the commit that leads elsewhere.
    fs::remove_dir_all(checkout.join("docs")).unwrap();
    std::os::unix::fs::symlink(&outside, checkout.join("docs")).unwrap();
    assert!(looks(&home, &place, Act::Lint(Lint {})).await.ok);
    assert_eq!((all_in(&checkout), all_in(&outside)), (whole, vec!["mine".to_owned()]));
}

#[tokio::test]
async fn a_review_leaves_the_reviewers_own_files_branch_and_note_as_they_are() {
    let (home, service) = team();
    let own = home.path("workspaces/reviewer-001");
    let by_reviewer = |act: Act| home.run(order(7, "reviewer-001", act));
    let put = |name: &str, content: &str| {
        let path = format!("workspaces/reviewer-001/{name}");
        by_reviewer(Act::WriteFile(WriteFile { path, content: content.to_owned() }))
    };
    assert!(put("own.txt", "committed").await.ok);
    let act = Act::GitCommit(GitCommit { message: "own work".to_owned(), paths: Vec::new() });
    assert!(by_reviewer(act).await.ok);
    for (name, text) in
        [("draft.txt", "not committed"), ("left-over", "ignored"), ("greet.sh", "echo mine\n")]
    {
        assert!(put(name, text).await.ok, "{name}");
    }
    let before = (tip(&own), tree_of(&own));
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let acts = [
        Act::GitDiff(GitDiff { path: None, against: None }),
        Act::read_file("workspaces/reviewer-001.review/greet.sh"),
        Act::SearchFiles(SearchFiles { query: "Hello".to_owned(), path: None }),
        Act::Lint(Lint {}),
        Act::RunTests(RunTests {}),
        Act::ExecuteCommand(ExecuteCommand { command: "cat greet.sh".to_owned() }),
    ];
    for act in acts {
        let outcome = looks(&home, &place, act.clone()).await;
        assert!(outcome.ok, "{act:?}: {}", outcome.text);
        assert!(
            matches!(act, Act::Lint(Lint {}) | Act::RunTests(RunTests {})) || outcome.text.contains("Hello"),
            "{}",
            outcome.text
        );
        assert!(outcome.read.contains(&"workspaces/coder-001".to_owned()), "{act:?}: {:?}", outcome.read);
    }
    assert_eq!((tip(&own), tree_of(&own)), before);
    let branches = Repository::open(&service).unwrap();
    let branches = branches.branches(Some(git2::BranchType::Local)).unwrap();
    let names: Vec<_> = branches.map(|b| b.unwrap().0.name().unwrap().unwrap().to_owned()).collect();
    assert_eq!(names, ["agent/coder-001", "agent/reviewer-001", "main"], "a review makes no branch");
    let checkout = Repository::open(home.path("workspaces/reviewer-001.review")).unwrap();
    assert_eq!(checkout.head().unwrap().target().unwrap().to_string(), place.commit);
    assert!(checkout.head_detached().unwrap());
    let act = Act::GitCommit(GitCommit {
        message: "more".to_owned(),
        paths: vec!["workspaces/reviewer-001.review/draft.txt".to_owned()],
    });
    assert!(by_reviewer(act).await.ok);
    let repo = Repository::open(&own).unwrap();
    assert_eq!(repo.find_commit(tip(&own)).unwrap().parent_id(0).unwrap(), before.0, "on its own work");
}

/// The files of a folder and what is in them, without git's.
fn tree_of(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.file_name() != ".git");
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

#[tokio::test]
async fn a_checkout_that_was_cut_off_is_made_whole_before_anybody_looks() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let read = || looks(&home, &place, Act::read_file("workspaces/reviewer-001.review/greet.sh"));
    assert!(read().await.text.contains("Hello"));
    let checkout = home.path("workspaces/reviewer-001.review");
    let git_dir = fs::read_to_string(checkout.join(".git")).unwrap();
    let git_dir = PathBuf::from(git_dir.trim_end().strip_prefix("gitdir: ").unwrap());
    assert!(git_dir.starts_with(service.canonicalize().unwrap().join(".git/worktrees")));
    // A crash half way: the files are not all there.
    fs::write(git_dir.join("synod-unfinished"), "").unwrap();
    fs::write(checkout.join("greet.sh"), "half").unwrap();
    assert!(read().await.text.contains("Hello"));
    assert!(!git_dir.join("synod-unfinished").exists());
}

#[tokio::test]
async fn with_its_agent_a_checkout_for_reviews_goes_but_nothing_that_somebody_put_there() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert!(looks(&home, &place, Act::RunTests(RunTests {})).await.ok);
    let spec = domain::agent::Workspace { repo: Some("../service".to_owned()), ..Default::default() };
    let ends = || clean_up(&home.path("."), &AgentId::new("reviewer-001"), Some(&spec));
    let folder = home.path("workspaces/reviewer-001.review");
    assert!(folder.exists());
    assert_eq!((ends(), folder.exists()), (Vec::new(), false));
    assert_eq!(fs::read_dir(service.join(".git/worktrees")).unwrap().count(), 1, "the coder's stays");
    assert_eq!(ends(), Vec::<String>::new(), "again after a crash");
    home.write("workspaces/reviewer-001.review/notes", "a person's");
    assert_eq!(ends(), ["workspaces/reviewer-001.review is kept: it was not made by Synod"]);
    assert!(folder.join("notes").exists());
    let outcome = looks(&home, &place, Act::RunTests(RunTests {})).await;
    assert!(!outcome.ok && outcome.text.contains("it has files already"), "{}", outcome.text);
}

#[tokio::test]
async fn a_command_of_a_reviewer_is_looked_at_where_it_runs() {
    let (home, _) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let (agent, act) = (
        AgentId::new("reviewer-001"),
        Act::ExecuteCommand(ExecuteCommand { command: "sh greet.sh".to_owned() }),
    );
    let seen = home.tools.look_in(&review(place.clone()), &agent, &act).await.unwrap();
    let parts: Vec<&str> = seen.parts.iter().map(|part| part.what.as_str()).collect();
    assert!(parts.contains(&"folder workspaces/reviewer-001.review"), "{parts:?}");
    let script = |seen: &domain::tool::Seen| {
        seen.parts.iter().find(|part| part.what == "file greet.sh").map(|part| part.digest.clone())
    };
    assert!(script(&seen).is_some_and(|digest| digest != "absent"), "{seen:?}");
    let permit = domain::tool::Permit { writes: true, network: false };
    let ordered = |seen| Order {
        review: Some(Box::new(review(place.clone()))),
        seen: Some(seen),
        permit,
        ..order(2, "reviewer-001", act.clone())
    };
    let outcome = home.run(ordered(seen.clone())).await;
    assert!(outcome.text.contains("Hello, !"), "{}", outcome.text);
    // Approved for these files and no others.
    fs::write(home.path("workspaces/reviewer-001.review/greet.sh"), "echo other\n").unwrap();
    let outcome = home.run(ordered(seen)).await;
    assert!(!outcome.ok && outcome.text.contains("void: file greet.sh changed"), "{}", outcome.text);
}

#[tokio::test]
async fn approved_work_is_merged_with_two_parents_and_only_once() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let before = Repository::open(&service).unwrap().head().unwrap().target().unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(merges(&service), [vec![before, Oid::from_str(&place.commit).unwrap()]]);
    assert_eq!(fs::read_to_string(service.join("greet.sh")).unwrap(), GOOD);
    assert!(is_clean(&service), "the owner's own checkout follows");
    let again = merge(&home, &place).await;
    assert_eq!(again.finding, outcome.finding, "found, not made again");
    assert_eq!(merges(&service).len(), 1);
}

#[tokio::test]
async fn no_merge_writes_into_a_home_that_is_inside_of_the_repository() {
    let home = Home::new();
    let top = home.path("..");
    fs::write(top.join("greet.sh"), "echo hello\n").unwrap();
    fs::write(top.join(".gitignore"), "home\n").unwrap();
    Repository::init(&top).unwrap().set_head("refs/heads/main").unwrap();
    commit_all(&top, "begin");
    home.write("synod.yaml", "limits: {turns_max: 5}\n");
    home.write(
        "agents/coder-001.agent.yaml",
        "id: coder-001\ntype: coder\nmodel: m\nworkspace: {repo: ..}\n",
    );
    // The coder takes the home out of what git ignores, and then commits settings of its own.
    home.done(write("workspaces/coder-001/.gitignore", "")).await;
    home.done(write("workspaces/coder-001/home/synod.yaml", "sandbox: {unsafe: true}\n")).await;
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let outcome = merge(&home, &place).await;
    assert!(!outcome.ok);
    assert_eq!(
        outcome.text,
        "not merged: home/synod.yaml is in the home of the team, which no merge changes"
    );
    assert_eq!(home.read("synod.yaml"), "limits: {turns_max: 5}\n");
    assert!(merges(&top).is_empty());
}

#[tokio::test]
async fn a_branch_that_moved_since_is_not_merged() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    code(&home, "echo bad\n").await;
    let outcome = merge(&home, &place).await;
    assert_eq!((outcome.ok, outcome.finding), (false, None));
    assert!(outcome.text.starts_with("not merged: agent/coder-001 moved to "), "{}", outcome.text);
    assert!(merges(&service).is_empty());
}

#[tokio::test]
async fn what_the_target_has_already_counts_as_merged_and_makes_no_commit() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let first = submit(&home).await.unwrap();
    code(&home, "echo \"Hello, $1!\" # twice\n").await;
    let second = submit(&home).await.unwrap();
    let made = merge(&home, &second).await;
    let Some(Finding::Merged { merge: by, .. }) = made.finding else { panic!("{}", made.text) };
    let outcome = merge(&home, &first).await;
    assert_eq!(outcome.finding, Some(Finding::Merged { commit: first.commit.clone(), merge: by.clone() }));
    let (short, since) = (&first.commit[..10], by);
    assert_eq!(
        outcome.text,
        format!("review-0001 is merged: main has {short} since {since}, so there was nothing to do")
    );
    assert_eq!(merges(&service).len(), 1);
    // Brought there by a person, without a merge commit.
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let repo = Repository::open(&service).unwrap();
    let tip = repo.find_commit(Oid::from_str(&place.commit).unwrap()).unwrap();
    repo.reset(tip.as_object(), git2::ResetType::Hard, None).unwrap();
    let merged = Finding::Merged { commit: place.commit.clone(), merge: place.commit.clone() };
    assert_eq!(merge(&home, &place).await.finding, Some(merged));
    assert_eq!((merges(&service).len(), repo.head().unwrap().target()), (0, Some(tip.id())));
}

#[tokio::test]
async fn a_target_that_moved_is_merged_with_and_a_conflict_names_its_files() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    fs::write(service.join("README"), "hi\n").unwrap();
    commit_all(&service, "readme");
    assert!(merge(&home, &place).await.ok);
    assert!(service.join("README").exists() && is_clean(&service));

    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    fs::write(service.join("greet.sh"), "echo other\n").unwrap();
    let tip = commit_all(&service, "other");
    let outcome = merge(&home, &place).await;
    let files = vec!["greet.sh".to_owned()];
    assert_eq!(outcome.finding, Some(Finding::Conflicted { commit: place.commit.clone(), files }));
    assert!(!outcome.ok && outcome.text.contains("both changed greet.sh"), "{}", outcome.text);
    assert_eq!(Repository::open(&service).unwrap().head().unwrap().target(), Some(tip), "nothing moved");
    assert!(is_clean(&service));
}

#[tokio::test]
async fn what_the_owner_has_not_committed_is_never_written_over() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    fs::write(service.join("greet.sh"), "echo mine\n").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(
        !outcome.ok && outcome.text.contains("changes that are not committed in greet.sh"),
        "{}",
        outcome.text
    );
    assert_eq!(fs::read_to_string(service.join("greet.sh")).unwrap(), "echo mine\n");
    assert!(merges(&service).is_empty());
    // Half done by a merge that a crash cut off: it is already as it shall be.
    fs::write(service.join("greet.sh"), GOOD).unwrap();
    assert!(merge(&home, &place).await.ok);
    assert!(is_clean(&service));
}

#[tokio::test]
async fn what_a_killed_synod_left_behind_holds_nobody_up_and_goes() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    // No process has this number: it is beyond what the system gives.
    fs::write(service.join(".git/index.lock"), "synod 2147483646 refs/heads/main\n").unwrap();
    fs::write(service.join(".git/refs/heads/main.lock"), "").unwrap();
    fs::write(service.join(".synod-merge"), "half of a fi").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert!(is_clean(&service));
    assert!(!service.join(".git/index.lock").exists());
}

#[tokio::test]
async fn a_branch_that_is_checked_out_nowhere_is_merged_into_also_after_a_kill() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let repo = Repository::open(&service).unwrap();
    let main = repo.head().unwrap().peel_to_commit().unwrap();
    repo.branch("elsewhere", &main, false).unwrap();
    repo.set_head("refs/heads/elsewhere").unwrap();
    fs::write(service.join(".git/index.lock"), "synod 2147483646 refs/heads/main\n").unwrap();
    fs::write(service.join(".git/refs/heads/main.lock"), "").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(repo.head().unwrap().target(), Some(main.id()), "the owner's branch is as it was");
    assert_ne!(repo.refname_to_id("refs/heads/main").unwrap(), main.id());
    assert!(is_clean(&service) && !service.join(".git/index.lock").exists());
}

#[tokio::test]
async fn files_that_come_go_and_may_be_run_are_merged_as_they_are() {
    let (home, service) = team();
    fs::create_dir(service.join("old")).unwrap();
    fs::write(service.join("old/file"), "x").unwrap();
    commit_all(&service, "old");
    home.done(write("workspaces/coder-001/bin/run", "#!/bin/sh\n")).await;
    let own = home.path("workspaces/coder-001");
    fs::set_permissions(own.join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(own.join("old")).unwrap();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert!(merge(&home, &place).await.ok);
    assert_eq!(fs::metadata(service.join("bin/run")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!service.join("old").exists());
    assert!(is_clean(&service));
}

#[tokio::test]
async fn nothing_that_the_repository_brings_along_runs() {
    let (home, service) = team();
    let hook = service.join(".git/hooks/post-merge");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    for name in ["pre-commit", "post-merge", "post-checkout", "reference-transaction"] {
        let place = service.join(".git/hooks").join(name);
        fs::write(&place, "#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/ran\"\n").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let repo = Repository::open(&service).unwrap();
    repo.config().unwrap().set_str("filter.x.smudge", "touch ran").unwrap();
    repo.config().unwrap().set_str("merge.x.driver", "touch ran").unwrap();
    fs::write(service.join(".gitattributes"), "*.sh filter=x merge=x\n").unwrap();
    commit_all(&service, "attributes");
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert!(looks(&home, &place, Act::RunTests(RunTests {})).await.ok);
    assert!(merge(&home, &place).await.ok);
    fs::write(service.join("greet.sh"), "echo other\n").unwrap();
    commit_all(&service, "other");
    code(&home, "echo mine\n").await;
    assert!(update(&home, 80, false).await.ok);
    home.done(write("workspaces/coder-001/greet.sh", GOOD)).await;
    assert!(commit(&home, 81).await.ok);
    for folder in
        [service.clone(), home.path("workspaces/coder-001"), home.path("workspaces/reviewer-001.review")]
    {
        assert!(!folder.join("ran").exists(), "{}", folder.display());
    }
}

/// Two lines, of which the coder changes one and the owner the same one, and another file besides.
async fn at_odds() -> (Home, PathBuf, PathBuf) {
    let (home, service) = team();
    code(&home, GOOD).await;
    fs::write(service.join("greet.sh"), "echo other\n").unwrap();
    fs::write(service.join("README"), "hi\n").unwrap();
    commit_all(&service, "other");
    let own = home.path("workspaces/coder-001");
    (home, service, own)
}

const MARKED: &str = "<<<<<<< yours\necho \"Hello, $1!\"\n=======\necho other\n>>>>>>> theirs\n";

pub async fn update(home: &Home, effect: u64, take_back: bool) -> Outcome {
    home.run(order(effect, "coder-001", Act::GitUpdate(GitUpdate { take_back }))).await
}

pub async fn commit(home: &Home, effect: u64) -> Outcome {
    let act = Act::GitCommit(GitCommit { message: "bring together".to_owned(), paths: Vec::new() });
    home.run(order(effect, "coder-001", act)).await
}

pub fn tip(folder: &Path) -> Oid {
    Repository::open(folder).unwrap().head().unwrap().target().unwrap()
}

#[tokio::test]
async fn what_others_merged_comes_into_a_branch_by_one_commit_of_its_author() {
    let (home, service) = team();
    let own = home.path("workspaces/coder-001");
    home.done(write("workspaces/coder-001/greet.sh", GOOD)).await;
    fs::create_dir(service.join("docs")).unwrap();
    fs::write(service.join("docs/a.md"), "a\n").unwrap();
    fs::remove_file(service.join("test.sh")).unwrap();
    let theirs = commit_all(&service, "docs");
    let refused = update(&home, 70, false).await;
    assert_eq!((refused.ok, refused.text.as_str()), (false, "not committed yet: greet.sh; git_commit first"));
    code(&home, GOOD).await;
    let ours = tip(&own);
    let outcome = update(&home, 71, false).await;
    assert!(outcome.ok, "{}", outcome.text);
    let made = tip(&own);
    let said = format!("agent/coder-001 has all of main now: {made}\nadded docs/a.md\nremoved test.sh");
    assert_eq!(outcome.text, said);
    assert_eq!(merges(&own), [vec![ours, theirs]]);
    assert!(is_clean(&own) && own.join("docs/a.md").exists() && !own.join("test.sh").exists());
    let author =
        Repository::open(&own).unwrap().find_commit(made).unwrap().author().name().unwrap().to_owned();
    assert_eq!(author, "coder-001");
    // Told once more after a crash, also when there is more to merge meanwhile.
    fs::write(service.join("docs/b.md"), "b\n").unwrap();
    commit_all(&service, "more");
    assert!(update(&home, 71, false).await.text.contains("made before a restart"));
    assert_eq!(tip(&own), made);
    assert!(update(&home, 72, false).await.ok);
    let again = update(&home, 73, false).await;
    assert_eq!(again.text, "agent/coder-001 has all of main already");
    let place = submit(&home).await.unwrap();
    assert!(merge(&home, &place).await.ok);
}

#[tokio::test]
async fn a_branch_that_is_only_behind_catches_up_without_a_commit() {
    let (home, service) = team();
    assert!(update(&home, 1, false).await.text.contains("has all of main already"));
    fs::write(service.join("README"), "hi\n").unwrap();
    let theirs = commit_all(&service, "readme");
    assert!(update(&home, 2, false).await.ok);
    let own = home.path("workspaces/coder-001");
    assert_eq!(tip(&own), theirs);
    assert!(is_clean(&own) && own.join("README").exists());
}

#[tokio::test]
async fn a_conflict_is_decided_in_the_files_and_committed_with_two_parents() {
    let (home, service, own) = at_odds().await;
    let place = submit(&home).await.unwrap();
    assert!(matches!(merge(&home, &place).await.finding, Some(Finding::Conflicted { .. })));
    let (ours, theirs) = (tip(&own), tip(&service));
    let outcome = update(&home, 80, false).await;
    assert!(
        outcome.ok && outcome.text.contains("\n- greet.sh: between <<<<<<< and ======="),
        "{}",
        outcome.text
    );
    assert_eq!(fs::read_to_string(own.join("greet.sh")).unwrap(), MARKED);
    assert_eq!(fs::read_to_string(own.join("README")).unwrap(), "hi\n");
    assert_eq!(update(&home, 81, false).await.text, outcome.text, "told again, nothing done again");
    assert!(submit(&home).await.unwrap_err().contains("git_commit finishes it"));

    let refused = commit(&home, 82).await;
    assert!(refused.text.contains("greet.sh has a mark of the merge in line 1;"), "{}", refused.text);
    home.done(write("workspaces/coder-001/greet.sh", "echo one\n=======\necho two\n")).await;
    assert!(commit(&home, 82).await.text.contains("in line 2;"));
    let some = Act::GitCommit(GitCommit {
        message: "some".to_owned(),
        paths: vec!["workspaces/coder-001/greet.sh".to_owned()],
    });
    assert!(home.run(order(83, "coder-001", some)).await.text.contains("leave paths out"));
    assert_eq!(tip(&own), ours, "nothing is committed yet");

    home.done(write("workspaces/coder-001/greet.sh", GOOD)).await;
    let outcome = commit(&home, 84).await;
    assert!(
        outcome.ok && outcome.text.ends_with("which has all of main now:\nadded README"),
        "{}",
        outcome.text
    );
    assert_eq!(merges(&own), [vec![ours, theirs]]);
    assert!(is_clean(&own));
    assert!(commit(&home, 84).await.text.contains("before a restart"));
    let place = submit(&home).await.unwrap();
    assert!(looks(&home, &place, Act::RunTests(RunTests {})).await.ok);
    assert!(merge(&home, &place).await.ok);
    assert_eq!(fs::read_to_string(service.join("greet.sh")).unwrap(), GOOD);
    assert!(is_clean(&service));
}

#[tokio::test]
async fn a_merge_that_is_not_committed_can_be_taken_back() {
    let (home, _, own) = at_odds().await;
    let before = tip(&own);
    assert!(update(&home, 80, false).await.ok);
    home.done(write("workspaces/coder-001/mine", "kept\n")).await;
    let outcome = update(&home, 81, true).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(fs::read_to_string(own.join("greet.sh")).unwrap(), GOOD);
    assert!(!own.join("README").exists());
    assert_eq!(fs::read_to_string(own.join("mine")).unwrap(), "kept\n", "it has no part in the merge");
    fs::remove_file(own.join("mine")).unwrap();
    assert!(is_clean(&own));
    assert_eq!(tip(&own), before);
    assert!(update(&home, 82, true).await.text.contains("no merge is under way"));
    assert!(update(&home, 83, false).await.ok, "and it can be begun again");
}

#[tokio::test]
async fn a_merge_that_a_kill_cut_off_is_never_committed_by_halves() {
    for take_back in [false, true] {
        let (home, service, own) = at_odds().await;
        let admin = Repository::open(&own).unwrap().path().to_owned();
        // As a kill leaves it: the note, one file of two, and one that was being prepared.
        fs::write(admin.join("synod-merge"), format!("{}\n", tip(&service))).unwrap();
        fs::write(own.join("README"), "hi\n").unwrap();
        fs::write(own.join(".synod-merge"), "<<<<").unwrap();
        for refused in [commit(&home, 90).await.text, submit(&home).await.unwrap_err()] {
            assert!(refused.starts_with("a merge was cut off"), "{refused}");
        }
        let outcome = update(&home, 91, take_back).await;
        assert!(outcome.ok, "{}", outcome.text);
        let expected = if take_back { GOOD } else { MARKED };
        assert_eq!(fs::read_to_string(own.join("greet.sh")).unwrap(), expected);
        assert_eq!(own.join("README").exists(), !take_back);
        assert!(!own.join(".synod-merge").exists() && !admin.join("synod-merge").exists());
    }
}

#[tokio::test]
async fn what_the_agent_wrote_after_the_kill_is_not_written_over() {
    let (home, service, own) = at_odds().await;
    let admin = Repository::open(&own).unwrap().path().to_owned();
    fs::write(admin.join("synod-merge"), format!("{}\n", tip(&service))).unwrap();
    fs::write(own.join("greet.sh"), "echo new\n").unwrap();
    let outcome = update(&home, 91, false).await;
    assert_eq!(
        (outcome.ok, outcome.text.as_str()),
        (false, "not merged: greet.sh would be written over; take_back: true makes it what it was before")
    );
    assert_eq!(fs::read_to_string(own.join("greet.sh")).unwrap(), "echo new\n");
}

#[tokio::test]
async fn killed_after_the_merge_commit_and_before_the_notes_went_nothing_is_under_way() {
    let (home, service, own) = at_odds().await;
    let theirs = tip(&service);
    assert!(update(&home, 80, false).await.ok);
    home.done(write("workspaces/coder-001/greet.sh", GOOD)).await;
    assert!(commit(&home, 81).await.ok);
    let admin = Repository::open(&own).unwrap().path().to_owned();
    for name in ["synod-merge", "MERGE_HEAD"] {
        fs::write(admin.join(name), format!("{theirs}\n")).unwrap();
        assert!(commit(&home, 81).await.text.contains("before a restart"));
        assert!(!admin.join(name).exists());
    }
    assert!(submit(&home).await.is_ok());
    assert_eq!(merges(&own).len(), 1);
}

#[tokio::test]
async fn what_no_line_can_decide_is_named_and_stands_as_its_author_has_it() {
    let (home, service) = team();
    for (name, text) in [("picture", "\0old"), ("mine", "old\n"), ("theirs", "old\n")] {
        fs::write(service.join(name), text).unwrap();
    }
    commit_all(&service, "files");
    let own = home.path("workspaces/coder-001");
    home.done(write("workspaces/coder-001/picture", "\0mine")).await;
    home.done(write("workspaces/coder-001/mine", "mine\n")).await;
    fs::remove_file(own.join("theirs")).unwrap();
    code(&home, GOOD).await;
    fs::write(service.join("picture"), "\0theirs").unwrap();
    fs::remove_file(service.join("mine")).unwrap();
    fs::write(service.join("theirs"), "theirs\n").unwrap();
    commit_all(&service, "other");
    let outcome = update(&home, 80, false).await;
    for words in [
        "- picture: it is no text, and stands as you have it",
        "- mine: the other side has it no more; it stands as you have it",
        "- theirs: you have it no more; it stands as the other side has it",
    ] {
        assert!(outcome.text.contains(words), "{words} in {}", outcome.text);
    }
    assert_eq!(fs::read(own.join("picture")).unwrap(), b"\0mine");
    assert_eq!(fs::read_to_string(own.join("theirs")).unwrap(), "theirs\n");
    assert!(commit(&home, 81).await.ok);
    assert!(is_clean(&own) && merges(&own).len() == 1);
    assert!(update(&home, 82, false).await.text.contains("has all of main already"));
}

#[tokio::test]
async fn a_merge_writes_through_no_link_and_over_nothing_that_git_does_not_know() {
    let (home, service) = team();
    let outside = home.path("../outside");
    fs::create_dir(&outside).unwrap();
    code(&home, GOOD).await;
    let own = home.path("workspaces/coder-001");
    fs::write(own.join("left-over"), "built\n").unwrap();
    fs::create_dir(service.join("docs")).unwrap();
    fs::write(service.join("docs/a.md"), "a\n").unwrap();
    fs::write(service.join(".gitignore"), "docs\nleft-over\n").unwrap();
    commit_all(&service, "ignore");
    assert!(update(&home, 79, false).await.ok);
    std::os::unix::fs::symlink(&outside, own.join("docs")).unwrap();
    for name in ["docs/a.md", "left-over"] {
        let repo = Repository::open(&service).unwrap();
        let mut index = repo.index().unwrap();
        fs::write(service.join(name), "tracked\n").unwrap();
        index.add_path(Path::new(name)).unwrap();
        index.write().unwrap();
        commit_all(&service, name);
    }
    let outcome = update(&home, 80, false).await;
    assert_eq!(outcome.text, "not merged: docs/a.md, left-over would be written over; move it away");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(own.join("left-over")).unwrap(), "built\n");
}
