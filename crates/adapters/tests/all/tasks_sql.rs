//! SQL over task files.

use adapters::tools::tasks_sql::{Cell, QueryError, query};
use domain::tool::{Act, QueryTasks};

use crate::home::Home;

fn home() -> Home {
    let home = Home::new();
    home.write(
        "tasks/disk.task.md",
        "## TODO\n\n- [ ] A @executor-001 #docker #ops \"Check the disk\"\n  id: task-001\n  tag: ops:check\n  color: red\n\
         \x20 - [x] Look\n    id: task-002\n    result: full\n- [/] B Write it down\n  id: task-003\n  depends_on: task-001, task-002\n\
         \x20 approval_required: true\n",
    )
    .write("tasks/other.task.md", "- [ ] Without an id\n")
    .write("tasks/notes.md", "- [ ] Not a task file\n  id: task-009\n");
    home
}

fn ask(home: &Home, sql: &str) -> Result<Vec<Vec<Cell>>, QueryError> {
    query(&home.path("."), sql).map(|table| table.rows)
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn every_column_can_be_asked_for() {
    let home = home();
    let table = query(&home.path("."), "SELECT * FROM tasks WHERE id = 'task-001'").unwrap();
    let expected = [
        ("id", text("task-001")),
        ("file", text("tasks/disk.task.md")),
        ("line", Cell::Integer(3)),
        ("title", text("Check the disk")),
        ("mark", text("open")),
        ("priority", text("A")),
        ("assignee", text("executor-001")),
        ("tag", text("ops:check")),
        ("tags", text("docker, ops")),
        ("parent", Cell::Null),
        ("depends_on", Cell::Null),
        ("text", Cell::Null),
        ("result", Cell::Null),
        ("approval_required", Cell::Integer(0)),
    ];
    assert_eq!(table.columns, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert_eq!(table.rows, [expected.map(|(_, cell)| cell)]);
    assert_eq!(
        ask(&home, "SELECT id, parent, result, mark FROM tasks WHERE parent IS NOT NULL"),
        Ok(vec![vec![text("task-002"), text("task-001"), text("full"), text("done")]])
    );
    assert_eq!(
        ask(&home, "SELECT count(*), count(id) FROM tasks"),
        Ok(vec![vec![Cell::Integer(4), Cell::Integer(3)]])
    );
    assert_eq!(
        ask(&home, "SELECT on_task FROM depends WHERE task = 'task-003' ORDER BY 1"),
        Ok(vec![vec![text("task-001")], vec![text("task-002")]])
    );
    assert_eq!(ask(&home, "SELECT value FROM properties WHERE key = 'color'"), Ok(vec![vec![text("red")]]));
}

#[tokio::test]
async fn an_agent_sees_a_small_table() {
    let home = home();
    let act = Act::QueryTasks(QueryTasks {
        sql: "SELECT id, mark FROM tasks WHERE id > 'task-001' ORDER BY id".to_owned(),
    });
    assert_eq!(home.done(act).await, "id | mark\ntask-002 | done\ntask-003 | running\n[2 rows]");
    let act = Act::QueryTasks(QueryTasks { sql: "SELECT 'a' || char(10) || 'b' AS x, NULL AS y".to_owned() });
    assert_eq!(home.done(act).await, "x | y\na\\nb | \n[1 row]");
    let act = Act::QueryTasks(QueryTasks { sql: "SELECT absent FROM tasks".to_owned() });
    assert_eq!(home.failed(act).await, "the SQL does not work: no such column: absent");
}

#[test]
fn a_question_only_looks() {
    let home = home();
    let other = home.path("other.db").display().to_string();
    for sql in [
        "DELETE FROM tasks",
        "UPDATE tasks SET mark = 'done'",
        "INSERT INTO tasks (id) VALUES ('x')",
        "DROP TABLE tasks",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "SELECT 1; DELETE FROM tasks",
        "SELECT 1; SELECT 2",
        &format!("ATTACH '{other}' AS other"),
        &format!("VACUUM INTO '{other}'"),
        "PRAGMA query_only = 0",
        "PRAGMA user_version",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
        "BEGIN",
        "EXPLAIN DELETE FROM tasks",
        "WITH a AS (SELECT 1) DELETE FROM tasks",
        "",
        "-- nothing",
    ] {
        assert!(ask(&home, sql).is_err(), "{sql}");
    }
    assert!(!home.path("other.db").exists());
    assert!(ask(&home, "WITH a AS (SELECT id FROM tasks) SELECT * FROM a;").is_ok());
    assert!(ask(&home, "SELECT 1; -- and no more").is_ok());
}

#[test]
fn an_endless_question_and_a_huge_answer_end() {
    let home = home();
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) ";
    assert_eq!(ask(&home, &format!("{endless} SELECT count(*) FROM c")), Err(QueryError::TooLong));
    let table = query(&home.path("."), &format!("{endless} SELECT x FROM c")).unwrap();
    assert_eq!((table.rows.len(), table.is_cut), (1_000, true));
    assert!(matches!(ask(&home, "SELECT zeroblob(100000000)"), Err(QueryError::Sql { .. })));
    assert!(matches!(ask(&home, "SELECT printf('%100000000d', 1)"), Err(QueryError::Sql { .. }) | Ok(_)));
}

#[test]
fn a_home_without_tasks_has_none() {
    let home = Home::new();
    assert_eq!(ask(&home, "SELECT * FROM tasks"), Ok(vec![]));
}
