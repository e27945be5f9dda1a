//! One change of a text.

use std::ops::Range;

/// The bytes at a place become others.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) at: Range<usize>,
    pub(super) with: String,
}
