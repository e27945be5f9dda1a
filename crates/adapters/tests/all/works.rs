//! Whose work stands in a workspace: each finds its own files and commits there, and nothing of another's.

use std::fs;
use std::path::{Path, PathBuf};

use domain::id::{AgentId, CallId, LockName, ReviewId, SessionId, TaskId};
use domain::lock::Grant;
use domain::lock::workspace::Hold;
use domain::review::{Finding, Place, Review, Stage};
use domain::tool::{Act, GitCommit, GitUpdate, MergeBranch, RequestReview};
use git2::{Oid, Repository};
use ports::tools::{Order, Outcome, Tools as _};
use testkit::tools::order;

use crate::home::{Home, command, write};
use crate::reviews::commit_all;

/// A coder with a worktree of a repository that has one file.
fn coder() -> (Home, PathBuf) {
    let home = Home::new();
    let place = home.path("../service");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("old"), "old\n").unwrap();
    Repository::init(&place).unwrap().set_head("refs/heads/main").unwrap();
    commit_all(&place, "begin");
    let text = "id: coder-001\ntype: coder\nmodel: m\nworkspace: {repo: ../service}\n";
    home.write("agents/coder-001.agent.yaml", text);
    (home, place)
}

fn of(work: &str) -> Hold {
    let grant = Grant { name: LockName::new("workspace:coder-001"), fence: 1 };
    Hold { grant, work: work.to_owned(), shares: Vec::new(), onto: Vec::new(), after: None }
}

async fn run(home: &Home, hold: &Hold, effect: u64, act: Act) -> Outcome {
    home.run(Order { hold: Some(hold.clone()), ..order(effect, "coder-001", act) }).await
}

async fn put(home: &Home, hold: &Hold, name: &str, text: &str) {
    let outcome = run(home, hold, 1, write(&format!("workspaces/coder-001/{name}"), text)).await;
    assert!(outcome.ok, "{}", outcome.text);
}

async fn commit(home: &Home, hold: &Hold) -> String {
    let message = format!("of {}", hold.work);
    let effect = u64::from(hold.work.as_bytes()[0]);
    let outcome = run(home, hold, effect, Act::GitCommit(GitCommit { message, paths: Vec::new() })).await;
    assert!(outcome.ok, "{}", outcome.text);
    outcome.text
}

/// Writes and commits one file.
async fn make(home: &Home, hold: &Hold, name: &str) -> String {
    put(home, hold, name, name).await;
    commit(home, hold).await
}

async fn submit(home: &Home, hold: &Hold) -> Place {
    let act = Act::RequestReview(RequestReview { summary: "look".to_owned(), to: None });
    match run(home, hold, 1, act).await {
        Outcome { finding: Some(Finding::Submitted(place)), .. } => place,
        Outcome { text, .. } => panic!("{text}"),
    }
}

async fn merge(home: &Home, id: &str, work: &str, place: &Place) -> Outcome {
    let review = Review {
        id: ReviewId::new(id),
        author: AgentId::new("coder-001"),
        reviewer: AgentId::new("reviewer-001"),
        about: Some(TaskId::new(work)),
        title: work.to_owned(),
        session: SessionId::new("coder-001-000001"),
        call: CallId::new("c-1"),
        task: TaskId::new("task-009"),
        place: place.clone(),
        round: 1,
        stage: Stage::Approved,
        checks: Default::default(),
    };
    let act = Act::MergeBranch(MergeBranch { review: ReviewId::new(id) });
    home.run(Order { review: Some(Box::new(review)), ..order(3, "coordinator-001", act) }).await
}

/// The files of a workspace, without git's own.
fn files(home: &Home) -> Vec<String> {
    let names = fs::read_dir(home.path("workspaces/coder-001")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != ".git").collect();
    names.sort();
    names
}

/// The files of a branch.
fn on(repo: &Path, branch: &str) -> Vec<String> {
    let repo = Repository::open(repo).unwrap();
    let tree = repo.revparse_single(&format!("{branch}^{{tree}}")).unwrap().peel_to_tree().unwrap();
    tree.iter().map(|entry| entry.name().unwrap().to_owned()).collect()
}

