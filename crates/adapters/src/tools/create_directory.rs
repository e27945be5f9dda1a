//! Makes a folder.

use async_trait::async_trait;
use domain::tool::CreateDirectory;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, files, told};

#[async_trait]
impl Performer for CreateDirectory {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (pass, place) = (toolbox.pass(&order), self.path.clone());
        let work = move |root: &_| pass.check().and_then(|()| files::create_directory(root, &self.path));
        told(toolbox.change_exactly(&order.folder(), work).await).writing(place)
    }
}
