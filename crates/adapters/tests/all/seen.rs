//! What an act depends on is looked at when it is asked for and again when it runs.

use std::os::unix::fs::symlink;

use adapters::sandbox::Sandbox;
use adapters::sandbox::backend::Backend;
use domain::id::{AgentId, CallId};
use domain::tool::{Act, Call, CreateDirectory, GitCommit, GitDiff, Lint, Permit, RunTests, Seen, Want};
use ports::tools::{Order, Tools};
use testkit::tools::order;

use crate::home::{Home, command, inner, list, read, search, write};

const WORKSPACE: &str = "workspaces/coder-001";

async fn seen(home: &Home, act: &Act) -> Seen {
    home.tools.look(&AgentId::new("coder-001"), act).await.expect("it depends on something")
}

fn parts(seen: &Seen) -> Vec<&str> {
    seen.parts.iter().map(|part| part.what.as_str()).collect()
}

#[tokio::test]
async fn a_command_is_seen_with_its_programs_files_folder_and_environment() {
    let home = Home::new();
    home.write(&format!("{WORKSPACE}/deploy.sh"), "echo one\n").write(&format!("{WORKSPACE}/src/a.rs"), "");
    let seen = seen(&home, &command("sh deploy.sh --file=src/a.rs | grep x src && ./missing")).await;
    assert_eq!(
        parts(&seen),
        [
            "folder workspaces/coder-001",
            "environment",
            "program /usr/bin/sh",
            "file deploy.sh",
            "file src/a.rs",
            "program /usr/bin/grep",
            "folder src",
            "file ./missing",
            "files in src",
        ]
    );
    assert!(seen.sandbox && seen.notes.is_empty(), "{seen:?}");
}

#[tokio::test]
async fn what_changed_since_it_was_approved_does_not_run() {
    let home = Home::new();
    home.write(&format!("{WORKSPACE}/deploy.sh"), "echo one\n");
    let act = command("for i in 1; do sh deploy.sh; done");
    let approved = Order { seen: Some(seen(&home, &act).await), ..order(1, "coder-001", act.clone()) };
    assert!(home.run(approved.clone()).await.ok);
    home.write(&format!("{WORKSPACE}/deploy.sh"), "echo two\n");
    let outcome = home.run(approved.clone()).await;
    let void = "void: file deploy.sh changed since it was approved; ask again if it is still wanted";
    assert_eq!((outcome.ok, outcome.text.as_str()), (false, void));
    // What only reads can do no harm by reading something else.
    assert!(home.run(Order { permit: Permit::NONE, ..approved }).await.ok);
}

