//! Whose work stands in an agent's workspace: one task at a time, until it has ended, whatever it waits for meanwhile.

use domain::agent::Workspace;
use domain::approval::Answer;
use domain::effect::Effect;
use domain::id::{AgentId, LockName, ReviewId, SessionId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::lifecycle::Lifecycle;
use domain::lock::workspace::{Hold, Room, room};
use domain::pending;
use domain::review::{Check, Finding, Place, Stage, of_session};
use domain::role::{Permission, Role};
use domain::task::Mark;
use domain::tool::{
    Act, ApproveWork, CreateDirectory, GitCommit, GitUpdate, Lint, ListDirectory, Lock, MergeBranch,
    RequestReview, RunTests, Unlock, WriteFile,
};
use domain::waits::{Node, Wait, Why, edges};

use crate::home::{Home, answered, create, reply, update, written};

const CODER: &str = "coder-001";
const LOCK: &str = "workspace:coder-001";

fn write(name: &str) -> Act {
    Act::WriteFile(WriteFile { path: format!("workspaces/{CODER}/{name}"), content: "x".to_owned() })
}

fn look() -> Act {
    Act::read_file(format!("workspaces/{CODER}/a"))
}

/// A coder with a worktree and one slot, and who reviews and merges.
fn team() -> Home {
    Home::with(
        &["coordinator-001", CODER, "reviewer-001"],
        |_| {},
        |spec| {
            spec.workspace = Some(Workspace { repo: Some("repo".to_owned()), ..Workspace::default() });
            spec.permissions.concurrency.max_parallel_tasks = 1;
            spec.permissions.concurrency.task_timeout_ms = 3_600_000;
        },
    )
}

/// ALPHA has written, and BETA waits for its slot.
fn two() -> (Home, TaskId, TaskId) {
    let mut home = team();
    let (alpha, beta) = (home.task("alpha", CODER), home.task("beta", CODER));
    home.wants(CODER, &[write("a")]);
    home.tool_ends(CODER, true, "written");
    (home, alpha, beta)
}

impl Home {
    /// The task whose work stands in the coder's workspace.
    fn works(&self) -> Option<&TaskId> {
        let holder = self.state.locks.get(&LockName::new(LOCK))?.holder.as_ref()?;
        self.state.sessions[&holder.session].task.as_ref()
    }

    fn at_work(&self, task: &TaskId) -> SessionId {
        self.get(task).session().unwrap_or_else(|| panic!("nobody is at {task}")).clone()
    }

    /// The hold with which the coder's call is carried out.
    fn hold(&self) -> Option<Hold> {
        let run = |effect| match effect {
            Effect::RunTool { agent, hold, .. } if agent.as_str() == CODER => Some(hold),
            _ => None,
        };
        pending(&self.state).into_iter().find_map(run).expect("a call is under way")
    }

    fn reviews(&mut self, commit: &str, approved: bool) {
        self.checks(commit, &[(Check::Lint, true), (Check::Test, true)]);
        let issues = if approved { Vec::new() } else { vec!["mend it".to_owned()] };
        self.wants("reviewer-001", &[Act::ApproveWork(ApproveWork { approved, issues })]);
        self.says("reviewer-001", "that is all");
    }
}

#[test]
fn a_task_keeps_its_workspace_while_its_review_waits_and_the_next_waits_for_its_end() {
    let (mut home, alpha, beta) = two();
    home.submits("c1");
    assert_eq!(home.works(), Some(&alpha));
    // ALPHA has left its slot, so BETA begins, and gets no further than its first look.
    home.wants(CODER, &[look(), write("b")]);
    let waiting = home.at_work(&beta);
    assert_eq!(home.state.sessions[&waiting].lifecycle, Lifecycle::Blocked, "it leaves its slot too");
    assert_eq!(home.calls_to_tools(CODER), []);
    let edge = |from: Node, to: Node, why| Wait { from, to, why };
    let lock = Node::Lock(LockName::new(LOCK));
    for wait in [
        edge(Node::Session(waiting.clone()), lock.clone(), Why::Lock),
        edge(lock, Node::Session(home.at_work(&alpha)), Why::Held),
    ] {
        assert!(edges(&home.state).contains(&wait), "{wait:?}");
    }
    // No lease runs out, and no wait.
    home.pass(400_000);
    assert_eq!(home.works(), Some(&alpha));
    home.reviews("c1", false);
    home.wants(CODER, &[write("a")]);
    home.tool_ends(CODER, true, "mended");
    home.submits("c2");
    home.reviews("c2", true);
    assert_eq!(home.works(), Some(&alpha), "approved, and not at its end yet");
    home.says(CODER, "approved");
    assert_eq!(home.works(), Some(&beta));
    assert_eq!(home.calls_to_tools(CODER).len(), 1, "its calls go on by themselves");
    home.tool_ends(CODER, true, "x");
    assert_eq!(home.calls_to_tools(CODER).len(), 1, "one after the other");
    let hold = home.hold().unwrap();
    assert_eq!((hold.work, hold.after), (beta.to_string(), None), "what waits for its merge stays apart");
}

#[test]
fn whatever_ends_a_task_frees_its_workspace() {
    type Ending = fn(&mut Home, &TaskId);
    let endings: [(&str, Ending); 6] = [
        ("done", |home, _| _ = home.says(CODER, "done")),
        ("by its own mark", |home, alpha| _ = home.wants(CODER, &[update(alpha, Mark::Done, "all")])),
        ("failed", |home, _| _ = home.model_fails(CODER, domain::input::Failure::GiveUp)),
        ("cancelled", |home, alpha| _ = home.mark(alpha, Mark::Cancelled)),
        ("marked done", |home, alpha| _ = home.mark(alpha, Mark::Done)),
        ("given to another", |home, alpha| {
            let mut spec = home.get(alpha).spec.clone();
            spec.assignee = Some(AgentId::new("coordinator-001"));
            let (spec, mark, result) = (Box::new(spec), Mark::Running, String::new());
            home.give(Input::File(FileInput::TaskRead { spec, mark, result }));
        }),
    ];
    for (how, end) in endings {
        let (mut home, alpha, beta) = two();
        assert_eq!(home.works(), Some(&alpha), "{how}");
        end(&mut home, &alpha);
        assert_eq!(home.works(), None, "{how}");
        if home.calls_to_model(CODER).len() == 1 && home.get(&beta).session().is_some() {
            home.wants(CODER, &[write("b")]);
            assert_eq!(home.works(), Some(&beta), "{how}");
        }
    }
}

#[test]
fn work_goes_on_from_what_is_done_and_not_from_what_was_given_up_or_is_looked_at() {
    let onto = |end: &dyn Fn(&mut Home, &TaskId)| {
        let (mut home, alpha, _) = two();
        end(&mut home, &alpha);
        home.wants(CODER, &[write("b")]);
        (home.hold().unwrap().after, alpha.to_string())
    };
    let (found, alpha) = onto(&|home, _| _ = home.says(CODER, "done"));
    assert_eq!(found, Some(alpha));
    assert_eq!(onto(&|home, alpha| _ = home.mark(alpha, Mark::Cancelled)).0, None);
    assert_eq!(
        onto(&|home, alpha| {
            home.submits("c1");
            home.mark(alpha, Mark::Done);
        })
        .0,
        None
    );
}

#[test]
fn who_comes_after_a_task_builds_on_it_whatever_stands_between() {
    let mut home = team();
    let alpha = home.task("alpha", CODER);
    let after = home.task_with("after", CODER, |spec| spec.depends_on = vec![alpha.clone()]);
    home.wants(CODER, &[write("a")]);
    home.tool_ends(CODER, true, "written");
    home.submits("c1");
    home.reviews("c1", true);
    home.says(CODER, "approved");
    home.wants(CODER, &[write("b")]);
    let hold = home.hold().unwrap();
    assert_eq!((hold.work, hold.onto), (after.to_string(), vec![alpha.to_string()]));
}

#[test]
fn who_brings_work_into_line_goes_on_with_that_work() {
    let mut home = team();
    let alpha = home.task("alpha", CODER);
    home.wants(CODER, &[write("a")]);
    home.tool_ends(CODER, true, "written");
    home.submits("c1");
    home.reviews("c1", true);
    home.says(CODER, "approved");
    home.task("merge", "coordinator-001");
    home.wants("coordinator-001", &[Act::MergeBranch(MergeBranch { review: ReviewId::new("review-0001") })]);
    let (commit, files) = ("c1".to_owned(), vec!["a".to_owned()]);
    home.finds("coordinator-001", false, Finding::Conflicted { commit, files });
    home.wants(CODER, &[Act::GitUpdate(GitUpdate { take_back: false })]);
    assert_eq!(home.hold().unwrap().onto[0], alpha.to_string());
}

#[test]
fn a_conversation_without_a_task_keeps_the_workspace_until_it_rests_and_looks_without_it() {
    let (mut home, alpha, beta) = two();
    home.mark(&beta, Mark::Cancelled);
    home.submits("c1");
    home.give(written(None, CODER, "how is it going?"));
    home.wants(CODER, &[look()]);
    assert_eq!(home.hold(), None, "it looks at what is there");
    home.tool_ends(CODER, true, "x");
    home.wants(CODER, &[write("c")]);
    assert_eq!((home.works(), home.calls_to_tools(CODER)), (Some(&alpha), vec![]));
    home.reviews("c1", true);
    home.says(CODER, "approved");
    let (talk, _) = home.session_of(CODER);
    assert_eq!(home.hold().unwrap().work, talk.to_string());
    home.tool_ends(CODER, true, "written");
    home.says(CODER, "it is written");
    assert_eq!(home.state.locks.all().count(), 0);
}

#[test]
fn parts_of_a_task_work_in_its_workspace_while_it_rests_for_them() {
    let (mut home, alpha, beta) = two();
    home.mark(&beta, Mark::Cancelled);
    home.wants(CODER, &[create("part", CODER, &[])]);
    home.says(CODER, "I wait for the part");
    home.wants(CODER, &[write("p")]);
    let part = home.works().unwrap().clone();
    let hold = home.hold().unwrap();
    assert_eq!((hold.work, hold.shares), (part.to_string(), vec![alpha.to_string()]));
    home.tool_ends(CODER, true, "written");
    home.says(CODER, "the part is done");
    home.wants(CODER, &[write("a")]);
    assert_eq!(home.hold().unwrap().shares, [part.to_string()]);
}

#[test]
fn a_circle_through_a_workspace_is_named_and_refused() {
    let mut home = Home::with(
        &[CODER, "coder-002", "reviewer-001"],
        |_| {},
        |spec| {
            spec.workspace = Some(Workspace { repo: Some("repo".to_owned()), ..Workspace::default() });
        },
    );
    home.task("alpha", CODER);
    home.wants(CODER, &[write("a")]);
    home.tool_ends(CODER, true, "written");
    let first = home.session_of(CODER).0;
    home.task("other", "coder-002");
    home.wants("coder-002", &[Act::Lock(Lock { name: "deploy".to_owned(), wait_ms: None })]);
    home.wants(CODER, &[Act::Lock(Lock { name: "deploy".to_owned(), wait_ms: None })]);
    // A second conversation of the coder has what coder-002 waits for, and wants the workspace.
    let beta = home.task("beta", CODER);
    home.wants(CODER, &[Act::Lock(Lock { name: "report".to_owned(), wait_ms: None })]);
    let second = home.at_work(&beta);
    home.wants("coder-002", &[Act::Lock(Lock { name: "report".to_owned(), wait_ms: None })]);
    home.wants(CODER, &[write("b")]);
    let told = home.results(CODER).pop().unwrap();
    assert!(told.starts_with("not carried out: waiting would never end: "), "{told}");
    for node in [first.as_str(), second.as_str(), "lock workspace:coder-001", "lock deploy", "lock report"] {
        assert!(told.contains(node), "{node} in {told}");
    }
}

/// Two who write and review, each at a task of its own whose work stands in its workspace.
fn peers() -> Home {
    let mut home = Home::with(
        &["peer-001", "peer-002"],
        |settings| {
            let role = Role { permissions: Permission::ALL.into(), tools: vec!["*".to_owned()] };
            settings.roles.insert("peer".to_owned(), role);
        },
        |spec| spec.workspace = Some(Workspace { repo: Some("repo".to_owned()), ..Workspace::default() }),
    );
    for peer in ["peer-001", "peer-002"] {
        home.task("own work", peer);
        home.wants(
            peer,
            &[Act::WriteFile(WriteFile { path: format!("workspaces/{peer}/a"), content: "x".to_owned() })],
        );
        home.tool_ends(peer, true, "written");
    }
    home
}

impl Home {
    /// Asks the other for a review of its own work.
    fn asks(&mut self, author: &str, to: &str, commit: &str) {
        let to = Some(AgentId::new(to));
        self.wants(author, &[Act::RequestReview(RequestReview { summary: "look".to_owned(), to })]);
        let place = Place {
            branch: format!("agent/{author}"),
            target: "main".to_owned(),
            commit: commit.to_owned(),
            base: "ba5e".to_owned(),
        };
        self.finds(author, true, Finding::Submitted(place));
    }
}

#[test]
fn two_who_review_each_other_do_not_wait_for_each_other() {
    let mut home = peers();
    home.asks("peer-001", "peer-002", "c1");
    home.asks("peer-002", "peer-001", "c2");
    let held = |home: &Home, peer: &str| {
        let lock = home.state.locks.get(&LockName::new(format!("workspace:{peer}"))).cloned();
        lock.map(|lock| (lock.holder.map(|holder| holder.session), lock.queue.len()))
    };
    let before = ["peer-001", "peer-002"].map(|peer| held(&home, peer));
    for (reviewer, commit) in [("peer-002", "c1"), ("peer-001", "c2")] {
        for (act, check) in [(Act::Lint(Lint {}), Check::Lint), (Act::RunTests(RunTests {}), Check::Test)] {
            home.wants(reviewer, &[act]);
            home.finds(reviewer, true, Finding::Checked { commit: commit.to_owned(), check, passed: true });
        }
    }
    assert_eq!(["peer-001", "peer-002"].map(|peer| held(&home, peer)), before, "a review takes no workspace");
    for reviewer in ["peer-001", "peer-002"] {
        let is_review = |id: &SessionId| room(&home.state, &home.state.sessions[id]) == Room::Review;
        let mut calls = home.calls_to_model(reviewer).into_iter();
        let (session, ticket) = calls.find(|(id, _)| is_review(id)).unwrap();
        let approval = Act::ApproveWork(ApproveWork { approved: true, issues: Vec::new() });
        home.give(reply(session, ticket, "it is good", &[approval]));
    }
    for id in ["review-0001", "review-0002"] {
        assert_eq!(home.state.reviews.by_id[&ReviewId::new(id)].stage, Stage::Approved);
    }
}

#[test]
fn a_review_leaves_the_reviewers_own_workspace_alone() {
    let mut home = peers();
    home.asks("peer-001", "peer-002", "c1");
    // Its own task thinks too; only the review is asked here.
    home.says("peer-002", "done");
    let own = "workspaces/peer-002/a".to_owned();
    let commit = Act::GitCommit(GitCommit { message: "x".to_owned(), paths: Vec::new() });
    let acts = [
        Act::WriteFile(WriteFile { path: own.clone(), content: "y".to_owned() }),
        Act::CreateDirectory(CreateDirectory { path: "workspaces/./Peer-002/b".to_owned() }),
        Act::read_file(own),
        Act::ListDirectory(ListDirectory { path: "workspaces/peer-002".to_owned() }),
        commit.clone(),
        Act::GitUpdate(GitUpdate { take_back: false }),
    ];
    for act in acts {
        home.wants("peer-002", std::slice::from_ref(&act));
        let told = home.results("peer-002").pop().unwrap();
        assert!(told.contains("review-0001 is looked at in workspaces/peer-002.review/"), "{act:?}: {told}");
    }
    home.wants("peer-002", &[Act::read_file("workspaces/peer-002.review/a")]);
    let (session, call, _) = home.calls_to_tools("peer-002").remove(0);
    let about = |home: &Home| {
        let session = &home.state.sessions[&session];
        (room(&home.state, session), of_session(&home.state, session).map(|review| review.id.clone()))
    };
    let expected = (Room::Review, Some(ReviewId::new("review-0001")));
    assert_eq!(about(&home), expected);
    assert!(home.state.sessions[&session].pending(&call).is_some());
    home.tool_ends("peer-002", true, "x");
    let rejection = Act::ApproveWork(ApproveWork { approved: false, issues: vec!["no test".to_owned()] });
    home.wants("peer-002", &[rejection, Act::Lint(Lint {})]);
    assert_eq!(about(&home), expected, "also when it was answered");
    home.tool_ends("peer-002", true, "exit code: 0");
    home.wants("peer-002", &[commit]);
    let told = home.results("peer-002").pop().unwrap();
    assert!(told.contains("your own workspace is for your own tasks"), "{told}");
}

#[test]
fn an_approval_lasts_through_the_wait_for_a_workspace() {
    let mut home = team();
    let alpha = home.task("alpha", CODER);
    home.task_with("beta", CODER, |spec| spec.approval_required = true);
    home.wants(CODER, &[write("a")]);
    home.tool_ends(CODER, true, "written");
    home.submits("c1");
    home.wants(CODER, &[write("b")]);
    home.give(answered("approval-0001", Answer::Approved));
    assert_eq!(home.works(), Some(&alpha));
    assert_eq!(home.calls_to_tools(CODER), []);
    home.mark(&alpha, Mark::Cancelled);
    assert_eq!(home.calls_to_tools(CODER).len(), 1, "it runs by the yes that it had");
    assert_eq!(home.state.people.approvals.len(), 0);
}

#[test]
fn a_workspace_is_given_back_by_who_has_it_and_taken_away_by_a_person_but_taken_by_nobody() {
    let (mut home, alpha, _) = two();
    home.wants(CODER, &[Act::Lock(Lock { name: LOCK.to_owned(), wait_ms: None })]);
    assert_eq!(
        home.results(CODER).pop().unwrap(),
        format!("{LOCK} is taken by the first call that works there; just begin")
    );
    home.wants(CODER, &[Act::Unlock(Unlock { name: LOCK.to_owned() })]);
    assert_eq!((home.works(), home.results(CODER).pop()), (None, Some(format!("{LOCK} is given back"))));
    home.wants(CODER, &[write("a")]);
    let free = || Input::Person(PersonInput::FreeLock { name: LOCK.to_owned(), by: "dana".to_owned() });
    let (id, _) = home.session_of(CODER);
    let refused = home.refusal(free());
    assert_eq!(
        refused,
        format!("a call of {id} runs in {LOCK} now: cancel {id}, or wait until the call has ended")
    );
    home.tool_ends(CODER, true, "written");
    assert_eq!(home.works(), Some(&alpha));
    home.give(free());
    assert_eq!(home.works(), None);
}

#[test]
fn a_folder_of_ones_own_is_shared_among_ones_tasks() {
    let mut home = Home::with(&[CODER], |_| {}, |spec| spec.permissions.concurrency.max_parallel_tasks = 2);
    home.task("alpha", CODER);
    home.task("beta", CODER);
    home.wants(CODER, &[write("a")]);
    home.wants(CODER, &[write("b")]);
    assert_eq!(home.calls_to_tools(CODER).len(), 2);
    assert_eq!(home.hold(), None);
}
