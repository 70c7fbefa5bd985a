//! The NBD server, by a client of its own, by noise, and by the clients people use.

mod client;
mod commands;
#[allow(dead_code)]
#[path = "../image/common.rs"]
mod common;
mod handshake;
mod interop;
mod noise;
mod read_ahead;
mod server;
mod trouble;
mod writers;
mod writing;
