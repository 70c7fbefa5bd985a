//! Seccomp: a filter whose listener hears of system calls, and what is answered to them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::check;
use crate::supervise::filter;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// A system call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// Which notification it is.
    pub id: u64,
    /// The thread that calls, in the namespace of this process; 0 if it has no number there.
    pub thread: u32,
    /// The number of the system call.
    pub call: i64,
    /// What it was given.
    pub arguments: [u64; 6],
}

/// The answer to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The kernel does what was called for.
    Continue,
    /// The call returns this.
    Value(i64),
    /// The call fails with this number.
    Error(i32),
}

/// Where a file descriptor is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the place of the one that has this number, which is closed.
    At(RawFd),
    /// Under the lowest number that is free, which the call returns.
    Returned,
}

/// The listener of a filter.
#[derive(Debug)]
pub struct Notifier(OwnedFd);

/// Whether the kernel notifies as this code expects it.
///
/// # Errors
/// It does not.
pub fn available() -> io::Result<()> {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut sizes: libc::seccomp_notif_sizes = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to what the call takes, which lives through it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_NOTIF_SIZES,
            0,
            &raw mut sizes,
        )
    };
    check(result as libc::c_int)?;
    let fit = usize::from(sizes.seccomp_notif) <= size_of::<libc::seccomp_notif>()
        && usize::from(sizes.seccomp_notif_resp) <= size_of::<libc::seccomp_notif_resp>();
    match fit && filter::SUPPORTED {
        true => Ok(()),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Puts the filter before the system calls of this process and its children, and returns the listener. The process must
/// not make any of the calls that are filtered until the listener is served.
///
/// # Errors
/// The kernel has no such filters, or there is a listener already.
pub fn child_filter() -> io::Result<OwnedFd> {
    let mut program = filter::program();
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: these arguments are numbers.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: the pointer is to a filter of that length, which lives through the call.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    let listener = check(listener as libc::c_int)?;
    // SAFETY: the kernel made the file descriptor for this call, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

impl Notifier {
    /// Of a listener. Where the kernel knows how, the thread that calls and this one wake each other on one processor, which
    /// is faster than to wake another.
    pub fn new(listener: OwnedFd) -> Notifier {
        // SAFETY: the request takes a number. Kernels before 6.6 do not have it.
        unsafe {
            libc::ioctl(
                listener.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
                SYNC_WAKE_UP,
            )
        };
        Notifier(listener)
    }

    /// The next call. Waits for none if the file descriptor was readable.
    ///
    /// # Errors
    /// The call that made it readable was given up (`ENOENT`), or what the operating system says.
    pub fn receive(&self) -> io::Result<Notification> {
        // SAFETY: zeros are a value of this structure of numbers, and what the kernel asks for.
        let mut raw: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to what the request takes, which lives through the call.
        check(unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                &raw mut raw,
            )
        })?;
        Ok(Notification {
            id: raw.id,
            thread: raw.pid,
            call: raw.data.nr.into(),
            arguments: raw.data.args,
        })
    }

    /// Answers. A call that was given up needs no answer, so there is no error.
    pub fn reply(&self, id: u64, reply: Reply) {
        let (val, error, flags) = match reply {
            Reply::Continue => (0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            Reply::Value(value) => (value, 0, 0),
            Reply::Error(number) => (0, -number, 0),
        };
        let mut raw = libc::seccomp_notif_resp {
            id,
            val,
            error,
            flags,
        };
        // SAFETY: the pointer is to what the request takes, which lives through the call.
        unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut raw,
            )
        };
    }

    /// Whether a call still waits. If it does, what was found out about its thread before is about that thread.
    pub fn waits(&self, id: u64) -> bool {
        // SAFETY: the pointer is to what the request takes, which lives through the call.
        let result = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                &raw const id,
            )
        };
        result == 0
    }

    /// Gives the process that calls a file descriptor, and returns its number there.
    ///
    /// # Errors
    /// The call was given up (`ENOENT`), or the process may not have more (`EMFILE`).
    pub fn add(
        &self,
        id: u64,
        fd: BorrowedFd<'_>,
        place: Place,
        close_on_exec: bool,
    ) -> io::Result<RawFd> {
        let (flags, newfd) = match place {
            Place::At(number) => (libc::SECCOMP_ADDFD_FLAG_SETFD, number),
            Place::Returned => (libc::SECCOMP_ADDFD_FLAG_SEND, 0),
        };
        let raw = libc::seccomp_notif_addfd {
            id,
            flags: flags as u32,
            srcfd: fd.as_raw_fd() as u32,
            newfd: newfd as u32,
            newfd_flags: if close_on_exec {
                libc::O_CLOEXEC as u32
            } else {
                0
            },
        };
        // SAFETY: the pointer is to what the request takes, which lives through the call.
        check(unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ADDFD,
                &raw const raw,
            )
        })
    }
}

impl AsFd for Notifier {
    /// Readable when a call waits, hung up when no process is left that has the filter.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
