//! Carrying out effects. The outcome comes back as an input, some time later.

use domain::effect::Effect;
use domain::state::State;

/// Starts effects and never waits for them.
pub trait Hands: Send {
    /// Starts one effect; `state` is for looking up what it names. Must not block.
    fn perform(&mut self, state: &State, effect: Effect);

    /// Begins to wind down: model calls under way are dropped (they are asked again on the next start), tools
    /// go on until they finish or `abort` is called.
    fn wind_down(&mut self);

    /// Stops everything that is still under way.
    fn abort(&mut self);
}
