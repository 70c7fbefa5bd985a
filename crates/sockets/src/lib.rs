//! Sockets of servers: where they listen, streams of either kind, metrics over HTTP. Nothing here starts a thread.

mod address;
pub mod http;
mod limit;
mod slots;
mod stream;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod tcp_info;

pub use address::{Address, Listener, SocketFile};
pub use limit::raise_file_limit;
pub use slots::{Slot, Slots};
pub use stream::Stream;
#[cfg(target_os = "linux")]
pub use tcp_info::TcpInfo;
