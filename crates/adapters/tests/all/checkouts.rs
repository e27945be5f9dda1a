//! The owner's own checkout, wherever its repository is kept: approved work arrives in the folder that `repo:` names, and what
//! the owner is about there stays as it is.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use adapters::git::workspace::clean_up;
use adapters::git::workspace::look::{Trouble, look};
use domain::id::AgentId;
use domain::review::{Check, Finding};
use domain::tool::{Act, GitCommit, GitDiff, Lint, RunTests};
use git2::{Repository, WorktreeAddOptions};

use crate::home::{Home, write};
use crate::reviews::{GOOD, code, commit_all, is_clean, looks, merge, merges, submit, team, tip};

/// A worktree of the repository, on a branch of its own, in another folder.
fn linked(service: &Path, name: &str) -> PathBuf {
    let repo = Repository::open(service).unwrap();
    let branch = repo.branch(name, &repo.head().unwrap().peel_to_commit().unwrap(), false).unwrap();
    let place = service.with_file_name(name);
    let mut options = WorktreeAddOptions::new();
    options.reference(Some(branch.get()));
    repo.worktree(name, &place, Some(&options)).unwrap();
    place
}

/// Both agents work in what `repo:` names.
fn work_in(home: &Home, repo: &str) {
    for id in ["coder-001", "reviewer-001"] {
        let file = format!("agents/{id}.agent.yaml");
        let text = home.read(&file).replace("../service,", &format!("{repo},"));
        home.write(&file, text);
    }
}

/// The owner's files, taken apart: the folder has a file that names where git's own are kept.
fn set_apart(service: &Path, kept_in: &Path) {
    fs::rename(service.join(".git"), kept_in).unwrap();
    fs::write(service.join(".git"), format!("gitdir: {}\n", kept_in.canonicalize().unwrap().display()))
        .unwrap();
}

