//! Calls of the operating system that take pointers: the filter and what it notifies, another process's memory, signals,
//! options of sockets.

mod epoll;
mod memory;
mod notify;
mod options;
mod signals;
mod start;

use std::io;

pub use epoll::replace_in_epoll;
pub use memory::{read_memory, socket_of, write_memory};
pub use notify::{Notification, Notifier, Place, Reply, available};
pub use options::{get_option, set_option};
pub use signals::Signals;
pub use start::start;

/// A number of the operating system's for an error.
pub type Errno = i32;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(result),
    }
}
