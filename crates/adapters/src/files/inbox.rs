//! Inbox files: lines that came in from outside. Only whole lines count; how far they were taken, the journal knows.

use std::collections::BTreeMap;

use domain::input::FileInput;
use domain::input::Input;

use super::cabinet::Cabinet;
use crate::disk::Found;

/// How many lines of each inbox file the engine was given.
#[derive(Default)]
pub(super) struct Inboxes(BTreeMap<String, u64>);

impl Inboxes {
    /// Gives new lines to the engine.
    pub(super) fn look(&mut self, cabinet: &mut Cabinet, path: &str, found: Option<&Found>) {
        let Some(found) = found else { return };
        let taken = cabinet.state.trust.inbox.get(path).copied().unwrap_or(0);
        let given = self.0.get(path).copied().unwrap_or(0).max(taken);
        let whole = found.text.rfind('\n').map_or("", |end| &found.text[..=end]);
        let count = whole.lines().count() as u64;
        if count < given {
            // A new file under the old name: its lines start from the first again, and none was taken of it.
            cabinet.reports.complain_text(path, format!("{path} has {count} lines, of which {given} were taken before; only lines after that are taken"));
            return;
        }
        let mut diagnostics = Vec::new();
        let mut number = given;
        for line in whole.lines().skip(usize::try_from(given).unwrap_or(usize::MAX)) {
            if cabinet.outbox.is_full() {
                // The rest follows when there is room.
                cabinet.looks.again(path);
                break;
            }
            number += 1;
            let text = line.trim_start_matches('\u{feff}');
            if text.trim().is_empty() {
                continue;
            }
            let read = formats::inbox::read_line(path, usize::try_from(number).unwrap_or(usize::MAX), text);
            diagnostics.extend(read.diagnostics);
            if let Some(line) = read.value {
                cabinet.outbox.say(Input::File(FileInput::LineRead {
                    source: path.to_owned(),
                    line: number,
                    from: line.from,
                    channel: line.channel,
                    text: line.text,
                }));
            }
        }
        self.0.insert(path.to_owned(), number);
        if !diagnostics.is_empty() {
            cabinet.reports.complain(path, diagnostics);
        }
    }
}
