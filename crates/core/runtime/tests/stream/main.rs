//! Streams as their users see them.
#![forbid(unsafe_code)]

mod cancel;
mod ends;
mod failures;
mod farm;
mod grouped;
mod live;
mod open;
mod pipeline;
mod plans;
#[path = "../common/structures.rs"]
mod structures;
mod toy;
mod wavefront;
