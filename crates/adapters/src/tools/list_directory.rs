//! Lists a folder.

use async_trait::async_trait;
use domain::tool::ListDirectory;
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, files, shown};
use crate::beneath::Root;
use crate::until::Until;

#[async_trait]
impl Performer for ListDirectory {
    fn needs(&self) -> Option<Need> {
        Some(Need::Useful)
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let bytes_max = order.output_bytes_max;
        let work = move |root: &Root, _: &Until| files::list_directory(root, &self.path, bytes_max);
        shown(toolbox.look_exactly(&order, work).await)
    }
}
