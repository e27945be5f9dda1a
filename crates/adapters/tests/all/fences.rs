//! Who lost its lock changes nothing any more, however late it comes.

use domain::id::LockName;
use domain::lock::Grant;
use domain::tool::{Act, CreateDirectory, WriteFile};
use ports::tools::{Order, Tools};
use testkit::tools::order;

use crate::home::Home;

fn grant(fence: u64) -> Grant {
    Grant { name: LockName::new("file:workspaces/coder-001/a.md"), fence }
}

fn write(effect: u64, fence: u64, content: &str) -> Order {
    let act = Act::WriteFile(WriteFile {
        path: "workspaces/coder-001/a.md".to_owned(),
        content: content.to_owned(),
    });
    Order { locks: vec![grant(fence)], ..order(effect, "coder-001", act) }
}

#[tokio::test]
async fn a_write_that_comes_after_its_lock_was_given_to_another_is_refused() {
    let home = Home::new();
    home.tools.fence(&grant(7));
    assert!(home.run(write(1, 7, "first")).await.ok);
    home.tools.fence(&grant(9));
    let late = home.run(write(2, 7, "late")).await;
    assert!(!late.ok);
    assert!(
        late.text.contains("the lock file:workspaces/coder-001/a.md was lost: it was given to another"),
        "{}",
        late.text
    );
    assert_eq!(home.read("workspaces/coder-001/a.md"), "first");
    assert!(home.run(write(3, 9, "second")).await.ok, "who has it now writes");
    assert_eq!(home.read("workspaces/coder-001/a.md"), "second");
    let folder = Act::CreateDirectory(CreateDirectory { path: "workspaces/coder-001/x".to_owned() });
    assert!(!home.run(Order { locks: vec![grant(7)], ..order(4, "coder-001", folder) }).await.ok);
    let left = std::fs::read_dir(home.path("workspaces/coder-001")).unwrap();
    let left: Vec<String> = left.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.contains("synod-write")), "nothing is left aside: {left:?}");
}
