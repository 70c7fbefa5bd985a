//! Memory of the program that calls.

use std::ffi::{c_int, c_void};
use std::net::SocketAddr;
use std::slice;

use evener_net_client::program::sockaddr;

use crate::sys::{self, Errno, Outcome};

/// Runs what a function does, and answers as C does: no panic leaves this library.
pub fn run(body: impl FnOnce() -> Outcome) -> isize {
    let saved = sys::errno();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    sys::set_errno(saved);
    sys::answer(outcome.unwrap_or(Err(libc::EIO)))
}

/// Bytes that a program gives.
///
/// # Safety
/// There are `len` of them, unless `at` is null.
pub unsafe fn bytes<'a>(at: *const c_void, len: usize) -> &'a [u8] {
    match at.is_null() {
        true => &[],
        // SAFETY: the caller says so.
        false => unsafe { slice::from_raw_parts(at.cast(), len) },
    }
}

/// Room that a program gives.
///
/// # Safety
/// There are `len` values in it that nothing else uses, unless `at` is null.
pub unsafe fn room<'a, T>(at: *mut T, len: usize) -> &'a mut [T] {
    match at.is_null() {
        true => &mut [],
        // SAFETY: the caller says so.
        false => unsafe { slice::from_raw_parts_mut(at, len) },
    }
}

/// The vectors of a program, of which there may be 1024.
///
/// # Safety
/// There are `count`, which are valid, unless `at` is null.
pub unsafe fn vectors<'a>(
    at: *const libc::iovec,
    count: usize,
) -> Result<&'a [libc::iovec], Errno> {
    match (at.is_null(), count) {
        (_, 1025..) => Err(libc::EINVAL),
        (true, _) => Ok(&[]),
        // SAFETY: the caller says so.
        _ => Ok(unsafe { slice::from_raw_parts(at, count) }),
    }
}

/// An address that a program gives.
///
/// # Safety
/// There are `len` bytes at `at`, unless it is null.
pub unsafe fn address(at: *const libc::sockaddr, len: libc::socklen_t) -> Option<SocketAddr> {
    // SAFETY: the caller says so.
    sockaddr::decode(unsafe { bytes(at.cast(), len as usize) })
}

/// Gives a program some bytes, as many as it has room for, and says how many there are.
///
/// # Safety
/// There is room for as many bytes at `at` as `len` says, unless one is null.
pub unsafe fn give(given: &[u8], at: *mut c_void, len: *mut libc::socklen_t) {
    if at.is_null() || len.is_null() {
        return;
    }
    // SAFETY: the caller says so.
    let len = unsafe { &mut *len };
    // SAFETY: as above.
    let room = unsafe { room(at.cast::<u8>(), *len as usize) };
    let n = room.len().min(given.len());
    room[..n].copy_from_slice(&given[..n]);
    *len = given.len() as libc::socklen_t;
}

/// Gives a program an address.
///
/// # Safety
/// As [`give`].
pub unsafe fn give_address(
    given: SocketAddr,
    six: bool,
    at: *mut libc::sockaddr,
    len: *mut libc::socklen_t,
) {
    let bytes = sockaddr::encode(given, six);
    // SAFETY: the caller says so.
    unsafe { give(&bytes, at.cast(), len) };
}

/// A result as a number that C knows.
pub fn size(result: Result<usize, Errno>) -> Outcome {
    result.map(|n| n as isize)
}

/// A result without a number.
pub fn done(result: Result<(), Errno>) -> Outcome {
    result.map(|()| 0)
}

/// A time in milliseconds, for ever if negative.
pub fn millis(timeout: c_int) -> Option<std::time::Duration> {
    u64::try_from(timeout)
        .ok()
        .map(std::time::Duration::from_millis)
}

/// A time that a program gives.
///
/// # Safety
/// There is one, unless `at` is null.
pub unsafe fn time(at: *const libc::timespec) -> Result<Option<std::time::Duration>, Errno> {
    // SAFETY: the caller says so.
    let Some(time) = (unsafe { at.as_ref() }) else {
        return Ok(None);
    };
    let seconds = u64::try_from(time.tv_sec).map_err(|_| libc::EINVAL)?;
    let nanos = u32::try_from(time.tv_nsec).ok();
    let nanos = nanos.filter(|&nanos| nanos < 1_000_000_000);
    Ok(Some(std::time::Duration::new(
        seconds,
        nanos.ok_or(libc::EINVAL)?,
    )))
}
