//! What this system offers for cages, found out by trying.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use super::backend::Backend;

use super::guard::Guards;
use super::job::{End, Limits, Run};
use super::memory::Memory;
use super::pids::Bound;
use super::{Cage, Prepared, bubblewrap, confine};

/// How long a trial may take.
const TRIAL_MS_MAX: u64 = 10_000;

/// Whether one layer works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// It does.
    Works,
    /// It does not; why.
    Missing(String),
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The program bubblewrap, in a cage that was really made.
    pub bubblewrap: Layer,
    /// Namespaces without it, likewise.
    pub namespaces: Layer,
    /// Landlock.
    pub landlock: Layer,
    /// Seccomp.
    pub seccomp: Layer,
    /// A limit on processes that holds for the user who runs Synod.
    pub processes: Layer,
}

impl Offer {
    /// Tries all. Blocks for some milliseconds.
    pub(super) fn probe(program: &Path) -> Self {
        let works = |works: bool, name: &str| match works {
            true => Layer::Works,
            false => Layer::Missing(format!("this kernel does not offer {name}")),
        };
        Self {
            bubblewrap: trial(program, Backend::Bubblewrap),
            namespaces: trial(program, Backend::Namespaces),
            landlock: works(confine::landlock_works(), "Landlock"),
            seccomp: works(confine::seccomp_works(), "seccomp"),
            processes: match Bound::best() {
                Bound::Namespace | Bound::User | Bound::Group => Layer::Works,
                Bound::Watch => Layer::Missing(
                    "no limit of this kernel binds root; a command with too many processes is ended a moment later"
                        .to_owned(),
                ),
            },
        }
    }

    /// The best that works.
    pub fn backend(&self) -> Option<Backend> {
        match (&self.bubblewrap, &self.namespaces) {
            (Layer::Works, _) => Some(Backend::Bubblewrap),
            (_, Layer::Works) => Some(Backend::Namespaces),
            (Layer::Missing(_), Layer::Missing(_)) => None,
        }
    }

    /// Why there is no sandbox, in one line.
    pub(super) fn lack(&self) -> String {
        let why = |layer: &Layer| match layer {
            Layer::Works => "not wanted".to_owned(),
            Layer::Missing(why) => why.clone(),
        };
        let (bubblewrap, namespaces) = (why(&self.bubblewrap), why(&self.namespaces));
        format!("this system offers no sandbox: bubblewrap: {bubblewrap}; namespaces: {namespaces}")
    }
}

/// Makes a cage and runs something in it.
pub(super) fn trial(program: &Path, backend: Backend) -> Layer {
    if backend == Backend::Bubblewrap && bubblewrap::program().is_none() {
        return Layer::Missing("the program bwrap is not installed".to_owned());
    }
    match ran(program, backend) {
        Ok(()) => Layer::Works,
        Err(reason) => Layer::Missing(reason),
    }
}

fn ran(program: &Path, backend: Backend) -> Result<(), String> {
    // A folder that every system has and that nobody writes in here.
    let cage = Cage {
        home: "/usr/share".into(),
        workspace: "/usr/share".into(),
        writable: false,
        network: false,
        read: vec![],
        memory: Memory::default(),
        variables: vec![],
        limits: Limits::default(),
        run: Run::Script("true".to_owned()),
    };
    let Prepared { mut command, line, job, guards: _ } =
        Prepared::new(program, backend, Bound::best(), &cage, Guards::default())
            .map_err(|e| e.to_string())?;
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    // It holds the other end of the line, too.
    drop(command);
    let sent = job.send(&line);
    let _ = line.set_read_timeout(Some(Duration::from_millis(TRIAL_MS_MAX)));
    let end = End::receive(&line);
    drop(line);
    let _ = child.wait();
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(1_000).read_to_string(&mut said);
    }
    match (end, sent) {
        (Some(End::Exited(0)), _) => Ok(()),
        (Some(End::Unmade(reason)), _) => Err(reason),
        (Some(other), _) => Err(format!("a trial ended with {other:?}")),
        (None, _) if !said.trim().is_empty() => Err(said.trim().to_owned()),
        (None, Err(e)) => Err(e.to_string()),
        (None, Ok(())) => Err("a trial gave no answer".to_owned()),
    }
}
