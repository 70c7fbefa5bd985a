//! What engine and application call errors and measures.

use std::time::Duration;

use crate::engine::{Info, SocketError};
use crate::tcp::Reason;

/// The number of the operating system's for an error of a call.
pub fn of_socket(error: SocketError) -> i32 {
    match error {
        SocketError::InUse => libc::EADDRINUSE,
        SocketError::NotLocal | SocketError::NoPort => libc::EADDRNOTAVAIL,
        SocketError::Unreachable => libc::ENETUNREACH,
        SocketError::NoRoom => libc::ENOBUFS,
        SocketError::Gone => libc::ECONNRESET,
    }
}

/// The number of the operating system's for the end of a connection.
pub fn of_reason(reason: Reason) -> i32 {
    match reason {
        Reason::Refused => libc::ECONNREFUSED,
        Reason::Reset => libc::ECONNRESET,
        Reason::TimedOut => libc::ETIMEDOUT,
        Reason::Unreachable => libc::EHOSTUNREACH,
        Reason::Corrupt | Reason::Aborted => libc::ECONNABORTED,
    }
}

/// Measures of a connection, in the order of `Description`.
pub fn describe(info: &Info) -> [u32; 6] {
    let micros = |time: Duration| saturated(time.as_micros() as u64);
    [
        info.rtt.map_or(0, micros),
        micros(info.rtt_variation),
        saturated(info.window),
        info.mss.into(),
        saturated(info.retransmitted),
        saturated(info.in_flight),
    ]
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
