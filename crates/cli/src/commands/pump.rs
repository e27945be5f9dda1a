//! `synod pump`: does all that can be done now, and exits.

use std::path::Path;
use std::time::Duration;

use ports::printer::Recorded;
use serde_json::json;
use tokio::sync::broadcast;

use super::story::Story;
use super::up;
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::wire::{self, Does, Running};

pub fn run(home: &Path, timeout: u64, out: &Out) -> anyhow::Result<Exit> {
    if wire::is_running(home) {
        let help = "it does everything that `synod pump` would; stop it first to pump by hand";
        return Err(fail(Exit::Failed, "a daemon works in this home already", help));
    }
    up::runtime()?.block_on(async {
        let mut running = wire::open(home, Does::Work).await?;
        let server = up::serve(home, &running.handle)?;
        let mut events = running.handle.listen();
        let mut story = Story::of(&running.handle).await?;
        running.start().await?;
        let exit = until_idle(&mut running, &mut events, &mut story, home, timeout, out).await?;
        let waiting = running.handle.pulse().borrow().approvals;
        server.abort();
        up::finish(running, out).await?;
        if out.json {
            out.line(
                json!({ "schema_version": 1, "waiting": waiting, "timed_out": exit == Exit::TimedOut })
                    .to_string(),
            );
        } else if exit == Exit::Waiting {
            out.say(format!("{waiting} approval(s) wait for you: `synod inbox` shows them"));
        } else if exit == Exit::TimedOut {
            out.say(format!("not done within {timeout} s; what is under way goes on at the next start"));
        }
        Ok(exit)
    })
}

/// Works and tells until nothing more can be done without somebody outside.
pub async fn until_idle(
    running: &mut Running,
    events: &mut broadcast::Receiver<Recorded>,
    story: &mut Story,
    home: &Path,
    timeout: u64,
    out: &Out,
) -> anyhow::Result<Exit> {
    let mut pulse = running.handle.pulse();
    let interrupted = up::interrupted();
    tokio::pin!(interrupted);
    let over = tokio::time::sleep(Duration::from_secs(timeout));
    tokio::pin!(over);
    loop {
        if pulse.borrow_and_update().idle {
            while let Ok(recorded) = events.try_recv() {
                up::follow(Ok(recorded), story, out);
            }
            let waiting = pulse.borrow().approvals;
            return Ok(if waiting > 0 { Exit::Waiting } else { Exit::Ok });
        }
        tokio::select! {
            () = &mut interrupted => return Ok(Exit::Interrupted),
            () = &mut over => return Ok(Exit::TimedOut),
            event = events.recv() => { up::follow(event, story, out); }
            Some(problem) = running.problems.recv() => up::tell_problem(home, &problem, out),
            changed = pulse.changed() => changed?,
        }
    }
}
