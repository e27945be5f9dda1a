//! Mail that is to go out, through a file.

use domain::id::{Seq, Time};

use super::files::Answer;
use super::outbox;
use crate::beneath::Root;

/// In `inbox/`.
const OUTBOX: &str = "email-outbox.jsonl";

/// One mail for each effect.
pub(super) struct Mail {
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) text: String,
}

/// Sends a mail, once for each effect.
pub(super) fn email_send(root: &Root, effect: Seq, at: Time, mail: &Mail) -> Answer {
    let Mail { to, subject, text } = mail;
    // An address or a subject with a line in it could carry headers of its own.
    if to.chars().chain(subject.chars()).any(char::is_control) {
        return Err("an address and a subject have one line, without control characters".to_owned());
    }
    outbox::post(root, OUTBOX, effect, at, &[("to", to), ("subject", subject), ("text", text)])?;
    Ok(format!("the mail to {to} is on its way"))
}
