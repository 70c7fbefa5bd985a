//! The standard streams, even if the parent process closed them or opened them in the wrong direction.
//!
//! Before `main`, Rust's standard library opens `/dev/null` for each closed standard stream. It also ignores errors
//! of writes to a stream that is open only for reading. In both cases, all output would be lost without a message.
//! After `main` has started, a closed stream looks like one that the parent opened as `/dev/null`. So the streams are
//! examined earlier, when the C library calls the constructors of the program.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;

use crate::error::Error;
use crate::{STDIN, STDOUT};

/// Whether the standard input and the standard output were closed.
static CLOSED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

ctor::declarative::ctor! {
    /// Only system calls: the standard library is not initialized yet.
    #[ctor(unsafe)]
    fn note_closed() {
        for (fd, closed) in [rustix::stdio::stdin(), rustix::stdio::stdout()].into_iter().zip(&CLOSED) {
            let found = rustix::io::fcntl_getfd(fd);
            closed.store(found == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
        }
    }
}

/// The standard input.
pub(crate) fn input() -> Result<File, Error> {
    let closed = "is closed; name a file, or pipe something in";
    let other = "is open for writing only; name a file, or pipe something in";
    let fd = rustix::stdio::stdin();
    duplicate(fd, &CLOSED[0], STDIN, (OFlags::WRONLY, other), closed)
}

/// The standard output.
pub(crate) fn output() -> Result<File, Error> {
    let closed = "is closed; send it to a file or a program, or to /dev/null";
    let other = "is open for reading only; send it to a file or a program, or to /dev/null";
    let fd = rustix::stdio::stdout();
    duplicate(fd, &CLOSED[1], STDOUT, (OFlags::RDONLY, other), closed)
}

fn duplicate(
    fd: BorrowedFd<'_>,
    was_closed: &AtomicBool,
    name: &str,
    (wrong, other): (OFlags, &'static str),
    closed: &'static str,
) -> Result<File, Error> {
    let name = name.to_owned();
    let unfit = |reason| Error::Unfit {
        name: name.clone(),
        reason,
    };
    if was_closed.load(Ordering::Relaxed) {
        return Err(unfit(closed));
    }
    let flags = rustix::fs::fcntl_getfl(fd);
    if flags.is_ok_and(|flags| flags & OFlags::RWMODE == wrong) {
        return Err(unfit(other));
    }
    match fd.try_clone_to_owned() {
        Ok(fd) => Ok(File::from(fd)),
        Err(reason) => Err(Error::Open { name, reason }),
    }
}
