//! `move_file`.

use std::os::unix::fs::symlink;

use domain::id::{AgentId, Seq, Ticket};
use domain::tool::{Act, MoveFile};
use ports::tools::{Order, Tools as _};
use testkit::tools::order;

use crate::home::Home;

fn rename(from: &str, to: &str, replace: bool) -> Act {
    Act::MoveFile(MoveFile { from: from.to_owned(), to: to.to_owned(), replace })
}

#[tokio::test]
async fn a_file_is_moved_with_its_folders_made() {
    let home = Home::new();
    home.write("memory/a.md", "a");
    let outcome = home.run(order(1, "coder-001", rename("memory/a.md", "memory/new/b.md", false))).await;
    assert_eq!((outcome.ok, outcome.text.as_str()), (true, "memory/a.md is moved to memory/new/b.md"));
    assert!(!home.path("memory/a.md").exists());
    assert_eq!(home.read("memory/new/b.md"), "a");
}

#[tokio::test]
async fn a_file_is_replaced_only_on_demand() {
    let home = Home::new();
    home.write("memory/a.md", "a").write("memory/b.md", "b");
    let refused = home.failed(rename("memory/a.md", "memory/b.md", false)).await;
    assert_eq!(refused, "memory/b.md is there already; replace: true replaces it");
    assert_eq!(home.read("memory/b.md"), "b");
    home.done(rename("memory/a.md", "memory/b.md", true)).await;
    assert_eq!(home.read("memory/b.md"), "a");
}

#[tokio::test]
async fn folders_and_control_files_are_not_moved_nor_overwritten() {
    let home = Home::new();
    home.write("memory/notes/a.md", "a").write("agents/coder-001.agent.yaml", "id: coder-001");
    for (from, to) in [
        ("memory/notes", "memory/other"),
        ("memory/notes/a.md", "agents/coder-001.agent.yaml"),
        ("agents/coder-001.agent.yaml", "memory/stolen.yaml"),
        ("memory/notes/a.md", "../out"),
        ("memory/none.md", "memory/b.md"),
    ] {
        let outcome = home.run(order(1, "coder-001", rename(from, to, true))).await;
        assert!(!outcome.ok, "{from} {to}: {}", outcome.text);
    }
    assert_eq!(home.read("agents/coder-001.agent.yaml"), "id: coder-001");
}

#[tokio::test]
async fn a_move_that_a_crash_cut_off_is_done_when_it_is_tried_again() {
    let home = Home::new();
    home.write("memory/a.md", "a");
    let first = order(1, "coder-001", rename("memory/a.md", "memory/b.md", false));
    let seen = home.tools.look(&first.agent, &first.act).await;
    let first = Order { seen, ..first };
    assert!(home.run(first.clone()).await.ok);
    let again = Order { ticket: Ticket { effect: Seq(1), attempt: 2 }, ..first };
    let outcome = home.run(again.clone()).await;
    assert_eq!((outcome.ok, outcome.text.as_str()), (true, "memory/a.md is moved to memory/b.md already"));
    home.write("memory/b.md", "another text");
    assert!(!home.run(again).await.ok, "what is there is not what was moved");
}

#[tokio::test]
async fn an_approval_is_for_both_files_as_they_were() {
    let home = Home::new();
    home.write("memory/a.md", "a").write("memory/b.md", "b");
    for changed in ["memory/a.md", "memory/b.md"] {
        let blank = order(1, "coder-001", rename("memory/a.md", "memory/b.md", true));
        let seen = home.tools.look(&blank.agent, &blank.act).await;
        home.write(changed, "changed since");
        let outcome = home.run(Order { seen, ..blank }).await;
        assert!(outcome.text.starts_with(&format!("void: file {changed} changed")), "{}", outcome.text);
    }
    assert_eq!(home.read("memory/a.md"), "changed since");
}

#[tokio::test]
async fn a_link_is_neither_moved_nor_followed() {
    let home = Home::new();
    home.write("memory/a.md", "a").write("workspaces/coder-001/b.md", "b");
    symlink("../../memory", home.path("workspaces/coder-001/memory")).unwrap();
    symlink("a.md", home.path("memory/link.md")).unwrap();
    let act = rename("workspaces/coder-001/memory/a.md", "workspaces/coder-001/memory/c.md", false);
    let seen = home.tools.look(&AgentId::new("coder-001"), &act).await.unwrap();
    let real: Vec<&str> = seen.paths.iter().map(|path| path.real.as_str()).collect();
    assert_eq!(real, ["memory/a.md", "memory/c.md"], "both are judged by where they lead");
    let refused = home.failed(act).await;
    assert!(refused.contains("by a link that was not there"), "{refused}");
    let refused = home.failed(rename("memory/link.md", "memory/c.md", false)).await;
    assert_eq!(refused, "home:memory/link.md is a link, not a file");
    assert_eq!(home.read("memory/a.md"), "a");
}
