//! `log/usage.jsonl`: what answers took and who paid, for the day when the journal is gone. A line is added before the
//! answer stands in its session: whatever the files know of was paid for.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use domain::budget::charge::{Charge, Raise, sums};
use domain::event::BudgetEvent;
use domain::event::Event;
use domain::id::{Seq, Time};
use domain::input::FileInput;
use domain::input::Input;
use formats::usage::{Entry, PATH, Told, print_line, read, read_line};
use ports::printer::Recorded;

use super::cabinet::Cabinet;

/// So much of the end of the list is looked at when events are printed again. What is told twice all the same is
/// counted once by whoever reads the list.
const END_BYTES_MAX: u64 = 4 << 20;

/// What the list lacks.
#[derive(Default)]
pub(super) struct Usage {
    /// Lines that are not in it yet.
    lines: String,
    /// Whether it is known to end with the end of a line.
    is_whole: bool,
    /// What its end tells, if that was ever asked.
    told: Option<BTreeSet<(Seq, Time)>>,
}

impl Usage {
    /// Notes what an event took; to be called before the state has it.
    pub(super) fn note(&mut self, cabinet: &Cabinet, recorded: &Recorded) {
        let (at, event) = (recorded.at, &recorded.event);
        let is_again = recorded.seq <= cabinet.state.seq;
        let told = match event {
            Event::Budget(BudgetEvent::Raised { budget, cap, approval }) => {
                Told::Raised(Raise { at, budget: budget.clone(), cap: *cap }, approval.clone())
            }
            event => match cabinet.state.charge(at, event) {
                // The state is ahead: when it was reserved is not known any more.
                Some(charge) if is_again => Told::Answered(Charge { reserved: at, ..charge }),
                Some(charge) => Told::Answered(charge),
                None => return,
            },
        };
        if is_again {
            let place = cabinet.home.join(PATH);
            let told = self.told.get_or_insert_with(|| told_at_the_end(&place));
            if told.contains(&(recorded.seq, at)) {
                return;
            }
        }
        self.lines.push_str(&print_line(&Entry { event: recorded.seq, told }));
    }

    /// Adds the lines that are not in the list yet.
    pub(super) fn settle(&mut self, cabinet: &mut Cabinet) -> std::io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let place = cabinet.home.join(PATH);
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&place)?;
        if !self.is_whole {
            mend_end(&mut file)?;
            self.is_whole = true;
        }
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(self.lines.as_bytes()) {
            // Half a line must not stay: the next one would stand behind it.
            self.is_whole = file.set_len(before).is_ok();
            return Err(error);
        }
        self.lines.clear();
        cabinet.touched.insert(PATH.to_owned());
        Ok(())
    }
}

/// Without a journal that counted anything, the list is what is known. To be called when the settings are read.
pub(super) fn find_usage(cabinet: &mut Cabinet) {
    if !cabinet.state.ledger.is_unused() {
        return;
    }
    let Ok(bytes) = std::fs::read(cabinet.home.join(PATH)) else { return };
    let (entries, unread) = read(&String::from_utf8_lossy(&bytes));
    if let Some(first) = unread.first() {
        let message = format!(
            "{PATH}:{first} is no line of this list ({} in all): what it told of is not counted",
            unread.len()
        );
        cabinet.reports.complain_text(PATH, message);
    }
    let input = found(entries);
    if !matches!(&input, Input::File(FileInput::UsageFound { sums, raised }) if sums.is_empty() && raised.is_empty())
    {
        cabinet.outbox.say(input);
    }
}

/// What a list says, as the engine takes it.
pub fn found(entries: Vec<Entry>) -> Input {
    let (mut charges, mut raised): (Vec<Charge>, Vec<Raise>) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.told {
            Told::Answered(charge) => charges.push(charge),
            Told::Raised(raise, _) => raised.push(raise),
        }
    }
    Input::File(FileInput::UsageFound { sums: sums(&charges), raised })
}

/// Cuts off what was being written when the process ended; the journal has it, and it is told again. What a person left
/// without the end of its line gets that.
fn mend_end(file: &mut File) -> std::io::Result<()> {
    let (end, length) = end_of(file)?;
    let last = end.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if last.is_empty() {
        return Ok(());
    }
    if std::str::from_utf8(last).ok().and_then(read_line).is_some() {
        return file.write_all(b"\n");
    }
    file.set_len(length - last.len() as u64)
}

fn told_at_the_end(place: &Path) -> BTreeSet<(Seq, Time)> {
    let end = File::open(place).and_then(|mut file| end_of(&mut file));
    let end = end.map(|(end, _)| end).unwrap_or_default();
    String::from_utf8_lossy(&end)
        .lines()
        .filter_map(read_line)
        .map(|entry| (entry.event, entry.at()))
        .collect()
}

/// The end of a file, and how long the whole is.
fn end_of(file: &mut File) -> std::io::Result<(Vec<u8>, u64)> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES_MAX)))?;
    let mut end = Vec::new();
    file.take(END_BYTES_MAX).read_to_end(&mut end)?;
    Ok((end, length))
}
