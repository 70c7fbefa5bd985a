//! Calls that read and write.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::memory::{address, bytes, give_address, room, run, size, time, vectors};
use crate::socket::Socket;
use crate::sys::{self, Errno, Outcome};
use crate::{table, take};

/// Bytes of a file that `sendfile` has in memory at a time.
const PIECE: usize = 64 << 10;

/// Sends, and sends a signal if the connection is over. Of UDP all parts are one datagram, which goes to an address.
fn send_parts<'a>(
    socket: &Socket,
    mut parts: impl Iterator<Item = &'a [u8]>,
    flags: c_int,
    to: Option<SocketAddr>,
) -> Result<usize, Errno> {
    if let Some(datagrams) = socket.datagrams() {
        let first = parts.next().unwrap_or_default();
        let mut rest = parts.peekable();
        if rest.peek().is_none() {
            return socket.send_datagram(datagrams, first, to, flags);
        }
        let mut whole = first.to_vec();
        rest.for_each(|part| whole.extend_from_slice(part));
        return socket.send_datagram(datagrams, &whole, to, flags);
    }
    let mut done = 0;
    for part in parts {
        match socket.send(part, flags) {
            Ok(n) => {
                done += n;
                if n < part.len() {
                    break;
                }
            }
            Err(_) if done > 0 => break,
            Err(error) => {
                if error == libc::EPIPE && flags & libc::MSG_NOSIGNAL == 0 {
                    sys::raise_pipe();
                }
                return Err(error);
            }
        }
    }
    Ok(done)
}

