//! Ids that were given before there was this journal, so that none is given again.

use domain::input::FileInput;
use domain::input::Input;

use super::cabinet::Cabinet;
use crate::audit::{Given, LOG, given};

/// Without a journal, the audit log says which were given. The first thing that is said: a journal that has anything
/// has this, so it is looked for only once.
pub(super) fn find_ids(cabinet: &mut Cabinet) {
    match given(&cabinet.home) {
        Ok(Given { delegations: 0, reviews: 0 }) => {}
        Ok(Given { delegations, reviews }) => {
            cabinet.outbox.say(Input::File(FileInput::IdsFound { delegations, reviews }))
        }
        Err(error) => cabinet
            .reports
            .complain_text(LOG, format!("ids may be given again, because {LOG} cannot be read: {error}")),
    }
}
