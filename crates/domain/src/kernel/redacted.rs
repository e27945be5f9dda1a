//! Inputs without credentials.

use std::borrow::Cow;

use crate::kernel::input::Input;
use crate::kernel::input::{FileInput, ModelInput, PersonInput, ToolInput};
use crate::words::redact::redact;

/// An input without credentials, where the text is not a file's that a person owns: what such a file says must
/// stay what it says, and is redacted on its way to whoever reads it.
pub(crate) fn input(input: &Input) -> Cow<'_, Input> {
    let mut clean = Cow::Borrowed(input);
    let changed = |text: &str| match redact(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    };
    let text = match input {
        Input::File(FileInput::LineRead { text, .. })
        | Input::Person(PersonInput::Say { text, .. })
        | Input::Model(ModelInput::Replied { text, .. })
        | Input::Tool(ToolInput::Finished { text, .. })
        | Input::Model(ModelInput::Failed { reason: text, .. }) => changed(text),
        Input::Person(PersonInput::AddTask { spec, by }) => {
            let (title, text) = (changed(&spec.title), changed(&spec.text));
            if title.is_some() || text.is_some() {
                let mut spec = spec.clone();
                spec.title = title.unwrap_or(spec.title);
                spec.text = text.unwrap_or(spec.text);
                clean = Cow::Owned(Input::Person(PersonInput::AddTask { spec, by: by.clone() }));
            }
            None
        }
        _ => None,
    };
    if let Some(new) = text {
        match clean.to_mut() {
            Input::File(FileInput::LineRead { text, .. })
            | Input::Person(PersonInput::Say { text, .. })
            | Input::Model(ModelInput::Replied { text, .. })
            | Input::Tool(ToolInput::Finished { text, .. })
            | Input::Model(ModelInput::Failed { reason: text, .. }) => *text = new,
            _ => {}
        }
    }
    clean
}
