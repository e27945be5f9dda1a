//! `cargo xtask crash`: kills the real binary with SIGKILL at random moments while it plays the demo, lets it go
//! on, and compares what it ends with to an undisturbed run; and while it counts by commands that must not run twice.
//! Same seed, same moments.

mod compare;
mod counter;
mod home;
mod process;
mod random;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::flags::Flags;
use crate::shell::{self, Failure, say};
use home::Home;
use process::Ending;
use random::Random;

const TIMES: u64 = 20;

/// The first kill comes within so many times the length of an undisturbed run: some come too late, on purpose.
const KILL_WITHIN: f64 = 1.3;

/// So many of the first kills come while the home is still being made, which takes this part of a run.
const KILL_EARLY: f64 = 0.2;
const EARLY_WITHIN: f64 = 0.02;

/// How often, and how many times at most, a later step is killed too. It does a part of the work only, so the kill
/// comes within a part of the time.
const KILL_AGAIN: f64 = 0.5;
const AGAIN_WITHIN: f64 = 0.4;
const KILLS_MAX: usize = 4;

/// Every step that is not killed brings the work on; the demo asks for far fewer approvals than this.
const ROUNDS_MAX: usize = 30;

/// Exit code of `synod pump`: a person must decide something.
const WAITING: i32 = 3;

/// What all runs share.
struct Harness {
    binary: PathBuf,
    /// How the undisturbed run ended, and how long it took.
    expected: Home,
    undisturbed: Duration,
}

/// Runs the harness.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let flags = Flags::read(args, &["times", "seed"])?;
    let times = flags.number("times").unwrap_or(TIMES);
    let seed = flags.number("seed").unwrap_or_else(fresh_seed);
    say(format!("crash: {times} runs, seed {seed}"));
    shell::run(shell::cargo().args(["build", "--release", "--quiet", "--locked", "-p", "synod-cli"]))?;
    let harness = Harness::prepare(shell::target().join("release/synod"))?;
    for index in 0..times {
        let seed = seed.wrapping_add(index);
        let folder = Folder::make(&format!("{seed}"))?;
        let mut story = Story::default();
        // By turns, so that a run is the same whether it is one of many or alone.
        let played = match seed % 2 {
            0 => harness.disturb(seed, &folder, &mut story),
            _ => harness.count(seed, &folder, &mut story),
        };
        let problems = played.unwrap_or_else(|problem| vec![problem]);
        if !problems.is_empty() {
            return Err(Failure::new(format!(
                "crash: run {} of {times} ended otherwise than it should\n{}\nsteps: {}\nhome: {}\noutput: {}\n\
                 help: to replay this one run: cargo xtask crash --times 1 --seed {seed}",
                index + 1,
                problems.join("\n"),
                story.steps.join(", "),
                folder.home.display(),
                folder.log.display(),
            )));
        }
        folder.remove();
        say(format!("crash: run {} of {times}, seed {seed}: {}", index + 1, story.steps.join(", ")));
    }
    say(format!("crash: all {times} runs ended as they should"));
    Ok(())
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// A temporary folder: the home, and what the binary printed.
struct Folder {
    base: PathBuf,
    home: PathBuf,
    log: PathBuf,
}

impl Folder {
    fn make(name: &str) -> Result<Self, Failure> {
        let temp = std::env::temp_dir();
        let temp = temp.canonicalize().unwrap_or(temp);
        let base = temp.join(format!("synod-crash-{}-{name}", std::process::id()));
        let made = if base.exists() { fs::remove_dir_all(&base) } else { Ok(()) };
        made.and_then(|()| fs::create_dir_all(&base))
            .map_err(|e| Failure::new(format!("cannot make {}: {e}", base.display())))?;
        Ok(Self { home: base.join("home"), log: base.join("output.txt"), base })
    }

    fn remove(&self) {
        if let Err(e) = fs::remove_dir_all(&self.base) {
            say(format!("cannot remove {}: {e}", self.base.display()));
        }
    }
}

impl Harness {
    /// Plays the demo twice without a kill. The second is measured; that both end alike shows that a difference
    /// after a kill comes from the kill.
    fn prepare(binary: PathBuf) -> Result<Self, Failure> {
        let mut harness = Self { binary, expected: Home::default(), undisturbed: Duration::ZERO };
        for name in ["first", "second"] {
            let folder = Folder::make(name)?;
            let problems = harness.play(&folder).unwrap_or_else(|problem| vec![problem]);
            if !problems.is_empty() {
                return Err(Failure::new(format!(
                    "crash: the {name} run differs though nothing was killed\n{}\nhome: {}\noutput: {}",
                    problems.join("\n"),
                    folder.home.display(),
                    folder.log.display()
                )));
            }
            folder.remove();
        }
        say(format!("crash: an undisturbed run takes {} ms", harness.undisturbed.as_millis()));
        Ok(harness)
    }

