//! Calls about file descriptors.

use std::ffi::{c_int, c_uint, c_ulong};
use std::sync::atomic::Ordering;

use crate::memory::run;
use crate::sys;
use crate::{own, process, table};

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    run(|| {
        if own::has(fd) {
            // A program that closes all numbers that there may be.
            return Err(libc::EBADF);
        }
        // A child of `vfork` has the memory of its parent, but file descriptors of its own.
        let entry = match process::owns_memory() {
            true => table::replace(fd, None),
            false => None,
        };
        // The number is free only after nothing is there any more.
        let closed = sys::close(fd);
        drop(entry);
        closed
    }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    run(|| {
        let kernel = |(first, last): (c_uint, c_uint)| {
            let arguments = [first as usize, last as usize, sys::word(flags)];
            sys::call(libc::SYS_close_range, arguments)
        };
        let closes = flags as c_uint & libc::CLOSE_RANGE_CLOEXEC == 0;
        if first > last || !closes || !process::owns_memory() {
            return kernel((first, last));
        }
        let gone = table::remove_range(first, last);
        let closed = own::between(first, last)
            .into_iter()
            .try_for_each(|part| kernel(part).map(drop));
        drop(gone);
        closed.map(|()| 0)
    }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn closefrom(first: c_int) {
    close_range(first.max(0) as c_uint, c_uint::MAX, 0);
}

#[unsafe(no_mangle)]
extern "C" fn dup(fd: c_int) -> c_int {
    run(|| {
        let made = sys::call(libc::SYS_dup, [sys::word(fd)])?;
        table::duplicate(fd, made as c_int);
        Ok(made)
    }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    if from == to {
        let flags = [sys::word(from), sys::word(libc::F_GETFD)];
        return run(|| sys::call(libc::SYS_fcntl, flags).map(|_| to as isize)) as c_int;
    }
    dup3(from, to, 0)
}

#[unsafe(no_mangle)]
extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    run(|| {
        let arguments = [sys::word(from), sys::word(to), sys::word(flags)];
        let made = sys::call(libc::SYS_dup3, arguments)?;
        table::duplicate(from, to);
        Ok(made)
    }) as c_int
}

// C has these with any number of arguments; that there is a third is harmless.
#[unsafe(no_mangle)]
extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    run(|| {
        let made = sys::call(
            libc::SYS_fcntl,
            [sys::word(fd), sys::word(command), argument],
        )?;
        let Some(socket) = table::peek(fd) else {
            return Ok(made);
        };
        Ok(match command {
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
                table::duplicate(fd, made as c_int);
                made
            }
            libc::F_SETFL => {
                let on = argument & libc::O_NONBLOCK as usize != 0;
                socket.nonblocking.store(on, Ordering::Relaxed);
                made
            }
            libc::F_GETFL => {
                let on = socket.nonblocking.load(Ordering::Relaxed);
                let flag = libc::O_NONBLOCK as isize;
                if on { made | flag } else { made & !flag }
            }
            _ => made,
        })
    }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    fcntl(fd, command, argument)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, at: *mut c_int) -> c_int {
    run(|| {
        let socket = match request {
            libc::FIONREAD | libc::FIONBIO => table::socket(fd),
            _ => None,
        };
        let Some(socket) = socket else {
            let arguments = [sys::word(fd), request as usize, at as usize];
            return sys::call(libc::SYS_ioctl, arguments);
        };
        // SAFETY: both requests have a number there.
        let number = unsafe { at.as_mut() }.ok_or(libc::EFAULT)?;
        if request == libc::FIONREAD {
            *number = socket.available()?.try_into().unwrap_or(c_int::MAX);
        } else {
            socket.nonblocking.store(*number != 0, Ordering::Relaxed);
        }
        Ok(0)
    }) as c_int
}
