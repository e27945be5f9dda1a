//! Task files: what is read, that nothing is lost, and that an edit changes its own bytes only.

use domain::id::{AgentId, TaskId};
use domain::task::{Mark, Priority, Spec};
use formats::task::TaskFile;
use proptest::prelude::*;

use crate::golden::text;

fn parse(text: &str) -> TaskFile {
    let (file, diagnostics) = TaskFile::parse("tasks/t.task.md", text);
    assert_eq!(diagnostics, [], "{text}");
    file
}

fn messages(text: &str) -> Vec<String> {
    let (_, diagnostics) = TaskFile::parse("tasks/t.task.md", text);
    diagnostics.iter().map(|d| format!("{}:{} {}", d.line, d.column, d.message)).collect()
}

#[test]
fn the_example_is_read_whole() {
    let file = parse(&text("home/tasks/redis.task.md"));
    let specs: Vec<Spec> =
        (0..file.tasks().len()).filter_map(|i| file.spec(i, TaskId::new("none"))).collect();
    let task = |id: &str, title: &str, priority, assignee: &str| {
        let mut spec = Spec::new(TaskId::new(id), "tasks/t.task.md", title);
        spec.priority = Some(priority);
        spec.assignee = Some(AgentId::new(assignee));
        spec
    };
    let mut one = task("task-001", "Plan the look at Redis", Priority::A, "planner-001");
    one.tags = vec!["redis".to_owned()];
    one.properties.insert("created".to_owned(), "2025-10-04T10:00:00Z".to_owned());
    one.properties.insert("completed".to_owned(), "2025-10-04T10:05:00Z".to_owned());
    let mut two = task("task-002", "Find the container runtime", Priority::B, "executor-001");
    two.tags = vec!["system".to_owned()];
    two.parent = Some(TaskId::new("task-001"));
    two.properties.insert("assigned".to_owned(), "2025-10-04T10:05:00Z".to_owned());
    let mut three = task("task-003", "Look at the container", Priority::C, "executor-001");
    three.tags = vec!["docker".to_owned()];
    three.parent = Some(TaskId::new("task-001"));
    three.depends_on = vec![TaskId::new("task-002")];
    three.approval_required = true;
    let mut four = task("task-004", "Say whether it is good", Priority::A, "human");
    four.depends_on = vec![TaskId::new("task-003")];
    assert_eq!(specs, [one, two, three, four]);
    assert_eq!(file.tasks()[0].mark, Mark::Done);
    assert_eq!(file.tasks().iter().map(|t| t.parent).collect::<Vec<_>>(), [None, Some(0), Some(0), None]);
}

#[test]
fn lines_are_read_as_people_type_them() {
    let title = |line: &str| {
        let file = parse(line);
        let item = &file.tasks()[0];
        (
            item.title.clone(),
            item.priority.map(Priority::letter),
            item.assignee.clone().map(|a| a.to_string()),
            item.tags.len(),
        )
    };
    for (line, name, letter, agent, tags) in [
        ("- [ ] plain words", "plain words", None, None, 0),
        ("* [x] #a @b C \"q\"", "q", Some('C'), Some("b"), 1),
        ("+ [\u{a0}] A", "A", None, None, 0),
        ("- [ ] A B", "B", Some('A'), None, 0),
        ("- [ ] I want it", "I want it", None, None, 0),
        ("\u{feff}- [X] `a \"b\"`\r", "a \"b\"", None, None, 0),
        ("\t- [/]\tA\t@x\t`tabs`", "tabs", Some('A'), Some("x"), 0),
        ("- [ ] \"a \\\"b\\\" c\"", "a \"b\" c", None, None, 0),
        ("- [ ] \"one\" and \"two\"", "\"one\" and \"two\"", None, None, 0),
        ("- [ ] \"one\" #t @x", "one", None, Some("x"), 1),
        ("- [ ] \"not closed", "\"not closed", None, None, 0),
        ("- [ ] write to a@b.c # not a tag", "write to a@b.c # not a tag", None, None, 0),
    ] {
        assert_eq!(title(line), (name.to_owned(), letter, agent.map(str::to_owned), tags), "{line}");
    }
}