    /// One undisturbed run; gives back what is wrong with it, and how it differs from the one before.
    fn play(&mut self, folder: &Folder) -> Result<Vec<String>, String> {
        let begun = Instant::now();
        match self.synod(folder, Step::Demo, None)? {
            Ending::Exited(0) => {}
            other => return Err(format!("`synod demo` ended with {other:?}")),
        }
        let took = begun.elapsed();
        let (found, mut problems) = self.examine(folder)?;
        if self.undisturbed > Duration::ZERO {
            problems.extend(compare::differences(&self.expected, &found));
        }
        self.undisturbed = took;
        self.expected = found;
        Ok(problems)
    }

    /// One run with kills; gives back how its end differs from the expected one.
    fn disturb(&self, seed: u64, folder: &Folder, story: &mut Story) -> Result<Vec<String>, String> {
        let mut random = Random::new(seed);
        let within = if random.chance(KILL_EARLY) { EARLY_WITHIN } else { KILL_WITHIN };
        let mut kill_after = Some(self.undisturbed.mul_f64(within * random.fraction()));
        let mut kills = 0;
        let mut step = Step::Demo;
        for _ in 0..ROUNDS_MAX {
            let ending = self.synod(folder, step, kill_after)?;
            story.tell(step, kill_after, ending);
            kills += usize::from(ending == Ending::Killed);
            step = match (step, ending) {
                (Step::Pump, Ending::Exited(0)) => {
                    let (found, mut problems) = self.examine(folder)?;
                    problems.extend(compare::differences(&self.expected, &found));
                    return Ok(problems);
                }
                (Step::Pump, Ending::Exited(WAITING)) => Step::Approve,
                (Step::Demo | Step::Approve, Ending::Exited(0)) => Step::Pump,
                (_, Ending::Killed) if is_begun(&folder.home) => Step::Pump,
                (_, Ending::Killed) => Step::Demo,
                (_, Ending::Exited(code)) => return Err(format!("`synod {step}` ended with code {code}")),
            };
            let again = step != Step::Approve && kills < KILLS_MAX && random.chance(KILL_AGAIN);
            kill_after = again.then(|| self.undisturbed.mul_f64(AGAIN_WITHIN * random.fraction()));
        }
        Err(format!("the work did not come to an end in {ROUNDS_MAX} steps"))
    }

    /// What a home that came to its end says, and what is wrong with it by itself.
    fn examine(&self, folder: &Folder) -> Result<(Home, Vec<String>), String> {
        let left = process::left_behind(&folder.home);
        let mut problems: Vec<String> =
            left.iter().map(|p| format!("a process is left behind: {p}")).collect();
        let found = home::read(&folder.home).map_err(|e| format!("cannot read the home: {e}"))?;
        problems.extend(compare::faults(&found));
        match self.synod(folder, Step::Check, None)? {
            Ending::Exited(0) => {}
            other => problems.push(format!("`synod check` ended with {other:?}")),
        }
        Ok((found, problems))
    }

    fn synod(&self, folder: &Folder, step: Step, kill_after: Option<Duration>) -> Result<Ending, String> {
        let home = folder.home.to_string_lossy();
        let args: Vec<&str> = step.words().iter().copied().chain(["--home", &home]).collect();
        note(&folder.log, &format!("$ synod {}", args.join(" "))).map_err(|e| e.to_string())?;
        process::run(&self.binary, &args, &folder.log, kill_after).map_err(|e| format!("`synod {step}`: {e}"))
    }
}

/// One command of the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Demo,
    Pump,
    Approve,
    Check,
}

impl Step {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Demo => &["demo", "--yes"],
            Self::Pump => &["pump", "--timeout", "60"],
            Self::Approve => &["approve", "--all"],
            Self::Check => &["check"],
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words()[0])
    }
}

/// What a run did, for people.
#[derive(Default)]
struct Story {
    steps: Vec<String>,
}

impl Story {
    fn tell(&mut self, step: Step, kill_after: Option<Duration>, ending: Ending) {
        self.steps.push(match (ending, kill_after) {
            (Ending::Killed, Some(after)) => format!("{step} killed after {} ms", after.as_millis()),
            (Ending::Killed, None) => format!("{step} killed"),
            (Ending::Exited(0), _) => step.to_string(),
            (Ending::Exited(code), _) => format!("{step} ({code})"),
        });
    }
}

/// Whether the demo had made its home and dropped its message; from then on `synod pump` goes on with it.
fn is_begun(home: &Path) -> bool {
    let message = fs::read_to_string(home.join("inbox/slack-messages.jsonl")).unwrap_or_default();
    // Without its line end the message is not yet whole.
    home.join("synod.yaml").exists() && message.ends_with('\n') && !message.trim().is_empty()
}

fn note(log: &Path, line: &str) -> io::Result<()> {
    writeln!(OpenOptions::new().create(true).append(true).open(log)?, "{line}")
}
