//! Writes a whole file.

use std::borrow::Cow;

use async_trait::async_trait;
use domain::tool::WriteFile;
use ports::tools::{Order, Outcome};

use super::placeholders::{self, View};
use super::{Performer, Toolbox, files, own, told};
use crate::beneath::{PathRefused, Root};

#[async_trait]
impl Performer for WriteFile {
    const BINDS_FILES: bool = true;

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (pass, place, folder) = (toolbox.pass(&order), self.path.clone(), order.folder());
        let work = move |root: &_| {
            let content = with_credentials(root, &self)?;
            if !own::holds(root, &self.path, &content) {
                own::check_files(root, &order, &self)?;
            }
            files::write_file(root, order.ticket, &self.path, &content, &pass)
        };
        told(toolbox.change_exactly(&folder, work).await).writing(place)
    }
}

/// The content, with the credentials of the file in place of their placeholders.
fn with_credentials<'a>(root: &Root, act: &'a WriteFile) -> Result<Cow<'a, str>, String> {
    let WriteFile { path, content } = act;
    if !placeholders::has_any(content) {
        return Ok(Cow::Borrowed(content));
    }
    let file = match root.file(path) {
        Ok(_) => files::read_whole(root, path)?,
        Err(PathRefused::Absent { .. }) => String::new(),
        Err(refused) => return Err(root.in_words(refused)),
    };
    let written = View::of(&file).put_back_all(content);
    written.map(Cow::Owned).map_err(|refused| refused.in_words(&root.shown(path), "content"))
}
