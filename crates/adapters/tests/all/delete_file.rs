//! `delete_file`.

use std::fs;
use std::os::unix::fs::symlink;

use domain::id::{AgentId, LockName};
use domain::lock::Grant;
use domain::tool::{Act, DeleteFile};
use ports::tools::{Order, Outcome, Tools as _};
use testkit::tools::order;

use crate::home::Home;

fn delete(path: &str) -> Act {
    Act::DeleteFile(DeleteFile { path: path.to_owned() })
}

#[tokio::test]
async fn a_file_is_deleted_once_and_its_absence_is_no_error() {
    let home = Home::new();
    home.write("memory/old.md", "old");
    let done = |text: &str| Outcome::done(text.to_owned()).writing("memory/old.md");
    assert_eq!(
        home.run(order(1, "coder-001", delete("memory/old.md"))).await,
        done("memory/old.md is deleted")
    );
    assert!(!home.path("memory/old.md").exists() && home.path("memory").is_dir());
    let again = home.run(order(1, "coder-001", delete("memory/old.md"))).await;
    assert_eq!(again, done("memory/old.md is gone already"));
    assert!(home.run(order(2, "coder-001", delete("none/at/all.md"))).await.ok);
    assert!(!home.path("none").exists(), "no folder is made for a file that is gone");
}

#[tokio::test]
async fn folders_control_files_and_what_is_outside_are_not_deleted() {
    let home = Home::new();
    home.write("memory/notes/a.md", "a");
    home.write("agents/coder-001.agent.yaml", "id: coder-001");
    for path in ["memory/notes", "memory/notes/", "agents/coder-001.agent.yaml", "../out", "/etc/passwd", "."]
    {
        let outcome = home.run(order(1, "coder-001", delete(path))).await;
        assert!(!outcome.ok, "{path}: {}", outcome.text);
    }
    assert!(home.path("memory/notes/a.md").exists() && home.path("agents/coder-001.agent.yaml").exists());
}

#[tokio::test]
async fn a_link_is_removed_and_not_what_it_leads_to() {
    let home = Home::new();
    home.write("memory/kept.md", "kept");
    symlink("kept.md", home.path("memory/link.md")).unwrap();
    assert!(home.run(order(1, "coder-001", delete("memory/link.md"))).await.ok);
    assert_eq!(fs::read_to_string(home.path("memory/kept.md")).unwrap(), "kept");
    assert!(fs::symlink_metadata(home.path("memory/link.md")).is_err());
}

#[tokio::test]
async fn an_approval_is_for_the_file_as_it_was() {
    let home = Home::new();
    home.write("memory/old.md", "as it was shown");
    let blank = order(1, "coder-001", delete("memory/old.md"));
    let seen = home.tools.look(&blank.agent, &blank.act).await;
    assert!(seen.is_some());
    home.write("memory/old.md", "changed since");
    let outcome = home.run(Order { seen, ..blank }).await;
    assert!(!outcome.ok && outcome.text.starts_with("void: file memory/old.md changed"), "{}", outcome.text);
    assert!(home.path("memory/old.md").exists());
}

#[tokio::test]
async fn links_above_a_file_are_resolved_and_the_file_itself_is_not() {
    let home = Home::new();
    home.write("memory/old.md", "old").write("workspaces/coder-001/a.md", "a");
    symlink("../../memory", home.path("workspaces/coder-001/memory")).unwrap();
    symlink("../../memory/old.md", home.path("workspaces/coder-001/old.md")).unwrap();
    let look = async |path: &str| home.tools.look(&AgentId::new("coder-001"), &delete(path)).await;
    assert_eq!(look("workspaces/coder-001/old.md").await, None, "the link is in the agent's own workspace");
    let seen = look("workspaces/coder-001/memory/old.md").await.unwrap();
    assert_eq!(
        (seen.paths[0].real.as_str(), seen.parts[0].what.as_str()),
        ("memory/old.md", "file memory/old.md")
    );
}

#[tokio::test]
async fn an_approval_is_for_a_link_too_and_for_bytes_that_are_no_text() {
    let home = Home::new();
    home.write("memory/kept.md", "kept").write("memory/image.png", [0xff, 1]);
    symlink("kept.md", home.path("memory/link.md")).unwrap();
    let mut orders = Vec::new();
    for path in ["memory/link.md", "memory/image.png"] {
        let blank = order(1, "coder-001", delete(path));
        let seen = home.tools.look(&blank.agent, &blank.act).await;
        orders.push(Order { seen, ..blank });
    }
    fs::remove_file(home.path("memory/link.md")).unwrap();
    symlink("image.png", home.path("memory/link.md")).unwrap();
    home.write("memory/image.png", [0xff, 2]);
    for order in orders {
        let outcome = home.run(order).await;
        assert!(!outcome.ok && outcome.text.starts_with("void: "), "{}", outcome.text);
    }
}

#[tokio::test]
async fn who_lost_its_lock_deletes_nothing() {
    let home = Home::new();
    home.write("memory/old.md", "old");
    let grant = |fence| Grant { name: LockName::new("file:memory/old.md"), fence };
    home.tools.fence(&grant(9));
    let late = Order { locks: vec![grant(7)], ..order(1, "coder-001", delete("memory/old.md")) };
    assert!(home.run(late).await.text.contains("the lock file:memory/old.md was lost"));
    assert!(home.path("memory/old.md").exists());
}
