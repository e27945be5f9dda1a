//! What a model is sent: the agent's prompt and who it is, what files of the home belong to it, and as much of the
//! conversation as fits the model's window. Nothing here changes a session: what is left out of a request stays in
//! the file.

mod ask;
mod fit;
mod grants;
mod history;
mod opening;
mod piece;
mod shorten;
mod sources;
mod summary;
mod system;
mod tally;
mod team;

use std::path::PathBuf;
use std::sync::Arc;

use domain::agent;
use domain::context::Link;
use domain::delegation;
use domain::id::SessionId;
use domain::layout;
use domain::lock::workspace::{self, Room};
use domain::settings::Settings;
use domain::state::State;

use crate::tokens::Windows;
pub(crate) use ask::Answered;
pub use opening::Openings;
pub(crate) use tally::Tally;

/// A turn asks for so many summaries at most; after that, older turns are left out with a note.
const SUMMARIES_MAX: u32 = 8;

/// What is known when a model call begins, and a request is built from.
pub(crate) struct Context {
    home: PathBuf,
    session: SessionId,
    agent: agent::Spec,
    /// Whose AGENTS.md goes along.
    room: Room,
    /// The role by which grants count for it; `None` if it gets no context here, whatever is granted.
    grants_role: Option<String>,
    /// Those through whose hands its work went, if contexts went along with it.
    line: Vec<Link>,
    /// Only what tells the labels of files that may go along, and the windows of models.
    known: Arc<State>,
    may_summarise: bool,
    /// The first number of a message that came when the model was already to be asked.
    first_unread: u32,
    windows: Windows,
    openings: Openings,
    /// Its colleagues.
    team: String,
    /// Tokens that a budget has reserved for what goes in.
    tokens_in_max: Option<u64>,
}

impl Context {
    /// Takes from the state what a call of this session needs.
    pub(crate) fn new(
        home: PathBuf,
        state: &State,
        session: &SessionId,
        agent: &agent::Spec,
        (windows, openings): (Windows, Openings),
    ) -> Self {
        let found = state.sessions.get(session);
        let room = found.map_or(Room::Own, |s| workspace::room(state, s));
        let workspace = room.folder(&agent.id);
        let folders = [layout::MEMORY, layout::CONTEXTS, layout::WORKSPACES, workspace.as_str()];
        let beneath = |path: &str| {
            let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            folders.contains(&path) || is_in(layout::MEMORY) || is_in(layout::CONTEXTS) || is_in(&workspace)
        };
        let files = state.trust.files.iter().filter(|(path, _)| beneath(path));
        let terms = state.terms_of(session);
        let settings = Settings {
            models: terms.models.clone(),
            trust: state.config.settings.trust.clone(),
            context: terms.context.clone(),
            ..Settings::default()
        };
        let mut known = State::new();
        known.config.settings = settings;
        known.trust.files = files.map(|(path, label)| (path.clone(), label.clone())).collect();
        Self {
            home,
            session: session.clone(),
            agent: agent.clone(),
            room,
            grants_role: None,
            line: delegation::line(state, session),
            known: Arc::new(known),
            may_summarise: found.is_none_or(|s| s.pace.summaries < SUMMARIES_MAX),
            first_unread: found.map_or(u32::MAX, |s| s.first_unread()),
            windows,
            openings,
            team: team::roster(state, &agent.id),
            tokens_in_max: None,
        }
    }

    /// Sends contexts along that are granted to the agent, who has this role for grants: only for one that could get
    /// them by a tool as well.
    pub(crate) fn with_contexts(mut self, grants_role: Option<String>) -> Self {
        self.grants_role = grants_role;
        self
    }

    /// Sends no more than this.
    pub(crate) fn within(mut self, tokens_in_max: Option<u64>) -> Self {
        self.tokens_in_max = tokens_in_max;
        self
    }
}

#[cfg(test)]
mod tests;