/// Receives into one part after another, and waits for the first alone.
fn receive_parts<'a>(
    socket: &Socket,
    parts: impl Iterator<Item = &'a mut [u8]>,
    flags: c_int,
) -> Result<usize, Errno> {
    let mut done = 0;
    for part in parts.filter(|part| !part.is_empty()) {
        let wait = match done > 0 && flags & libc::MSG_WAITALL == 0 {
            true => libc::MSG_DONTWAIT,
            false => 0,
        };
        match socket.receive(part, flags | wait) {
            Ok(n) => {
                done += n;
                // What is peeked at stays, and would be given again.
                if n < part.len() || flags & libc::MSG_PEEK != 0 {
                    break;
                }
            }
            Err(_) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// What came of a call that receives.
struct Received {
    len: usize,
    from: Option<SocketAddr>,
    /// There was no room for all of a datagram.
    cut: bool,
}

/// Receives bytes of a stream, or a datagram.
fn receive_from<'a>(
    socket: &Socket,
    parts: impl Iterator<Item = &'a mut [u8]>,
    flags: c_int,
) -> Result<Received, Errno> {
    let Some(datagrams) = socket.datagrams() else {
        let len = receive_parts(socket, parts, flags)?;
        return Ok(Received {
            len,
            from: None,
            cut: false,
        });
    };
    let mut parts: Vec<&mut [u8]> = parts.collect();
    let received = socket.receive_datagram(datagrams, &mut parts, flags)?;
    let whole = flags & libc::MSG_TRUNC != 0;
    Ok(Received {
        len: if whole { received.len } else { received.copied },
        from: Some(received.from),
        cut: received.copied < received.len,
    })
}

/// # Safety
/// The vectors are valid.
unsafe fn send_vectors(
    socket: &Socket,
    at: *const libc::iovec,
    count: usize,
    flags: c_int,
    to: Option<SocketAddr>,
) -> Outcome {
    // SAFETY: the caller says so.
    let vectors = unsafe { vectors(at, count) }?;
    // SAFETY: as above.
    let part = |vector: &libc::iovec| unsafe { bytes(vector.iov_base, vector.iov_len) };
    size(send_parts(socket, vectors.iter().map(part), flags, to))
}

/// # Safety
/// The vectors are valid, and nothing else uses their memory.
unsafe fn receive_vectors(
    socket: &Socket,
    at: *const libc::iovec,
    count: usize,
    flags: c_int,
) -> Result<Received, Errno> {
    // SAFETY: the caller says so.
    let vectors = unsafe { vectors(at, count) }?;
    // SAFETY: as above.
    let part = |vector: &libc::iovec| unsafe { room(vector.iov_base.cast::<u8>(), vector.iov_len) };
    receive_from(socket, vectors.iter().map(part), flags)
}

/// One part of `len` bytes at `at`.
///
/// # Safety
/// There is room for them that nothing else uses.
unsafe fn receive_one(
    socket: &Socket,
    at: *mut c_void,
    len: usize,
    flags: c_int,
) -> Result<Received, Errno> {
    // SAFETY: the caller says so.
    let part = unsafe { room(at.cast::<u8>(), len) };
    receive_from(socket, std::iter::once(part), flags)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, at: *mut c_void, len: usize) -> isize {
    run(|| match table::socket(fd) {
        // SAFETY: the program gives room of this length.
        Some(socket) => unsafe { receive_one(&socket, at, len, 0) }.map(|got| got.len as isize),
        None => sys::call(libc::SYS_read, [sys::word(fd), at as usize, len]),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(fd: c_int, at: *mut c_void, len: usize, _room: usize) -> isize {
    // SAFETY: it is the same call.
    unsafe { read(fd, at, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, at: *const c_void, len: usize) -> isize {
    run(|| match table::socket(fd) {
        // SAFETY: the program gives bytes of this length.
        Some(socket) => size(send_parts(
            &socket,
            std::iter::once(unsafe { bytes(at, len) }),
            0,
            None,
        )),
        None => sys::call(libc::SYS_write, [sys::word(fd), at as usize, len]),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, at: *const libc::iovec, count: c_int) -> isize {
    run(|| match table::socket(fd) {
        // SAFETY: the program gives vectors.
        Some(socket) => {
            // SAFETY: as above.
            unsafe { receive_vectors(&socket, at, sys::word(count), 0) }.map(|got| got.len as isize)
        }
        None => sys::call(
            libc::SYS_readv,
            [sys::word(fd), at as usize, sys::word(count)],
        ),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, at: *const libc::iovec, count: c_int) -> isize {
    run(|| match table::socket(fd) {
        // SAFETY: the program gives vectors.
        Some(socket) => unsafe { send_vectors(&socket, at, sys::word(count), 0, None) },
        None => sys::call(
            libc::SYS_writev,
            [sys::word(fd), at as usize, sys::word(count)],
        ),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, at: *mut c_void, len: usize, flags: c_int) -> isize {
    let none = std::ptr::null_mut();
    // SAFETY: it is the same call.
    unsafe { recvfrom(fd, at, len, flags, none, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recv_chk(
    fd: c_int,
    at: *mut c_void,
    len: usize,
    _room: usize,
    flags: c_int,
) -> isize {
    // SAFETY: it is the same call.
    unsafe { recv(fd, at, len, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    fd: c_int,
    at: *mut c_void,
    len: usize,
    flags: c_int,
    from: *mut libc::sockaddr,
    from_len: *mut libc::socklen_t,
) -> isize {
    run(|| {
        let Some(socket) = table::socket(fd) else {
            let arguments = [
                sys::word(fd),
                at as usize,
                len,
                sys::word(flags),
                from as usize,
                from_len as usize,
            ];
            return sys::call(libc::SYS_recvfrom, arguments);
        };
        // SAFETY: the program gives room of this length.
        let received = unsafe { receive_one(&socket, at, len, flags) }?;
        if let Some(remote) = received.from.or_else(|| socket.remote()) {
            // SAFETY: as above.
            unsafe { give_address(remote, socket.six, from, from_len) };
        }
        Ok(received.len as isize)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    at: *mut c_void,
    len: usize,
    _room: usize,
    flags: c_int,
    from: *mut libc::sockaddr,
    from_len: *mut libc::socklen_t,
) -> isize {
    // SAFETY: it is the same call.
    unsafe { recvfrom(fd, at, len, flags, from, from_len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, at: *const c_void, len: usize, flags: c_int) -> isize {
    // SAFETY: it is the same call.
    unsafe { sendto(fd, at, len, flags, std::ptr::null(), 0) }
}

/// The socket of the stack that is to send to an address, if there is one, and the address.
///
/// # Safety
/// There is an address of this length, unless it is null.
unsafe fn sender(
    fd: c_int,
    to: *const libc::sockaddr,
    len: libc::socklen_t,
) -> Result<(Option<Arc<Socket>>, Option<SocketAddr>), Errno> {
    // SAFETY: the caller says so.
    let to = unsafe { address(to, len) };
    let found = match (table::socket(fd), to) {
        (None, Some(to)) => take::send_to(fd, to).transpose()?,
        (found, _) => found,
    };
    Ok((found, to))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    at: *const c_void,
    len: usize,
    flags: c_int,
    to: *const libc::sockaddr,
    to_len: libc::socklen_t,
) -> isize {
    // SAFETY: the program gives an address of this length.
    run(|| match unsafe { sender(fd, to.cast(), to_len) }? {
        // SAFETY: the program gives bytes of this length.
        (Some(socket), to) => size(send_parts(
            &socket,
            std::iter::once(unsafe { bytes(at, len) }),
            flags,
            to,
        )),
        (None, _) => {
            let arguments = [
                sys::word(fd),
                at as usize,
                len,
                sys::word(flags),
                to as usize,
                to_len as usize,
            ];
            sys::call(libc::SYS_sendto, arguments)
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    run(|| {
        let Some(socket) = table::socket(fd) else {
            let arguments = [sys::word(fd), message as usize, sys::word(flags)];
            return sys::call(libc::SYS_recvmsg, arguments);
        };
        // SAFETY: the program gives a message.
        let message = unsafe { message.as_mut() }.ok_or(libc::EFAULT)?;
        // SAFETY: as above.
        unsafe { receive_message(&socket, message, flags) }
    })
}

/// # Safety
/// The message is valid.
unsafe fn receive_message(socket: &Socket, message: &mut libc::msghdr, flags: c_int) -> Outcome {
    // SAFETY: the caller says so.
    let received =
        unsafe { receive_vectors(socket, message.msg_iov, message.msg_iovlen as _, flags) }?;
    match received.from {
        // SAFETY: as above.
        Some(from) => unsafe {
            give_address(
                from,
                socket.six,
                message.msg_name.cast(),
                &raw mut message.msg_namelen,
            );
        },
        None => message.msg_namelen = 0,
    }
    message.msg_controllen = 0;
    message.msg_flags = if received.cut { libc::MSG_TRUNC } else { 0 };
    Ok(received.len as isize)
}

/// Messages of one call, of which the kernel takes 1024 at most: `each` says how long one was. An error after the first is
/// told by the next call.
fn each_message(
    messages: &mut [libc::mmsghdr],
    mut each: impl FnMut(&mut libc::msghdr, usize) -> Outcome,
) -> Outcome {
    let most = messages.len().min(1024);
    for (at, message) in messages[..most].iter_mut().enumerate() {
        match each(&mut message.msg_hdr, at) {
            Ok(len) => message.msg_len = len as u32,
            Err(_) if at > 0 => return Ok(at as isize),
            Err(error) => return Err(error),
        }
    }
    Ok(most as isize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    run(|| {
        let Some(socket) = table::socket(fd) else {
            let arguments = [
                sys::word(fd),
                messages as usize,
                count as usize,
                sys::word(flags),
                timeout as usize,
            ];
            return sys::call(libc::SYS_recvmmsg, arguments);
        };
        // SAFETY: the program gives a time, or none.
        let deadline = unsafe { time(timeout) }?.and_then(|time| Instant::now().checked_add(time));
        // SAFETY: the program gives so many messages.
        let messages = unsafe { room(messages, count as usize) };
        let without = flags & !libc::MSG_WAITFORONE;
        each_message(messages, |message, at| {
            let late = deadline.is_some_and(|end| Instant::now() >= end);
            let wait = match at > 0 && (late || flags & libc::MSG_WAITFORONE != 0) {
                true => libc::MSG_DONTWAIT,
                false => 0,
            };
            // SAFETY: as above.
            unsafe { receive_message(&socket, message, without | wait) }
        })
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    run(|| {
        // SAFETY: the program gives so many messages.
        let all = unsafe { room(messages, count as usize) };
        let first = all.first().map(|message| &message.msg_hdr);
        // SAFETY: as above.
        let Some(socket) = unsafe { message_sender(fd, first) }? else {
            let arguments = [
                sys::word(fd),
                messages as usize,
                count as usize,
                sys::word(flags),
            ];
            return sys::call(libc::SYS_sendmmsg, arguments);
        };
        let messages = all;
        each_message(messages, |message, _| {
            // SAFETY: as above.
            unsafe { send_message(&socket, message, flags) }
        })
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    run(|| {
        // SAFETY: the program gives a message.
        let Some(socket) = unsafe { message_sender(fd, message.as_ref()) }? else {
            let arguments = [sys::word(fd), message as usize, sys::word(flags)];
            return sys::call(libc::SYS_sendmsg, arguments);
        };
        // SAFETY: the program gives a message.
        let message = unsafe { message.as_ref() }.ok_or(libc::EFAULT)?;
        // SAFETY: as above.
        unsafe { send_message(&socket, message, flags) }
    })
}

/// The socket of the stack that is to send a message, if there is one.
///
/// # Safety
/// The message is valid.
unsafe fn message_sender(
    fd: c_int,
    message: Option<&libc::msghdr>,
) -> Result<Option<Arc<Socket>>, Errno> {
    let Some(message) = message else {
        return Ok(table::socket(fd));
    };
    // SAFETY: the caller says so.
    unsafe { sender(fd, message.msg_name.cast(), message.msg_namelen) }.map(|(found, _)| found)
}

/// # Safety
/// The message is valid.
unsafe fn send_message(socket: &Socket, message: &libc::msghdr, flags: c_int) -> Outcome {
    // SAFETY: the caller says so.
    let to = unsafe { address(message.msg_name.cast(), message.msg_namelen) };
    let (at, count) = (message.msg_iov, message.msg_iovlen as _);
    // SAFETY: as above.
    unsafe { send_vectors(socket, at, count, flags, to) }
}

/// System calls by their numbers. Libraries make those so that some C libraries do not have: of sockets these two.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    one: usize,
    two: usize,
    three: usize,
    four: usize,
    five: usize,
    six: usize,
) -> c_long {
    let (fd, count, flags) = (one as c_int, three as c_uint, four as c_int);
    match number {
        // SAFETY: it is the same call.
        libc::SYS_recvmmsg => unsafe { recvmmsg(fd, two as _, count, flags, five as _) }.into(),
        // SAFETY: it is the same call.
        libc::SYS_sendmmsg => unsafe { sendmmsg(fd, two as _, count, flags) }.into(),
        _ => sys::answer(sys::call(number, [one, two, three, four, five, six])) as c_long,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut libc::off_t, len: usize) -> isize {
    run(|| {
        let Some(socket) = table::socket(to) else {
            let arguments = [sys::word(to), sys::word(from), at as usize, len];
            return sys::call(libc::SYS_sendfile, arguments);
        };
        // SAFETY: the program gives a place in the file, or none.
        let place = unsafe { at.as_mut() };
        size(send_file(&socket, from, place, len))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(to: c_int, from: c_int, at: *mut libc::off_t, len: usize) -> isize {
    // SAFETY: it is the same call.
    unsafe { sendfile(to, from, at, len) }
}

/// Sends a part of a file, from `place` on, or from where the file is read.
fn send_file(
    socket: &Socket,
    file: c_int,
    place: Option<&mut libc::off_t>,
    len: usize,
) -> Result<usize, Errno> {
    let seek = |to: libc::off_t, whence: c_int| {
        sys::call(
            libc::SYS_lseek,
            [sys::word(file), to as usize, sys::word(whence)],
        )
    };
    let start = match &place {
        Some(place) => **place,
        None => seek(0, libc::SEEK_CUR)? as libc::off_t,
    };
    let mut piece = vec![0; PIECE.min(len)];
    let mut done = 0;
    let mut result = Ok(());
    while done < len {
        let most = piece.len().min(len - done);
        let arguments = [
            sys::word(file),
            piece.as_mut_ptr() as usize,
            most,
            start as usize + done,
        ];
        let read = sys::call(libc::SYS_pread64, arguments);
        let Ok(read @ 1..) = read else {
            result = read.map(drop);
            break;
        };
        let read = read as usize;
        match send_parts(socket, std::iter::once(&piece[..read]), 0, None) {
            Ok(n) => {
                done += n;
                if n < read {
                    break;
                }
            }
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    let end = start + done as libc::off_t;
    match place {
        Some(place) => *place = end,
        None => drop(seek(end, libc::SEEK_SET)),
    }
    match result {
        Err(error) if done == 0 => Err(error),
        _ => Ok(done),
    }
}
