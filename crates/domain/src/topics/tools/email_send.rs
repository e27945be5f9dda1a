//! The tool `email_send`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Outward, Reach, Shown, Tool, Words};
use crate::topics::role::Permission;
use crate::words::layout;
use policy::Nature;

/// Send a mail, through `inbox/email-outbox.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmailSend {
    /// One address, such as dana@example.org
    #[schemars(length(min = 3, max = 320), regex(pattern = r"^[^\s@,;<>]+@[^\s@,;<>]+$"))]
    pub to: String,
    /// One line
    #[schemars(length(min = 1, max = 500), regex(pattern = r"^[^\r\n]+$"))]
    pub subject: String,
    /// What to say
    #[schemars(length(min = 1, max = 200000))]
    pub text: String,
}

impl Tool for EmailSend {
    const NAME: &'static str = "email_send";
    const DESCRIPTION: &'static str = "Send a mail. A person is asked first.";
    const NEEDS: Option<Permission> = Some(Permission::ExecuteTools);
    /// The line in the outbox carries the effect's id, and is looked for before it is written again.
    const NATURE: Nature = Nature::Idempotent;

    fn reach(&self) -> Reach<'_> {
        let outward = Outward { to: &self.to, file: layout::EMAIL_OUTBOX };
        Reach { outward: Some(outward), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("mail {}", self.to), format!("mailed {}", self.to)).quoting(&self.subject)
    }

    fn shown(&self) -> Option<Shown> {
        let title = format!("mail to {}: {}", self.to, self.subject);
        let text = format!("Subject: {}\n\n{}", self.subject, self.text);
        Some(Shown::text("email", title, format!("Mail to {}", self.to), &text))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        let (to, subject, text) = ("somebody".to_owned(), "a word".to_owned(), "a word".to_owned());
        at.anything(Self { to, subject, text })
    }
}
