//! Runs a command from its parsed words, without a shell: what was judged is what runs.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};

use policy::command::Script;
use policy::command::script::{Joint, Pipeline, Redirect, Simple, Stream};
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::glob;
use super::job::End;

/// What a shell answers for a program that is not there, or cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;
/// What a shell adds to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// Runs commands one after the other, in a folder that they may change.
pub(super) struct Runner<'a> {
    pub(super) workspace: &'a Path,
    pub(super) folder: PathBuf,
    pub(super) environment: &'a [(String, String)],
    /// Whether the processes of a pipeline are a group of their own, where no namespace holds them together.
    pub(super) is_grouped: bool,
    /// The first process of the pipeline that runs, or nothing.
    pub(super) leader: &'a AtomicI32,
}

/// Where a stream goes.
enum Sink {
    Out,
    Err,
    Pipe(PipeWriter),
    Null,
}

impl Sink {
    fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Out => Self::Out,
            Self::Err => Self::Err,
            Self::Pipe(writer) => Self::Pipe(writer.try_clone()?),
            Self::Null => Self::Null,
        })
    }

    fn into_stdio(self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Out => Stdio::from(io::stdout().as_fd().try_clone_to_owned()?),
            Self::Err => Stdio::from(io::stderr().as_fd().try_clone_to_owned()?),
            Self::Pipe(writer) => Stdio::from(OwnedFd::from(writer)),
            Self::Null => Stdio::null(),
        })
    }

    fn say(&mut self, text: &str) {
        // Nobody may listen.
        let _ = match self {
            Self::Out => writeln!(io::stdout(), "{text}"),
            Self::Err => writeln!(io::stderr(), "{text}"),
            Self::Pipe(writer) => writeln!(writer, "{text}"),
            Self::Null => Ok(()),
        };
    }
}

