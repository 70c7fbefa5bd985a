//! How threads wait for sockets of the stack, and for file descriptors of the kernel's beside them.

use std::ffi::{c_int, c_short};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use crate::process;
use crate::socket::Socket;
use crate::sys::{self, Errno};

/// How long a thread looks before it sleeps: about as long as it takes to wake it.
const SPIN: Duration = Duration::from_micros(50);
/// How long a thread sleeps between looks for which there is no file descriptor that wakes it.
const STEP: Duration = Duration::from_millis(1);
/// Looks between two readings of the clock.
const LOOKS: u32 = 32;

/// Looks until `ready` gives something, or for as long as it may.
fn spin<T>(deadline: Option<Instant>, ready: &mut impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + SPIN;
    let end = deadline.map_or(end, |deadline| deadline.min(end));
    loop {
        for _ in 0..LOOKS {
            if let Some(found) = ready() {
                return Some(found);
            }
            std::hint::spin_loop();
        }
        if Instant::now() >= end {
            return None;
        }
        // What is waited for may need this processor.
        std::thread::yield_now();
    }
}

/// Waits until `ready` gives something, which looks at sockets of the stack. `fds` of the kernel's end the wait too: their
/// `revents` are set. None at the deadline, or if one of those is ready.
pub fn until<T>(
    fds: &mut Vec<libc::pollfd>,
    deadline: Option<Instant>,
    mask: *const libc::sigset_t,
    mut ready: impl FnMut() -> Option<T>,
) -> Result<Option<T>, Errno> {
    let process = process::attach()?;
    if let Some(found) = spin(deadline, &mut ready) {
        return Ok(Some(found));
    }
    process.with_alarm(|alarm| {
        // A number below zero is passed over.
        fds.push(libc::pollfd {
            fd: alarm.map_or(-1, |alarm| alarm.as_fd().as_raw_fd()),
            events: libc::POLLIN,
            revents: 0,
        });
        let own = fds.len() - 1;
        let result = loop {
            if let Some(alarm) = alarm {
                alarm.arm();
            }
            if let Some(found) = ready() {
                break Ok(Some(found));
            }
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            let step = alarm.is_none().then_some(STEP);
            let polled = sys::poll(fds, left.into_iter().chain(step).min(), mask);
            if let Some(alarm) = alarm {
                alarm.disarm();
            }
            if let Err(error) = polled {
                break Err(error);
            }
            if let Some(found) = ready() {
                break Ok(Some(found));
            }
            let others = fds[..own].iter().any(|fd| fd.revents != 0);
            let late = deadline.is_some_and(|end| end <= Instant::now());
            if others || late {
                break Ok(None);
            }
        };
        if let Some(alarm) = alarm {
            alarm.disarm();
        }
        fds.pop();
        result
    })
}

/// Waits for one socket; `EAGAIN` at the deadline.
pub fn one(socket: &Socket, events: c_short, deadline: Option<Instant>) -> Result<(), Errno> {
    let wanted: c_int = (events | libc::POLLHUP | libc::POLLERR).into();
    let is_ready = || c_int::from(socket.events()) & wanted != 0 || socket.is_moved();
    let ready = || is_ready().then_some(());
    let kernel = socket.kernel_listener().map(|fd| libc::pollfd {
        fd,
        events,
        revents: 0,
    });
    let mut fds = Vec::from_iter(kernel);
    loop {
        match until(&mut fds, deadline, std::ptr::null(), ready) {
            Ok(Some(())) => return Ok(()),
            Ok(None) if fds.iter().any(|fd| fd.revents != 0) => return Ok(()),
            Ok(None) => return Err(libc::EAGAIN),
            Err(libc::EINTR) if sys::signals_restart() => {}
            Err(error) => return Err(error),
        }
    }
}
