//! Filter graphs: their text, their stages per plane, and the region inference over them.

pub mod args;
pub mod bind;
mod check;
pub mod colour;
pub mod error;
pub mod expression;
mod files;
pub mod kinds;
pub mod length;
pub mod parse;
pub mod plane;
pub(crate) mod recipe;
mod rest;
mod sound;
#[cfg(test)]
mod tests;
mod text;
pub mod wiring;

pub use bind::{Bound, Planes};
pub use check::{Check, Verdict};
pub use error::GraphError;
pub use parse::{Graph, Parsed};
pub use rest::Rest;
