//! Who waits for what and who has which lock: from the daemon if there is one, else as the journal knows it.

use std::path::Path;

use web::api::{Request, Response, Waits};

use super::activity::Daemon;
use super::{spent, text};
use crate::out::Out;
use crate::wire;

/// Reads them. Without a daemon and without a journal there are none.
pub fn read(home: &Path, out: &Out) -> Waits {
    let why = match web::client::ask(&wire::socket(home), &Request::Waits) {
        Ok(Response::Waits(waits)) => return *waits,
        Ok(_) => "it gave another answer".to_owned(),
        Err(error) if wire::is_running(home) => error.to_string(),
        Err(_) => return web::server::waits(&spent::known(home)),
    };
    of_journal(home, &why, out)
}

/// The same for who has asked the daemon already: one that did not answer is not waited for again.
pub fn beside(home: &Path, daemon: &Daemon, out: &Out) -> Waits {
    match daemon {
        Daemon::Mute(why) => of_journal(home, why, out),
        Daemon::Absent | Daemon::Live(_) => read(home, out),
    }
}

fn of_journal(home: &Path, why: &str, out: &Out) -> Waits {
    out.say(format!(
        "the daemon does not say who waits ({}); this is as the journal has it",
        text::line(why)
    ));
    web::server::waits(&spent::known(home))
}
