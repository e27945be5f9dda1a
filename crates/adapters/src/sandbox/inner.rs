//! The program inside: takes the last rights off itself, then runs the command and waits for its end. It is the
//! first process of its cage, so everything ends with it, and nothing in the cage can signal or inspect it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};

use super::backend::Backend;
use super::job::{End, Job, Run};
use super::script::Runner;
use super::stage::{COMMAND, STAGES, Stage};
use super::{confine, namespaces, watch};

/// How much less of the processor a command gets than others.
const NICENESS: i32 = 5;

/// Whether this process was started as the inner program.
pub fn is_wanted() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == COMMAND)
}

/// What a program does when it is started as the inner one. It speaks through its standard input only.
pub fn main() -> ExitCode {
    let stage = std::env::args().nth(2);
    let Some(stage) = STAGES.into_iter().find(|s| Some(s.as_str()) == stage.as_deref()) else {
        return ExitCode::from(2);
    };
    let Ok(line) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return ExitCode::from(2);
    };
    let end = match stage {
        Stage::Unshare | Stage::Share => return outside(stage == Stage::Share, &line),
        Stage::Settle | Stage::Caged | Stage::Bare => inside(stage, &line),
    };
    let end = end.unwrap_or_else(|e| End::Unmade(e.to_string()));
    // If nobody listens any more, nobody wants to know.
    let _ = end.send(&line);
    ExitCode::SUCCESS
}

/// Waits for the first process of the namespaces, whose end is the end of all in them.
fn outside(network: bool, line: &UnixStream) -> ExitCode {
    let inner = || {
        prefer_as_victim();
        namespaces::enter(network)?;
        let mut inner = Command::new("/proc/self/exe");
        inner.args([COMMAND, Stage::Settle.as_str()]).status()
    };
    match inner() {
        Ok(_) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = End::Unmade(e.to_string()).send(line);
            ExitCode::FAILURE
        }
    }
}

/// When memory runs out, the system takes it from here first.
fn prefer_as_victim() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

fn inside(stage: Stage, line: &UnixStream) -> io::Result<End> {
    if stage == Stage::Settle {
        // The process outside is the last that could end this one otherwise.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        rustix::process::setsid()?;
    }
    let job = Job::receive(line)?;
    match stage {
        Stage::Settle => namespaces::settle(&job)?,
        Stage::Caged => {
            prefer_as_victim();
            namespaces::limit_processes(Path::new("/proc"), &job)?;
        }
        Stage::Bare | Stage::Unshare | Stage::Share => prefer_as_victim(),
    }
    std::env::set_current_dir(&job.workspace)?;
    // Before there is a second thread: each of these holds for one thread and those it starts.
    confine::confine(&job)?;
    let line = Arc::new(line.try_clone()?);
    let leader = Arc::new(AtomicI32::new(0));
    listen(Arc::clone(&line), Arc::clone(&leader));
    if stage != Stage::Bare {
        watch::begin(&job, line);
    }
    // The command yields to those who watch it, and to everything else of this system.
    let _ = rustix::process::nice(NICENESS);
    run(&job, &leader)
}

/// Ends everything when the other side of the line is gone, and passes on the wish that it end by itself.
fn listen(line: Arc<UnixStream>, leader: Arc<AtomicI32>) {
    // Of a namespace the first process reaches all others. Without one, the group of the command must do.
    let is_first = rustix::process::getpid() == Pid::INIT;
    let tell_all = move |signal| {
        let leader = if is_first { Some(Pid::INIT) } else { Pid::from_raw(leader.load(Ordering::Acquire)) };
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, signal);
        }
    };
    thread::spawn(move || {
        let mut byte = [0];
        while let Ok(1) = (&*line).read(&mut byte) {
            tell_all(Signal::TERM);
        }
        tell_all(Signal::KILL);
        std::process::exit(0);
    });
}

fn run(job: &Job, leader: &AtomicI32) -> io::Result<End> {
    let mut runner = Runner {
        workspace: &job.workspace,
        folder: job.workspace.clone(),
        environment: &job.environment,
        is_grouped: job.backend == Backend::Bare,
        leader,
    };
    match &job.run {
        Run::Script(text) => match policy::command::script(text) {
            Some(script) => runner.run(&script),
            None => Ok(End::Unmade("the command is not one that runs without a shell".to_owned())),
        },
        // Without `--`, a text that begins with a dash would be an option of the shell.
        Run::Shell(text) => runner.single(Command::new("/bin/sh").args(["-c", "--", text])),
    }
}
