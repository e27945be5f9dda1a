//! Keeps the project in order.
fn main() {}
