//! Sockets of servers: where they listen, by which names, streams of either kind, metrics over HTTP. Nothing here starts a thread.

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
