//! The loop around the cycle.