#[test]
fn lines_that_are_no_tasks_are_kept_and_not_read() {
    let text = "- a list\n- [a link](x)\n- [r]: x\n~~~\n- [ ] in a fence\n~~~\n<!--\n- [ ] hidden\n-->\n  - key: value\n- [ ] real\n";
    let file = parse(text);
    assert_eq!(file.tasks().iter().map(|t| t.title.as_str()).collect::<Vec<_>>(), ["real"]);
}

#[test]
fn lines_that_only_look_like_tasks_are_named() {
    assert_eq!(
        messages("- [y] a\n- [] b\n- [ ] G @x \"c\"\n- [ ] @X d\n- [ ]\n"),
        [
            "1:3 `[y]` is not a mark",
            "2:3 `[]` is not a mark",
            "3:7 `G` is not a priority",
            "4:7 an id has only a-z, 0-9 and '-' and starts with a letter, \"X\" has 'X'",
            "5:1 the task has no title",
        ]
    );
    assert_eq!(
        messages("- [ ] a\n  id: A\n  approval_required: yes\n  depends_on: [b, C]\n  id: b\n"),
        [
            "2:7 an id has only a-z, 0-9 and '-' and starts with a letter, \"A\" has 'A'",
            "3:22 expected `true` or `false`, found `yes`",
            "4:15 an id has only a-z, 0-9 and '-' and starts with a letter, \"C\" has 'C'",
            "5:3 the property `id` stands here a second time",
        ]
    );
    assert_eq!(
        messages("- [ ] a\n  id: x\n- [ ] b\n  id: x\n"),
        ["4:7 the id `x` is already used in line 1"]
    );
    assert_eq!(messages("- [ ] a\n```\n- [ ] b\n"), ["2:1 the fence is not closed"]);
}

#[test]
fn properties_are_lines_bullets_blocks_and_lists() {
    let file = parse(
        "- [ ] a\n  - tag: x:y\n  description: |\n    one\n\n      two\n  depends_on:\n    - b\n    - c\n  q: 'it''s'\n  - [ ] child\n    id: c\n  late: yes\n",
    );
    let expected = [
        ("tag", "x:y"),
        ("description", "one\n\n  two"),
        ("depends_on", "b, c"),
        ("q", "it''s"),
        ("late", "yes"),
    ];
    let expected: Vec<_> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert_eq!(file.tasks()[0].properties, expected);
    assert_eq!(file.tasks()[1].parent, Some(0));
}

#[test]
fn edits_are_as_small_as_they_can_be() {
    let mut file = parse("# Mine\r\n\r\n* [_] B @a #x  \"T\"\r\n\t- id: t-1\r\n\r\nend");
    file.set_mark(0, Mark::Running);
    file.set_property(0, "id", "t-2");
    file.set_property(0, "result", "one\ntwo");
    file.set_assignee(0, Some(&AgentId::new("bob")));
    file.set_title(0, "U");
    assert_eq!(
        file.text(),
        "# Mine\r\n\r\n* [/] B @bob #x  \"U\"\r\n\t- id: t-2\r\n\t- result: |\r\n\t    one\r\n\t    two\r\n\r\nend"
    );
    file.remove_property(0, "result");
    file.set_assignee(0, None);
    file.set_priority(0, None);
    file.set_tags(0, &["y".to_owned(), "z".to_owned()]);
    assert_eq!(file.text(), "# Mine\r\n\r\n* [/] #y #z  \"U\"\r\n\t- id: t-2\r\n\r\nend");
    file.set_mark(0, Mark::Open);
    file.set_mark(9, Mark::Done);
    assert_eq!(file.text(), "# Mine\r\n\r\n* [ ] #y #z  \"U\"\r\n\t- id: t-2\r\n\r\nend");
}

