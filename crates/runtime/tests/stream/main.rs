//! Streams as their users see them.
#![forbid(unsafe_code)]

mod abreast;
mod cancel;
mod ends;
mod failures;
mod farm;
mod live;
mod pipeline;
mod plans;
mod structures;
mod toy;
