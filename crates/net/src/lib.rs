//! TCP/IP on a core of its own: an engine without input or output of its own, devices, memory shared with applications.

#[allow(unsafe_code)]
pub mod memory;

pub mod application;
pub mod datagram;
pub mod device;
mod doorbell;
pub mod engine;
pub mod filter;
pub mod fragments;
pub mod link;
pub mod neighbours;
pub mod packet;
pub mod program;
pub mod run;
pub mod segments;
pub mod session;
pub mod supervise;
pub mod tcp;
pub mod time;
pub mod wire;

pub use application::client::{
    Completion, Completions, Connection, Listener, Poller, Stack, UdpSocket,
};
