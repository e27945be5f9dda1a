//! Output that was cut: all of it stands in a file that the agent can page through. The folder is bounded; the
//! oldest go first.

use std::os::fd::OwnedFd;

use domain::id::Ticket;
use domain::layout;
use rustix::fs::{self, AtFlags, Dir};

use super::fences::Pass;
use super::files;
use crate::beneath::{Root, stat_in};

/// Where it stands, relative to the home. No tool of an agent writes there unasked, and nobody commits it.
const FOLDER: &str = layout::OUTPUT;
/// So many outputs are kept.
const FILES_MAX: usize = 1_000;
/// So much of them is kept, all together.
const BYTES_MAX: u64 = 256 << 20;

/// Keeps an output and says where, relative to the home.
pub(super) fn keep(root: &Root, ticket: Ticket, whole: &[u8]) -> Result<String, String> {
    let path = format!("{FOLDER}/{}.txt", ticket.effect);
    let place = root.place(&path).map_err(|e| e.to_string())?;
    make_room(&place.folder.fd, whole.len() as u64);
    files::replace(&place, ticket, None, whole, &Pass::default()).map_err(|e| e.to_string())?;
    Ok(path)
}

/// Takes out the oldest until there is room for one more.
fn make_room(folder: &OwnedFd, wanted: u64) {
    let Ok(dir) = Dir::read_from(folder) else { return };
    let names = dir.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    // Only what was put here by this: others' files are not ours to take out.
    let mut kept: Vec<(u64, String, u64)> = names
        .filter_map(|name| Some((name.strip_suffix(".txt")?.parse().ok()?, name)))
        .filter_map(|(effect, name): (u64, String)| {
            let size = stat_in(folder, &name).ok().flatten()?.st_size;
            Some((effect, name, u64::try_from(size).unwrap_or(0)))
        })
        .collect();
    kept.sort_unstable();
    let mut bytes: u64 = kept.iter().map(|(.., size)| size).sum();
    let mut count = kept.len();
    for (_, name, size) in kept {
        if count < FILES_MAX && bytes.saturating_add(wanted) <= BYTES_MAX {
            return;
        }
        // One that cannot be taken out is somebody else's by now.
        _ = fs::unlinkat(folder, name.as_str(), AtFlags::empty());
        count -= 1;
        bytes -= size;
    }
}
