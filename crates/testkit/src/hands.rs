//! Puppets: hands that answer at once, with what a test told them.

use std::sync::Arc;

use domain::effect::Effect;
use domain::input::Input;
use domain::input::{ModelInput, ToolInput};
use domain::state::State;
use domain::usage::Usage;
use ports::hands::Hands;
use ports::inputs::Inputs;

use crate::model::ending;

/// Answers every model call with the same words and every tool with the same text, until it winds down.
pub struct Puppets {
    inputs: Arc<dyn Inputs>,
    says: String,
    winding_down: bool,
    aborted: bool,
}

impl Puppets {
    /// Puppets that say `says`.
    pub fn new(inputs: Arc<dyn Inputs>, says: impl Into<String>) -> Self {
        Self { inputs, says: says.into(), winding_down: false, aborted: false }
    }
}

impl Hands for Puppets {
    fn perform(&mut self, state: &State, effect: Effect) {
        let text = self.says.clone();
        let outcome = match effect {
            Effect::CallModel { ticket, session, .. } if !self.winding_down => {
                let calls = ending(state, &session, &text);
                Input::Model(ModelInput::Replied {
                    session,
                    ticket,
                    text,
                    calls,
                    model: String::new(),
                    usage: Usage::of(1, 1),
                    read: Vec::new(),
                })
            }
            Effect::RunTool { ticket, session, call, .. } if !self.aborted => {
                Input::Tool(ToolInput::Finished {
                    session,
                    call: call.id.clone(),
                    ticket,
                    ok: true,
                    text,
                    read: Vec::new(),
                    wrote: Vec::new(),
                    finding: None,
                })
            }
            Effect::Look { ticket, session, call, .. } if !self.winding_down => {
                let (call, seen) = (call.id.clone(), call.seen.clone());
                Input::Tool(ToolInput::Looked { session, call, ticket, seen })
            }
            Effect::CleanUp { agent, .. } => Input::Tool(ToolInput::CleanedUp { agent, kept: Vec::new() }),
            Effect::CallModel { .. }
            | Effect::RunTool { .. }
            | Effect::Look { .. }
            | Effect::Stop { .. }
            | Effect::Fence(_) => {
                return;
            }
        };
        // A full tray in a test is the test's business.
        _ = self.inputs.try_give(outcome);
    }

    fn wind_down(&mut self) {
        self.winding_down = true;
    }

    fn abort(&mut self) {
        self.winding_down = true;
        self.aborted = true;
    }
}
