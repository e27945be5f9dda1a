//! Deletes a file. A link is removed itself and never followed; the history in git has the file's last text.

use async_trait::async_trait;
use domain::tool::DeleteFile;
use ports::tools::{Order, Outcome};
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;

use super::files::Answer;
use super::{Performer, Toolbox, fences, own, told};
use crate::beneath::{PathRefused, Root, kind_words, stat_in};

#[async_trait]
impl Performer for DeleteFile {
    const BINDS_FILES: bool = true;

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (pass, place, folder) = (toolbox.pass(&order), self.path.clone(), order.folder());
        let work = move |root: &_| delete(root, &order, &self, &pass);
        told(toolbox.change_exactly(&folder, work).await).writing(place)
    }
}

fn delete(root: &Root, order: &Order, act: &DeleteFile, pass: &fences::Pass) -> Answer {
    let path = act.path.as_str();
    let shown = root.shown(path);
    let gone = || Ok(format!("{shown} is gone already"));
    let folder = path.trim_end_matches('/').rsplit_once('/').map_or(".", |(folder, _)| folder);
    // A place to write has its folders made, which a file that is gone does not need.
    match root.folder(if folder.is_empty() { "/" } else { folder }) {
        Ok(_) => {}
        Err(PathRefused::Absent { .. }) => return gone(),
        Err(refused) => return Err(root.in_words(refused)),
    }
    let place = root.place(path).map_err(|refused| root.in_words(refused))?;
    let failed = |e: std::io::Error| format!("{shown} cannot be deleted: {e}");
    let Some(stat) = stat_in(&place.folder.fd, &place.name).map_err(|e| failed(e.into()))? else {
        return gone();
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Symlink => {}
        kind => return Err(format!("{shown} is {}, not a file", kind_words(kind))),
    }
    own::check_files(root, order, act)?;
    let unlinked = pass.through(|| match fs::unlinkat(&place.folder.fd, &place.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    });
    unlinked.map_err(failed)?;
    // Without this, the file could be back after the power was lost.
    fs::fsync(&place.folder.fd).map_err(|e| failed(e.into()))?;
    Ok(format!("{shown} is deleted"))
}
