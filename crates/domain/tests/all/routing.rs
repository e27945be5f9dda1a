//! Who gets what: a row for each rule, for each way past it, and for each tie.

use domain::agent;
use domain::id::{AgentId, TaskId};
use domain::input::FileInput;
use domain::input::Input;
use domain::route;
use domain::route::{Tried, explain};
use domain::settings::Routing;
use domain::task::{Mark, Spec};

use crate::home::Home;

/// An agent in one line: `id role priority responsibilities…`; a leading `-` means that its file is gone.
fn hire(home: &mut Home, line: &str) {
    let mut words = line.trim_start_matches('-').split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (id, role, priority) = (AgentId::new(word()), word().to_owned(), word().parse().unwrap());
    let mut spec = agent::Spec::new(id.clone(), role, "m");
    spec.priority = priority;
    spec.responsibilities = words.map(str::to_owned).collect();
    home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
    if line.starts_with('-') {
        home.give(Input::File(FileInput::AgentGone(id)));
    }
}

fn tags(rules: &[(&str, &str)]) -> Vec<(String, AgentId)> {
    rules.iter().map(|(pattern, agent)| ((*pattern).to_owned(), AgentId::new(*agent))).collect()
}

struct Row {
    rule: &'static str,
    agents: &'static [&'static str],
    tags: &'static [(&'static str, &'static str)],
    fallback: Option<&'static str>,
    /// The title, with its tags behind `#`.
    task: &'static str,
    chosen: Option<(&'static str, &'static str)>,
}

const TEAM: &[&str] = &["p planner 50", "c coder 50 code:*", "r reviewer 50", "x executor 50 ops:* code:*"];

const ROWS: &[Row] = &[
    Row {
        rule: "a rule beats a responsibility, and the first that is written wins, not the longest",
        agents: TEAM,
        tags: &[("code:*", "x"), ("code:rust", "r")],
        fallback: None,
        task: "Plan it #code:rust",
        chosen: Some(("x", "routing.tags has code:*")),
    },
    Row {
        rule: "a rule for somebody who is gone is passed over",
        agents: &["-x executor 50", "r reviewer 50"],
        tags: &[("code:*", "x"), ("code:*", "y"), ("*", "r")],
        fallback: None,
        task: "Something #code:rust",
        chosen: Some(("r", "routing.tags has *")),
    },
    Row {
        rule: "two are responsible: the id that comes first",
        agents: TEAM,
        tags: &[],
        fallback: None,
        task: "Something #code:rust",
        chosen: Some(("c", "it is responsible for code:*")),
    },
    Row {
        rule: "two are responsible: the lower priority before the id",
        agents: &["c coder 50 code:*", "x executor 10 ops:* code:*"],
        tags: &[],
        fallback: None,
        task: "Something #code:rust",
        chosen: Some(("x", "it is responsible for code:*")),
    },
    Row {
        rule: "who is gone is responsible for nothing",
        agents: &["-c coder 10 code:*", "x executor 50 code:*"],
        tags: &[],
        fallback: None,
        task: "Something #code:rust",
        chosen: Some(("x", "it is responsible for code:*")),
    },
    Row {
        rule: "a responsibility beats words",
        agents: TEAM,
        tags: &[],
        fallback: None,
        task: "Review the design #ops:disk",
        chosen: Some(("x", "it is responsible for ops:*")),
    },
    Row {
        rule: "words of planning",
        agents: TEAM,
        tags: &[],
        fallback: None,
        task: "Outline the move",
        chosen: Some(("p", "`outline` is a word of planning")),
    },
    Row {
        rule: "words of coding",
        agents: TEAM,
        tags: &[],
        fallback: None,
        task: "Please FIX, today, the login",
        chosen: Some(("c", "`fix` is a word of coding")),
    },
    Row {
        rule: "words of review",
        agents: TEAM,
        tags: &[],
        fallback: None,
        task: "Somebody validates the numbers",
        chosen: Some(("r", "`validates` is a word of review")),
    },
    Row {
        rule: "words of two classes: planning before coding before review, wherever they stand",
        agents: TEAM,
        tags: &[],
        fallback: None,
        task: "Review the code of the plan",
        chosen: Some(("p", "`plan` is a word of planning")),
    },
    Row {
        rule: "a class that nobody has is passed over",
        agents: &["r reviewer 50", "x executor 50"],
        tags: &[],
        fallback: Some("x"),
        task: "Review the code of the plan",
        chosen: Some(("r", "`review` is a word of review")),
    },
    Row {
        rule: "two have the role: the lower priority",
        agents: &["c1 coder 50", "c2 coder 20"],
        tags: &[],
        fallback: None,
        task: "Fix it",
        chosen: Some(("c2", "`fix` is a word of coding")),
    },
    Row {
        rule: "a word is a whole word: the rest goes to the planner",
        agents: TEAM,
        tags: &[],
        fallback: Some("x"),
        task: "Explain the decoder, the airplanes and the latest prefixes",
        chosen: Some(("p", "the planner gets what nobody else does")),
    },
    Row {
        rule: "without a planner, the fallback",
        agents: &["c coder 50", "x executor 50"],
        tags: &[],
        fallback: Some("x"),
        task: "Something",
        chosen: Some(("x", "routing.fallback")),
    },
    Row {
        rule: "a fallback that is gone is nobody",
        agents: &["-x executor 50", "c coder 50"],
        tags: &[],
        fallback: Some("x"),
        task: "Something",
        chosen: None,
    },
    Row {
        rule: "nobody",
        agents: &["c coder 50 code:*"],
        tags: &[("ops:*", "c")],
        fallback: None,
        task: "Something #slack:message",
        chosen: None,
    },
];

