//! Inbox files: lines that came in from outside. Only whole lines count; how far they were taken, the journal knows.

use domain::input::Input;

use super::desk::{Desk, OUTBOX_MAX};
use crate::disk::Found;

impl Desk {
    pub(super) fn look_at_inbox(&mut self, path: &str, found: Option<&Found>) {
        let Some(found) = found else { return };
        let taken = self.state.inbox.get(path).copied().unwrap_or(0);
        let given = self.lines_given.get(path).copied().unwrap_or(0).max(taken);
        let whole = found.text.rfind('\n').map_or("", |end| &found.text[..=end]);
        let count = whole.lines().count() as u64;
        if count < given {
            // A new file under the old name: its lines start from the first again, and none was taken of it.
            self.complain_text(path, format!("{path} has {count} lines, of which {given} were taken before; only lines after that are taken"));
            return;
        }
        let mut diagnostics = Vec::new();
        let mut number = given;
        for line in whole.lines().skip(usize::try_from(given).unwrap_or(usize::MAX)) {
            if self.outbox_len() >= OUTBOX_MAX {
                // The rest follows when there is room.
                self.look_again(path);
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
                self.say(Input::LineRead {
                    source: path.to_owned(),
                    line: number,
                    from: line.from,
                    channel: line.channel,
                    text: line.text,
                });
            }
        }
        self.lines_given.insert(path.to_owned(), number);
        if !diagnostics.is_empty() {
            self.complain(path, diagnostics);
        }
    }
}
