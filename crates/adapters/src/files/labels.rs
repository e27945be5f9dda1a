//! `log/labels.jsonl`: what is known of files that agents wrote, for the day when the journal is gone.

use std::io::Write as _;

use domain::event::Event;
use domain::input::Input;
use domain::label;
use domain::lock::workspace;
use domain::tool::{Act, Want};
use formats::labels::{PATH, print_line, read};

use super::desk::Desk;
use crate::disk;

impl Desk {
    /// Notes the labels that an event changed; to be called when the state has it.
    pub(super) fn note_labels(&mut self, event: &Event) {
        let places: Vec<String> = match event {
            Event::CallFinished { wrote, .. } => wrote.clone(),
            Event::FileTrusted { path, .. } => vec![path.clone()],
            Event::CallCleared { session, call, .. } => {
                let Some(session) = self.state.sessions.get(session).filter(|s| s.label.counts()) else {
                    return;
                };
                match session.pending(call).map(|p| &p.call.want) {
                    Some(Want::Act(Act::WriteFile { path, .. } | Act::CreateDirectory { path })) => {
                        vec![path.clone()]
                    }
                    Some(Want::Act(Act::ContextPut { context, .. })) => {
                        domain::context::places(context).to_vec()
                    }
                    Some(Want::Act(_)) => {
                        vec![workspace::room(&self.state, session).folder(&session.agent)]
                    }
                    Some(Want::Invalid { .. }) | None => return,
                }
            }
            _ => return,
        };
        for place in places {
            let place = place.trim_matches('/').to_owned();
            match self.state.files.get(&place) {
                None if self.state.files.len() >= label::FILES_MAX => {
                    let folder = label::folder_for(&place);
                    self.label_lines.push_str(&print_line(folder, self.state.files.get(folder)));
                }
                known if known.is_some() || self.labelled.contains(&place) => {
                    self.label_lines.push_str(&print_line(&place, known));
                }
                _ => continue,
            }
            self.labelled.insert(place);
        }
    }

    /// Adds the lines that are not in the list yet.
    pub(super) fn settle_labels(&mut self) -> std::io::Result<()> {
        if self.label_lines.is_empty() {
            return Ok(());
        }
        let place = self.home.join(PATH);
        let Some(folder) = place.parent() else { return Ok(()) };
        std::fs::create_dir_all(folder)?;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&place)?;
        file.write_all(self.label_lines.as_bytes())?;
        file.sync_data()?;
        disk::sync_folder(folder);
        self.label_lines.clear();
        Ok(())
    }

    /// Without a journal, the list is what is known.
    pub(super) fn find_labels(&mut self) {
        if let Ok(text) = std::fs::read_to_string(self.home.join(PATH)) {
            let labels = read(&text);
            if !labels.is_empty() {
                self.say(Input::LabelsFound { labels });
            }
        }
    }
}
