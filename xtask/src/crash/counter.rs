//! The second scene: an agent adds lines to a file by commands that must not run twice, each asked for and approved. It is
//! killed while the model thinks, while a command runs and while an approval is given. However often: no line is there
//! twice, every command that is known to have run left its line, and the work comes to an end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::process::{self, Ending};
use super::random::Random;
use super::{Folder, Harness, ROUNDS_MAX, Step, Story, WAITING, home};

/// Lines that are added.
const LINES: usize = 5;
/// A step is killed so often, within this time: it takes about as long.
const KILL: f64 = 0.6;
const KILL_WITHIN: Duration = Duration::from_millis(900);
const KILLS_MAX: usize = 8;
/// Where the lines are.
const COUNTER: &str = "workspaces/counter-1/counter";

/// Makes the home: one agent, one task, a scripted model that takes its time.
fn write(home: &Path) -> std::io::Result<()> {
    let mut rules = String::from("rules:\n");
    for line in 1..=LINES {
        rules.push_str(&format!(
            "  - turn: {line}\n    delay_ms: 60\n    answer:\n      text: Line {line}.\n      delay_ms: 60\n      calls:\n        \
             - tool: execute_command\n          arguments: {{command: \"sleep 0.05; echo line-{line} >> counter; sleep 0.05\"}}\n"
        )
        .replace("    delay_ms: 60\n    answer:", "    answer:"));
    }
    rules.push_str("  - text: That is all.\n");
    let files = [
        (
            "synod.yaml",
            "providers: {s: {kind: scripted, script: models/s.yaml}}\nmodels: {m: {provider: s, model: m}}\n"
                .to_owned(),
        ),
        ("agents/counter-1.agent.yaml", "id: counter-1\ntype: executor\nmodel: m\n".to_owned()),
        ("models/s.yaml", rules),
        ("tasks/a.task.md", "- [ ] @counter-1 \"Count\"\n  id: task-001\n".to_owned()),
    ];
    for (path, text) in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap_or(home))?;
        fs::write(path, text)?;
    }
    Ok(())
}

impl Harness {
    /// One run of the scene; gives back what is wrong with its end.
    pub(super) fn count(&self, seed: u64, folder: &Folder, story: &mut Story) -> Result<Vec<String>, String> {
        write(&folder.home).map_err(|e| format!("cannot make the home: {e}"))?;
        let mut random = Random::new(seed);
        let mut step = Step::Pump;
        let mut kills = 0;
        for _ in 0..2 * ROUNDS_MAX {
            let kill = kills < KILLS_MAX && random.chance(KILL);
            let kill_after = kill.then(|| KILL_WITHIN.mul_f64(random.fraction()));
            let ending = self.synod(folder, step, kill_after)?;
            story.tell(step, kill_after, ending);
            step = match (step, ending) {
                (Step::Pump, Ending::Exited(0)) => return faults(&folder.home),
                (Step::Pump, Ending::Exited(WAITING)) => Step::Approve,
                (Step::Approve, Ending::Exited(0)) => Step::Pump,
                (_, Ending::Killed) => {
                    kills += 1;
                    // Whether the answer was taken or not, the next one is for what still waits.
                    Step::Pump
                }
                (_, Ending::Exited(code)) => return Err(format!("`synod {step}` ended with code {code}")),
            };
        }
        Err("the counting did not come to an end".to_owned())
    }
}

fn faults(folder: &Path) -> Result<Vec<String>, String> {
    let mut faults: Vec<String> =
        process::left_behind(folder).iter().map(|p| format!("a process is left behind: {p}")).collect();
    let counter = fs::read_to_string(folder.join(COUNTER)).unwrap_or_default();
    let lines: Vec<&str> = counter.lines().collect();
    let mut seen = BTreeSet::new();
    faults.extend(lines.iter().filter(|l| !seen.insert(**l)).map(|l| format!("{COUNTER} has {l} twice")));
    let found = home::read(folder).map_err(|e| format!("cannot read the home: {e}"))?;
    let (mut done, mut unknown) = (0, 0);
    for session in &found.sessions {
        let results = session.messages.iter().filter(|m| m.role == "tool_result");
        for result in results {
            done += usize::from(result.content.contains("exit code: 0"));
            unknown += usize::from(result.content.contains("outcome unknown"));
        }
    }
    if lines.len() < done || lines.len() > done + unknown {
        faults.push(format!(
            "{COUNTER} has {} lines; {done} commands are known to have run, {unknown} are in doubt",
            lines.len()
        ));
    }
    if done + unknown != LINES {
        faults.push(format!("{} commands have an outcome, {LINES} were asked for", done + unknown));
    }
    Ok(faults)
}
