//! Where a new home may be made: in an empty folder of one's own, or in another one that the caller names on purpose. Never in a
//! folder of the system or in a person's whole home folder.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use domain::layout;

use crate::failure::{Exit, fail};

/// Folders that belong to the system with all that is in them.
const SYSTEM: [&str; 13] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/run/systemd",
    "/sbin",
    "/sys",
    "/usr",
];
/// Folders that belong to the system, in which people and services have folders of their own.
const SHARED: [&str; 16] = [
    "/",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/run/user",
    "/snap",
    "/srv",
    "/tmp",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];

/// Whether a folder that is not empty may become a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupied {
    /// It is refused.
    Refused,
    /// The caller said so; what is there stays.
    Accepted,
}

impl Occupied {
    /// What a `--here` flag says.
    pub fn of(here: bool) -> Self {
        if here { Self::Accepted } else { Self::Refused }
    }
}

/// Refuses a folder that must not become a home.
pub fn check(dir: &Path, occupied: Occupied) -> anyhow::Result<()> {
    let place = real(dir)?;
    let refused = |why: &str, help: &str| Err(fail(Exit::Failed, format!("{} {why}", dir.display()), help));
    if belongs_to_system(&place) {
        return refused(
            "belongs to the system, so no home is made there",
            "name a new folder of your own: synod init my-team",
        );
    }
    if is_home_of_person(&place) {
        return refused(
            "is a person's home folder, so no home is made there",
            "name a new folder in it: synod init ~/my-team",
        );
    }
    if occupied == Occupied::Accepted {
        return Ok(());
    }
    let first = match std::fs::read_dir(&place) {
        Ok(mut entries) => entries.next(),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return refused(
                &format!("cannot become a home: {error}"),
                "choose a folder that you may write to",
            );
        }
    };
    // Somebody began to make a home here and was stopped.
    if place.join(layout::OWN).is_dir() {
        return Ok(());
    }
    let is_repository = place.join(".git").exists();
    let what = if is_repository { "is a git repository" } else { "is not empty" };
    match first {
        None => Ok(()),
        Some(_) => refused(
            &format!("{what}, so no home is made in it"),
            "name a new folder: synod init my-team; for a team that works on a repository: synod init --repo PATH; to put the home among these files all the same: synod init --here",
        ),
    }
}

/// Where a folder is or would be made, without links and `..`.
fn real(dir: &Path) -> anyhow::Result<PathBuf> {
    let dir = std::path::absolute(dir)?;
    for there in dir.ancestors() {
        let Ok(mut place) = there.canonicalize() else { continue };
        let rest = dir.strip_prefix(there).unwrap_or(Path::new(""));
        for part in rest.components() {
            match part {
                Component::ParentDir => _ = place.pop(),
                Component::Normal(name) => place.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        return Ok(place);
    }
    Ok(dir)
}

fn belongs_to_system(place: &Path) -> bool {
    SYSTEM.iter().any(|folder| place.starts_with(folder))
        || SHARED.iter().any(|folder| place == Path::new(folder))
}

/// Whether it is the home folder of whoever asks, or stands where those of others do.
fn is_home_of_person(place: &Path) -> bool {
    let own = std::env::home_dir().and_then(|own| own.canonicalize().ok());
    own.is_some_and(|own| own == place) || place.parent() == Some(Path::new("/home"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_system_are_known_by_their_place() {
        for system in [
            "/",
            "/etc",
            "/etc/synod",
            "/usr",
            "/usr/local/team",
            "/var",
            "/var/lib",
            "/proc/1",
            "/tmp",
            "/home",
        ] {
            assert!(belongs_to_system(Path::new(system)), "{system}");
        }
        for own in ["/home/dana/team", "/var/lib/synod", "/srv/team", "/tmp/x", "/etcetera", "/opt/team"] {
            assert!(!belongs_to_system(Path::new(own)), "{own}");
        }
        assert!(
            is_home_of_person(Path::new("/home/dana")) && !is_home_of_person(Path::new("/home/dana/team"))
        );
    }

    #[test]
    fn a_folder_is_judged_by_where_it_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        assert_eq!(real(&link.join("team")).unwrap(), Path::new("/etc/team"));
        assert_eq!(real(Path::new("/tmp/../etc/none/../team")).unwrap(), Path::new("/etc/team"));
        assert_eq!(real(Path::new("/nothing-here/../etc/team")).unwrap(), Path::new("/etc/team"));
    }
}