#[test]
fn tasks_are_added_where_people_would() {
    let (mut file, _) = TaskFile::parse("tasks/new.task.md", "");
    let mut spec = Spec::new(TaskId::new("t-1"), "tasks/new.task.md", "First");
    spec.text = "Long\nwords".to_owned();
    spec.depends_on = vec![TaskId::new("a"), TaskId::new("b")];
    file.add(None, &spec, Mark::Open, &[]);
    let child = Spec::new(TaskId::new("t-2"), "tasks/new.task.md", "Child");
    file.add(Some(0), &child, Mark::Open, &[("created".to_owned(), "now".to_owned())]);
    file.add(Some(0), &Spec::new(TaskId::new("t-3"), "", "Child `two`"), Mark::Done, &[]);
    file.add(None, &Spec::new(TaskId::new("t-4"), "", "Second"), Mark::Open, &[]);
    let expected = "## TODO\n\n- [ ] \"First\"\n  id: t-1\n  depends_on: a, b\n  description: |\n    Long\n    words\n  - [ ] \"Child\"\n    id: t-2\n    created: now\n  - [x] \"Child `two`\"\n    id: t-3\n\n- [ ] \"Second\"\n  id: t-4\n";
    assert_eq!(file.text(), expected);
    assert_eq!(file.tasks().iter().map(|t| t.parent).collect::<Vec<_>>(), [None, Some(0), Some(0), None]);
    file.remove(0);
    assert_eq!(file.text(), "## TODO\n\n- [ ] \"Second\"\n  id: t-4\n");
}

#[test]
fn a_task_goes_below_the_heading_of_a_file_without_tasks() {
    let mut file = parse("# A\n\n## TODO\n\nwords\n");
    file.add(None, &Spec::new(TaskId::new("t"), "", "T"), Mark::Open, &[]);
    assert_eq!(file.text(), "# A\n\n## TODO\n\n- [ ] \"T\"\n  id: t\n\n\nwords\n");
    let mut file = parse("words");
    file.add(None, &Spec::new(TaskId::new("t"), "", "T"), Mark::Open, &[]);
    assert_eq!(file.text(), "words\n\n## TODO\n\n- [ ] \"T\"\n  id: t");
}

#[test]
fn a_task_goes_below_todo_and_not_below_done() {
    let mut file = parse("## TODO\n\n- [ ] a\n- [ ] b\n\n## DONE\n\n- [x] c\n");
    file.add(None, &Spec::new(TaskId::new("t"), "", "T"), Mark::Open, &[]);
    assert_eq!(file.text(), "## TODO\n\n- [ ] a\n- [ ] b\n- [ ] \"T\"\n  id: t\n\n## DONE\n\n- [x] c\n");
    let mut file = parse("## TODO\n\n## DONE\n\n- [x] c\n");
    file.add(None, &Spec::new(TaskId::new("t"), "", "T"), Mark::Open, &[]);
    assert_eq!(file.text(), "## TODO\n\n- [ ] \"T\"\n  id: t\n\n\n## DONE\n\n- [x] c\n");
    let mut file = parse("```\n## TODO\n```\n");
    file.add(None, &Spec::new(TaskId::new("t"), "", "T"), Mark::Open, &[]);
    assert_eq!(file.text(), "```\n## TODO\n```\n\n## TODO\n\n- [ ] \"T\"\n  id: t\n");
}

