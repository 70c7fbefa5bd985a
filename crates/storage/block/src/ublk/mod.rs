//! An image as a local block device, through the Linux driver `ublk`.
//!
//! The driver makes `/dev/ublkbN`, the disk, and hands its requests to a server through io_uring. The server writes the
//! bytes of a request to `/dev/ublkcN`, at an offset that identifies the request, and answers. When a server is killed,
//! the driver keeps its requests until another server recovers the device, and sends them again.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `server.rs` | threads, and the order of starting and stopping |
//! | `device.rs` | a device that is created or recovered |
//! | `queue.rs` | the requests of a queue |
//! | `control.rs` | commands to the control device |
//! | `ring.rs` | io_uring and shared memory: all `unsafe` code |
//! | `abi.rs` | the numbers and layouts of the driver |
//!
//! Sources: `linux/ublk_cmd.h` and `Documentation/block/ublk.rst` of Linux 6.12.

mod abi;
mod control;
mod device;
mod error;
mod queue;
#[allow(unsafe_code)]
mod ring;
mod server;

pub use abi::{MAX_DEPTH, MAX_QUEUES};
pub use device::{Device, DeviceSpec};
pub use error::Error;
pub use server::{mark_io_flusher, serve};
