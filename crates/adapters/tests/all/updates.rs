//! What `git_update` says of a merge is so: what stands is named as what it is, and nothing of either side goes unnamed.

use std::fs;
use std::path::{Path, PathBuf};

use domain::review::Finding;
use domain::tool::{Act, GitDiff};
use git2::{IndexEntry, IndexTime, Oid, Repository, Signature};

use crate::home::{Home, write};
use crate::reviews::{
    GOOD, code, commit, commit_all, is_clean, looks, merge, merges, submit, team, tip, update,
};

/// A coder whose branch and the owner's have what `begin` has, and each a commit more.
async fn apart(
    begin: &[(&str, &str)],
    ours: impl Fn(&Path),
    theirs: impl Fn(&Path),
) -> (Home, PathBuf, PathBuf) {
    let (home, service) = team();
    for (name, text) in begin {
        put(&service, name, text);
    }
    commit_all(&service, "files");
    let own = home.path("workspaces/coder-001");
    // The first call makes the workspace.
    home.done(write("workspaces/coder-001/greet.sh", GOOD)).await;
    ours(&own);
    code(&home, GOOD).await;
    theirs(&service);
    commit_all(&service, "theirs");
    (home, service, own)
}

/// Puts a file in its place, whatever stands there.
fn put(folder: &Path, name: &str, text: &str) {
    let place = folder.join(name);
    for above in name.match_indices('/').map(|(at, _)| folder.join(&name[..at])) {
        _ = fs::remove_file(above);
    }
    _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

#[tokio::test]
async fn our_file_stands_where_they_have_a_folder_and_their_files_are_named() {
    let (home, service, own) = apart(
        &[("thing", "old\n")],
        |own| put(own, "thing", "mine\n"),
        |service| ["thing/deep/one", "thing/two"].iter().for_each(|name| put(service, name, "theirs\n")),
    )
    .await;
    let outcome = update(&home, 80, false).await;
    let words = "\n- thing: a file on your side and a folder on the other; it stands as you have it, without what the other side has: thing/deep/one, thing/two\n";
    assert!(outcome.ok && outcome.text.contains(words), "{}", outcome.text);
    assert_eq!((outcome.text.matches("\n- ").count(), read(&own, "thing")), (1, "mine\n".to_owned()));
    assert_eq!(update(&home, 81, false).await.text, outcome.text, "told again, nothing done again");
    assert!(update(&home, 82, true).await.ok, "and it can be taken back");
    assert!(is_clean(&own) && update(&home, 83, false).await.ok);
    // The other side's is taken by making it so.
    for name in ["thing/deep/one", "thing/two"] {
        put(&own, name, &read(&service, name));
    }
    assert!(commit(&home, 84).await.ok);
    assert!(is_clean(&own) && merges(&own).len() == 1);
    let place = submit(&home).await.unwrap();
    assert!(merge(&home, &place).await.ok);
    assert_eq!((read(&service, "thing/two"), is_clean(&service)), ("theirs\n".to_owned(), true));
}

#[tokio::test]
async fn our_folder_stands_whole_where_they_have_a_file_and_it_is_named() {
    let (home, service, own) = apart(
        &[("thing/one", "1\n"), ("thing/two", "2\n"), ("other", "old\n")],
        |own| {
            put(own, "thing/one", "mine\n");
            put(own, "other/in", "mine\n");
        },
        |service| {
            put(service, "thing", "theirs\n");
            put(service, "other", "theirs\n");
        },
    )
    .await;
    let place = submit(&home).await.unwrap();
    let refused = merge(&home, &place).await;
    assert!(matches!(refused.finding, Some(Finding::Conflicted { .. })), "{}", refused.text);
    let outcome = update(&home, 80, false).await;
    for name in ["thing", "other"] {
        let words = format!(
            "\n- {name}: a folder on your side and a file on the other; it stands as you have it, without what the other side has: {name}\n"
        );
        assert!(outcome.text.contains(&words), "{words} in {}", outcome.text);
    }
    assert_eq!(outcome.text.matches("\n- ").count(), 2, "{}", outcome.text);
    let stands = ["thing/one", "thing/two", "other/in"].map(|name| read(&own, name));
    assert_eq!(stands, ["mine\n", "2\n", "mine\n"], "also what only they took away");
    let ours = tip(&own);
    let said = commit(&home, 81).await;
    assert!(said.ok && is_clean(&own), "{}", said.text);
    assert_eq!(merges(&own), [vec![ours, tip(&service)]]);
}

#[tokio::test]
async fn a_new_file_and_a_new_folder_of_one_name_never_make_one_tree() {
    // In git's order the other new file comes between the two.
    let (home, service, own) = apart(
        &[],
        |own| put(own, "new", "mine\n"),
        |service| ["new-one", "new/deep"].iter().for_each(|name| put(service, name, "theirs\n")),
    )
    .await;
    let place = submit(&home).await.unwrap();
    let main = tip(&service);
    let refused = merge(&home, &place).await;
    let Some(Finding::Conflicted { files, .. }) = refused.finding else { panic!("{}", refused.text) };
    assert_eq!((files, tip(&service)), (vec!["new".to_owned()], main));
    let outcome = update(&home, 80, false).await;
    assert!(outcome.text.contains("- new: a file on your side"), "{}", outcome.text);
    assert_eq!((read(&own, "new"), read(&own, "new-one")), ("mine\n".to_owned(), "theirs\n".to_owned()));
    assert!(commit(&home, 81).await.ok && is_clean(&own));
}

#[tokio::test]
async fn what_they_moved_into_a_folder_that_we_have_as_a_file_stays_as_we_changed_it() {
    let long = "one\ntwo\nthree\nfour\nfive\nsix\n";
    let (home, _, own) = apart(
        &[("list", long)],
        |own| {
            put(own, "list", &long.replace("six", "seven"));
            put(own, "place", "mine\n");
        },
        |service| {
            fs::remove_file(service.join("list")).unwrap();
            put(service, "place/list", long);
        },
    )
    .await;
    let outcome = update(&home, 80, false).await;
    for words in [
        "- list: the other side has it no more; it stands as you have it",
        "- place: a file on your side and a folder on the other; it stands as you have it, without what the other side has: place/list",
    ] {
        assert!(outcome.text.contains(words), "{words} in {}", outcome.text);
    }
    assert!(read(&own, "list").contains("seven") && read(&own, "place") == "mine\n");
}

/// Makes a submodule of a folder point at a commit, as git keeps it; its files are nowhere.
fn point(folder: &Path, name: &str, at: char) {
    let repo = Repository::open(folder).unwrap();
    let mut index = repo.index().unwrap();
    let zero = IndexTime::new(0, 0);
    let entry = IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: 0o160_000,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: Oid::from_str(&at.to_string().repeat(40)).unwrap(),
        flags: 0,
        flags_extended: 0,
        path: name.as_bytes().to_vec(),
    };
    index.add(&entry).unwrap();
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let dana = Signature::now("dana", "dana@example.org").unwrap();
    let parent = repo.head().unwrap().peel_to_commit().unwrap();
    repo.commit(Some("HEAD"), &dana, &dana, "submodule", &tree, &[&parent]).unwrap();
}

