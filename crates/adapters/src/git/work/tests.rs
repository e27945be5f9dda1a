//! Who waits for whom when workspaces are made and change hands.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use domain::id::{AgentId, LockName};
use domain::lock::Grant;
use domain::lock::workspace::Hold;
use git2::{Repository, Signature};

use super::begin;
use crate::git::workspace::Workspaces;
use crate::until::Until;

/// Longer than anything here takes; only a failure waits so long.
const LONG: Duration = Duration::from_secs(20);

/// A home whose agents work in one repository, each with these words about its branch.
fn home(agents: &[(&str, &str)]) -> (tempfile::TempDir, Workspaces) {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("home/agents")).unwrap();
    commit(&at("repo"));
    for (agent, branch) in agents {
        let text = format!("id: {agent}\ntype: coder\nmodel: m\nworkspace: {{repo: ../repo{branch}}}\n");
        fs::write(at(&format!("home/agents/{agent}.agent.yaml")), text).unwrap();
    }
    let workspaces = Workspaces::of(&at("home"));
    (folder, workspaces)
}

fn commit(place: &Path) {
    let repo = Repository::init(place).unwrap();
    fs::write(place.join("a"), "a\n").unwrap();
    let mut index = repo.index().unwrap();
    index.add_path(Path::new("a")).unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let dana = Signature::now("dana", "dana@example.org").unwrap();
    repo.commit(Some("HEAD"), &dana, &dana, "begin", &tree, &[]).unwrap();
}

fn hold(agent: &str, work: &str) -> Hold {
    let grant = Grant { name: LockName::new(format!("workspace:{agent}")), fence: 1 };
    Hold { grant, work: work.to_owned(), shares: Vec::new(), onto: Vec::new(), after: None }
}

#[test]
fn who_is_held_up_in_its_workspace_holds_up_nobody_else() {
    let (_folder, workspaces) = home(&[("one", ""), ("two", "")]);
    let (one, two) = (AgentId::new("one"), AgentId::new("two"));
    let (inside, is_inside) = mpsc::channel();
    let (let_go, may_go) = mpsc::channel();
    let (through, is_through) = mpsc::channel();
    thread::scope(|scope| {
        let workspaces = &workspaces;
        scope.spawn(move || {
            let held = || {
                inside.send(()).unwrap();
                may_go.recv().map_err(|error| error.to_string())
            };
            begin(workspaces, &one, &hold("one", "task-001"), &Until::ms(60_000), held).unwrap();
        });
        is_inside.recv_timeout(LONG).unwrap();
        // The first checkout, a change of work, and a review of the work of who is held up.
        scope.spawn(move || {
            for work in ["task-002", "task-003"] {
                let done = begin(workspaces, &two, &hold("two", work), &Until::ms(60_000), || Ok(()));
                through.send(done).unwrap();
            }
            let review = workspaces.for_review(&two, &AgentId::new("one"));
            through.send(review.map(|_| ())).unwrap();
        });
        let passed: Vec<_> = (0..3).map(|_| is_through.recv_timeout(LONG)).collect();
        let_go.send(()).unwrap();
        assert_eq!(passed, [Ok(Ok(())), Ok(Ok(())), Ok(Ok(()))]);
    });
}

#[test]
fn one_of_many_who_want_the_same_branch_at_once_gets_it() {
    let names: Vec<String> = (0..8).map(|n| format!("agent-{n}")).collect();
    let agents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), ", branch: work")).collect();
    let (_folder, workspaces) = home(&agents);
    let start = std::sync::Barrier::new(names.len());
    let got: Vec<Result<(), String>> = thread::scope(|scope| {
        let made = |name: &str| {
            start.wait();
            workspaces.ensure(&AgentId::new(name)).map(|_| ())
        };
        let all: Vec<_> = names.iter().map(|name| scope.spawn(move || made(name))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let refused: Vec<&String> = got.iter().filter_map(|got| got.as_ref().err()).collect();
    assert_eq!(refused.len(), names.len() - 1, "{refused:?}");
    assert!(refused.iter().all(|why| why.contains("two never share one")), "{refused:?}");
}

#[test]
fn work_of_many_agents_is_put_aside_and_taken_up_again_at_once() {
    let names: Vec<String> = (0..6).map(|n| format!("agent-{n}")).collect();
    let agents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let (folder, workspaces) = home(&agents);
    let start = std::sync::Barrier::new(names.len());
    let run = |name: &str| {
        let agent = AgentId::new(name);
        start.wait();
        for round in 0..10 {
            let work = format!("task-{:03}", round % 2);
            begin(&workspaces, &agent, &hold(name, &work), &Until::ms(60_000), || Ok(()))?;
            let file = folder.path().join(format!("home/workspaces/{name}/{work}"));
            // It is there again in every round but the first, and is the only one.
            assert_eq!(file.exists(), round > 1, "{name} {round}");
            fs::write(file, format!("{round}")).unwrap();
        }
        Ok::<(), String>(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = names.iter().map(|name| scope.spawn(move || run(name))).collect();
        let ended: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
        assert_eq!(ended, vec![Ok(()); names.len()]);
    });
}
