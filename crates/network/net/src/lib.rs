//! A user-space TCP/IP stack that runs on a core of its own.
//!
//! | item | for |
//! | --- | --- |
//! | [`Stack`] | applications: sockets of a stack that runs in another process |
//! | [`session::run`] | a stack with a device, for applications that attach to its Unix socket |
//! | [`engine::Engine`] | programs that embed the stack: no thread, no clock, no input or output |
//! | [`device`] | TUN, TAP, packet sockets, AF_XDP, an encrypted tunnel |

pub mod device;
pub mod engine;
pub mod filter;
pub mod fragments;
pub mod link;
pub mod neighbours;
pub mod packet;
pub mod run;
pub mod segments;
pub mod server;
pub mod session;
pub mod supervise;
pub mod tcp;
pub mod time;
pub mod wire;

pub use evener_net_client::{
    Completion, Completions, Connection, Listener, Poller, Stack, UdpSocket, client, datagram,
    handshake, layout, memory, program,
};
use evener_net_client::{doorbell, entry, flags, slot};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
