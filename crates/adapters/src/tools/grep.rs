//! Finds lines by a regular expression.

use async_trait::async_trait;
use domain::tool::Grep;
use ports::tools::{Order, Outcome};

use super::found_lines::{Limits, Pattern, Report};
use super::reviews::Need;
use super::{Performer, Toolbox, search};
use crate::beneath::{PathRefused, Root};
use crate::until::Until;

#[async_trait]
impl Performer for Grep {
    fn needs(&self) -> Option<Need> {
        Some(Need::Useful)
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let may_see = toolbox.may_see(order.agent.clone());
        let (own, bytes_max) = (order.room().folder(&order.agent), order.output_bytes_max);
        let work = move |root: &Root, until: &Until| grep(root, &self, &own, &may_see, bytes_max, until);
        match toolbox.look_exactly(&order, work).await {
            Ok((text, places)) => places.into_iter().fold(Outcome::done(text), Outcome::reading),
            Err(text) => Outcome::failed(text),
        }
    }
}

fn grep(
    root: &Root,
    act: &Grep,
    own: &str,
    may_see: &dyn Fn(&str) -> bool,
    bytes_max: u64,
    until: &Until,
) -> Result<search::Found, String> {
    let pattern = Pattern::read(&act.pattern, act.glob.as_deref())?;
    let path = act.path.as_deref().unwrap_or(own);
    let limits = Limits { bytes_max, context: act.context.unwrap_or(0) as usize, counts: act.count };
    let mut report = Report::new(limits);
    let wants = |file: &str| pattern.takes(file) && may_see(file);
    // A workspace that nobody has made yet has no lines.
    let is_missing = act.path.is_none() && matches!(root.folder(path), Err(PathRefused::Absent { .. }));
    let notes = match is_missing {
        true => Vec::new(),
        // What is left of the time is not spent on files that would be read for nothing.
        false => search::walk(root, path, until, &wants, &mut |file, text| {
            report.add(&pattern, (file, &|path| root.shown(path)), &text);
        })?,
    };
    Ok(report.finish(&format!("no line in {} matches {}", root.shown(path), act.pattern), notes))
}
