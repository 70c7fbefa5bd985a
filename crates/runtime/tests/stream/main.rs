//! Streams as their users see them.
#![forbid(unsafe_code)]

mod ends;
mod failures;
mod farm;
mod live;
mod plans;
mod toy;
