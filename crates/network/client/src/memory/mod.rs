//! Memory that an application and the engine share, and rings of bytes in it.
//!
//! The engine trusts nothing there. It reads an index once, checks it, and works on with its own copy; bytes may change
//! under it, and then the application sends what it did not mean to.

mod lent;
mod region;
mod ring;

pub(crate) use lent::Taken;
pub use lent::{Mapping, Receiver, Sender, Slots};
pub use region::{Region, Shared, Span};
pub use ring::{Corrupt, Reader, ReceiveBuffer, SendBuffer, Writer, clear_ring, ring_len};
