//! TCP/IP on a core of its own: an engine without input or output of its own, devices, memory shared with applications.

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
