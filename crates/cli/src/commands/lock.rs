//! `synod lock`: who has which lock, and taking one away.

use std::path::Path;

use domain::id::{LockName, Time};
use domain::input::Input;
use domain::input::PersonInput;
use domain::lock::workspace::is_workspace;
use serde_json::{Value, json};
use web::api::{Lock, Queued, Request};

use crate::commands::mark;
use crate::failure::Exit;
use crate::home::person;
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::waits;

pub fn list(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let locks = waits::read(home, out).locks;
    if out.json {
        out.value(json!({ "locks": locks.iter().map(value).collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if locks.is_empty() {
        out.line("Nobody has a lock.");
        return Ok(Exit::Ok);
    }
    let now = view::now();
    let cells = |lock: &Lock| {
        let about = lock.task.as_ref().map_or_else(|| lock.session.clone(), Clone::clone);
        let lapses = match lock.until {
            Some(until) => format!("in {}", text::duration(Time(until).ms_since(now))),
            None if lock.kept > 0 && is_workspace(&LockName::new(lock.name.as_str())) => {
                "when its work ends".to_owned()
            }
            None => "while it runs".to_owned(),
        };
        let queue: Vec<&str> = lock.queue.iter().map(|waiting| waiting.agent.as_str()).collect();
        vec![
            text::line(&lock.name),
            format!("{} ({about})", lock.agent),
            format!("{} ago", text::duration(now.ms_since(Time(lock.since)))),
            lapses,
            lock.fence.to_string(),
            queue.join(", "),
        ]
    };
    let head = ["LOCK", "HELD BY", "SINCE", "LAPSES", "NUMBER", "WAITING"];
    let table = text::table(&head, locks.iter().map(cells).collect());
    for (number, line) in table.iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    Ok(Exit::Ok)
}

fn value(lock: &Lock) -> Value {
    let time = |ms: i64| formats::time::print(Time(ms));
    let waiting = |w: &Queued| json!({ "agent": w.agent, "session": w.session, "since": time(w.since), "until": w.until.map(time) });
    json!({
        "name": lock.name, "agent": lock.agent, "session": lock.session, "task": lock.task, "since": time(lock.since),
        "lease_until": lock.until.map(time), "fence": lock.fence, "kept": lock.kept,
        "queue": lock.queue.iter().map(waiting).collect::<Vec<_>>(),
    })
}

pub fn free(home: &Path, name: &str, out: &Out) -> anyhow::Result<Exit> {
    let request = Request::Free { lock: name.to_owned(), by: person() };
    let input = Input::Person(PersonInput::FreeLock { name: name.to_owned(), by: person() });
    mark::leave(home, &request, input, "`synod lock list` shows who has which lock")?;
    if out.json {
        out.value(json!({ "freed": name }));
    } else {
        out.line(format!("{name} is free"));
    }
    Ok(Exit::Ok)
}
