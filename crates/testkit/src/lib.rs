//! The testkit **pretends**: fakes of every port, and for each port one contract that the fake and the real
//! part both keep. Only tests use it.

pub mod clock;
pub mod contract;
pub mod hands;
pub mod inputs;
pub mod journal;
pub mod model;
pub mod printer;
pub mod provider;
pub mod rng;
pub mod tools;
pub mod world;

pub use world::World;
