//! Paths of agents, resolved by handle beneath the home. What is opened is checked after it was opened, so no
//! link that is swapped in between leads elsewhere.

pub(crate) mod aside;
mod control;
mod open;
mod spelled;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

pub(crate) use control::{is_git_name, is_granted};

/// The longest path that is looked at.
const PATH_BYTES_MAX: usize = 4096;

/// Why a path is not opened. The words are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathRefused {
    /// It is no path.
    #[error("{path:?} is not a path relative to the home: {reason}")]
    Malformed {
        /// As given.
        path: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// It leads out of the home.
    #[error("{path} leads out of the home")]
    Outside {
        /// As given.
        path: String,
    },
    /// A link stands in it where none is followed.
    #[error(
        "{path} leads elsewhere by a link that was not there when the call was judged; make the call again"
    )]
    Link {
        /// As given.
        path: String,
    },
    /// It is Synod's own.
    #[error("{path} belongs to synod and is not for agents")]
    Hidden {
        /// As given.
        path: String,
    },
    /// It is a shared context.
    #[error("{path} is a shared context: agents see it by a grant in its .acl.yaml, not by its path")]
    Granted {
        /// As given.
        path: String,
    },
    /// Agents may read it and not write it.
    #[error("{path} is a control file of the home, which agents do not write")]
    Control {
        /// As given.
        path: String,
    },
    /// Nothing is there.
    #[error("{path} does not exist")]
    Absent {
        /// As given.
        path: String,
    },
    /// It is something else than what was asked for.
    #[error("{path} is {found}, not {wanted}")]
    Kind {
        /// As given.
        path: String,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// The system refused.
    #[error("{path} cannot be opened: {reason}")]
    System {
        /// As given.
        path: String,
        /// In the words of the system.
        reason: String,
    },
}

/// A home that paths are resolved beneath.
#[derive(Debug)]
pub(crate) struct Root {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    identity: String,
    resolver: Resolver,
    links: Links,
    /// Whether shared contexts are seen: by Synod itself, which looks at their grants, and by no tool.
    sees_contexts: bool,
    /// The folder of the agent that asks, in whose spelling paths are shown.
    folder: Option<String>,
}

/// Who follows a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    /// The kernel, which also follows links that stay beneath.
    Kernel,
    /// We, one step at a time, and no link at all. For systems without `openat2`.
    Steps,
}

/// What becomes of links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Those that stay beneath the home are followed, if the kernel resolves.
    Followed,
    /// A path is what was judged, and a link in it leads elsewhere.
    Refused,
}

/// An open thing and where it really is.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) fd: OwnedFd,
    /// Relative to the home, without links; empty for the home itself.
    pub(crate) real: PathBuf,
}

/// A folder that may be written in, and a name in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) folder: Found,
    pub(crate) name: String,
}

