//! Calls about sockets but for their data.

use std::ffi::{c_int, c_void};
use std::net::Shutdown;
use std::sync::Arc;

use crate::memory::{address, bytes, done, give, give_address, run};
use crate::sys::{self, Outcome};
use crate::{options, table, take};

type Address = *mut libc::sockaddr;
type Length = *mut libc::socklen_t;

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, at: *const libc::sockaddr, len: libc::socklen_t) -> c_int {
    run(|| {
        // SAFETY: the program gives an address of this length.
        let remote = unsafe { address(at, len) };
        let taken = match (table::socket(fd), remote) {
            (Some(socket), remote) if socket.datagrams().is_some() => {
                Some(take::reconnect(&socket, remote))
            }
            (Some(socket), Some(remote)) => Some(socket.connect(remote)),
            (Some(_), None) => Some(Err(libc::EAFNOSUPPORT)),
            (None, Some(remote)) => take::connect(fd, remote),
            (None, None) => None,
        };
        let kernel = || {
            sys::call(
                libc::SYS_connect,
                [sys::word(fd), at as usize, len as usize],
            )
        };
        taken.map_or_else(kernel, done)
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, at: *const libc::sockaddr, len: libc::socklen_t) -> c_int {
    run(|| {
        // SAFETY: the program gives an address of this length.
        let local = unsafe { address(at, len) };
        let kernel = || sys::call(libc::SYS_bind, [sys::word(fd), at as usize, len as usize]);
        let taken = match (table::socket(fd), local) {
            (Some(_), _) => Some(Err(libc::EINVAL)),
            (None, Some(local)) => take::bind(fd, local, kernel),
            (None, None) => None,
        };
        taken.map_or_else(kernel, done)
    }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    run(|| match table::socket(fd) {
        Some(socket) => done(socket.listen(backlog)),
        None => sys::call(libc::SYS_listen, [sys::word(fd), sys::word(backlog)]),
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(fd: c_int, at: Address, len: Length) -> c_int {
    // SAFETY: it is the same call.
    unsafe { accept4(fd, at, len, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(fd: c_int, at: Address, len: Length, flags: c_int) -> c_int {
    run(|| {
        let Some(listener) = table::socket(fd) else {
            let arguments = [sys::word(fd), at as usize, len as usize, sys::word(flags)];
            return sys::call(libc::SYS_accept4, arguments);
        };
        // A connection that no file descriptor is free for stays where it is.
        loop {
            if let Some(kernel) = listener.kernel_to_accept() {
                let arguments = [
                    sys::word(kernel),
                    at as usize,
                    len as usize,
                    sys::word(flags),
                ];
                let accepted = sys::call(libc::SYS_accept4, arguments);
                if accepted != Err(libc::EAGAIN) {
                    return accepted;
                }
            }
            listener.wait_to_accept()?;
            let mut remote = None;
            let made = table::add(flags & libc::SOCK_CLOEXEC != 0, || {
                let socket = listener.accept(flags & libc::SOCK_NONBLOCK != 0)?;
                remote = socket.remote();
                Ok(Arc::new(socket))
            });
            // Another thread may have been sooner, or it is the kernel that has one.
            if made == Err(libc::EAGAIN) {
                continue;
            }
            if let Some(remote) = remote {
                // SAFETY: the program gives room of this length.
                unsafe { give_address(remote, listener.six, at, len) };
            }
            return made.map(|fd| fd as isize);
        }
    }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    run(|| {
        let Some(socket) = table::socket(fd) else {
            return sys::call(libc::SYS_shutdown, [sys::word(fd), sys::word(how)]);
        };
        let how = match how {
            libc::SHUT_RD => Shutdown::Read,
            libc::SHUT_WR => Shutdown::Write,
            libc::SHUT_RDWR => Shutdown::Both,
            _ => return Err(libc::EINVAL),
        };
        done(socket.shutdown(how))
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(fd: c_int, at: Address, len: Length) -> c_int {
    run(|| {
        let Some(socket) = table::known(fd) else {
            let arguments = [sys::word(fd), at as usize, len as usize];
            return sys::call(libc::SYS_getsockname, arguments);
        };
        let local = socket.local().ok_or(libc::EINVAL)?;
        // SAFETY: the program gives room of this length.
        unsafe { give_address(local, socket.six, at, len) };
        Ok(0)
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(fd: c_int, at: Address, len: Length) -> c_int {
    run(|| {
        let Some(socket) = table::known(fd) else {
            let arguments = [sys::word(fd), at as usize, len as usize];
            return sys::call(libc::SYS_getpeername, arguments);
        };
        let remote = socket.remote().ok_or(libc::ENOTCONN)?;
        // SAFETY: the program gives room of this length.
        unsafe { give_address(remote, socket.six, at, len) };
        Ok(0)
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    at: *mut c_void,
    len: Length,
) -> c_int {
    run(|| {
        let kernel = |fd: c_int| -> Outcome {
            let option = [sys::word(fd), sys::word(level), sys::word(name)];
            let [fd, level, name] = option;
            sys::call(
                libc::SYS_getsockopt,
                [fd, level, name, at as usize, len as usize],
            )
        };
        let Some(socket) = table::known(fd) else {
            return kernel(fd);
        };
        let Some(value) = options::get(&socket, level, name) else {
            return kernel(socket.kernel()?);
        };
        // SAFETY: the program gives room of this length.
        unsafe {
            let most = len.as_ref().map_or(0, |len| *len as usize);
            give(&value[..value.len().min(most)], at, len);
        }
        Ok(0)
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    at: *const c_void,
    len: libc::socklen_t,
) -> c_int {
    run(|| {
        let mut fd = fd;
        if let Some(socket) = table::known(fd) {
            // SAFETY: the program gives a value of this length.
            let value = unsafe { bytes(at, len as usize) };
            let is_known = options::set(&socket, level, name, value)?;
            if is_known && socket.kernel_listener().is_none() {
                return Ok(0);
            }
            fd = socket.kernel()?;
        }
        let option = [sys::word(fd), sys::word(level), sys::word(name)];
        let [fd, level, name] = option;
        sys::call(
            libc::SYS_setsockopt,
            [fd, level, name, at as usize, len as usize],
        )
    }) as c_int
}
