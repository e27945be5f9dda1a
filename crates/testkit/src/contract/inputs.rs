//! What every way in keeps.

use domain::id::AgentId;
use domain::input::FileInput;
use domain::input::Input;
use ports::inputs::{Inputs, NotTaken};

/// A sample input, told apart by its number.
pub fn input(number: usize) -> Input {
    Input::File(FileInput::AgentGone(AgentId::new(format!("agent-{number}"))))
}

/// Nobody takes anything out while this runs: the way in is bounded, and gives back what it has no room for.
/// Says how many it took.
pub fn is_bounded(inputs: &dyn Inputs, most: usize) -> usize {
    for number in 0..=most {
        match inputs.try_give(input(number)) {
            Ok(()) => {}
            Err(NotTaken::Full(back)) => {
                assert_eq!(*back, input(number), "what has no room comes back as it was");
                return number;
            }
            Err(NotTaken::Closed) => panic!("it is open, and says that it is closed"),
        }
    }
    panic!("more than {most} inputs were taken");
}

/// Nobody takes inputs any more: giving says so, or returns, and never waits.
pub async fn is_closed(inputs: &dyn Inputs) {
    assert!(matches!(inputs.try_give(input(0)), Err(NotTaken::Closed)), "closed is said");
    inputs.give(input(1)).await;
}
