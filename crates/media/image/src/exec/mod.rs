//! How the graph of a plane runs on a frame: one file per structure.

pub mod access;
pub mod backward;
pub mod batched;
pub mod cost;
pub mod fuse;
pub mod integer;
pub mod moved;
mod regions;
pub mod sequential;
pub mod service;
pub mod tiled;