/// A line as people and programs leave them in task files.
fn any_line() -> impl Strategy<Value = String> {
    let indent = prop_oneof![Just(""), Just("  "), Just("    "), Just("\t"), Just("\u{a0} "), Just("      ")];
    let body = prop_oneof![
        4 => (r"[ _x/?!\-\u{a0}]", r"([A-G] )?(@[a-c]{1,2} )?(#[x-z] )?", r#"("[a-c ]{0,5}"|`[a-c]{1,3}`|[a-c@#"` ]{0,6})"#).prop_map(|(m, t, n)| format!("- [{m}] {t}{n}")),
        3 => ("(- )?(id|tag|parent|depends_on|description|result|k)", ": ?(\\||\\|2|a-1|[a-c \"'|]{0,6})?").prop_map(|(k, v)| format!("{k}{v}")),
        1 => prop_oneof![Just("## TODO"), Just("```"), Just("~~~"), Just("<!-- x -->"), Just("<!--"), Just("- [y] bad"), Just("- [] bad"), Just("- item")].prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => Just(String::new()),
    ];
    (indent, body).prop_map(|(i, b)| format!("{i}{b}"))
}

pub(crate) fn any_file() -> impl Strategy<Value = String> {
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    let line = (any_line(), end).prop_map(|(l, e)| l + e);
    (
        any::<bool>(),
        prop::collection::vec(line, 0..20),
        prop_oneof![3 => Just(String::new()), 1 => any_line()],
    )
        .prop_map(|(bom, lines, last)| {
            format!("{}{}{last}", if bom { "\u{feff}" } else { "" }, lines.concat())
        })
}

/// Everything of a task that an edit elsewhere must not touch.
fn rest(file: &TaskFile, skip: usize) -> Vec<String> {
    let items = file.tasks().iter().enumerate().filter(|(i, _)| *i != skip);
    items
        .map(|(_, t)| {
            format!(
                "{:?} {} {:?} {:?} {:?} {:?} {:?}",
                t.mark, t.title, t.priority, t.assignee, t.tags, t.properties, t.parent
            )
        })
        .collect()
}

/// Checks that `after` is `before` with one run of bytes changed, and that the run lies within the task's lines.
fn same_around(before: &str, after: &str, span: std::ops::Range<usize>) -> Result<(), TestCaseError> {
    prop_assert!(after.starts_with(&before[..span.start]), "before the task:\n{before:?}\n{after:?}");
    prop_assert!(after.ends_with(&before[span.end..]), "behind the task:\n{before:?}\n{after:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_global_rejects: 1 << 20, ..ProptestConfig::default() })]

    #[test]
    fn printing_what_was_parsed_is_the_identity(text in any_file()) {
        let (file, _) = TaskFile::parse("tasks/t.task.md", &text);
        prop_assert_eq!(file.text(), &text);
        for item in file.tasks() {
            prop_assert!(text.get(item.span.clone()).is_some());
            prop_assert!(text.get(item.parts.title.clone()).is_some());
        }
    }

    #[test]
    fn a_mark_changes_its_box_only(text in any_file(), pick in any::<prop::sample::Index>(), to in 0..6_usize) {
        let (mut file, _) = TaskFile::parse("tasks/t.task.md", &text);
        prop_assume!(!file.tasks().is_empty());
        let index = pick.index(file.tasks().len());
        let (span, others) = (file.tasks()[index].parts.mark.clone(), rest(&file, index));
        file.set_mark(index, Mark::ALL[to]);
        same_around(&text, file.text(), span)?;
        prop_assert_eq!(file.tasks()[index].mark, Mark::ALL[to]);
        prop_assert_eq!(rest(&file, index), others);
    }

    #[test]
    fn a_property_changes_its_own_lines_only(text in any_file(), pick in any::<prop::sample::Index>(), key in "(result|id|k|description)", value in "(\\PC|[ \t\n\"'|]){0,20}") {
        let (mut file, _) = TaskFile::parse("tasks/t.task.md", &text);
        prop_assume!(!file.tasks().is_empty());
        let index = pick.index(file.tasks().len());
        let before = file.tasks()[index].clone();
        let (end, others) = (before.parts.subtree_end, rest(&file, index));
        file.set_property(index, &key, &value);
        same_around(&text, file.text(), before.span.start..end)?;
        prop_assert_eq!(&rest(&file, index), &others);
        let after = &file.tasks()[index];
        let normal = normal(&value);
        prop_assert_eq!(after.property(&key), Some(normal.as_str()), "{:?}\n{:?}", text, file.text());
        let changed = |i: &formats::task::TaskItem| i.properties.iter().filter(|(k, _)| *k != key).cloned().collect::<Vec<_>>();
        prop_assert_eq!(changed(after), changed(&before));
        prop_assert_eq!((&after.title, after.mark), (&before.title, before.mark));
        file.remove_property(index, &key);
        prop_assert_eq!(rest(&file, index), others);
    }

    #[test]
    fn the_first_line_changes_by_its_parts(text in any_file(), pick in any::<prop::sample::Index>(), title in "(\\PC|[\"` \\\\]){0,12}", letter in prop::option::of(0..6_usize), agent in prop::option::of("[a-z]{1,3}"), tags in prop::collection::vec("[a-z#]{0,3}", 0..3)) {
        let (mut file, diagnostics) = TaskFile::parse("tasks/t.task.md", &text);
        prop_assume!(!file.tasks().is_empty() && !diagnostics.iter().any(|d| d.message.contains("second") || d.message.contains("not a priority")));
        let index = pick.index(file.tasks().len());
        let (span, others) = (file.tasks()[index].parts.head.clone(), rest(&file, index));
        let properties = file.tasks()[index].properties.clone();
        let priority = letter.map(|l| [Priority::A, Priority::B, Priority::C, Priority::D, Priority::E, Priority::F][l]);
        let agent = agent.map(AgentId::new);
        let old_title = file.tasks()[index].title.clone();
        file.set_priority(index, priority);
        prop_assert_eq!(&file.tasks()[index].title, &old_title, "priority {:?} {:?}", text, file.text());
        file.set_assignee(index, agent.as_ref());
        prop_assert_eq!(&file.tasks()[index].title, &old_title, "assignee {:?} {:?}", text, file.text());
        file.set_tags(index, &tags);
        prop_assert_eq!(&file.tasks()[index].title, &old_title, "tags {:?} {:?}", text, file.text());
        file.set_title(index, &title);
        same_around(&text, file.text(), span)?;
        let item = &file.tasks()[index];
        let tags: Vec<String> = tags.iter().map(|t| t.trim_start_matches('#').to_owned()).filter(|t| !t.is_empty()).collect();
        prop_assert_eq!((item.priority, &item.assignee, &item.tags), (priority, &agent, &tags), "{:?}\n{:?}", text, file.text());
        prop_assert_eq!(item.title.as_str(), title.trim(), "{:?}\n{:?}", text, file.text());
        prop_assert_eq!(&item.properties, &properties);
        prop_assert_eq!(rest(&file, index), others);
    }

    #[test]
    fn many_added_at_once_are_as_if_added_one_by_one(text in any_file(), words in prop::collection::vec("\\PC{1,8}", 0..6)) {
        let (mut at_once, _) = TaskFile::parse("tasks/t.task.md", &text);
        let mut one_by_one = at_once.clone();
        let specs: Vec<Spec> = words
            .iter()
            .enumerate()
            .map(|(n, words)| Spec::new(TaskId::new(format!("new-{n}")), "tasks/t.task.md", words.trim()))
            .collect();
        let new = |task| formats::task::New { task, mark: Mark::Open, extra: vec![("created".to_owned(), "now".to_owned())] };
        at_once.add_all(&specs.iter().map(new).collect::<Vec<_>>());
        for spec in &specs {
            one_by_one.add(None, spec, Mark::Open, &[("created".to_owned(), "now".to_owned())]);
        }
        prop_assert_eq!(at_once.text(), one_by_one.text());
        prop_assert_eq!(at_once.tasks(), one_by_one.tasks());
    }

    #[test]
    fn edits_of_many_tasks_come_to_the_same_as_one_by_one(text in any_file(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4, "(\\PC|\n){0,9}"), 2..12)) {
        let (mut at_once, _) = TaskFile::parse("tasks/t.task.md", &text);
        let mut one_by_one = at_once.clone();
        let ids: Vec<TaskId> = at_once.tasks().iter().filter_map(|item| item.id.clone()).collect();
        if ids.is_empty() { return Ok(()) }
        let edits: Vec<_> = edits.iter().map(|(at, kind, words)| {
            let id = at.get(&ids);
            (id, (id, *kind, words.as_str()))
        }).collect();
        let edit = |file: &mut TaskFile, (id, kind, words): &(&TaskId, i32, &str)| {
            let Some(at) = file.find(id) else { return };
            match kind {
                0 => file.set_mark(at, Mark::Done),
                1 => file.set_property(at, "result", words),
                2 => file.set_property(at, "started", "now"),
                _ => file.remove_property(at, "result"),
            }
        };
        at_once.edit_each(&edits, edit);
        edits.iter().for_each(|(_, what)| edit(&mut one_by_one, what));
        prop_assert_eq!(at_once.text(), one_by_one.text());
        prop_assert_eq!(at_once.tasks(), one_by_one.tasks());
    }

    #[test]
    fn an_added_task_is_read_back_and_others_stay(text in any_file(), title in "\\PC{1,12}", words in "(\\PC|\n){0,12}", below in prop::option::of(any::<prop::sample::Index>())) {
        let (mut file, diagnostics) = TaskFile::parse("tasks/t.task.md", &text);
        let open = diagnostics.iter().any(|d| d.message.contains("not closed"));
        let parent = below.filter(|_| !file.tasks().is_empty()).map(|b| b.index(file.tasks().len()));
        let mut spec = Spec::new(TaskId::new("new-1"), "tasks/t.task.md", title.trim());
        spec.text = normal(&words);
        spec.tags = vec!["t".to_owned()];
        let count = file.tasks().len();
        let parent_id = parent.and_then(|p| file.tasks()[p].id.clone());
        file.add(parent, &spec, Mark::Open, &[]);
        // Above an open fence, what stands around a task may become a part of it.
        prop_assert!(file.find(&spec.id).is_some());
        if open { return Ok(()) }
        prop_assert_eq!(file.tasks().len(), count + 1, "{:?}\n{:?}", text, file.text());
        let at = file.find(&TaskId::new("new-1")).unwrap();
        prop_assert_eq!(file.tasks()[at].parent, parent);
        spec.parent = parent_id;
        prop_assert!(file.spec(at, TaskId::new("x")).unwrap() == spec, "{:?}\n{:?}", text, file.text());
        if title.trim().is_empty() { return Ok(()) }
        file.remove(at);
        prop_assert_eq!(file.tasks().len(), count);
    }
}

/// The document's own rule: one kind of line end, no blank lines at the end.
fn normal(value: &str) -> String {
    let value = value.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = value.split('\n').collect();
    while lines.len() > 1 && lines.last().is_some_and(|l| l.trim().is_empty()) {
        lines.pop();
    }
    if lines.iter().all(|l| l.trim().is_empty()) && value.contains('\n') {
        String::new()
    } else {
        lines.join("\n")
    }
}

#[test]
fn a_part_for_which_there_is_no_place_below_its_task_goes_to_the_top() {
    let text = "- [ ] \"\"\n- [x] \"\"\n  id:\n      - [x] \"\"\n  ```\n";
    let mut file = TaskFile::parse("tasks/t.task.md", text).0;
    let mut spec = Spec::new(TaskId::new("new-1"), "tasks/t.task.md", "new");
    spec.text = "A".to_owned();
    let before = file.tasks().len();
    file.add(Some(1), &spec, Mark::Open, &[]);
    assert!(file.find(&spec.id).is_some() && file.tasks().len() > before, "{}", file.text());
}
