//! The ports **ask**: traits for all that Synod needs from the world. Each has one contract suite in
//! `testkit`, run on the fake and on the real part.

pub mod clock;
pub mod hands;
pub mod inputs;
pub mod journal;
pub mod model;
pub mod printer;
pub mod tools;
