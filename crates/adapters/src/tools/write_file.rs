//! Writes a whole file.

use async_trait::async_trait;
use domain::tool::WriteFile;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, files, own, told};

#[async_trait]
impl Performer for WriteFile {
    const BINDS_FILES: bool = true;

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (pass, place) = (toolbox.pass(&order), self.path.clone());
        let work = move |root: &_| {
            if !own::holds(root, &self.path, &self.content) {
                own::check_files(root, &order, &self)?;
            }
            files::write_file(root, order.ticket, &self.path, &self.content, &pass)
        };
        told(toolbox.change_exactly(work).await).writing(place)
    }
}