impl Root {
    /// Opens a home. The handle stays on this folder even if it is renamed.
    pub(crate) fn open(home: &Path) -> std::io::Result<Self> {
        let path = home.canonicalize()?;
        let fd = fs::openat(CWD, &path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let resolver = if open::kernel_resolves(&fd) { Resolver::Kernel } else { Resolver::Steps };
        let stat = fs::fstat(&fd)?;
        let identity = format!("{:x}-{:x}", stat.st_dev, stat.st_ino);
        let (fd, links) = (Arc::new(fd), Links::Followed);
        Ok(Self { fd, path, identity, resolver, links, sees_contexts: false, folder: None })
    }

    /// The same home for paths that were resolved when they were judged: no link is followed.
    pub(crate) fn without_links(home: &Path) -> std::io::Result<Self> {
        Ok(Self { links: Links::Refused, ..Self::open(home)? })
    }

    /// The same home for whoever looks at the grants of shared contexts before it shows them.
    pub(crate) fn with_contexts(home: &Path) -> std::io::Result<Self> {
        Ok(Self { sees_contexts: true, ..Self::open(home)? })
    }

    /// The same home, without the kernel's help.
    #[cfg(test)]
    fn by_steps(home: &Path) -> std::io::Result<Self> {
        Ok(Self { resolver: Resolver::Steps, ..Self::open(home)? })
    }

    /// Where the home is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A word for this folder on this machine, whatever its path.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Opens a regular file for reading. Never blocks, whatever the path names.
    pub(crate) fn file(&self, path: &str) -> Result<(File, u64), PathRefused> {
        self.real_file(path).map(|(file, size, _)| (file, size))
    }

    /// The same, with where it really lies.
    pub(crate) fn real_file(&self, path: &str) -> Result<(File, u64, PathBuf), PathRefused> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let found = self.reach(path, flags)?;
        let stat = fs::fstat(&found.fd).map_err(|e| system(path, e))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(PathRefused::Kind {
                path: path.to_owned(),
                found: kind_words(kind),
                wanted: "a file",
            });
        }
        Ok((File::from(found.fd), u64::try_from(stat.st_size).unwrap_or(0), found.real))
    }

    /// What a path stands for, relative to the home and without links. Of what is not there, the part that is.
    pub(crate) fn resolve(&self, path: &str) -> Result<String, PathRefused> {
        let parts = parts(path)?;
        for there in (0..=parts.len()).rev() {
            let found = match self.reach(&joined(&parts[..there]), OFlags::PATH) {
                Err(PathRefused::Absent { .. }) => continue,
                found => found?,
            };
            let real: PathBuf =
                [found.real.as_path()].into_iter().chain(parts[there..].iter().map(Path::new)).collect();
            let real = real.to_str().map(str::to_owned);
            return real.ok_or_else(|| PathRefused::System {
                path: path.to_owned(),
                reason: "it leads to a name that is not UTF-8".to_owned(),
            });
        }
        Err(PathRefused::Absent { path: path.to_owned() })
    }

    /// The same for a name that stands for itself, also where it is a link.
    pub(crate) fn resolve_folder(&self, path: &str) -> Result<String, PathRefused> {
        match parts(path)?.split_last() {
            Some((name, above)) => {
                let folder = self.resolve(&joined(above))?;
                Ok(if folder.is_empty() { (*name).to_owned() } else { format!("{folder}/{name}") })
            }
            None => self.resolve(path),
        }
    }

    /// Opens a folder.
    pub(crate) fn folder(&self, path: &str) -> Result<Found, PathRefused> {
        self.reach(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)
    }

    /// Makes a folder and those above it, where agents may write.
    pub(crate) fn make_folder(&self, path: &str) -> Result<Found, PathRefused> {
        self.make(path, refuse_control)
    }

    /// Makes a folder for Synod itself, which may write control files.
    pub(crate) fn make_own_folder(&self, path: &str) -> Result<Found, PathRefused> {
        self.make(path, |_, _| Ok(()))
    }

    fn make(
        &self,
        path: &str,
        guard: impl Fn(&str, &Path) -> Result<(), PathRefused>,
    ) -> Result<Found, PathRefused> {
        let parts = parts(path)?;
        let mut here = self.folder(".")?;
        for (n, name) in parts.iter().enumerate() {
            let so_far = parts[..=n].join("/");
            here = match self.folder(&so_far) {
                Ok(found) => found,
                Err(PathRefused::Absent { .. }) => {
                    guard(path, &here.real.join(name))?;
                    match fs::mkdirat(&here.fd, *name, Mode::from_raw_mode(0o777)) {
                        // Another may have been faster.
                        Ok(()) | Err(Errno::EXIST) => self.folder(&so_far)?,
                        Err(e) => return Err(system(path, e)),
                    }
                }
                Err(refused) => return Err(refused),
            };
        }
        guard(path, &here.real)?;
        Ok(here)
    }

    /// Opens the folder of a file that is to be written, making it if need be.
    pub(crate) fn place(&self, path: &str) -> Result<Place, PathRefused> {
        let mut parts = parts(path)?;
        let Some(name) = parts.pop().filter(|_| !path.ends_with('/')) else {
            let reason = "it names no file";
            return Err(PathRefused::Malformed { path: path.to_owned(), reason });
        };
        // The name alone first, so that nothing is made for a write that is refused anyway.
        refuse_control(path, &Path::new(&parts.join("/")).join(name))?;
        let folder = if parts.is_empty() { self.folder(".")? } else { self.make_folder(&parts.join("/"))? };
        refuse_control(path, &folder.real.join(name))?;
        Ok(Place { folder, name: name.to_owned() })
    }

    fn reach(&self, path: &str, flags: OFlags) -> Result<Found, PathRefused> {
        let parts = parts(path)?;
        let flags = flags | OFlags::CLOEXEC;
        let opened = match self.resolver {
            Resolver::Kernel => {
                open::by_kernel(&self.fd, &joined(&parts), flags, self.links == Links::Followed)
            }
            Resolver::Steps => open::by_steps(&self.fd, &parts, flags),
        };
        let fd = opened.map_err(|errno| refused(path, errno))?;
        let real = match self.resolver {
            Resolver::Kernel => self.real_path(&fd, path)?,
            Resolver::Steps => parts.iter().collect(),
        };
        if control::is_hidden(&real) {
            return Err(PathRefused::Hidden { path: path.to_owned() });
        }
        if control::is_granted(&real) && !self.sees_contexts {
            return Err(PathRefused::Granted { path: path.to_owned() });
        }
        Ok(Found { fd, real })
    }

    /// Where an open handle is now, relative to where the home is now.
    fn real_path(&self, fd: &OwnedFd, path: &str) -> Result<PathBuf, PathRefused> {
        let home = open::path_of(&self.fd).map_err(|e| system(path, e))?;
        let real = open::path_of(fd).map_err(|e| system(path, e))?;
        match real.strip_prefix(&home) {
            Ok(relative) => Ok(relative.to_owned()),
            Err(_) => Err(PathRefused::Outside { path: path.to_owned() }),
        }
    }
}

