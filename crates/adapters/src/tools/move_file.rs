//! Moves a file in one step. No link is followed or moved; the folders of the new path are made.

use std::os::fd::AsFd as _;

use async_trait::async_trait;
use domain::tool::{MoveFile, Seen};
use ports::tools::{Order, Outcome};
use rustix::fs::{self, FileType, RenameFlags};
use rustix::io::Errno;

use super::files::Answer;
use super::{Performer, Toolbox, fences, own, told};
use crate::beneath::{PathRefused, Place, Root, kind_words, stat_in};

#[async_trait]
impl Performer for MoveFile {
    const BINDS_FILES: bool = true;

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (pass, from, to) = (toolbox.pass(&order), self.from.clone(), self.to.clone());
        let folder = order.folder();
        let answer = toolbox.change_exactly(&folder, move |root| rename(root, &order, &self, &pass)).await;
        told(answer).reading(from.clone()).writing(from).writing(to)
    }
}

fn rename(root: &Root, order: &Order, act: &MoveFile, pass: &fences::Pass) -> Answer {
    let MoveFile { from, to, replace } = act;
    let (shown_from, shown_to) = (root.shown(from), root.shown(to));
    let failed = |e: std::io::Error| format!("{shown_from} cannot be moved to {shown_to}: {e}");
    let there_already = || Err(format!("{shown_to} is there already; replace: true replaces it"));
    let open = |path: &str| root.place(path).map_err(|refused| root.in_words(refused));
    let kind = |place: &Place| {
        let stat = stat_in(&place.folder.fd, &place.name).map_err(|e| failed(e.into()))?;
        Ok::<_, String>(stat.map(|stat| FileType::from_raw_mode(stat.st_mode)))
    };
    // A place has its folders made, which a file that is not there does not need.
    if let Err(absent @ PathRefused::Absent { .. }) = root.file(from) {
        return match is_moved(root, order, act) {
            true => Ok(format!("{shown_from} is moved to {shown_to} already")),
            false => Err(root.in_words(absent)),
        };
    }
    let source = open(from)?;
    let target = open(to)?;
    match (kind(&source)?, kind(&target)?) {
        (None, _) => return Err(format!("{shown_from} does not exist")),
        (Some(FileType::RegularFile), None) => {}
        (Some(FileType::RegularFile), Some(FileType::RegularFile)) if *replace => {}
        (Some(FileType::RegularFile), Some(FileType::RegularFile)) => return there_already(),
        (Some(FileType::RegularFile), Some(other)) => {
            return Err(format!("{shown_to} is {}, not a file", kind_words(other)));
        }
        (Some(other), _) => return Err(format!("{shown_from} is {}, not a file", kind_words(other))),
    }
    own::check_files(root, order, act)?;
    let flags = if *replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
    let (here, there) = (source.folder.fd.as_fd(), target.folder.fd.as_fd());
    let renamed = pass
        .through(|| Ok(fs::renameat_with(here, source.name.as_str(), there, target.name.as_str(), flags)?));
    match renamed {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::EXIST) => return there_already(),
        done => done.map_err(failed)?,
    }
    // Without these, one of the names could be lost with the power.
    fs::fsync(there).and_then(|()| fs::fsync(here)).map_err(|e| failed(e.into()))?;
    Ok(format!("{shown_from} is moved to {shown_to}"))
}

/// Whether an attempt that a crash cut off made the move: the target has the bytes that the source had when the call was
/// judged. In the workspace of the agent no bytes are known from before; there, only a repeated attempt counts.
fn is_moved(root: &Root, order: &Order, act: &MoveFile) -> bool {
    let digest = |seen: &Seen, path: &str| {
        let what = own::look_at_file(root, &order.agent, path)?.what;
        seen.parts.iter().find(|part| part.what == what).map(|part| part.digest.clone())
    };
    let before = order.seen.as_ref().and_then(|seen| digest(seen, &act.from));
    let now = own::look_at_file(root, &order.agent, &act.to).map(|part| part.digest);
    match (before, now) {
        (Some(before), Some(now)) => before == now,
        (None, _) | (_, None) => order.ticket.attempt > 1 && root.file(&act.to).is_ok(),
    }
}
