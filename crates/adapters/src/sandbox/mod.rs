//! Cages for commands: what a command may see, use and reach. A cage is a view of the file system, namespaces of
//! its own, Landlock, seccomp and limits; two backends make it, bubblewrap and Synod's own namespaces.
//!
//! Inside the cage runs this same program again as `__inner`: it takes the last rights off itself and then runs
//! the command. One socket is its lifeline: the job comes in through it, the outcome goes out, and when it is
//! closed, everything in the cage ends.

pub mod backend;
mod bubblewrap;
mod confine;
pub(crate) mod glob;
pub(crate) mod guard;
pub mod inner;
mod inside;
pub mod job;
pub mod memory;
mod mount;
mod namespaces;
pub mod offer;
pub mod pids;
pub mod places;
mod script;
mod stage;
mod syscalls;
mod view;
mod watch;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::process::Child;

use backend::Backend;
use guard::Guards;
use inside::{Bounds, Inside};
use job::{End, Job, Limits, Run};
use memory::Memory;
use offer::{Layer, Offer};
use pids::{Bound, Group, Taking};
use places::Places;
use view::View;

/// Where programs are looked for.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What makes cages on this system.
#[derive(Debug)]
pub struct Sandbox {
    /// The program that is started inside, which calls [`inner::main`] when its first argument is `__inner`.
    program: PathBuf,
    /// What to use, whatever else there is.
    wanted: Option<Backend>,
    chosen: OnceLock<Option<Backend>>,
    bound: OnceLock<Bound>,
    /// What of the settings is in force.
    settled: Mutex<domain::settings::Sandbox>,
    offer: OnceLock<Offer>,
}

/// One command and what it gets.
#[derive(Debug, Clone)]
pub struct Cage {
    /// The home, of which nothing but the workspace and `memory` is seen.
    pub home: PathBuf,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// Whether it may write there.
    pub writable: bool,
    /// Whether it shares the network of this system.
    pub network: bool,
    /// More folders and files of this system that it may read.
    pub read: Vec<PathBuf>,
    /// What it sees of the home's `memory/`.
    pub memory: Memory,
    /// Variables beyond those that every command has.
    pub variables: Vec<(String, String)>,
    /// How much it may use.
    pub limits: Limits,
    /// What runs.
    pub run: Run,
}

/// A command that was started in a cage.
#[derive(Debug)]
pub struct Started {
    /// The process outside that stands for all inside.
    pub child: Child,
    /// Dropping it ends everything inside.
    pub line: UnixStream,
    /// What must be put in order when everything has ended.
    pub guards: Guards,
    /// What bounds its processes, if that is outside.
    pub group: Option<Group>,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum CageError {
    /// The system does not let us make the cage.
    #[error("the sandbox cannot be made: {0}")]
    Unmade(String),
    /// The workspace is one in which a repository could be turned into a trap.
    #[error("{0}")]
    Guard(String),
}

impl Sandbox {
    /// Cages whose inner program is `program`. Nothing is tried yet.
    pub fn new(program: PathBuf) -> Self {
        let (chosen, bound, offer) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { program, wanted: None, chosen, bound, settled: Mutex::default(), offer }
    }

    /// Cages whose inner program is the one that runs now. With `SYNOD_SANDBOX=none` in the environment, as on a
    /// system that offers no sandbox: then commands do not run, unless the settings say that they run without one.
    pub fn of_this_program() -> std::io::Result<Self> {
        let sandbox = Self::new(std::env::current_exe()?);
        let is_none = std::env::var_os("SYNOD_SANDBOX").is_some_and(|value| value == "none");
        Ok(if is_none { sandbox.only(Backend::Bare) } else { sandbox })
    }

    /// The same, with one backend only.
    #[must_use]
    pub fn only(self, backend: Backend) -> Self {
        Self { wanted: Some(backend), chosen: OnceLock::new(), ..self }
    }

    /// The same, with processes bounded in one way only.
    #[must_use]
    pub fn bounded_by(self, bound: Bound) -> Self {
        Self { bound: OnceLock::from(bound), ..self }
    }

    /// Takes over what the owner of a home settled.
    pub fn settle(&self, settings: &domain::settings::Sandbox) {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).clone_from(settings);
    }

    /// What commands of a home may read beside the system, or why that cannot be.
    pub fn places(&self, home: &Path) -> Result<Places, String> {
        Places::of(&self.settled.lock().unwrap_or_else(PoisonError::into_inner), home)
    }

    /// What this system offers. Found out once, by running something. Blocks.
    pub fn offer(&self) -> &Offer {
        self.offer.get_or_init(|| Offer::probe(&self.program))
    }

    /// What makes the cages, if anything can. Found out once, by running something. Blocks the first time.
    pub fn backend(&self) -> Option<Backend> {
        *self.chosen.get_or_init(|| {
            let all = match self.wanted {
                Some(wanted) => vec![wanted],
                None => vec![Backend::Bubblewrap, Backend::Namespaces],
            };
            all.into_iter().find(|backend| offer::trial(&self.program, *backend) == Layer::Works)
        })
    }