fn kept(repo: &Path) -> Vec<String> {
    let repo = Repository::open(repo).unwrap();
    let branches = repo.branches(None).unwrap().map(|branch| branch.unwrap().0);
    let names = branches.map(|branch| branch.name().unwrap().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("kept/")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn other_work_begins_without_what_is_there_and_each_finds_its_own_again() {
    let (home, repo) = coder();
    let (alpha, beta) = (of("alpha"), of("beta"));
    make(&home, &alpha, "a").await;
    put(&home, &alpha, "half", "half").await;
    put(&home, &alpha, "old", "changed").await;
    fs::remove_file(home.path("workspaces/coder-001/a")).unwrap();
    let said = make(&home, &beta, "b").await;
    assert!(said.ends_with("added b") && !said.contains("half"), "{said}");
    assert_eq!(files(&home), ["b", "old"]);
    assert_eq!(home.read("workspaces/coder-001/old"), "old\n");
    assert_eq!(on(&repo, "agent/coder-001"), ["b", "old"]);
    assert_eq!(
        (kept(&repo), on(&repo, "kept/coder-001/alpha")),
        (vec!["kept/coder-001/alpha".to_owned()], vec!["half".to_owned(), "old".to_owned()])
    );
    put(&home, &alpha, "a", "again").await;
    assert_eq!(files(&home), ["a", "half", "old"]);
    assert_eq!(home.read("workspaces/coder-001/old"), "changed");
    assert_eq!(kept(&repo), ["kept/coder-001/beta"], "whose work stands there is kept nowhere else");
}

#[tokio::test]
async fn what_is_approved_is_merged_while_other_work_stands_there_and_kept_no_longer() {
    let (home, repo) = coder();
    let (alpha, beta) = (of("alpha"), of("beta"));
    make(&home, &alpha, "a").await;
    let first = submit(&home, &alpha).await;
    make(&home, &beta, "b").await;
    let second = submit(&home, &beta).await;
    let outcome = merge(&home, "review-0001", "alpha", &first).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!((on(&repo, "main"), kept(&repo)), (vec!["a".to_owned(), "old".to_owned()], vec![]));
    let outcome = merge(&home, "review-0002", "beta", &second).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(on(&repo, "main"), ["a", "b", "old"]);
    // The next begins with all of it.
    put(&home, &of("gamma"), "c", "c").await;
    assert_eq!((files(&home), kept(&repo)), (["a", "b", "c", "old"].map(str::to_owned).to_vec(), vec![]));
    // Its author has moved it on, or it is on no branch any more: nothing is merged.
    let gone = Place { commit: Oid::ZERO_SHA1.to_string(), ..second };
    assert!(!merge(&home, "review-0003", "beta", &gone).await.ok);
}

#[tokio::test]
async fn who_builds_on_other_work_begins_with_it_also_when_it_was_put_aside() {
    let (home, repo) = coder();
    make(&home, &of("alpha"), "a").await;
    put(&home, &of("alpha"), "half", "half").await;
    // Finished, and nobody is asked about it: its commits stay, what it did not commit is kept.
    make(&home, &Hold { after: Some("alpha".to_owned()), ..of("beta") }, "b").await;
    assert_eq!(files(&home), ["a", "b", "old"]);
    assert_eq!(on(&repo, "kept/coder-001/alpha"), ["a", "half", "old"]);
    make(&home, &of("gamma"), "c").await;
    assert_eq!(files(&home), ["c", "old"]);
    put(&home, &Hold { onto: vec!["beta".to_owned()], ..of("delta") }, "d", "d").await;
    assert_eq!(files(&home), ["a", "b", "d", "old"]);
    assert!(kept(&repo).contains(&"kept/coder-001/beta".to_owned()), "others may come after it too");
    // A part of it shares all that is there.
    put(&home, &Hold { shares: vec!["delta".to_owned()], ..of("part") }, "p", "p").await;
    assert_eq!(files(&home), ["a", "b", "d", "old", "p"]);
}

#[tokio::test]
async fn what_git_leaves_out_stays_or_is_put_aside_and_is_never_committed() {
    let (home, repo) = coder();
    fs::write(repo.join(".gitignore"), "cache\n").unwrap();
    commit_all(&repo, "ignore");
    let alpha = of("alpha");
    for name in ["cache", ".env", "deep/out/built"] {
        put(&home, &alpha, name, name).await;
    }
    put(&home, &alpha, ".gitignore", "cache\n.env\nout/\n").await;
    make(&home, &of("beta"), "b").await;
    assert_eq!(files(&home), [".gitignore", "b", "cache", "old"]);
    assert_eq!(on(&repo, "agent/coder-001"), [".gitignore", "b", "old"]);
    assert_eq!(on(&repo, "kept/coder-001/alpha"), [".gitignore", "old"]);
    let aside = home.path("workspaces/coder-001.ignored");
    assert_eq!(fs::read_to_string(aside.join("alpha/.env")).unwrap(), ".env");
    let seen = home.run(order(1, "beta", Act::read_file("workspaces/coder-001.ignored/alpha/.env"))).await;
    assert!(!seen.ok && seen.text.contains("is not for agents"), "{}", seen.text);
    // Who goes on finds it again, and nothing is left aside.
    make(&home, &alpha, "a").await;
    assert_eq!(files(&home), [".env", ".gitignore", "a", "cache", "deep", "old"]);
    assert_eq!(home.read("workspaces/coder-001/deep/out/built"), "deep/out/built");
    assert_eq!(on(&repo, "agent/coder-001"), [".gitignore", "a", "old"]);
    assert!(!aside.exists());
}

#[tokio::test]
async fn much_that_git_leaves_out_holds_up_no_other_work() {
    let (home, repo) = coder();
    let alpha = of("alpha");
    put(&home, &alpha, ".gitignore", "target/\n").await;
    commit(&home, &alpha).await;
    // More than a commit may have, in files of a size that it may have.
    for number in 0..9 {
        let file = home.path(&format!("workspaces/coder-001/target/{number}"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::File::create(file).unwrap().set_len(15 << 20).unwrap();
    }
    make(&home, &of("beta"), "b").await;
    assert_eq!(files(&home), ["b", "old"]);
    assert_eq!(on(&repo, "kept/coder-001/alpha"), [".gitignore", "old"]);
    put(&home, &of("gamma"), "c", "c").await;
    assert_eq!(files(&home), ["c", "old"]);
    // Not committed and not ignored, it is told whose it is and what to do.
    for number in 0..9 {
        fs::File::create(home.path(&format!("workspaces/coder-001/{number}")))
            .unwrap()
            .set_len(15 << 20)
            .unwrap();
    }
    let told = run(&home, &of("delta"), 1, write("workspaces/coder-001/d", "d")).await;
    let words = "what gamma left in workspaces/coder-001 cannot be kept: more than 134217728 bytes changed; commit it in parts, remove it or let git ignore it";
    assert_eq!((told.ok, told.text.as_str()), (false, words));
}

#[tokio::test]
async fn what_git_leaves_out_is_not_written_over_by_what_the_next_work_has_there() {
    let (home, repo) = coder();
    let alpha = of("alpha");
    for name in ["settings", "built/x"] {
        put(&home, &alpha, name, "mine").await;
    }
    put(&home, &alpha, ".gitignore", "settings\nbuilt\n").await;
    commit(&home, &alpha).await;
    fs::write(repo.join("settings"), "theirs").unwrap();
    fs::write(repo.join("built"), "theirs").unwrap();
    commit_all(&repo, "settings");
    make(&home, &of("beta"), "b").await;
    assert_eq!(files(&home), ["b", "built", "old", "settings"]);
    assert_eq!(home.read("workspaces/coder-001/settings"), "theirs");
    make(&home, &alpha, "a").await;
    assert_eq!(home.read("workspaces/coder-001/settings"), "mine");
    assert_eq!(home.read("workspaces/coder-001/built/x"), "mine");
}

#[tokio::test]
async fn what_git_leaves_out_survives_a_change_of_work_that_was_cut_off() {
    let (home, repo) = coder();
    let alpha = of("alpha");
    put(&home, &alpha, ".gitignore", ".env\n").await;
    put(&home, &alpha, ".env", "mine").await;
    commit(&home, &alpha).await;
    // As a kill leaves it: what shall come is noted, and the rules are already those of the next work.
    let opened = Repository::open(&repo).unwrap();
    let start = opened.refname_to_id("refs/heads/main").unwrap();
    let tip = opened.refname_to_id("refs/heads/agent/coder-001").unwrap();
    opened.reference("refs/heads/kept/coder-001/alpha", tip, true, "kept").unwrap();
    let admin = fs::read_dir(repo.join(".git/worktrees")).unwrap().next().unwrap().unwrap().path();
    fs::write(admin.join("synod-ignored"), ".env\0").unwrap();
    fs::write(admin.join("synod-work"), format!("alpha\nbeta {start}\n")).unwrap();
    fs::remove_file(home.path("workspaces/coder-001/.gitignore")).unwrap();
    make(&home, &of("beta"), "b").await;
    assert_eq!(files(&home), ["b", "old"]);
    put(&home, &alpha, "a", "a").await;
    assert_eq!(home.read("workspaces/coder-001/.env"), "mine");
}

#[tokio::test]
async fn a_change_of_work_that_was_cut_off_is_finished_first() {
    let (home, repo) = coder();
    make(&home, &of("alpha"), "a").await;
    put(&home, &of("alpha"), "half", "half").await;
    make(&home, &of("beta"), "b").await;
    // As a kill leaves it: some files are those of the work before, and the branch has not moved.
    let opened = Repository::open(&repo).unwrap();
    let start = opened.refname_to_id("refs/heads/main").unwrap();
    let note = fs::read_dir(repo.join(".git/worktrees")).unwrap().next().unwrap().unwrap().path();
    fs::write(note.join("synod-work"), format!("alpha\ngamma {start}\n")).unwrap();
    let alpha = opened.refname_to_id("refs/heads/kept/coder-001/alpha").unwrap();
    opened.reference("refs/heads/agent/coder-001", alpha, true, "as before").unwrap();
    home.write("workspaces/coder-001/half", "half");
    let delta = of("delta");
    make(&home, &delta, "d").await;
    assert_eq!(files(&home), ["d", "old"]);
    assert_eq!(on(&repo, "agent/coder-001"), ["d", "old"]);
    assert_eq!(on(&repo, "kept/coder-001/alpha"), ["a", "half", "old"]);
}

#[tokio::test]
async fn a_merge_that_is_not_finished_is_kept_as_it_is_and_out_of_the_way() {
    let (home, repo) = coder();
    let alpha = of("alpha");
    put(&home, &alpha, "old", "mine\n").await;
    commit(&home, &alpha).await;
    fs::write(repo.join("old"), "theirs\n").unwrap();
    commit_all(&repo, "theirs");
    let outcome = run(&home, &alpha, 7, Act::GitUpdate(GitUpdate { take_back: false })).await;
    assert!(outcome.text.contains("both sides changed"), "{}", outcome.text);
    make(&home, &of("beta"), "b").await;
    assert_eq!(home.read("workspaces/coder-001/old"), "theirs\n");
    put(&home, &alpha, "new", "x").await;
    assert!(home.read("workspaces/coder-001/old").contains("<<<<<<<"));
}

#[tokio::test]
async fn who_lost_the_workspace_writes_nothing_there_any_more() {
    let (home, _) = coder();
    let alpha = of("alpha");
    put(&home, &alpha, "a", "a").await;
    let grant = Grant { fence: 2, ..alpha.grant.clone() };
    home.tools.fence(&grant);
    let beta = Hold { grant, ..of("beta") };
    put(&home, &beta, "b", "b").await;
    let late = run(&home, &alpha, 1, write("workspaces/coder-001/late", "x")).await;
    assert!(!late.ok && late.text.contains("the lock workspace:coder-001 was lost"), "{}", late.text);
    assert_eq!(files(&home), ["b", "old"]);
}

#[tokio::test]
async fn what_a_command_deletes_is_removed_by_the_commit_and_by_the_merge() {
    let (home, repo) = coder();
    let alpha = of("alpha");
    let ran = run(&home, &alpha, 1, command("rm old")).await;
    assert!(ran.ok && ran.text.starts_with("exit code: 0"), "{}", ran.text);
    put(&home, &alpha, "new", "new").await;
    let act = Act::GitCommit(GitCommit {
        message: "remove it".to_owned(),
        paths: vec!["workspaces/coder-001/old".to_owned()],
    });
    let said = run(&home, &alpha, 2, act).await.text;
    assert!(said.ends_with(" on agent/coder-001:\nremoved old"), "{said}");
    commit(&home, &alpha).await;
    let place = submit(&home, &alpha).await;
    assert!(merge(&home, "review-0001", "alpha", &place).await.ok);
    assert_eq!(on(&repo, "main"), ["new"]);
    assert!(!repo.join("old").exists(), "in the owner's own checkout too");
}
