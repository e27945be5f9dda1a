//! The topics: each has its types, its part of the state and the transitions of that part. A topic knows neither the whole
//! state nor the time that passes, and names another topic in one direction only.

pub mod agent;
pub mod approval;
pub mod budget;
pub mod call;
pub mod caps;
pub mod chain;
pub mod claude;
pub mod closed;
pub mod config;
pub mod context;
pub mod deadline;
pub mod delegation;
pub mod evidence;
pub mod lifecycle;
pub mod lock;
pub mod message;
pub mod mode;
pub mod notice;
pub mod outage;
pub mod plan;
pub mod review;
pub mod role;
pub mod run;
pub mod schedule;
pub mod session;
pub mod settings;
pub mod spawn;
pub mod system;
pub mod task;
pub mod tool;
pub mod tools;
pub mod trust;
pub mod turn;
pub mod wait;
