//! What every set of tools keeps: every call is read without a panic, and every act has an outcome.

use domain::closed::Closed;
use domain::context::{Access, Pass};
use domain::id::{AgentId, CallId, SessionId, TaskId};
use domain::session::Status;
use domain::task::{Mark, Priority};
use domain::tool::foreign::Offer;
use domain::tool::{
    self, Act, AskAgent, ContextGet, ContextPut, CreateDirectory, CreateTask, Delegate, DeleteFile, EditFile,
    EmailSend, ExecuteCommand, Extract, FinishStatus, FinishTask, GetTask, GitCommit, GitDiff, GitUpdate,
    Grep, Lint, ListAgents, ListDirectory, ListSessions, Lock, MemorySearch, MoveFile, QueryTasks, ReadFile,
    ReadSession, RunTests, SearchFiles, SlackRead, SlackSend, SpawnAgent, Summarize, TerminateAgent, Unlock,
    UpdateTask, Want, WriteFile,
};
use policy::Nature;
use ports::model::RawCall;
use ports::tools::{Order, Outcome, Tools};

use crate::tools::order;

/// The rules of the tools of one home, which must be empty.
pub async fn holds(tools: &dyn Tools) {
    every_tool_is_described_with_a_schema(tools);
    good_arguments_become_acts(tools);
    bad_arguments_become_words_for_the_model(tools);
    a_call_keeps_its_id_or_gets_one(tools);
    what_a_foreign_tool_is_given_is_read_and_without_its_server_it_fails(tools).await;
    what_is_written_can_be_read(tools).await;
    what_is_absent_is_said_to_be(tools).await;
    nothing_leads_out_of_the_home(tools).await;
    what_the_domain_carries_out_is_not_carried_out_here(tools).await;
    a_dropped_act_harms_no_other(tools).await;
    what_is_put_can_be_got(tools).await;
}

