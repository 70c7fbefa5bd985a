//! A server of the NBD protocol: fixed newstyle, structured replies, `base:allocation`; read only but for images with
//! an overlay.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `server.rs` | who is listened for, and what becomes of them |
//! | `address.rs`, `stream.rs` | sockets of either kind |
//! | `guests.rs` | who is connected |
//! | `handshake.rs` | options |
//! | `connection.rs` | the threads of a client, and who of them reads |
//! | `input.rs`, `request.rs`, `payload.rs`, `reply.rs` | what is received and sent |
//! | `transmission.rs` | what each command does |
//! | `http.rs` | metrics |
//! | `proto.rs` | the numbers |

mod address;
mod connection;
mod guests;
mod handshake;
mod http;
mod input;
mod payload;
mod proto;
mod reply;
mod request;
mod server;
mod stream;
mod transmission;

pub use address::{Address, Listener, SocketFile};
pub use server::{OnStatus, serve};