fn spec(task: &str) -> Spec {
    let mut parts = task.split(" #");
    let mut spec = Spec::new(TaskId::new("t"), "tasks/x.task.md", parts.next().unwrap());
    spec.tags = parts.map(str::to_owned).collect();
    spec
}

#[test]
fn each_rule_has_its_place() {
    for row in ROWS {
        let mut home = Home::with(
            &[],
            |settings| {
                settings.routing.tags = tags(row.tags);
                settings.routing.fallback = row.fallback.map(AgentId::new);
            },
            |_| {},
        );
        row.agents.iter().for_each(|line| hire(&mut home, line));
        let chosen = route(&home.state, &spec(row.task), None);
        let expected = row.chosen.map(|(agent, why)| (AgentId::new(agent), why.to_owned()));
        assert_eq!(chosen, expected, "{}", row.rule);
        let (explained, tried) = explain(&home.state, &spec(row.task), None);
        assert_eq!(explained, expected, "{}: the explanation is of what is done", row.rule);
        let deciding: Vec<&Tried> = tried.iter().filter(|tried| tried.fits).collect();
        let last = tried.last().filter(|tried| tried.fits);
        assert_eq!(deciding, last.into_iter().collect::<Vec<_>>(), "{}: the last one decides", row.rule);
    }
}

#[test]
fn a_named_assignee_and_an_inbox_come_before_all_rules() {
    let mut home = Home::with(
        &[],
        |settings| {
            settings.routing.tags = tags(&[("*", "c")]);
            settings.routing.inbox = [("slack".to_owned(), AgentId::new("r"))].into();
        },
        |_| {},
    );
    TEAM.iter().for_each(|line| hire(&mut home, line));
    let asked = spec("Fix it #code:rust");
    let chosen = |spec: &Spec, inbox| route(&home.state, spec, inbox).unwrap().0;
    assert_eq!(chosen(&asked, None).as_str(), "c");
    assert_eq!(chosen(&asked, Some("mail")).as_str(), "c", "nothing is set for it");
    assert_eq!(chosen(&asked, Some("slack")).as_str(), "r");
    let named = Spec { assignee: Some(AgentId::new("nobody")), ..asked };
    assert_eq!(chosen(&named, Some("slack")).as_str(), "nobody", "who named it is told, not passed over");
}

#[test]
fn words_can_be_turned_off() {
    let mut home = Home::with(&[], |settings| settings.routing.keywords = false, |_| {});
    TEAM.iter().for_each(|line| hire(&mut home, line));
    let (chosen, tried) = explain(&home.state, &spec("Fix it"), None);
    assert_eq!(chosen.unwrap().1, "the planner gets what nobody else does");
    assert!(tried.iter().any(|tried| tried.why == "routing.keywords is false"), "{tried:?}");
    let old: Routing = serde_json::from_str(r#"{"inbox":{},"tags":[],"fallback":null}"#).unwrap();
    assert_eq!(old, Routing::default(), "what an old journal has means what it meant for a new one");
}

#[test]
fn the_planner_can_be_named_and_one_that_is_gone_is_passed_over() {
    for (named, chosen) in
        [("x", ("x", "routing.planner")), ("gone", ("p", "the planner gets what nobody else does"))]
    {
        let mut home =
            Home::with(&[], |settings| settings.routing.planner = Some(AgentId::new(named)), |_| {});
        TEAM.iter().for_each(|line| hire(&mut home, line));
        let (found, tried) = explain(&home.state, &spec("Greet people"), None);
        assert_eq!(found, Some((AgentId::new(chosen.0), chosen.1.to_owned())));
        assert!(tried.iter().any(|tried| tried.rule == "routing.planner"), "{tried:?}");
        assert_eq!(route(&home.state, &spec("Fix it"), None).unwrap().0.as_str(), "c", "words come first");
    }
}

#[test]
fn what_nobody_took_is_taken_when_the_settings_an_agent_or_its_file_change() {
    let read = |title: &str| {
        let spec = Spec { id: TaskId::new("t-1"), ..spec(title) };
        Input::File(FileInput::TaskRead { spec: Box::new(spec), mark: Mark::Open, result: String::new() })
    };
    let begun = || {
        let mut home = Home::new(&[]);
        hire(&mut home, "x executor 50 ops:*");
        home.give(read("Greet people"));
        assert_eq!(home.state.work.tasks[&TaskId::new("t-1")].spec.assignee, None);
        home
    };
    let taken_by = |home: &Home| {
        let task = &home.state.work.tasks[&TaskId::new("t-1")];
        assert!(task.session().is_some(), "and it begins");
        task.spec.assignee.clone().unwrap().to_string()
    };

    let mut home = begun();
    let mut settings = home.state.config.settings.clone();
    settings.routing.fallback = Some(AgentId::new("x"));
    home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
    assert_eq!(taken_by(&home), "x");

    let mut home = begun();
    hire(&mut home, "p planner 50");
    assert_eq!(taken_by(&home), "p");

    let mut home = begun();
    home.give(read("Greet people #ops:door"));
    assert_eq!(taken_by(&home), "x");

    // Who is taken off a task that has begun makes room for who takes it by the rules.
    let named = Spec { id: TaskId::new("t-1"), assignee: Some(AgentId::new("x")), ..spec("Fix it") };
    let mut home = Home::new(&[]);
    TEAM.iter().for_each(|line| hire(&mut home, line));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(named),
        mark: Mark::Open,
        result: String::new(),
    }));
    assert_eq!(taken_by(&home), "x");
    home.give(read("Fix it"));
    assert_eq!(taken_by(&home), "c");
}
