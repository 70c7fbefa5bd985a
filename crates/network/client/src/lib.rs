//! Connections of a program in a stack of `evener-net`: the memory that it shares with the engine, and the library for it.
//!
//! The engine's side is the crate `evener-net`, which re-exports this one. It stands alone so that the library that comes
//! before the C library is small and quickly built.

#[allow(unsafe_code)]
pub mod memory;

pub mod client;
pub mod datagram;
pub mod doorbell;
#[allow(
    missing_docs,
    reason = "fields are the arguments of the calls that make them"
)]
pub mod entry;
pub mod flags;
pub mod handshake;
pub mod layout;
#[cfg(all(test, loom))]
mod loom_tests;
mod prefix;
pub mod program;
pub mod slot;
mod socket;
mod sync;

pub use client::{Completion, Completions, Connection, Listener, Poller, Stack, UdpSocket};
pub use prefix::Prefix;
pub use socket::SocketId;

/// The Unix socket of a stack, unless another is named.
pub const DEFAULT_SOCKET: &str = "/run/evener-net.sock";