/// Splits a path into names, and refuses every form that is not plainly beneath the home.
fn parts(path: &str) -> Result<Vec<&str>, PathRefused> {
    let malformed = |reason| PathRefused::Malformed { path: path.chars().take(200).collect(), reason };
    if path.is_empty() {
        return Err(malformed("it is empty"));
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(malformed("it is longer than 4096 bytes"));
    }
    if path.contains('\0') {
        return Err(malformed("it has a NUL character"));
    }
    if path.starts_with('/') {
        return Err(malformed("it starts with a slash"));
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(malformed("it has '..'")),
            _ => parts.push(part),
        }
    }
    if control::is_hidden(&parts.iter().collect::<PathBuf>()) {
        return Err(PathRefused::Hidden { path: path.to_owned() });
    }
    Ok(parts)
}

fn refuse_control(path: &str, real: &Path) -> Result<(), PathRefused> {
    if control::is_control(real) {
        return Err(PathRefused::Control { path: path.to_owned() });
    }
    Ok(())
}

fn joined(parts: &[&str]) -> String {
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

fn refused(path: &str, errno: Errno) -> PathRefused {
    match errno {
        Errno::NOENT => PathRefused::Absent { path: path.to_owned() },
        Errno::LOOP => PathRefused::Link { path: path.to_owned() },
        Errno::XDEV => PathRefused::Outside { path: path.to_owned() },
        Errno::NOTDIR => {
            PathRefused::Kind { path: path.to_owned(), found: "a file or a link", wanted: "a folder" }
        }
        // A socket, or a device without a driver.
        Errno::NXIO => {
            PathRefused::Kind { path: path.to_owned(), found: "a device or a socket", wanted: "a file" }
        }
        other => system(path, other),
    }
}

fn system(path: &str, errno: Errno) -> PathRefused {
    PathRefused::System { path: path.to_owned(), reason: std::io::Error::from(errno).to_string() }
}

/// What a thing is, for people.
pub(crate) fn kind_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}

/// What stands at a name of a folder, if anything; a link is a link.
pub(crate) fn stat_in(folder: &OwnedFd, name: &str) -> Result<Option<fs::Stat>, Errno> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests;