#[tokio::test]
async fn a_pattern_that_stands_for_a_secret_is_noted() {
    let home = Home::new();
    home.write(&format!("{WORKSPACE}/notes.md"), "").write(&format!("{WORKSPACE}/id_rsa"), "");
    let found = seen(&home, &command("cat *")).await;
    assert_eq!(found.notes, ["* stands for id_rsa, among others"]);
    let found = seen(&home, &command("cat *.md")).await;
    assert!(found.notes.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_program_of_the_workspace_counts_as_well() {
    let home = Home::new();
    home.write(&format!("{WORKSPACE}/tool"), "#!/bin/sh\necho one\n");
    let tool = home.path(&format!("{WORKSPACE}/tool"));
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let act = command("./tool");
    let approved = Order { seen: Some(seen(&home, &act).await), ..order(1, "coder-001", act) };
    assert!(home.run(approved.clone()).await.text.contains("one"));
    home.write(&format!("{WORKSPACE}/tool"), "#!/bin/sh\necho two\n");
    assert!(home.run(approved).await.text.starts_with("void: program "));
}

#[tokio::test]
async fn links_out_of_the_workspace_and_hostile_repositories_are_noted() {
    let home = Home::new();
    home.write(&format!("{WORKSPACE}/.git/config"), "[core]\n\tfsmonitor = ./evil\n");
    home.write(&format!("{WORKSPACE}/sub/.git/config"), "[diff]\n\texternal = ./evil\n");
    symlink("/etc/hostname", home.path(&format!("{WORKSPACE}/name"))).unwrap();
    let noted = |notes: Seen| notes.notes;
    assert_eq!(
        noted(seen(&home, &command("cat name")).await),
        ["name leads out of the workspace by a link, to /etc/hostname"]
    );
    assert_eq!(
        noted(seen(&home, &command("git status")).await),
        ["the repository . sets core.fsmonitor, which can make git run something"]
    );
    assert_eq!(
        noted(seen(&home, &command("cd sub && git diff")).await),
        [
            "the repository . sets core.fsmonitor, which can make git run something",
            "the repository sub sets diff.external, which can make git run something",
        ]
    );
    assert_eq!(noted(seen(&home, &command("ls")).await), Vec::<String>::new());
}

#[tokio::test]
async fn without_a_sandbox_commands_are_not_offered() {
    let home = Home::caged(Sandbox::new(inner()).only(Backend::Bare));
    home.write(
        "agents/coder-001.agent.yaml",
        "id: coder-001\ntype: coder\nmodel: m\nworkspace: {test: 'echo x'}\n",
    );
    for act in [command("echo hello"), Act::RunTests(RunTests {})] {
        let seen = seen(&home, &act).await;
        let refused = seen.refused.clone().unwrap_or_default();
        assert!(refused.contains("`sandbox: {unsafe: true}` in synod.yaml"), "{seen:?}");
        let said = home.run(Order { seen: Some(seen), ..order(1, "coder-001", act) }).await;
        assert!(!said.ok && said.text == refused, "{said:?}");
    }
}

#[tokio::test]
async fn without_a_sandbox_only_what_was_approved_runs_and_the_approval_says_so() {
    let home = Home::bare();
    let act = command("echo hello");
    let seen = seen(&home, &act).await;
    assert!(!seen.sandbox && seen.notes[0].starts_with("this system offers no sandbox: "), "{seen:?}");
    let approved = Order { seen: Some(seen), ..order(1, "coder-001", act) };
    assert!(home.run(approved.clone()).await.text.contains("hello"));
    let allowed = home.run(Order { permit: Permit::NONE, ..approved }).await;
    assert!(!allowed.ok && allowed.text.contains("only when a person approved it"), "{allowed:?}");
}

#[tokio::test]
async fn a_file_that_a_person_changed_meanwhile_is_not_written_over() {
    let home = Home::new();
    home.write("memory/a.md", "old\n");
    let act = write("memory/a.md", "new\n");
    let approved = Order { seen: Some(seen(&home, &act).await), ..order(1, "coder-001", act) };
    home.write("memory/a.md", "a person's\n");
    assert!(home.run(approved.clone()).await.text.starts_with("void: file memory/a.md changed"));
    assert_eq!(home.read("memory/a.md"), "a person's\n");
    home.write("memory/a.md", "old\n");
    assert!(home.run(approved.clone()).await.ok);
    assert!(home.run(approved).await.ok, "a second try after a crash finds it as it is wanted");
    let own = home.tools.look(&AgentId::new("coder-001"), &write("workspaces/coder-001/a", "")).await;
    assert_eq!(own, None, "nobody is asked there");
}

/// The call as it is prepared: looked at, with its path resolved.
async fn prepared(home: &Home, act: Act) -> Order {
    let seen = home.tools.look(&AgentId::new("coder-001"), &act).await;
    let arguments = String::new();
    let call = Call { id: CallId::new("call-1"), arguments, want: Want::Act(act), seen: None }.seeing(seen);
    let Want::Act(act) = call.want else { panic!("an act stays one") };
    Order { seen: call.seen, ..order(1, "coder-001", act) }
}

#[tokio::test]
async fn a_path_is_judged_by_where_its_links_lead() {
    let home = Home::new();
    home.write("memory/a.md", "old\n").write("workspaces/other-001/a.md", "theirs\n");
    home.write("workspaces/coder-001/sub/b.md", "mine\n");
    for (link, to) in [
        ("memory", "../../memory"),
        ("file.md", "../../memory/a.md"),
        ("other", "../other-001"),
        ("away", "/etc/passwd"),
        ("mine", "sub"),
    ] {
        symlink(to, home.path(&format!("{WORKSPACE}/{link}"))).unwrap();
    }
    let at = |path: &str| format!("{WORKSPACE}/{path}");
    let acts: [(&str, Act, &str); 6] = [
        ("memory/new/b.md", write(&at("memory/new/b.md"), "x"), "memory/new/b.md"),
        ("file.md", write(&at("file.md"), "x"), "memory/a.md"),
        (
            "other",
            Act::CreateDirectory(CreateDirectory { path: at("other/new") }),
            "workspaces/other-001/new",
        ),
        ("other/a.md", read(&at("other/a.md")), "workspaces/other-001/a.md"),
        ("memory", search("old", Some(&at("memory"))), "memory"),
        ("mine", list(&at("mine")), "workspaces/coder-001/sub"),
    ];
    for (named, act, real) in acts {
        let prepared = prepared(&home, act).await;
        assert_eq!(prepared.act.paths(), [real], "{named}");
        let seen = prepared.seen.clone().and_then(|mut seen| seen.paths.pop()).expect(named);
        assert_eq!((seen.named.starts_with(WORKSPACE), seen.real.as_str()), (true, real));
        assert!(home.run(prepared).await.ok, "{named} runs at what was judged");
    }
    let away = prepared(&home, read(&at("away"))).await;
    let refused = away.seen.clone().and_then(|seen| seen.refused);
    assert_eq!(refused, Some("workspaces/coder-001/away leads out of the home".to_owned()));
    assert!(!home.run(away).await.ok);
    assert_eq!(
        prepared(&home, read(&at("sub/b.md"))).await.seen,
        None,
        "where there is no link, nothing is said"
    );
}

#[tokio::test]
async fn a_link_that_is_swapped_in_after_the_judging_is_not_followed() {
    let home = Home::new();
    home.write("memory/a.md", "old\n").write("workspaces/coder-001/sub/a.md", "mine\n");
    let at = |path: &str| format!("{WORKSPACE}/{path}");
    let acts = [
        read(&at("sub/a.md")),
        list(&at("sub")),
        search("old", Some(&at("sub"))),
        write(&at("sub/a.md"), "new\n"),
        write(&at("sub/new.md"), "new\n"),
        Act::CreateDirectory(CreateDirectory { path: at("sub/deep/er") }),
    ];
    let mut judged = Vec::new();
    for act in acts {
        judged.push(prepared(&home, act).await);
    }
    std::fs::rename(home.path(&at("sub")), home.path(&at("away"))).unwrap();
    symlink("../../memory", home.path(&at("sub"))).unwrap();
    for order in judged {
        let outcome = home.run(order).await;
        assert!(!outcome.ok && outcome.text.contains("by a link that was not there"), "{outcome:?}");
    }
    assert_eq!(home.read("memory/a.md"), "old\n");
    assert_eq!(std::fs::read_dir(home.path("memory")).unwrap().count(), 1);
    // A link that was judged and leads elsewhere now: what was judged is opened, and nothing else.
    symlink("away", home.path(&at("link"))).unwrap();
    let order = prepared(&home, read(&at("link/a.md"))).await;
    std::fs::remove_file(home.path(&at("link"))).unwrap();
    symlink("../../memory", home.path(&at("link"))).unwrap();
    assert_eq!(home.run(order).await.text, "     1\tmine\n");
}

#[tokio::test]
async fn a_search_shows_neither_credentials_nor_conversations_of_others() {
    let home = Home::new();
    home.write("workspaces/coder-001/.env", "WORD=1\n").write("workspaces/coder-001/a.md", "WORD 2\n");
    home.write("sessions/other-001-00000a.session.yaml", "said: WORD 3\n");
    home.write("sessions/coder-001-00000b.session.yaml", "said: WORD 4\n");
    let found = home.done(search("WORD", Some("."))).await;
    for (file, is_shown) in
        [(".env", false), ("\na.md:1: ", true), ("other-001-", false), ("sessions/coder-001-", true)]
    {
        assert_eq!(format!("\n{found}").contains(file), is_shown, "{file} in {found}");
    }
}

#[tokio::test]
async fn tests_and_checks_run_as_the_owner_wrote_them() {
    let home = Home::new();
    let agent = "id: coder-001\ntype: coder\nmodel: m\nworkspace: {test: 'echo testing && touch built'}\n";
    home.write("agents/coder-001.agent.yaml", agent);
    let tested = home.run(order(1, "coder-001", Act::RunTests(RunTests {}))).await;
    assert!(tested.ok && tested.text.contains("testing"), "{tested:?}");
    assert!(home.path(&format!("{WORKSPACE}/built")).exists(), "its workspace is written");
    assert_eq!(tested.wrote, [WORKSPACE]);
    let unset = home.run(order(1, "coder-001", Act::Lint(Lint {}))).await;
    assert_eq!(
        unset.text,
        "coder-001 has no command for lint: the owner of the home can set one in agents/coder-001.agent.yaml, \
         as `workspace: {lint: \"…\"}`"
    );
    let nobody = home.run(order(1, "other", Act::RunTests(RunTests {}))).await;
    assert!(!nobody.ok && nobody.text.contains("agents/other.agent.yaml"), "{nobody:?}");
}

#[tokio::test]
async fn words_are_run_as_they_were_judged() {
    let home = Home::new();
    home.write(&format!("{WORKSPACE}/b.txt"), "bee\n").write(&format!("{WORKSPACE}/-n"), "dash\n");
    home.write(&format!("{WORKSPACE}/sub/c.txt"), "sea\n");
    for (text, expected) in [
        ("cat *", "exit code: 1\nstdout:\ndash\nbee\n\nstderr:\ncat: sub: Is a directory\n"),
        ("cat b.txt | tr a-z A-Z | rev", "exit code: 0\nstdout:\nEEB\n\nstderr:\n[nothing]"),
        ("false && echo no || echo yes", "exit code: 0\nstdout:\nyes\n\nstderr:\n[nothing]"),
        ("! false", "exit code: 0\nstdout:\n[nothing]\nstderr:\n[nothing]"),
        ("cd sub && cat *.txt; pwd > /dev/null", "exit code: 0\nstdout:\nsea\n\nstderr:\n[nothing]"),
        ("cd ..; cat b.txt", "exit code: 0\nstdout:\nbee\n\nstderr:\ncd: leads out of the workspace\n"),
        ("ls absent 2>&1 | wc -l", "exit code: 0\nstdout:\n1\n\nstderr:\n[nothing]"),
        ("ls absent 2> /dev/null", "exit code: 2\nstdout:\n[nothing]\nstderr:\n[nothing]"),
        ("echo one 1>&2", "exit code: 0\nstdout:\n[nothing]\nstderr:\none\n"),
        ("yes | head -1", "exit code: 0\nstdout:\ny\n\nstderr:\n[nothing]"),
        (
            "nothing-here | cat",
            "exit code: 0\nstdout:\n[nothing]\nstderr:\nnothing-here: there is no such program\n",
        ),
        ("echo '*' \"$HOME\"", "exit code: 0\nstdout:\n* "),
    ] {
        let order = Order { permit: Permit::NONE, ..order(1, "coder-001", command(text)) };
        let outcome = home.run(order).await;
        assert!(outcome.ok && outcome.text.starts_with(expected), "{text}: {}", outcome.text);
    }
}

#[tokio::test]
async fn an_approval_is_for_the_workspace_as_it_was_when_asked() {
    let home = Home::new();
    let at = |path: &str| format!("{WORKSPACE}/{path}");
    home.write(&at("package.json"), "{}\n").write(&at("src/a.js"), "one\n").write(&at("src/b.js"), "two\n");
    let agent = "id: coder-001\ntype: coder\nmodel: m\nworkspace: {test: 'true'}\n";
    home.write("agents/coder-001.agent.yaml", agent);
    for (act, ran) in [(command("sh -c true"), "exit code: 0"), (Act::RunTests(RunTests {}), "exit code: 0")]
    {
        let asked =
            Order { approved: true, seen: Some(seen(&home, &act).await), ..order(1, "coder-001", act) };
        assert!(home.run(asked.clone()).await.text.starts_with(ran), "as it was");
        for (path, was) in [("package.json", "{}\n"), ("src/b.js", "two\n")] {
            home.write(&at(path), "changed\n");
            let said = home.run(asked.clone()).await.text;
            assert!(said.starts_with(&format!("void: file {path} changed since it was approved")), "{said}");
            home.write(&at(path), was);
        }
        home.write(&at("src/new.js"), "x");
        let said = home.run(asked.clone()).await.text;
        assert!(said.starts_with("void: file src/new.js changed"), "{said}");
        std::fs::remove_file(home.path(&at("src/new.js"))).unwrap();
        assert!(home.run(asked).await.text.starts_with(ran), "the same content again is the same");
    }
    let unasked = Order {
        seen: Some(seen(&home, &Act::RunTests(RunTests {})).await),
        ..order(1, "coder-001", Act::RunTests(RunTests {}))
    };
    home.write(&at("package.json"), "changed\n");
    assert!(home.run(unasked).await.ok, "nobody was asked, so nothing is bound");
}

#[tokio::test]
async fn an_approved_commit_makes_what_was_shown_or_nothing() {
    let home = Home::new();
    let act = || Act::GitCommit(GitCommit { message: "some".to_owned(), paths: Vec::new() });
    // The first look makes nothing, the first diff makes the repository.
    home.done(Act::GitDiff(GitDiff { path: None, against: None })).await;
    home.write(&format!("{WORKSPACE}/a.txt"), "one\n");
    let seen = seen(&home, &act()).await;
    assert_eq!(parts(&seen), ["file a.txt"]);
    assert!(seen.patch.as_deref().is_some_and(|patch| patch.contains("+one")), "{seen:?}");
    let asked = Order { approved: true, seen: Some(seen), ..order(1, "coder-001", act()) };
    home.write(&format!("{WORKSPACE}/b.txt"), "two\n");
    let said = home.run(asked.clone()).await.text;
    assert!(said.starts_with("void: file b.txt changed since it was approved"), "{said}");
    std::fs::remove_file(home.path(&format!("{WORKSPACE}/b.txt"))).unwrap();
    home.write(&format!("{WORKSPACE}/a.txt"), "other\n");
    assert!(home.run(asked.clone()).await.text.starts_with("void: file a.txt changed"));
    home.write(&format!("{WORKSPACE}/a.txt"), "one\n");
    let made = home.run(asked.clone()).await;
    assert!(made.ok && made.text.contains("added a.txt"), "{made:?}");
    assert!(home.run(asked).await.text.contains("before a restart"), "once made, it is found");
    home.write(&format!("{WORKSPACE}/c.txt"), "three\n");
    let unseen = Order { approved: true, seen: None, ..order(2, "coder-001", act()) };
    assert!(!home.run(unseen).await.ok, "a yes to nothing commits nothing");
}