impl Runner<'_> {
    /// Runs a script to its end.
    pub(super) fn run(&mut self, script: &Script) -> io::Result<End> {
        let mut last = End::Exited(0);
        for pipeline in &script.pipelines {
            let runs = match pipeline.joint {
                Joint::Always => true,
                Joint::And => code(&last) == 0,
                Joint::Or => code(&last) != 0,
            };
            if !runs {
                continue;
            }
            last = self.pipeline(pipeline)?;
            if pipeline.negated {
                last = End::Exited(i32::from(code(&last) == 0));
            }
        }
        Ok(last)
    }

    /// Runs what has one child, given its command.
    pub(super) fn single(&self, command: &mut Command) -> io::Result<End> {
        self.leader.store(0, Ordering::Release);
        let pid = self.spawn(command.stdin(Stdio::null()))?;
        Ok(wait_for(&[Some(pid)])?.pop().unwrap_or(End::Exited(NOT_RUN)))
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> io::Result<End> {
        if let [only] = pipeline.commands.as_slice()
            && is_cd(only)
        {
            return self.cd(only);
        }
        self.leader.store(0, Ordering::Release);
        let mut processes = Vec::new();
        let mut ends = Vec::new();
        let mut input: Option<PipeReader> = None;
        for (index, simple) in pipeline.commands.iter().enumerate() {
            let (next, output) = match index + 1 == pipeline.commands.len() {
                true => (None, Sink::Out),
                false => pipe().map(|(reader, writer)| (Some(reader), Sink::Pipe(writer)))?,
            };
            let started = self.simple(simple, input.take(), output)?;
            input = next;
            processes.push(started.as_ref().ok().copied());
            ends.push(started.err());
        }
        let waited = wait_for(&processes)?;
        let last = ends.pop().flatten().map(End::Exited);
        Ok(last.or(waited.into_iter().next_back()).unwrap_or(End::Exited(0)))
    }

    /// Starts one program, or says with which code it failed to start.
    fn simple(
        &self,
        simple: &Simple,
        input: Option<PipeReader>,
        output: Sink,
    ) -> io::Result<Result<Pid, i32>> {
        let (mut input, mut out, mut err) = (input, output, Sink::Err);
        for redirect in &simple.redirects {
            match redirect {
                Redirect::FromNull => input = None,
                Redirect::ToNull(Stream::Out) => out = Sink::Null,
                Redirect::ToNull(Stream::Err) => err = Sink::Null,
                Redirect::Join(Stream::Err, Stream::Out) => err = out.again()?,
                Redirect::Join(Stream::Out, Stream::Err) => out = err.again()?,
                Redirect::Join(Stream::Out, Stream::Out) | Redirect::Join(Stream::Err, Stream::Err) => {}
            }
        }
        // In a pipeline, it would change the folder of nobody.
        if is_cd(simple) {
            return Ok(Err(0));
        }
        let mut words = simple.words.iter().flat_map(|word| match word.is_glob {
            true => glob::expand(&self.folder, &word.text),
            false => vec![word.text.clone()],
        });
        let program = words.next().unwrap_or_default();
        let mut command = Command::new(&program);
        command.args(words).stdin(input.map_or_else(Stdio::null, |reader| OwnedFd::from(reader).into()));
        command.stdout(out.into_stdio()?).stderr(err.again()?.into_stdio()?);
        match self.spawn(&mut command) {
            Ok(pid) => Ok(Ok(pid)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                err.say(&format!("{program}: there is no such program"));
                Ok(Err(NOT_FOUND))
            }
            Err(e) => {
                err.say(&format!("{program}: cannot be run: {e}"));
                Ok(Err(NOT_RUN))
            }
        }
    }

    fn spawn(&self, command: &mut Command) -> io::Result<Pid> {
        let environment = self.environment.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(environment).current_dir(&self.folder);
        let leader = self.leader.load(Ordering::Acquire);
        if self.is_grouped {
            command.process_group(leader);
        }
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the process has no number"))?;
        if leader == 0 {
            self.leader.store(pid.as_raw_nonzero().get(), Ordering::Release);
        }
        Ok(pid)
    }

    fn cd(&mut self, simple: &Simple) -> io::Result<End> {
        let words: Vec<&str> = simple.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        let to = match words.as_slice() {
            [] => self.workspace.to_owned(),
            [one] | ["--", one] => self.folder.join(one),
            _ => return Ok(refuse("cd: takes one folder")),
        };
        match to.canonicalize() {
            Ok(to) if !to.starts_with(self.workspace) => Ok(refuse("cd: leads out of the workspace")),
            Ok(to) if !to.is_dir() => Ok(refuse("cd: this is no folder")),
            Ok(to) => {
                self.folder = to;
                Ok(End::Exited(0))
            }
            Err(e) => Ok(refuse(&format!("cd: {}: {e}", words.last().unwrap_or(&"")))),
        }
    }
}

fn is_cd(simple: &Simple) -> bool {
    simple.words.first().is_some_and(|word| word.text == "cd")
}

fn refuse(why: &str) -> End {
    Sink::Err.say(why);
    End::Exited(1)
}

fn code(end: &End) -> i32 {
    match end {
        End::Exited(code) => *code,
        End::Signalled(signal) => SIGNALLED + signal,
        End::Limited(_) | End::Unmade(_) => NOT_RUN,
    }
}

/// Waits for some processes, and lets go all others that end meanwhile: the first process of a namespace inherits
/// its orphans.
fn wait_for(processes: &[Option<Pid>]) -> io::Result<Vec<End>> {
    let mut open: BTreeMap<i32, Option<End>> =
        processes.iter().flatten().map(|pid| (pid.as_raw_nonzero().get(), None)).collect();
    while open.values().any(Option::is_none) {
        if let Some((pid, status)) = rustix::process::wait(WaitOptions::empty())?
            && let Some(slot) = open.get_mut(&pid.as_raw_nonzero().get())
        {
            *slot = Some(end(status));
        }
    }
    let mut end_of = |pid: &Pid| open.get_mut(&pid.as_raw_nonzero().get()).and_then(Option::take);
    Ok(processes.iter().flatten().filter_map(&mut end_of).collect())
}

fn end(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signalled(signal),
        (None, None) => End::Exited(NOT_RUN),
    }
}
