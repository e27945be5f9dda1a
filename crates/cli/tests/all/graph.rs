//! Waits as people meet them: tasks that wait for each other in files, while the team runs and while it does not.

use crate::budget;
use crate::home::Home;
use crate::team::{Team, until_so};

const SCRIPT: &str = "rules:\n  - text: Fine.\n";

fn task(id: &str, on: &str) -> String {
    format!("- [ ] \"Do {id}\" @worker-1\n  - id: {id}\n  - depends_on: {on}\n")
}

#[test]
fn an_edit_that_closes_a_cycle_is_told_with_its_place_and_named_in_status() {
    let team = Team::scripted(SCRIPT);
    let up = team.up();
    team.write("tasks/a.task.md", task("task-a", "task-b"));
    until_so("it is taken", || team.fine(&["status"]).contains("task-a"));
    team.write("tasks/b.task.md", task("task-b", "task-a"));
    let told = "the tasks wait for each other: task-b → task-a → task-b";
    until_so("it is told", || up.stderr().contains(told) && up.stderr().contains("tasks/b.task.md:3:17"));
    let status = team.fine(&["status", "--json"]);
    assert!(status.contains("waits for itself: task-a → task-b → task-a"), "{status}");
    team.write("tasks/b.task.md", "- [ ] \"Do task-b\" @worker-1\n  - id: task-b\n");
    until_so("both are done", || team.fine(&["status", "--json"]).contains("\"done\":2"));
    up.stop();
    team.is_in_order();
}

#[test]
fn the_graph_has_what_is_open_and_what_each_waits_for() {
    let home = Home::fine();
    let ran = home.run(&["graph"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(
        ran.stdout.starts_with(
            "[/] task-001 @planner-001  Is there enough space for the backup?\n      waits for task-002, task-003\n  \
             [?] task-002 @executor-001  Look at the disk\n        waits for you: approval-0001\n"
        ),
        "{}",
        ran.stdout
    );
    let value = home.json(&["graph"]);
    let waits: Vec<String> = value["waits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| {
            format!(
                "{} {} {}",
                w["from"].as_str().unwrap(),
                w["why"].as_str().unwrap(),
                w["to"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        waits,
        [
            "task-001 part task-002",
            "task-001 part task-003",
            "task-003 dependency task-002",
            "task-002 approval approval-0001"
        ]
    );
    assert_eq!(home.run(&["graph", "--format", "json"]).stdout, home.run(&["graph", "--json"]).stdout);
}

#[test]
fn titles_do_not_break_the_dot_file_or_the_picture_and_boxes_do_not_overlap() {
    let home = Home::empty().write(
        "tasks/x.task.md",
        "- [ ] \"A <b> & c\"\n  - id: a\n  - depends_on: b, gone\n- [ ] \"B\\\\\"\n  - id: b\n  - depends_on: a\n- [ ] \"C\"\n  - id: c\n",
    );
    let dot = home.run(&["graph", "--format", "dot"]).stdout;
    assert!(dot.starts_with("digraph waits {\n") && dot.ends_with("}\n"), "{dot}");
    assert!(dot.contains("  \"a\" -> \"b\" [label=\"dependency\"];\n  \"a\" -> \"gone\""), "{dot}");
    let svg = home.run(&["graph", "--format", "svg"]).stdout;
    assert!(svg.contains("A &lt;b&gt; &amp; c") && !svg.contains("<b>"), "{svg}");
    let number = |line: &str, key: &str| -> i64 {
        line.split(&format!(" {key}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let boxes: Vec<(i64, i64, i64, i64)> = svg
        .lines()
        .filter(|line| line.starts_with("<rect x="))
        .map(|line| (number(line, "x"), number(line, "y"), number(line, "width"), number(line, "height")))
        .collect();
    assert_eq!(boxes.len(), 4, "{svg}");
    for (n, a) in boxes.iter().enumerate() {
        for b in &boxes[..n] {
            let apart = a.0 >= b.0 + b.2 || b.0 >= a.0 + a.2 || a.1 >= b.1 + b.3 || b.1 >= a.1 + a.3;
            assert!(apart, "{a:?} {b:?}");
        }
    }
}

/// Who waits for what, as `from why to`.
fn waits(team: &Team) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(&team.fine(&["graph", "--json"])).unwrap();
    let word = |wait: &serde_json::Value, key: &str| wait[key].as_str().unwrap().to_owned();
    let all = value["waits"].as_array().unwrap().iter();
    all.map(|w| format!("{} {} {}", word(w, "from"), word(w, "why"), word(w, "to"))).collect()
}

/// What must be seen of two tasks that wait for a budget, and of the question about it.
fn budget_is_drawn(team: &Team) {
    let all =
        ["task-001 window budgets.day", "task-002 window budgets.day", "budgets.day approval approval-0001"];
    let drawn = waits(team);
    assert_eq!(drawn.len(), all.len(), "{drawn:?}");
    all.iter().for_each(|wait| assert!(drawn.contains(&(*wait).to_owned()), "{wait}: {drawn:?}"));
    let text = team.fine(&["graph"]);
    assert!(text.contains("waits for budgets.day to have room, for which approval-0001 asks you"), "{text}");
    assert!(!text.contains("ready") && !text.contains("slot"), "{text}");
    assert!(team.fine(&["graph", "--format", "dot"]).contains("\"budgets.day\" -> \"approval-0001\""));
    for args in [&["status", "--json"][..], &["task", "list", "--json"], &["task", "show", "task-001"]] {
        let said = team.fine(args);
        let words = format!("budgets.day: of {} tokens", budget::cap(team));
        assert!(said.contains(&words) && said.contains("; approval-0001 asks you"), "{said}");
        assert!(!said.contains("ready"), "{said}");
    }
}

#[test]
fn a_wait_for_a_budget_and_for_the_answer_about_it_are_drawn_with_and_without_a_daemon() {
    let team = budget::waiting();
    budget_is_drawn(&team);
    let up = team.up();
    until_so("it has looked", || team.fine(&["status"]).contains("with nothing to do"));
    budget_is_drawn(&team);
    up.stop();
}
