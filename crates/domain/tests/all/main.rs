//! The rules of the domain, told through its own door: inputs in, events and effects out.

mod home;

mod approvals;
mod chance;
mod delegating;
mod laws;
mod limits;
mod messages;
mod recovering;
mod slots;
mod tables;
