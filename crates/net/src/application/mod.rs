//! Applications and the memory they share with the engine.

pub mod client;
mod entry;
mod flags;
pub mod handshake;
pub mod layout;
#[cfg(all(test, loom))]
mod loom_tests;
pub mod server;
mod slot;
mod sync;
