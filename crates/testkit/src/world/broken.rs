//! What a simulated run ends with when a rule does not hold.

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(pub String);
