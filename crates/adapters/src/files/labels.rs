//! `log/labels.jsonl`: what is known of files that agents wrote, for the day when the journal is gone.

use std::collections::BTreeSet;
use std::io::Write as _;

use domain::event::Event;
use domain::event::{CallEvent, TrustEvent};
use domain::input::FileInput;
use domain::input::Input;
use domain::label;
use domain::lock::workspace;
use domain::state::State;
use domain::tool::Want;
use formats::labels::{PATH, print_line, read};

use super::cabinet::Cabinet;
use crate::disk;

/// The list of labels.
pub(super) struct Labels {
    /// Lines that are not in it yet.
    lines: String,
    /// Places that have a line in it.
    places: BTreeSet<String>,
}

impl Labels {
    pub(super) fn new(state: &State) -> Self {
        Self { lines: String::new(), places: state.trust.files.keys().cloned().collect() }
    }

    /// Notes the labels that an event changed; to be called when the state has it.
    pub(super) fn note(&mut self, cabinet: &Cabinet, event: &Event) {
        let places: Vec<String> = match event {
            Event::Call(CallEvent::Finished { wrote, .. }) => wrote.clone(),
            Event::Trust(TrustEvent::FileTrusted { path, .. }) => vec![path.clone()],
            Event::Call(CallEvent::Cleared { session, call, .. }) => {
                let Some(session) = cabinet.state.sessions.get(session) else { return };
                match session.pending(call).map(|p| &p.call.want) {
                    // What it reads can have a label that counts, too.
                    Some(Want::Act(act)) if !session.label.counts() && act.reach().reads.is_empty() => return,
                    Some(Want::Act(act)) => match label::written_by(act) {
                        none if none.is_empty() => {
                            vec![workspace::room(&cabinet.state, session).folder(&session.agent)]
                        }
                        places => places,
                    },
                    Some(Want::Invalid { .. }) | None => return,
                }
            }
            _ => return,
        };
        for place in places {
            let place = place.trim_matches('/').to_owned();
            match cabinet.state.trust.files.get(&place) {
                None if cabinet.state.trust.files.len() >= label::FILES_MAX => {
                    let folder = label::folder_for(&place);
                    self.lines.push_str(&print_line(folder, cabinet.state.trust.files.get(folder)));
                }
                known if known.is_some() || self.places.contains(&place) => {
                    self.lines.push_str(&print_line(&place, known));
                }
                _ => continue,
            }
            self.places.insert(place);
        }
    }

    /// Adds the lines that are not in the list yet.
    pub(super) fn settle(&mut self, cabinet: &Cabinet) -> std::io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let place = cabinet.home.join(PATH);
        let Some(folder) = place.parent() else { return Ok(()) };
        std::fs::create_dir_all(folder)?;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&place)?;
        file.write_all(self.lines.as_bytes())?;
        file.sync_data()?;
        disk::sync_folder(folder);
        self.lines.clear();
        Ok(())
    }
}

/// Without a journal, the list is what is known.
pub(super) fn find_labels(cabinet: &mut Cabinet) {
    if let Ok(text) = std::fs::read_to_string(cabinet.home.join(PATH)) {
        let labels = read(&text);
        if !labels.is_empty() {
            cabinet.outbox.say(Input::File(FileInput::LabelsFound { labels }));
        }
    }
}
