//! Registrations in an epoll of another process.
//!
//! An epoll knows a file by its number in the process that added it. So a child that has its own numbers, and shares the
//! memory of this process while this thread waits for it, gives the file that number and adds it.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::check;

/// What the child does.
struct Move {
    epoll: RawFd,
    old: RawFd,
    new: RawFd,
    number: RawFd,
    event: libc::epoll_event,
    error: c_int,
}

/// Bytes of the child's stack: it calls thin functions of the C library alone.
const STACK: usize = 1 << 16;

/// Puts `new` into the place of `old` in an epoll that knows it under `number`.
///
/// # Errors
/// It does not know it, or what the operating system says.
pub fn replace_in_epoll(
    epoll: BorrowedFd<'_>,
    [old, new]: [BorrowedFd<'_>; 2],
    number: RawFd,
    events: u32,
    data: u64,
) -> io::Result<()> {
    let mut work = Move {
        epoll: epoll.as_raw_fd(),
        old: old.as_raw_fd(),
        new: new.as_raw_fd(),
        number,
        event: libc::epoll_event { events, u64: data },
        error: 0,
    };
    let mut stack = vec![0_u128; STACK / 16];
    let top = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child runs `in_child` on a stack of its own, with a pointer to what lives until it has ended, as this
    // thread goes on only then. It takes no lock and no memory of the heap.
    let child = check(unsafe {
        libc::clone(
            in_child,
            top.cast::<c_void>(),
            flags,
            (&raw mut work).cast(),
        )
    })?;
    // SAFETY: no pointer is given but null.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    match work.error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

extern "C" fn in_child(work: *mut c_void) -> c_int {
    // SAFETY: it is the pointer that `replace_in_epoll` gave, and the thread that has it waits.
    let work = unsafe { &mut *work.cast::<Move>() };
    // SAFETY: all arguments are numbers but for the event, which lives through the calls.
    unsafe {
        // The number may be that of one of these: they get others first.
        let copy = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, work.number.saturating_add(1));
        let (epoll, old, new) = (copy(work.epoll), copy(work.old), copy(work.new));
        let event = &raw mut work.event;
        let moved = epoll >= 0
            && old >= 0
            && new >= 0
            && libc::dup2(old, work.number) >= 0
            && libc::epoll_ctl(epoll, libc::EPOLL_CTL_DEL, work.number, event) == 0
            && libc::dup2(new, work.number) >= 0
            && libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, work.number, event) == 0;
        if !moved {
            work.error = *libc::__errno_location();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

    use super::*;

    #[test]
    fn a_file_takes_the_place_of_another() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let (mut to_old, old) = UnixStream::pair().unwrap();
        let (mut to_new, new) = UnixStream::pair().unwrap();
        epoll::add(&epoll, &old, EventData::new_u64(5), EventFlags::IN).unwrap();
        let number = old.as_raw_fd();
        let both = [old.as_fd(), new.as_fd()];
        let events = EventFlags::IN.bits();
        replace_in_epoll(epoll.as_fd(), both, number, events, 6).unwrap();
        let look = || {
            let mut events = Vec::with_capacity(4);
            let now = rustix::event::Timespec::default();
            epoll::wait(
                &epoll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&now),
            )
            .unwrap();
            events
                .iter()
                .map(|event| event.data.u64())
                .collect::<Vec<u64>>()
        };
        to_old.write_all(b"x").unwrap();
        assert!(look().is_empty());
        to_new.write_all(b"x").unwrap();
        assert_eq!(look(), [6]);
        // The numbers of this process are as they were.
        assert_eq!(old.as_raw_fd(), number);
        let again = replace_in_epoll(epoll.as_fd(), both, number, events, 6);
        assert_eq!(again.unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }
}
