//! Contracts: what every implementation of a port keeps, the fake and the real one. Each is run by the tests
//! of the crate that implements it; a broken rule panics with its name.

pub mod hands;
pub mod inputs;
pub mod journal;
pub mod model;
pub mod printer;
pub mod tools;
