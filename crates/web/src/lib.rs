//! The web crate **shows**: it lets other processes see and steer a running home. So far that is the home's own
//! socket, one JSON object a line; only the owner of the home can open it.

pub mod api;
pub mod client;
pub mod feed;
mod origin;
mod place;
pub mod server;
pub mod state;
