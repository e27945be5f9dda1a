//! Taking rights off this process, and so off everything it starts: limits, capabilities, Landlock, seccomp.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    path_beneath_rules,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::backend::Backend;
use super::job::Job;
use super::mount::{DEVICES, Mount};
use super::syscalls::{self, Sockets};

/// The newest Landlock that is asked for; an older one does what it can.
const LANDLOCK: ABI = ABI::V6;

/// Confines this thread and those that it starts.
pub(super) fn confine(job: &Job) -> io::Result<()> {
    // What was inherited by accident ends where a command begins.
    close_fds::set_fds_cloexec(3, &[]);
    limit(job)?;
    // Nothing in the cage may look into this process, which still holds the lifeline.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)?;
    landlock(job).map_err(io::Error::other)?;
    let sockets = match (job.backend, job.network) {
        (Backend::Bare, false) => Sockets::Local,
        (Backend::Bubblewrap | Backend::Namespaces | Backend::Bare, _) => Sockets::Internet,
    };
    syscalls::refuse(sockets).map_err(io::Error::other)
}

fn limit(job: &Job) -> io::Result<()> {
    let limits = &job.limits;
    let mut all = vec![
        (Resource::Core, 0),
        (Resource::Cpu, limits.cpu_seconds_max),
        (Resource::Data, limits.memory_bytes_max),
        (Resource::Nofile, limits.files_max),
        (Resource::Fsize, limits.file_bytes_max),
    ];
    match job.backend {
        // It counts in the user namespace, and binds everyone but the system's root, whom the watch holds.
        Backend::Bubblewrap | Backend::Namespaces => all.push((Resource::Nproc, limits.processes_max)),
        Backend::Bare => {}
    }
    for (resource, most) in all {
        let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

fn landlock(job: &Job) -> Result<(), landlock::RulesetError> {
    let (all, read) = (AccessFs::from_all(LANDLOCK), AccessFs::from_read(LANDLOCK));
    let ruleset = Ruleset::default().handle_access(all)?.scope(Scope::from_all(LANDLOCK))?;
    let is_bare = job.backend == Backend::Bare;
    let ruleset = match is_bare && !job.network {
        true => ruleset.handle_access(AccessNet::from_all(LANDLOCK))?,
        false => ruleset,
    };
    let readable = if is_bare { readable(job) } else { vec!["/".into()] };
    let mut writable = vec![PathBuf::from("/tmp"), "/dev/shm".into()];
    if job.writable {
        writable.push(job.workspace.clone());
    }
    let devices = DEVICES.iter().chain(&["ptmx", "pts"]).map(|name| Path::new("/dev").join(name));
    ruleset
        .create()?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(devices, AccessFs::from_file(LANDLOCK)))?
        .add_rules(path_beneath_rules(writable, all))?
        .restrict_self()?;
    Ok(())
}

/// Without a view of its own, a command may at least read no more than it would see.
fn readable(job: &Job) -> Vec<PathBuf> {
    let mut paths = vec![job.workspace.clone(), "/proc".into()];
    paths.extend_from_slice(&job.view.memory);
    for mount in &job.view.system {
        match mount {
            Mount::Link { at, .. } | Mount::ReadOnly { at, .. } => paths.push(at.clone()),
            Mount::Writable { .. } | Mount::Covered { .. } | Mount::Memory { .. } | Mount::Sealed { .. } => {}
        }
    }
    paths
}

/// Whether Landlock works here, tried on a thread of its own that then ends.
pub(super) fn landlock_works() -> bool {
    let tried = std::thread::spawn(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI::V1)).ok()?;
        Some(ruleset.create().ok()?.restrict_self().ok()?.ruleset != RulesetStatus::NotEnforced)
    });
    tried.join().ok().flatten().unwrap_or(false)
}

/// Whether seccomp works here, tried on a thread of its own that then ends.
pub(super) fn seccomp_works() -> bool {
    let tried = std::thread::spawn(|| syscalls::refuse(Sockets::Internet).is_ok());
    tried.join().unwrap_or(false)
}