/// At which commit a submodule is in the last commit.
fn points(folder: &Path, name: &str) -> Option<String> {
    let repo = Repository::open(folder).unwrap();
    let tree = repo.head().unwrap().peel_to_tree().unwrap();
    tree.get_name(name).map(|entry| entry.id().to_string()[..1].to_owned())
}

#[tokio::test]
async fn submodules_that_only_the_other_side_moved_come_along() {
    let (home, service) = team();
    for name in ["lib", "old"] {
        fs::create_dir(service.join(name)).unwrap();
        point(&service, name, 'a');
    }
    code(&home, GOOD).await;
    let own = home.path("workspaces/coder-001");
    point(&service, "lib", 'b');
    fs::create_dir(service.join("new")).unwrap();
    point(&service, "new", 'c');
    fs::write(service.join("README"), "hi\n").unwrap();
    fs::remove_dir(service.join("old")).unwrap();
    commit_all(&service, "without old");
    let outcome = update(&home, 80, false).await;
    let said = format!(
        "agent/coder-001 has all of main now: {}\nadded README\nchanged lib\nadded new\nremoved old",
        tip(&own)
    );
    assert_eq!((outcome.ok, outcome.text), (true, said));
    let at = ["lib", "new", "old"].map(|name| points(&own, name));
    assert_eq!(at, [Some("b".to_owned()), Some("c".to_owned()), None]);
    // A conflict in a file beside it is decided as ever, or taken back.
    code(&home, "echo mine\n").await;
    fs::write(service.join("greet.sh"), "echo theirs\n").unwrap();
    commit_all(&service, "greet");
    point(&service, "lib", 'd');
    assert!(update(&home, 81, false).await.text.contains("- greet.sh: between"));
    assert!(update(&home, 82, true).await.ok);
    assert_eq!(
        (read(&own, "greet.sh"), points(&own, "lib")),
        ("echo mine\n".to_owned(), Some("b".to_owned()))
    );
    assert!(update(&home, 83, false).await.ok);
    put(&own, "greet.sh", GOOD);
    let made = commit(&home, 84).await;
    assert!(made.ok && made.text.ends_with("\nchanged greet.sh\nchanged lib"), "{}", made.text);
    assert_eq!(points(&own, "lib"), Some("d".to_owned()));
    // What is reviewed and merged is only what the author did.
    let place = submit(&home).await.unwrap();
    let diff = looks(&home, &place, Act::GitDiff(GitDiff { path: None, against: None })).await;
    assert!(diff.ok && !diff.text.contains("lib"), "{}", diff.text);
    assert!(merge(&home, &place).await.ok);
    assert_eq!(
        (points(&service, "lib"), read(&service, "greet.sh")),
        (Some("d".to_owned()), GOOD.to_owned())
    );
}

#[tokio::test]
async fn a_file_that_became_a_submodule_on_the_other_side_goes() {
    let (home, service) = team();
    fs::write(service.join("lib"), "a file\n").unwrap();
    commit_all(&service, "lib");
    code(&home, GOOD).await;
    let own = home.path("workspaces/coder-001");
    fs::remove_file(service.join("lib")).unwrap();
    fs::create_dir(service.join("lib")).unwrap();
    point(&service, "lib", 'a');
    let outcome = update(&home, 80, false).await;
    assert!(outcome.ok, "{}", outcome.text);
    assert_eq!((points(&own, "lib"), own.join("lib").is_file()), (Some("a".to_owned()), false));
}
