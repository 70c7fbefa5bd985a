//! The tuner in virtual time: streams modelled on real ones, over many seeds, against the best fixed plan in hindsight.
//!
//! `cargo test --test tuner -- --nocapture` prints the figures.

mod change;
mod decisions;
mod devices;
mod figures;
mod frames;
mod groups;
mod hopeless;
mod host;
mod machines;
mod rng;
mod shared_host;
mod short;
mod sim;
#[path = "../common/structures.rs"]
mod structures;
mod table;
mod world;
