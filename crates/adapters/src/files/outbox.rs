//! Inputs on their way to the engine.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::input::Input;
use ports::inputs::{Inputs, NotTaken};

/// Inputs that may wait for the engine.
pub(super) const OUTBOX_MAX: usize = 1024;

/// What people did, in the order in which it was found.
pub(super) struct Outbox {
    inputs: Arc<dyn Inputs>,
    waiting: VecDeque<Input>,
}

impl Outbox {
    pub(super) fn new(inputs: Arc<dyn Inputs>) -> Self {
        Self { inputs, waiting: VecDeque::new() }
    }

    /// Gives an input to the engine, now or as soon as there is room.
    pub(super) fn say(&mut self, input: Input) {
        self.waiting.push_back(input);
        self.empty();
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= OUTBOX_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Gives as much to the engine as it takes.
    pub(super) fn empty(&mut self) {
        while let Some(input) = self.waiting.pop_front() {
            match self.inputs.try_give(input) {
                Ok(()) => {}
                Err(NotTaken::Full(input)) => {
                    self.waiting.push_front(*input);
                    return;
                }
                Err(NotTaken::Closed) => {
                    self.waiting.clear();
                    break;
                }
            }
        }
    }
}
