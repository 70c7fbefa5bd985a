//! Streams of random legal pictures: read back by a reader of its own, and decoded by ffmpeg.

#[path = "../common/mod.rs"]
mod common;
#[path = "../reader/mod.rs"]
mod reader;

mod cabac;
mod decoder;
mod parameters;
mod round_trip;
mod stream;
