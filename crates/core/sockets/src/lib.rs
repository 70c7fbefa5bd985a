//! Sockets for servers: addresses, listening sockets of every kind, host names, and metrics over HTTP.
//!
//! Parse an [`Address`], bind a [`Listener`], poll it, and accept [`Stream`]s. The crate starts no threads.
//!
//! ```
//! use evener_sockets::{Address, Listener};
//!
//! let address: Address = "tcp:127.0.0.1:0".parse()?;
//! let listener = Listener::bind(&address)?;
//! assert!(listener.accept_or_pause().is_none()); // no client is waiting
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod hosts;
pub mod http;
mod limit;
mod slots;
mod stream;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod tcp_info;

pub use address::{Address, Listener, SocketFile};
pub use hosts::{Asked, BadHostName, Foreign, HostName, Hosts};
pub use limit::raise_file_limit;
pub use slots::{Slot, Slots};
pub use stream::Stream;
#[cfg(target_os = "linux")]
pub use tcp_info::TcpInfo;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
