//! TCP and UDP sockets of a stack of `evener-net`, through memory shared with its engine.
//!
//! Attach to a running stack with [`Stack::attach`]. Then connect, listen and bind as with sockets of the kernel.
//!
//! ```no_run
//! use std::io::Write;
//!
//! let stack = evener_net_client::Stack::attach(evener_net_client::DEFAULT_SOCKET)?;
//! let mut connection = stack.connect("10.1.0.2:7".parse()?)?;
//! connection.write_all(b"hello")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The engine's side is the crate `evener-net`, which re-exports this one. The crates are separate so that the
//! preloaded library of `evener net exec` is small and quick to build.

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

/// The default path of a stack's Unix socket.
pub const DEFAULT_SOCKET: &str = "/run/evener-net.sock";

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
