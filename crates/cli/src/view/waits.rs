//! Who waits for what and who has which lock: from the daemon if there is one, else as the journal knows it.

use std::path::Path;

use web::api::{Request, Response, Waits};

use super::spent;
use crate::wire;

/// Reads them. Without a daemon and without a journal there are none.
pub fn read(home: &Path) -> Waits {
    match web::client::ask(&wire::socket(home), &Request::Waits) {
        Ok(Response::Waits(waits)) => *waits,
        _ => web::server::waits(&spent::known(home)),
    }
}
