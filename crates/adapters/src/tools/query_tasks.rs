//! Asks all task files with SQL.

use async_trait::async_trait;
use domain::tool::QueryTasks;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, tasks_sql, told};
use crate::beneath::Root;
use crate::until::Until;

#[async_trait]
impl Performer for QueryTasks {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let bytes_max = order.output_bytes_max;
        let work = move |root: &Root, until: &Until| tasks_sql::answer(root, &self.sql, bytes_max, until);
        told(toolbox.look_at(order.ms_max, work).await).reading("tasks")
    }
}