    /// Why commands have no sandbox here, in one line for an approval; `None` if they have one. Blocks.
    pub fn lack(&self) -> Option<String> {
        match self.backend() {
            Some(Backend::Bubblewrap | Backend::Namespaces) => None,
            Some(Backend::Bare) | None => Some(self.offer().lack()),
        }
    }

    /// Why commands do not run here at all, for the agent: there is no sandbox, and the owner did not say that they
    /// run without one. Blocks.
    pub fn refusal(&self) -> Option<String> {
        let is_unsafe = self.settled.lock().unwrap_or_else(PoisonError::into_inner).is_unsafe;
        let lack = if is_unsafe { None } else { self.lack() };
        lack.map(|lack| {
            format!(
                "{lack}; commands do not run without one. The owner of the home can allow that with \
                 `sandbox: {{unsafe: true}}` in synod.yaml; `synod doctor` says how to get a sandbox"
            )
        })
    }

    /// Starts a command in a cage, inside a runtime. Without a backend it runs with limits only. Blocks for a moment.
    pub fn start(&self, cage: &Cage) -> Result<Started, CageError> {
        let unmade = |e: std::io::Error| CageError::Unmade(e.to_string());
        let backend = self.backend().unwrap_or(Backend::Bare);
        let guards = guards(backend, cage).map_err(CageError::Guard)?;
        if backend == Backend::Bare {
            // A child that outlives its parent stays below this process, where the socket knows it as Synod's own.
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|e| unmade(e.into()))?;
        }
        let bound = *self.bound.get_or_init(Bound::best);
        let group = match (backend, bound) {
            (Backend::Bubblewrap | Backend::Namespaces, Bound::Group) => {
                Some(Group::make(cage.limits.processes_max).map_err(unmade)?)
            }
            (Backend::Bubblewrap | Backend::Namespaces | Backend::Bare, _) => None,
        };
        let Prepared { command, line, job, guards } =
            Prepared::new(&self.program, backend, bound, cage, guards)?;
        let mut command = tokio::process::Command::from(command);
        let child = command.kill_on_drop(true).spawn().map_err(unmade)?;
        drop(command);
        // Before there is anything to do: until then nobody inside starts anything.
        if let (Some(group), Some(first)) = (&group, child.id()) {
            group.take(first, Taking::All).map_err(unmade)?;
        }
        job.send(&line).map_err(unmade)?;
        line.set_nonblocking(true).map_err(unmade)?;
        Ok(Started { child, line, guards, group })
    }
}

/// What no command gets, whoever approved it: credentials to read, and a repository's settings to write. Without a
/// view of its own nothing can be covered, which is one of the reasons why each command is asked for there.
fn guards(backend: Backend, cage: &Cage) -> Result<Guards, String> {
    match backend {
        Backend::Bubblewrap | Backend::Namespaces => {}
        Backend::Bare => return Ok(Guards::default()),
    }
    let inside = Inside::find(&cage.workspace, Bounds::WORKSPACE)?;
    let mut guards = Guards::make(&cage.workspace, cage.writable)?;
    if cage.writable {
        guards.add_repositories(&inside.repositories)?;
    }
    guards.cover(inside);
    for place in cage.read.iter().filter(|place| place.is_dir()) {
        let mut inside = Inside::find(place, Bounds::PLACE)?;
        // What is in the home is not there at all, which is more.
        for found in [&mut inside.files, &mut inside.folders] {
            found.retain(|at| !at.starts_with(&cage.home));
        }
        guards.cover(inside);
    }
    Ok(guards)
}

/// A command that is ready to start, its end of the line, and what is sent through it.
struct Prepared {
    command: Command,
    line: UnixStream,
    job: Job,
    guards: Guards,
}

impl Prepared {
    fn new(
        program: &Path,
        backend: Backend,
        bound: Bound,
        cage: &Cage,
        guards: Guards,
    ) -> Result<Self, CageError> {
        let view = View::of(cage, &guards);
        let (line, inner_line) = UnixStream::pair().map_err(|e| CageError::Unmade(e.to_string()))?;
        let mut command = match backend {
            Backend::Bubblewrap => bubblewrap::command(program, cage, &view),
            Backend::Namespaces => namespaces::command(program, cage.network),
            Backend::Bare => stage::command(program, stage::Stage::Bare),
        };
        command
            .env_clear()
            .stdin(OwnedFd::from(inner_line))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        Ok(Self { command, line, job: Job::new(cage, view, backend, bound), guards })
    }
}

impl Started {
    /// Asks everything inside to end by itself.
    pub fn terminate(&self) {
        // If it cannot be asked any more, it has ended.
        let _ = std::io::Write::write_all(&mut &self.line, b"T");
    }

    /// Ends everything inside now.
    pub fn cut(&self) {
        let _ = self.line.shutdown(std::net::Shutdown::Both);
    }

    /// How it came to its end, once its process is gone.
    pub fn end(&mut self) -> Option<End> {
        self.guards.restore();
        End::receive(&self.line)
    }
}
