//! What another process has: its memory, its file descriptors.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use super::{Errno, check};

/// `PIDFD_THREAD`: of any thread, and not of the first of a process alone.
const PIDFD_THREAD: libc::c_uint = libc::O_EXCL as libc::c_uint;

fn vector(bytes: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.cast(),
        iov_len: len,
    }
}

/// Reads memory of the process of a thread.
///
/// # Errors
/// `EFAULT`: it has no such memory, or this process may not read it.
pub fn read_memory(thread: u32, address: u64, to: &mut [u8]) -> Result<(), Errno> {
    let own = vector(to.as_mut_ptr(), to.len());
    let other = vector(address as *mut u8, to.len());
    // SAFETY: the first vector is of this function's memory; the second is of another process, and the kernel checks it.
    let read =
        unsafe { libc::process_vm_readv(thread as i32, &raw const own, 1, &raw const other, 1, 0) };
    match read == to.len() as isize {
        true => Ok(()),
        false => Err(libc::EFAULT),
    }
}

/// Writes to memory of the process of a thread.
///
/// # Errors
/// As [`read_memory`].
pub fn write_memory(thread: u32, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let own = vector(bytes.as_ptr().cast_mut(), bytes.len());
    let other = vector(address as *mut u8, bytes.len());
    // SAFETY: as above, and the kernel only reads the first vector.
    let written = unsafe {
        libc::process_vm_writev(thread as i32, &raw const own, 1, &raw const other, 1, 0)
    };
    match written == bytes.len() as isize {
        true => Ok(()),
        false => Err(libc::EFAULT),
    }
}

/// The file of a file descriptor of a thread's process, under a number of this process.
///
/// # Errors
/// There is none, or this process may not have it.
pub fn socket_of(thread: u32, fd: RawFd) -> io::Result<OwnedFd> {
    let open = |thread: u32, flags: libc::c_uint| {
        // SAFETY: these arguments are numbers.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, thread, flags) };
        let pidfd = check(pidfd as libc::c_int)?;
        // SAFETY: the kernel made the file descriptor for this call, and nothing else has it.
        io::Result::Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
    };
    // Kernels before 6.9 do not know of threads: there the process is named by its first one.
    let process = open(thread, PIDFD_THREAD).or_else(|_| open(leader(thread)?, 0))?;
    let flags = rustix::process::PidfdGetfdFlags::empty();
    Ok(rustix::process::pidfd_getfd(process, fd, flags)?)
}

/// The first thread of a thread's process.
fn leader(thread: u32) -> io::Result<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status"))?;
    let number = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    let number = number.and_then(|number| number.trim().parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn memory_is_read_and_written_and_nonsense_is_an_error() {
        let own = std::process::id();
        let mut there = *b"what is there";
        let mut got = [0; 4];
        read_memory(own, there.as_ptr() as u64, &mut got).unwrap();
        assert_eq!(&got, b"what");
        write_memory(own, there.as_mut_ptr() as u64, b"That").unwrap();
        // The compiler may not assume that it is as it was.
        assert_eq!(std::hint::black_box(&there), b"That is there");
        for address in [0, 8, u64::MAX, u64::MAX / 2] {
            assert_eq!(read_memory(own, address, &mut got), Err(libc::EFAULT));
            assert_eq!(write_memory(own, address, b"x"), Err(libc::EFAULT));
        }
    }

    #[test]
    fn a_socket_of_any_thread_is_had() {
        let (mut one, other) = UnixStream::pair().unwrap();
        let fd = other.as_raw_fd();
        let thread = std::thread::spawn(move || {
            let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            socket_of(own, fd)
        });
        let same = match thread.join().unwrap() {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                evener_testing::skip("file descriptors of a process cannot be had here");
                return;
            }
            same => same.unwrap(),
        };
        drop(other);
        one.write_all(b"x").unwrap();
        let mut byte = [0];
        UnixStream::from(same).read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
        assert!(socket_of(std::process::id(), 1_000_000).is_err());
        assert_eq!(leader(std::process::id()).unwrap(), std::process::id());
    }
}
