//! What the rules work with: the draft on which a decision is made.

pub(crate) mod draft;
