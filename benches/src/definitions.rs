//! What every request repeats: the tokens of the definitions of tools by role, and how much of a request stands unchanged at
//! the beginning of the next one, which is what providers keep and charge less for.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use domain::event::{Event, TaskEvent};
use domain::id::{AgentId, TaskId};
use domain::input::{Input, PersonInput};
use domain::session::Speaker;
use domain::task::Spec;
use ports::printer::Recorded;
use serde_json::Value;
use testkit::model::{Puppet, says, wants};
use testkit::provider::Provider;
use tokio::sync::broadcast;

use crate::home;
use crate::measure::{Aim, Measurement, Unit};

/// Fewer bytes than a token usually has, as everywhere in Synod.
const BYTES_PER_TOKEN: f64 = 3.0;
/// Each role, and the most tokens that its definitions may take.
const ROLES: [(&str, f64); 2] = [("coder", 1_500.0), ("coordinator", 1_000.0)];
/// How much of a request stands unchanged at the beginning of the next, in percent.
const REPEATED_MIN: f64 = 95.0;
/// So many tasks of each role, and so many requests in each.
const TASKS: usize = 2;
const REQUESTS: usize = 6;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let server = Provider::start(Arc::new(Puppet::answering(|request| {
        let answers = request.messages.iter().filter(|m| m.speaker == Speaker::Assistant).count();
        Ok(match answers + 1 < REQUESTS {
            true => wants("read_file", &format!("{{\"path\":\"memory/{answers}.md\"}}")),
            false => says("Done."),
        })
    })));
    let folder = tempfile::tempdir()?;
    furnish(folder.path(), &server.url())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let running = runtime.block_on(home::open_at_work(folder.path()))?;
    runtime.block_on(running.handle.submit(Input::Started))??;
    let mut events = running.handle.listen();
    for (role, _) in ROLES {
        for number in 0..TASKS {
            runtime.block_on(task(&running.handle, &mut events, role, number))?;
        }
    }
    runtime.block_on(running.close())?;
    let seen: Vec<Value> = server.seen().into_iter().map(|seen| seen.body).collect();
    let mut all = Vec::new();
    for (role, tokens_max) in ROLES {
        let of_role: Vec<&Value> = seen.iter().filter(|body| body["model"] == role).collect();
        anyhow::ensure!(of_role.len() == TASKS * REQUESTS, "{role} asked {} times", of_role.len());
        all.extend(figures(role, tokens_max, &of_role)?);
    }
    Ok(all)
}

fn figures(role: &str, tokens_max: f64, requests: &[&Value]) -> anyhow::Result<[Measurement; 3]> {
    let first = requests.first().context("a request")?;
    let tools = first["tools"].to_string().len() as f64 / BYTES_PER_TOKEN;
    let from_turn_to_turn = requests
        .chunks(REQUESTS)
        .flat_map(|of_task| of_task.windows(2))
        .map(|pair| repeated(&whole(pair[0]), &whole(pair[1])))
        .fold(100.0, f64::min);
    let from_task_to_task = repeated(&fixed(first), &fixed(requests[REQUESTS]));
    let figure = |name: &str, value: f64, unit: Unit, baseline: f64, aim: Aim| Measurement {
        name: format!("{role}, {name}"),
        value,
        unit,
        against: "the aim",
        baseline,
        aim,
        rounds: 1,
    };
    Ok([
        figure("definitions of tools", tools, Unit::Tokens, tokens_max, Aim::AtMost(tokens_max)),
        figure(
            "repeated from turn to turn",
            from_turn_to_turn,
            Unit::Percent,
            REPEATED_MIN,
            Aim::AtLeast(REPEATED_MIN),
        ),
        figure(
            "tools and system text repeated from task to task",
            from_task_to_task,
            Unit::Percent,
            100.0,
            Aim::AtLeast(100.0),
        ),
    ])
}

/// A request in the order in which providers read it.
fn whole(body: &Value) -> String {
    let messages = body["messages"].as_array().into_iter().flatten();
    let messages: Vec<String> = messages.map(Value::to_string).collect();
    format!("{}{}", body["tools"], messages.concat())
}

/// The part that is the same for all tasks of an agent.
fn fixed(body: &Value) -> String {
    format!("{}{}", body["tools"], body["messages"][0])
}

/// How much of `before` stands at the beginning of `after`, in percent.
fn repeated(before: &str, after: &str) -> f64 {
    let same = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    same as f64 * 100.0 / before.len().max(1) as f64
}

fn furnish(folder: &Path, url: &str) -> anyhow::Result<()> {
    for name in ["agents", "tasks", "memory", "policy"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    std::fs::write(
        folder.join("synod.yaml"),
        format!(
            "providers: {{p: {{kind: openai, base_url: \"{url}\"}}}}\n\
             models:\n  coder: {{provider: p, model: coder}}\n  coordinator: {{provider: p, model: coordinator}}\n"
        ),
    )?;
    let workspace = "workspace: {test: sh test.sh, lint: sh -n test.sh}\n";
    for (role, more) in [("coder", workspace), ("coordinator", ""), ("planner", "")] {
        let model = if role == "planner" { "coder" } else { role };
        let text = format!(
            "id: {role}-001\ntype: {role}\nmodel: {model}\ndescription: Does the work of a {role}\n\
             system_prompt: Do what the task says, no more and no less.\n{more}"
        );
        std::fs::write(folder.join(format!("agents/{role}-001.agent.yaml")), text)?;
    }
    for number in 0..REQUESTS {
        std::fs::write(
            folder.join(format!("memory/{number}.md")),
            format!("# Note {number}\n\n{}", "x ".repeat(200)),
        )?;
    }
    Ok(())
}

/// Gives a task to the agent of a role and waits for its end.
async fn task(
    handle: &engine::Handle,
    events: &mut broadcast::Receiver<Recorded>,
    role: &str,
    number: usize,
) -> anyhow::Result<()> {
    let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", format!("Read all notes, part {number}"));
    spec.assignee = Some(AgentId::new(format!("{role}-001")));
    let by = "dana".to_owned();
    handle.submit(Input::Person(PersonInput::AddTask { spec: Box::new(spec), by })).await??;
    loop {
        if let Event::Task(TaskEvent::Ended { .. }) = events.recv().await?.event {
            return Ok(());
        }
    }
}
