//! Signals that are read from a file descriptor.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::check;

/// What is passed on.
const PASSED: [libc::c_int; 6] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Signals of this thread that come through a file descriptor instead. When it is dropped, they come as before.
pub struct Signals {
    before: libc::sigset_t,
    fd: OwnedFd,
}

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Which.
    pub signal: libc::c_int,
    /// The kernel sent it, as a terminal does to all of its processes.
    pub by_kernel: bool,
}

impl Signals {
    /// Takes those that are to be passed on.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn take() -> io::Result<Signals> {
        let mut set = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` makes the set a value, the others are given one, and all live through the calls.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in PASSED {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let fd = check(libc::signalfd(-1, set.as_ptr(), flags))?;
            let fd = OwnedFd::from_raw_fd(fd);
            match libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            Ok(Signals {
                before: before.assume_init(),
                fd,
            })
        }
    }

    /// How signals came before, for a child to [`restore`](Self::restore).
    pub fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Lets signals come to this thread as they did.
    pub fn restore(before: &libc::sigset_t) {
        // SAFETY: the set is a value, and lives through the call.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
    }

    /// The next signal, if one came.
    pub fn next(&self) -> Option<Taken> {
        let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
        let read = rustix::io::read(&self.fd, &mut bytes).ok()?;
        let word = |at: usize| {
            let bytes = bytes[at..at + 4].try_into().expect("four bytes");
            i32::from_ne_bytes(bytes)
        };
        // The first words are the signal, an error, and how it was sent.
        let taken = Taken {
            signal: word(0),
            by_kernel: word(8) > 0,
        };
        (read == bytes.len()).then_some(taken)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        Signals::restore(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_comes_through_the_file_descriptor() {
        let signals = Signals::take().unwrap();
        assert_eq!(signals.next(), None);
        // SAFETY: it is this thread that the signal is sent to, where it is blocked.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR1) };
        let expected = Taken {
            signal: libc::SIGUSR1,
            by_kernel: false,
        };
        assert_eq!(signals.next(), Some(expected));
        assert_eq!(signals.next(), None);
    }
}
