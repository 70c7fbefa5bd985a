//! A server of the NBD protocol: fixed newstyle, structured replies, `base:allocation`. Images are read only, unless
//! they have an overlay.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `server.rs` | accepting clients |
//! | `address.rs`, `stream.rs` | sockets of either kind |
//! | `clients.rs` | the connected clients |
//! | `handshake.rs` | the negotiation |
//! | `connection.rs` | the threads of a client, of which one reads |
//! | `input.rs`, `request.rs`, `payload.rs`, `reply.rs` | what is received and sent |
//! | `transmission.rs` | what each command does |
//! | `http.rs` | metrics |
//! | `proto.rs` | the numbers of the protocol |

mod address;
mod clients;
mod connection;
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