#[tokio::test]
async fn approved_work_goes_into_the_branch_and_the_folder_of_the_worktree_that_is_named() {
    let (home, service) = team();
    let other = linked(&service, "other");
    work_in(&home, "../other");
    fs::write(other.join("mine"), "not looked at\n").unwrap();
    commit_all(&other, "mine");
    let main = tip(&service);
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert_eq!(place.target, "other");
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(fs::read_to_string(other.join("greet.sh")).unwrap(), GOOD);
    assert_eq!((merges(&other).len(), is_clean(&other)), (1, true));
    assert_eq!((tip(&service), is_clean(&service)), (main, true), "the other folder is as it was");
    // What the owner has not committed there is looked at there.
    code(&home, "echo \"Hello, $1!\" # again\n").await;
    let place = submit(&home).await.unwrap();
    fs::write(other.join("greet.sh"), "echo mine\n").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(
        outcome.text.contains("/other has changes that are not committed in greet.sh"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn a_worktree_of_a_bare_repository_is_worked_in_like_any_other() {
    let (home, service) = team();
    let other = linked(&service, "other");
    Repository::open(&service).unwrap().config().unwrap().set_bool("core.bare", true).unwrap();
    work_in(&home, "../other");
    assert_eq!(look(&home.path("."), "../other"), Ok(()));
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    assert!(merge(&home, &place).await.ok);
    assert_eq!(fs::read_to_string(other.join("greet.sh")).unwrap(), GOOD);
    assert!(is_clean(&other));
}

#[tokio::test]
async fn a_branch_that_somebody_has_in_another_folder_is_not_moved_there() {
    let (home, service) = team();
    let other = linked(&service, "other");
    work_in(&home, "../other");
    code(&home, GOOD).await;
    let mut place = submit(&home).await.unwrap();
    place.target = "main".to_owned();
    let outcome = merge(&home, &place).await;
    let at = service.canonicalize().unwrap();
    assert_eq!(
        outcome.text,
        format!("not merged: main is checked out in {}, and `repo:` names another folder", at.display())
    );
    assert!(merges(&service).is_empty() && is_clean(&service) && is_clean(&other));
}

#[tokio::test]
async fn a_folder_whose_repository_is_kept_elsewhere_gets_what_is_merged() {
    for name in ["store.git", "deep/modules/service"] {
        let (home, service) = team();
        let store = home.path("..").join(name);
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        set_apart(&service, &store);
        if name.starts_with("deep") {
            // As a submodule has it.
            let folder = service.canonicalize().unwrap();
            let config = Repository::open(&service).unwrap().config().unwrap();
            { config }.set_str("core.worktree", folder.to_str().unwrap()).unwrap();
        }
        assert_eq!(look(&home.path("."), "../service"), Ok(()));
        code(&home, GOOD).await;
        let place = submit(&home).await.unwrap();
        let before: Vec<_> = names(store.parent().unwrap());
        let outcome = merge(&home, &place).await;
        assert!(outcome.ok, "{}", outcome.text);
        assert_eq!(fs::read_to_string(service.join("greet.sh")).unwrap(), GOOD);
        assert!(is_clean(&service) && merges(&service).len() == 1);
        assert_eq!(names(store.parent().unwrap()), before, "nothing is written beside the store");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().flatten().map(|e| e.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_git_keeps_without_its_working_files_is_refused_before_anything_is_done() {
    let (home, service) = team();
    let store = home.path("../store.git");
    set_apart(&service, &store);
    let unusable = |why: &str| Err(Trouble::Unusable(why.to_owned()));
    let without = "is what git keeps of a repository, without its working files; name the folder of those";
    assert_eq!(look(&home.path("."), "../store.git"), unusable(without));
    work_in(&home, "../store.git");
    let refused = home.failed(write("workspaces/coder-001/a", "a")).await;
    assert!(refused.contains(&format!("the repo \"../store.git\" of coder-001 {without}")), "{refused}");
    // One whose settings put the files elsewhere.
    let elsewhere = home.path("../elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let elsewhere = elsewhere.canonicalize().unwrap();
    let config = Repository::open(&service).unwrap().config().unwrap();
    { config }.set_str("core.worktree", elsewhere.to_str().unwrap()).unwrap();
    let moved = format!(
        "has its working files in {} (core.worktree); name that folder, or remove the setting",
        elsewhere.display()
    );
    assert_eq!(look(&home.path("."), "../store.git"), unusable(&moved));
    assert_eq!(names(&home.path("workspaces/coder-001")), Vec::<String>::new());
}

/// What git leaves while a branch is rebased or bisected: on no branch, and a word of which one it was.
fn under_way(git_dir: &Path, file: &str, text: &str) {
    let head = fs::read_to_string(git_dir.join("HEAD")).unwrap();
    let repo = Repository::open(git_dir).unwrap();
    if head.starts_with("ref: ") {
        repo.set_head_detached(repo.head().unwrap().target().unwrap()).unwrap();
    }
    fs::create_dir_all(git_dir.join(file).parent().unwrap()).unwrap();
    fs::write(git_dir.join(file), text).unwrap();
}

#[tokio::test]
async fn a_branch_that_the_owner_rebases_or_bisects_is_not_moved_under_it() {
    let rebased = "is being rebased in {at}; finish or abort that first";
    let cases = [
        ("rebase-merge/head-name", "refs/heads/main\n", rebased),
        ("rebase-apply/head-name", "refs/heads/main\n", rebased),
        ("rebase-merge/update-refs", "refs/heads/main\n0\n0\n", rebased),
        ("BISECT_START", "main\n", "is being bisected in {at}; `git bisect reset` there first"),
    ];
    for (file, text, words) in cases {
        let (home, service) = team();
        code(&home, GOOD).await;
        let place = submit(&home).await.unwrap();
        under_way(&service.join(".git"), file, text);
        let outcome = merge(&home, &place).await;
        let at = service.canonicalize().unwrap().display().to_string();
        assert_eq!(
            (outcome.ok, outcome.text),
            (false, format!("not merged: main {}", words.replace("{at}", &at)))
        );
        assert!(is_clean(&service) && !service.join(".git/index.lock").exists());
        // When that is over, it is merged.
        fs::remove_file(service.join(".git").join(file)).unwrap();
        Repository::open(&service).unwrap().set_head("refs/heads/main").unwrap();
        assert!(merge(&home, &place).await.ok);
        assert!(is_clean(&service));
    }
}

#[tokio::test]
async fn a_branch_that_is_rebased_in_another_worktree_is_not_moved_either() {
    let (home, service) = team();
    let other = linked(&service, "other");
    code(&home, GOOD).await;
    let mut place = submit(&home).await.unwrap();
    place.target = "other".to_owned();
    under_way(Repository::open(&other).unwrap().path(), "rebase-merge/head-name", "refs/heads/other\n");
    let outcome = merge(&home, &place).await;
    let at = other.canonicalize().unwrap();
    let words = format!("not merged: other is being rebased in {}; finish or abort that first", at.display());
    assert_eq!((outcome.ok, outcome.text), (false, words));
    assert!(merges(&service).is_empty());
}

fn make_runnable(file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes the moment in which git's index was written later than those of all files, as it is a moment after a checkout.
fn settle(folder: &Path) {
    let repo = Repository::open(folder).unwrap();
    let mut index = repo.index().unwrap();
    let names: Vec<Vec<u8>> = index.iter().map(|entry| entry.path).collect();
    for name in names {
        index.add_path(Path::new(std::str::from_utf8(&name).unwrap())).unwrap();
    }
    index.write().unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(repo.path().join("index")).unwrap().set_modified(later).unwrap();
}

#[tokio::test]
async fn a_file_that_was_only_made_runnable_has_changed() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let own = home.path("workspaces/coder-001");
    settle(&own);
    make_runnable(&own.join("test.sh"));
    let diff = || Act::GitDiff(GitDiff { path: None, against: None });
    assert_eq!(home.done(diff()).await, "changed test.sh\n  mode 100644 before, 100755 now\n");
    assert!(submit(&home).await.unwrap_err().starts_with("not committed yet: test.sh;"));
    home.done(Act::GitCommit(GitCommit { message: "runnable".to_owned(), paths: Vec::new() })).await;
    assert_eq!(home.done(diff()).await, "nothing differs");
    let place = submit(&home).await.unwrap();
    assert!(merge(&home, &place).await.ok);
    assert_eq!(fs::metadata(service.join("test.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(is_clean(&service));
}

#[tokio::test]
async fn a_file_whose_time_was_put_back_is_looked_into() {
    let (home, _) = team();
    code(&home, GOOD).await;
    let file = home.path("workspaces/coder-001/greet.sh");
    settle(&home.path("workspaces/coder-001"));
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let text = GOOD.replace("Hello", "Hullo");
    fs::write(&file, text).unwrap();
    fs::File::options().append(true).open(&file).unwrap().set_modified(before).unwrap();
    assert!(submit(&home).await.unwrap_err().starts_with("not committed yet: greet.sh;"));
}

#[tokio::test]
async fn where_files_cannot_tell_what_may_be_run_nothing_has_changed() {
    let (home, service) = team();
    Repository::open(&service).unwrap().config().unwrap().set_bool("core.filemode", false).unwrap();
    code(&home, GOOD).await;
    for name in ["greet.sh", "test.sh", ".gitignore"] {
        make_runnable(&home.path("workspaces/coder-001").join(name));
        make_runnable(&service.join(name));
    }
    assert_eq!(home.done(Act::GitDiff(GitDiff { path: None, against: None })).await, "nothing differs");
    let place = submit(&home).await.unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
}

#[tokio::test]
async fn what_the_owner_made_of_a_file_without_changing_its_bytes_is_not_written_over() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let refused = "/service has changes that are not committed in greet.sh;";
    let file = service.join("greet.sh");
    let text = fs::read_to_string(&file).unwrap();
    make_runnable(&file);
    let outcome = merge(&home, &place).await;
    assert!(!outcome.ok && outcome.text.contains(refused), "{}", outcome.text);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
    // A link that says what the file said.
    fs::remove_file(&file).unwrap();
    symlink(&text, &file).unwrap();
    let outcome = merge(&home, &place).await;
    assert!(!outcome.ok && outcome.text.contains(refused), "{}", outcome.text);
    assert_eq!(fs::read_link(&file).unwrap(), Path::new(&text));
    fs::remove_file(&file).unwrap();
    fs::write(&file, &text).unwrap();
    assert!(merge(&home, &place).await.ok);
    assert!(is_clean(&service));
}

/// Of each kind of thing one, to become another.
async fn of_all_kinds() -> (Home, PathBuf, PathBuf) {
    let (home, service) = team();
    fs::create_dir_all(service.join("folder/deep")).unwrap();
    for (name, text) in
        [("file", "a file\n"), ("other", "a file\n"), ("folder/deep/one", "1\n"), ("folder/two", "2\n")]
    {
        fs::write(service.join(name), text).unwrap();
    }
    symlink("file", service.join("link")).unwrap();
    commit_all(&service, "kinds");
    code(&home, GOOD).await;
    let own = home.path("workspaces/coder-001");
    for name in ["file", "link"] {
        fs::remove_file(own.join(name)).unwrap();
        fs::create_dir(own.join(name)).unwrap();
        fs::write(own.join(name).join("x"), "x\n").unwrap();
    }
    fs::remove_dir_all(own.join("folder")).unwrap();
    fs::write(own.join("folder"), "a file now\n").unwrap();
    fs::remove_file(own.join("other")).unwrap();
    symlink("folder", own.join("other")).unwrap();
    home.done(Act::GitCommit(GitCommit { message: "other kinds".to_owned(), paths: Vec::new() })).await;
    (home, service, own)
}

#[tokio::test]
async fn what_becomes_something_of_another_kind_is_merged_into_a_clean_checkout() {
    let (home, service, _) = of_all_kinds().await;
    let place = submit(&home).await.unwrap();
    // Git keeps no empty folders, and so does not miss them.
    fs::create_dir_all(service.join("folder/empty/deeper")).unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!(fs::read_to_string(service.join("file/x")).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(service.join("link/x")).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(service.join("folder")).unwrap(), "a file now\n");
    assert_eq!(fs::read_link(service.join("other")).unwrap(), Path::new("folder"));
    assert!(is_clean(&service) && merges(&service).len() == 1);
}

#[tokio::test]
async fn a_merge_of_other_kinds_that_a_kill_cut_off_is_finished() {
    let (home, service, _) = of_all_kinds().await;
    let place = submit(&home).await.unwrap();
    // One file has gone of two, a folder is made, and a file was being prepared in it.
    fs::remove_dir_all(service.join("folder/deep")).unwrap();
    fs::remove_file(service.join("file")).unwrap();
    fs::create_dir(service.join("file")).unwrap();
    fs::write(service.join("file/.synod-merge"), "").unwrap();
    fs::remove_file(service.join("link")).unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert!(is_clean(&service) && merges(&service).len() == 1);
    // All files were in their place, and the index and the branch were not.
    let (home, service, own) = of_all_kinds().await;
    let place = submit(&home).await.unwrap();
    for name in ["file", "link", "other"] {
        fs::remove_file(service.join(name)).unwrap();
    }
    fs::remove_dir_all(service.join("folder")).unwrap();
    for name in ["file", "link"] {
        fs::create_dir(service.join(name)).unwrap();
        fs::write(service.join(name).join("x"), "x\n").unwrap();
    }
    fs::copy(own.join("folder"), service.join("folder")).unwrap();
    symlink("folder", service.join("other")).unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert!(is_clean(&service) && merges(&service).len() == 1);
}

#[tokio::test]
async fn a_folder_that_holds_anything_else_is_not_replaced() {
    let (home, service, _) = of_all_kinds().await;
    let place = submit(&home).await.unwrap();
    fs::write(service.join("folder/mine"), "mine\n").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.text.contains("changes that are not committed in folder;"), "{}", outcome.text);
    fs::remove_file(service.join("folder/mine")).unwrap();
    // Neither is one in which something is not as it was committed, nor a link that is the owner's.
    fs::write(service.join("folder/two"), "mine\n").unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.text.contains("changes that are not committed in folder/two;"), "{}", outcome.text);
    fs::write(service.join("folder/two"), "2\n").unwrap();
    fs::remove_file(service.join("link")).unwrap();
    symlink("elsewhere", service.join("link")).unwrap();
    let outcome = merge(&home, &place).await;
    assert!(outcome.text.contains("changes that are not committed in link;"), "{}", outcome.text);
    assert!(merges(&service).is_empty());
    assert_eq!(fs::read_to_string(service.join("file")).unwrap(), "a file\n", "nothing was begun");
}

#[tokio::test]
async fn what_git_itself_turned_into_something_else_is_not_called_a_change_of_the_owner() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    fs::write(service.join(".git/info/attributes"), "*.sh text eol=crlf\n").unwrap();
    fs::write(service.join("greet.sh"), "echo hello\r\n").unwrap();
    let outcome = merge(&home, &place).await;
    let at = service.canonicalize().unwrap();
    let words = format!(
        "not merged: greet.sh in {} differs from what is committed, perhaps only in line ends or by a filter (.gitattributes), which Synod does not run; a person can merge agent/coder-001 with git there",
        at.display()
    );
    assert_eq!((outcome.ok, outcome.text.as_str()), (false, words.as_str()));
    // As a filter leaves it: git takes the file for what is committed, by its time and size.
    fs::write(service.join("greet.sh"), "what a filter made of it\n").unwrap();
    let repo = Repository::open(&service).unwrap();
    let mut index = repo.index().unwrap();
    let known = index.get_path(Path::new("greet.sh"), 0).unwrap();
    index.add_path(Path::new("greet.sh")).unwrap();
    let seen = index.get_path(Path::new("greet.sh"), 0).unwrap();
    index.add(&git2::IndexEntry { id: known.id, ..seen }).unwrap();
    index.write().unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(service.join(".git/index")).unwrap().set_modified(later).unwrap();
    let outcome = merge(&home, &place).await;
    assert_eq!((outcome.ok, outcome.text), (false, words));
    assert!(merges(&service).is_empty());
}

#[tokio::test]
async fn a_repository_of_another_format_is_not_called_none() {
    let (home, service) = team();
    let repo = Repository::open(&service).unwrap();
    let mut config = repo.config().unwrap();
    config.set_i32("core.repositoryformatversion", 1).unwrap();
    config.set_str("extensions.objectformat", "sha256").unwrap();
    let why = "is a git repository of a format that is not supported: unknown object format 'sha256'";
    assert_eq!(look(&home.path("."), "../service"), Err(Trouble::Unusable(why.to_owned())));
    let refused = home.failed(write("workspaces/coder-001/a", "a")).await;
    assert!(refused.contains(why), "{refused}");
}

#[tokio::test]
async fn a_check_without_a_command_was_not_made() {
    let (home, _) = team();
    let file = "agents/reviewer-001.agent.yaml";
    home.write(file, home.read(file).replace(", lint: sh -n greet.sh", ""));
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let outcome = looks(&home, &place, Act::Lint(Lint {})).await;
    assert_eq!((outcome.ok, outcome.finding), (false, None));
    assert!(outcome.text.starts_with("reviewer-001 has no command for lint"), "{}", outcome.text);
    let outcome = looks(&home, &place, Act::RunTests(RunTests {})).await;
    let expected = Finding::Checked { commit: place.commit.clone(), check: Check::Test, passed: true };
    assert_eq!(outcome.finding, Some(expected), "{}", outcome.text);
}

/// What the kernel says of when a process began, and in which life of the machine.
fn since(process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    format!("{start} {}", boot.trim())
}

#[tokio::test]
async fn a_lock_is_left_behind_when_its_process_is_another_by_now() {
    let (home, service) = team();
    let lock = service.join(".git/index.lock");
    // It ends when its input does, with the test.
    let mut other = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let (own, id) = (std::process::id(), other.id());
    let (start, boot) = (since(id), since(id).split_once(' ').unwrap().1.to_owned());
    let over = [
        // The numbers begin anew in a container, so the next Synod has that of the one before.
        format!("synod {own} refs/heads/main\n"),
        format!("synod {own} refs/heads/main 1 {boot}\n"),
        format!("synod {id} refs/heads/main 1 {boot}\n"),
        format!("synod {id} refs/heads/main {}\n", start.replace(&boot, "another-life")),
    ];
    for (number, said) in over.iter().enumerate() {
        code(&home, &format!("echo {}\n", "x".repeat(number + 1))).await;
        let place = submit(&home).await.unwrap();
        fs::write(&lock, said).unwrap();
        let outcome = merge(&home, &place).await;
        assert!(outcome.ok, "{said}: {}", outcome.text);
        assert!(!lock.exists() && is_clean(&service), "{said}");
    }
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    for held in [format!("synod {id} refs/heads/main {start}\n"), format!("synod {id} refs/heads/main\n")] {
        fs::write(&lock, &held).unwrap();
        let outcome = merge(&home, &place).await;
        assert!(!outcome.ok && outcome.text.contains("git's index is locked"), "{held}: {}", outcome.text);
        assert_eq!(fs::read_to_string(&lock).unwrap(), held);
    }
    drop(other.stdin.take());
    other.wait().unwrap();
    assert!(merge(&home, &place).await.ok);
}

#[tokio::test]
async fn approved_work_is_merged_also_when_its_author_has_no_file_any_more() {
    for is_terminated in [false, true] {
        let (home, service) = team();
        code(&home, GOOD).await;
        let place = submit(&home).await.unwrap();
        let own = home.path("workspaces/coder-001");
        if is_terminated {
            let spec = domain::agent::Workspace { repo: Some("../service".to_owned()), ..Default::default() };
            clean_up(&home.path("."), &AgentId::new("coder-001"), Some(&spec));
        }
        fs::remove_file(home.path("agents/coder-001.agent.yaml")).unwrap();
        let outcome = merge(&home, &place).await;
        assert!(outcome.ok, "{}", outcome.text);
        assert_eq!(fs::read_to_string(service.join("greet.sh")).unwrap(), GOOD);
        assert_eq!((merges(&service).len(), is_clean(&service)), (1, true));
        assert_eq!(own.exists(), !is_terminated, "nothing is made or removed");
    }
}

#[tokio::test]
async fn without_any_file_that_names_the_repository_it_is_said_how_to_merge() {
    let (home, service) = team();
    code(&home, GOOD).await;
    let place = submit(&home).await.unwrap();
    let (own, before) = (home.path("workspaces/coder-001"), tip(&service));
    for id in ["coder-001", "reviewer-001"] {
        fs::remove_file(home.path(&format!("agents/{id}.agent.yaml"))).unwrap();
    }
    let outcome = merge(&home, &place).await;
    let words = "not merged: the file of coder-001 is gone, and that of reviewer-001 names no repository, so it is not known where agent/coder-001 is; a person can put the file back, or merge the branch with git";
    assert_eq!((outcome.ok, outcome.text.as_str()), (false, words));
    assert_eq!((tip(&service), fs::read_to_string(own.join("greet.sh")).unwrap()), (before, GOOD.to_owned()));
}
