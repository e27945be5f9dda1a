//! Reads a text file.

use async_trait::async_trait;
use domain::tool::ReadFile;
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, files, shown};
use crate::beneath::Root;
use crate::until::Until;

#[async_trait]
impl Performer for ReadFile {
    fn needs(&self) -> Option<Need> {
        Some(Need::Useful)
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let Self { path, from_line, lines } = self;
        let (part, bytes_max) = (files::Part::new(from_line, lines), order.output_bytes_max);
        let work = move |root: &Root, until: &Until| files::read_file(root, &path, part, bytes_max, until);
        shown(toolbox.look_exactly(&order, work).await)
    }
}