fn raw(name: &str, arguments: &str) -> RawCall {
    RawCall { id: "c1".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn every_tool_is_described_with_a_schema(tools: &dyn Tools) {
    let names: Vec<&str> = tool::ALL.iter().map(|facts| facts.name).collect();
    let described = tools.describe(&names);
    let found: Vec<&str> = described.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(found, names, "in the order that was asked for");
    for tool in &described {
        assert!(!tool.description.is_empty(), "{}", tool.name);
        let schema: serde_json::Value = serde_json::from_str(&tool.schema).expect("a schema is JSON");
        assert_eq!(schema["type"], "object", "{}", tool.name);
    }
    assert_eq!(tools.describe(&["no_such_tool"]), []);
    assert_eq!(tools.describe(&["no_such_tool", "read_file"]).len(), 1);
}

/// Arguments that every set of tools takes, with the act they stand for.
pub fn good() -> Vec<(&'static str, &'static str, Act)> {
    let text = str::to_owned;
    vec![
        ("read_file", r#"{"path":"memory/a.md"}"#, Act::read_file("memory/a.md")),
        (
            "read_file",
            r#"{"path":"a","from_line":9,"lines":2}"#,
            Act::ReadFile(ReadFile { path: text("a"), from_line: Some(9), lines: Some(2) }),
        ),
        ("list_directory", r#" {"path": "."} "#, Act::ListDirectory(ListDirectory { path: text(".") })),
        (
            "search_files",
            r#"{"query":"two words"}"#,
            Act::SearchFiles(SearchFiles { query: text("two words"), path: None }),
        ),
        (
            "search_files",
            r#"{"path":"notes","query":"x"}"#,
            Act::SearchFiles(SearchFiles { query: text("x"), path: Some(text("notes")) }),
        ),
        (
            "grep",
            r#"{"pattern":"a|b","glob":"*.rs","context":2}"#,
            Act::Grep(Grep {
                pattern: text("a|b"),
                path: None,
                glob: Some(text("*.rs")),
                context: Some(2),
                count: false,
            }),
        ),
        (
            "write_file",
            r#"{"path":"artifacts/ä.md","content":"one\n"}"#,
            Act::WriteFile(WriteFile { path: text("artifacts/ä.md"), content: text("one\n") }),
        ),
        (
            "edit_file",
            r#"{"path":"a.md","old":"a","new":"b"}"#,
            Act::EditFile(EditFile { path: text("a.md"), old: text("a"), new: text("b"), all: false }),
        ),
        ("delete_file", r#"{"path":"a.md"}"#, Act::DeleteFile(DeleteFile { path: text("a.md") })),
        (
            "move_file",
            r#"{"from":"a.md","to":"b.md"}"#,
            Act::MoveFile(MoveFile { from: text("a.md"), to: text("b.md"), replace: false }),
        ),
        ("create_directory", r#"{"path":"artifacts/x"}"#, Act::CreateDirectory(CreateDirectory { path: text("artifacts/x") })),
        ("execute_command", r#"{"command":"df -h"}"#, Act::ExecuteCommand(ExecuteCommand { command: text("df -h") })),
        ("run_tests", "{}", Act::RunTests(RunTests {})),
        ("lint", "{}", Act::Lint(Lint {})),
        (
            "git_commit",
            r#"{"message":"fix","paths":["src"]}"#,
            Act::GitCommit(GitCommit { message: text("fix"), paths: vec![text("src")] }),
        ),
        ("git_diff", r#"{"against":"main"}"#, Act::GitDiff(GitDiff { path: None, against: Some(text("main")) })),
        ("git_update", r#"{"take_back":true}"#, Act::GitUpdate(GitUpdate { take_back: true })),
        (
            "create_task",
            r#"{"title":"Look","assignee":"retriever-001","depends_on":["task-001"],"priority":"A","tags":["x"]}"#,
            Act::CreateTask(CreateTask {
                title: text("Look"),
                description: String::new(),
                assignee: Some(AgentId::new("retriever-001")),
                depends_on: vec![TaskId::new("task-001")],
                parent: None,
                tags: vec![text("x")],
                tag: None,
                priority: Some(Priority::A),
                approval_required: false,
                done_when: None, with_results: Vec::new(),
            }),
        ),
        (
            "finish_task",
            r#"{"status":"failed","result":"There is no disk"}"#,
            Act::FinishTask(FinishTask { status: FinishStatus::Failed, result: text("There is no disk") }),
        ),
        (
            "update_task",
            r#"{"id":"task-001","status":"done","result":"It is full"}"#,
            Act::UpdateTask(UpdateTask {
                id: TaskId::new("task-001"),
                status: Some(Mark::Done),
                result: Some(text("It is full")),
                title: None,
                assignee: None,
                priority: None, depends_on: None,
            }),
        ),
    ]
    .into_iter()
    .chain(good_words())
    .collect()
}

/// The same for tools that ask, tell and speak.
fn good_words() -> Vec<(&'static str, &'static str, Act)> {
    let text = str::to_owned;
    vec![
        ("query_tasks", r#"{"sql":"SELECT 1"}"#, Act::QueryTasks(QueryTasks { sql: text("SELECT 1") })),
        ("list_agents", "{}", Act::ListAgents(ListAgents {})),
        ("get_task", r#"{"id":"task-001"}"#, Act::GetTask(GetTask { id: TaskId::new("task-001") })),
        (
            "ask_agent",
            r#"{"to":"planner-001","question":"how full?"}"#,
            Act::AskAgent(AskAgent { to: AgentId::new("planner-001"), question: text("how full?") }),
        ),
        (
            "send_message",
            r#"{"to":"planner-001","content":"hello"}"#,
            Act::send_message(AgentId::new("planner-001"), "hello"),
        ),
        (
            "lock",
            r#"{"name":"deploy","wait_ms":0}"#,
            Act::Lock(Lock { name: text("deploy"), wait_ms: Some(0) }),
        ),
        ("unlock", r#"{"name":"deploy"}"#, Act::Unlock(Unlock { name: text("deploy") })),
        (
            "delegate",
            r#"{"to":"planner-001","tag":"ops:check","task":"look","deadline_ms":5000}"#,
            Act::Delegate(Delegate {
                to: AgentId::new("planner-001"),
                tag: text("ops:check"),
                task: text("look"),
                payload: None,
                callback: None,
                deadline_ms: Some(5_000),
                contexts: Vec::new(),
                with_results: Vec::new(),
            }),
        ),
        (
            "delegate",
            r#"{"to":"a","tag":"t","task":"look","with_results":["task-002"]}"#,
            Act::Delegate(Delegate {
                to: AgentId::new("a"),
                tag: text("t"),
                task: text("look"),
                payload: None,
                callback: None,
                deadline_ms: None,
                contexts: Vec::new(),
                with_results: vec![TaskId::new("task-002")],
            }),
        ),
        (
            "delegate",
            r#"{"to":"a","tag":"t","task":"look","contexts":[{"context":"plan"},{"context":"b","access":"read_write","redact":["x.y"]}]}"#,
            Act::Delegate(Delegate {
                to: AgentId::new("a"),
                tag: text("t"),
                task: text("look"),
                payload: None,
                callback: None,
                deadline_ms: None,
                contexts: vec![
                    Pass::to_read("plan"),
                    Pass { access: Access::ReadWrite, redact: vec![text("x.y")], ..Pass::to_read("b") },
                ],
                with_results: Vec::new(),
            }),
        ),
        (
            "spawn_agent",
            r#"{"role":"coder","goal":"fix it","responsibilities":["code:*"]}"#,
            Act::SpawnAgent(SpawnAgent {
                role: text("coder"),
                name: None,
                goal: text("fix it"),
                responsibilities: vec![text("code:*")],
            }),
        ),
        (
            "terminate_agent",
            r#"{"agent":"coder-1a2b3c4d"}"#,
            Act::TerminateAgent(TerminateAgent {
                agent: AgentId::new("coder-1a2b3c4d"),
                reason: String::new(),
            }),
        ),
        (
            "extract",
            r#"{"path":"inbox/a.jsonl","question":"spam?","answer":{"kind":"choice","of":["yes","no"]}}"#,
            Act::Extract(Extract {
                path: text("inbox/a.jsonl"),
                question: text("spam?"),
                answer: Closed::Choice { of: vec![text("yes"), text("no")] },
            }),
        ),
        (
            "summarize",
            r#"{"paths":["memory/a.md"],"focus":"dates"}"#,
            Act::Summarize(Summarize {
                paths: vec![text("memory/a.md")],
                text: None,
                focus: Some(text("dates")),
            }),
        ),
        (
            "memory_search",
            r#"{"query":"x"}"#,
            Act::MemorySearch(MemorySearch { query: text("x"), limit: None }),
        ),
        (
            "context_get",
            r#"{"context":"plan"}"#,
            Act::ContextGet(ContextGet { context: text("plan"), field: None }),
        ),
        (
            "context_put",
            r#"{"context":"plan","field":"a.b","value":[1,null]}"#,
            Act::ContextPut(ContextPut {
                context: text("plan"),
                content: None,
                field: Some(text("a.b")),
                value: Some(serde_json::json!([1, null])),
            }),
        ),
        (
            "list_sessions",
            r#"{"agent":"planner-001","status":"completed","limit":5}"#,
            Act::ListSessions(ListSessions {
                agent: Some(AgentId::new("planner-001")),
                status: Some(Status::Completed),
                limit: Some(5),
            }),
        ),
        (
            "read_session",
            r#"{"session":"planner-001-0a1b2c","last":3}"#,
            Act::ReadSession(ReadSession { session: SessionId::new("planner-001-0a1b2c"), last: Some(3) }),
        ),
        (
            "email_send",
            r#"{"to":"dana@example.org","subject":"Disk","text":"It is full"}"#,
            Act::EmailSend(EmailSend {
                to: text("dana@example.org"),
                subject: text("Disk"),
                text: text("It is full"),
            }),
        ),
        ("slack_read", r#"{}"#, Act::SlackRead(SlackRead { limit: None })),
        ("slack_read", r#"{"limit":3}"#, Act::SlackRead(SlackRead { limit: Some(3) })),
        (
            "slack_send",
            r##"{"channel":"#ops","text":"done"}"##,
            Act::SlackSend(SlackSend { channel: text("#ops"), text: text("done") }),
        ),
    ]
}

fn good_arguments_become_acts(tools: &dyn Tools) {
    for (name, arguments, act) in good() {
        let call = tools.read(raw(name, arguments), 1);
        assert_eq!(call.want, Want::Act(act), "{name} {arguments}");
        assert_eq!(call.arguments, arguments, "the model's own words are kept");
    }
}

/// Calls that no set of tools takes.
pub fn bad() -> Vec<(&'static str, String)> {
    let mut calls: Vec<(&'static str, String)> = [
        ("no_such_tool", "{}"),
        ("", "{}"),
        ("READ_FILE", r#"{"path":"a"}"#),
        ("read_file", "{}"),
        ("read_file", "not JSON"),
        ("read_file", r#"{"path":"a""#),
        ("read_file", r#"{"path":"a"} {"path":"b"}"#),
        ("read_file", r#"["a"]"#),
        ("read_file", r#""a""#),
        ("read_file", "null"),
        ("read_file", r#"{"path":7}"#),
        ("read_file", r#"{"path":["a"]}"#),
        ("read_file", r#"{"path":"a","mode":"r"}"#),
        ("write_file", r#"{"path":"a"}"#),
        ("create_task", r#"{"title":"x","priority":"Z"}"#),
        ("create_task", r#"{"title":"x","depends_on":"task-001"}"#),
        ("update_task", r#"{"id":"task-001","status":"finished"}"#),
        ("read_file", r#"{"path":"a","from_line":"2"}"#),
        ("list_sessions", r#"{"status":"asleep"}"#),
        ("email_send", r#"{"to":"dana@example.org","text":"x"}"#),
        ("context_get", r#"{"name":"plan"}"#),
        ("context_put", r#"{"context":"plan","content":{"a":1}}"#),
        ("slack_read", r#"{"limit":-1}"#),
        ("slack_read", r#"{"limit":"3"}"#),
    ]
    .map(|(name, arguments)| (name, arguments.to_owned()))
    .into();
    calls.push(("read_file", "[".repeat(100_000)));
    calls.push(("read_file", format!(r#"{{"path":{}"a"{}}}"#, "[".repeat(5_000), "]".repeat(5_000))));
    calls
}

fn bad_arguments_become_words_for_the_model(tools: &dyn Tools) {
    for (name, arguments) in bad() {
        let call = tools.read(raw(name, &arguments), 1);
        match call.want {
            Want::Invalid { tool, error } => {
                assert_eq!(tool, name);
                assert!(!error.is_empty(), "{name} {arguments}");
            }
            Want::Act(act) => panic!("{name} {arguments} became {act:?}"),
        }
    }
}

fn a_call_keeps_its_id_or_gets_one(tools: &dyn Tools) {
    let mut call = raw("read_file", r#"{"path":"a"}"#);
    assert_eq!(tools.read(call.clone(), 7).id, CallId::new("c1"));
    call.id.clear();
    let one = tools.read(call.clone(), 7).id;
    assert!(!one.as_str().is_empty());
    assert_eq!(tools.read(call.clone(), 7).id, one, "the same number makes the same id");
    assert_ne!(tools.read(call, 8).id, one);
}

async fn what_a_foreign_tool_is_given_is_read_and_without_its_server_it_fails(tools: &dyn Tools) {
    let schema = serde_json::json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let (name, description) = ("tracker__add".to_owned(), "Add an issue.".to_owned());
    let found = Offer { name, description, schema, needs: None, nature: Nature::Once, outward: false };
    let call = tools.read_foreign(raw("tracker__add", r#"{"title":"x"}"#), 1, &found);
    let act = Act::Foreign(found.call(serde_json::json!({"title": "x"})));
    assert_eq!((call.id.as_str(), &call.want), ("c1", &Want::Act(act.clone())));
    for bad in ["[]", "{", "7"] {
        let call = tools.read_foreign(raw("tracker__add", bad), 1, &found);
        assert!(matches!(&call.want, Want::Invalid { tool, .. } if tool == "tracker__add"), "{bad}");
    }
    assert_eq!(tools.describe(&["tracker__add"]), [], "it is described by what its server says");
    let outcome = tools.run(order(90, "coder-001", act)).await;
    let told = "tracker__add was not called: there is no connection to the server tracker";
    assert_eq!(outcome, Outcome::failed(told));
}

async fn what_is_written_can_be_read(tools: &dyn Tools) {
    for (effect, content) in [(1, "one\n"), (1, "one\n"), (2, "two, and longer\n"), (3, "")] {
        let write = Act::WriteFile(WriteFile {
            path: "artifacts/contract.md".to_owned(),
            content: content.to_owned(),
        });
        done(tools, order(effect, "contract-agent", write)).await;
        let read = Act::read_file("artifacts/contract.md");
        let seen = done(tools, order(10, "contract-agent", read)).await;
        assert!(seen.contains(content), "{seen:?} has {content:?}");
    }
    let list = Act::ListDirectory(ListDirectory { path: "artifacts".to_owned() });
    assert!(done(tools, order(11, "contract-agent", list)).await.contains("contract.md"));
}

async fn what_is_put_can_be_got(tools: &dyn Tools) {
    let get = || Act::ContextGet(ContextGet { context: "contract".to_owned(), field: None });
    let refused = failed(tools, order(20, "contract-agent", get())).await;
    assert!(refused.contains("contexts/contract.acl.yaml"), "{refused}");
    for (effect, content) in [(21, "{\"a\":1}"), (21, "{\"a\":1}"), (22, "{\"a\":[2]}")] {
        let content = Some(content.to_owned());
        let (context, text) = ("contract".to_owned(), content.clone().unwrap_or_default());
        let put = Act::ContextPut(ContextPut { context, content, field: None, value: None });
        done(tools, order(effect, "contract-agent", put)).await;
        assert_eq!(done(tools, order(23, "contract-agent", get())).await, text);
    }
}

async fn what_is_absent_is_said_to_be(tools: &dyn Tools) {
    let read = Act::read_file("artifacts/absent.md");
    assert!(failed(tools, order(12, "contract-agent", read)).await.contains("absent.md"));
}

async fn nothing_leads_out_of_the_home(tools: &dyn Tools) {
    for path in ["../out", "/etc/passwd", "a/../../out", "/"] {
        failed(tools, order(13, "contract-agent", Act::read_file(path))).await;
        let write = Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
        failed(tools, order(14, "contract-agent", write)).await;
    }
}

async fn what_the_domain_carries_out_is_not_carried_out_here(tools: &dyn Tools) {
    for (name, _, act) in good() {
        if tool::facts(name).is_some_and(|facts| facts.inside) {
            failed(tools, order(15, "contract-agent", act)).await;
        }
    }
}

async fn a_dropped_act_harms_no_other(tools: &dyn Tools) {
    drop(tools.run(order(
        16,
        "contract-agent",
        Act::ExecuteCommand(ExecuteCommand { command: "echo one".to_owned() }),
    )));
    let act = Act::ExecuteCommand(ExecuteCommand { command: "echo two".to_owned() });
    assert!(done(tools, order(17, "contract-agent", act)).await.contains("two"));
}

async fn done(tools: &dyn Tools, order: Order) -> String {
    let shown = format!("{:?}", order.act);
    match tools.run(order).await {
        Outcome { ok: true, text, .. } => text,
        Outcome { ok: false, text, .. } => panic!("{shown} failed: {text}"),
    }
}

async fn failed(tools: &dyn Tools, order: Order) -> String {
    let shown = format!("{:?}", order.act);
    match tools.run(order).await {
        Outcome { ok: false, text, .. } => text,
        Outcome { ok: true, text, .. } => panic!("{shown} was done: {text}"),
    }
}
