//! Mail that is to go out, through a file.

use async_trait::async_trait;
use domain::id::{Seq, Time};
use domain::tool::EmailSend;
use ports::tools::{Order, Outcome};

use super::files::Answer;
use super::{Performer, Toolbox, outbox, told};
use crate::beneath::Root;

#[async_trait]
impl Performer for EmailSend {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (at, effect) = (toolbox.clock.now(), order.ticket.effect);
        told(toolbox.post(move |root| send(root, effect, at, &self)).await)
    }
}

/// In `inbox/`.
const OUTBOX: &str = "email-outbox.jsonl";

/// Sends a mail, once for each effect.
fn send(root: &Root, effect: Seq, at: Time, mail: &EmailSend) -> Answer {
    let EmailSend { to, subject, text } = mail;
    // An address or a subject with a line in it could carry headers of its own.
    if to.chars().chain(subject.chars()).any(char::is_control) {
        return Err("an address and a subject have one line, without control characters".to_owned());
    }
    outbox::post(root, OUTBOX, effect, at, &[("to", to), ("subject", subject), ("text", text)])?;
    Ok(format!("the mail to {to} is on its way"))
}
