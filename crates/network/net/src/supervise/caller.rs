//! The thread that made a system call: its memory and its file descriptors.
//!
//! Nothing of what is read here is trusted: another thread may change it at any time, and then the program gets what it
//! asked for by accident.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::sys::{Errno, read_memory, socket_of, write_memory};
use crate::program::sockaddr;

/// A thread that waits for its system call.
#[derive(Clone, Copy, Debug)]
pub struct Caller(pub u32);

/// What is set for a file descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub nonblocking: bool,
    pub close_on_exec: bool,
}

impl Caller {
    /// The number of the socket that a file descriptor has, which no other socket of the machine has; none if it has no
    /// socket.
    pub fn number(self, fd: RawFd) -> Option<u64> {
        let file = fs::metadata(format!("/proc/{}/fd/{fd}", self.0)).ok()?;
        file.file_type().is_socket().then(|| file.ino())
    }

    /// The flags of a file descriptor.
    pub fn flags(self, fd: RawFd) -> Flags {
        let text = fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", self.0));
        text.ok().and_then(|text| parse(&text)).unwrap_or_default()
    }

    /// The socket of a file descriptor, for this process too.
    pub fn socket(self, fd: RawFd) -> io::Result<OwnedFd> {
        socket_of(self.0, fd)
    }

    /// Some bytes of its memory.
    pub fn read(self, address: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; len];
        if len > 0 {
            read_memory(self.0, address, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// The address at a place of its memory that has room for `len` bytes; none if it is of another family.
    pub fn address(self, at: u64, len: u64) -> Result<Option<SocketAddr>, Errno> {
        // The kernel reads the length as an `int`, and no address is longer than this structure.
        let len = usize::try_from(len as i32).unwrap_or(usize::MAX);
        if len > size_of::<libc::sockaddr_storage>() {
            return Err(libc::EINVAL);
        }
        let bytes = self.read(at, len.min(sockaddr::MOST))?;
        Ok(sockaddr::decode(&bytes))
    }

    /// Gives a value: what there is room for at `at`, and its length at `len_at`, where the length of the room is.
    /// `whole` if the length is told that the value has, and not that of what was given.
    pub fn give(self, value: &[u8], at: u64, len_at: u64, whole: bool) -> Result<(), Errno> {
        let room = self.read(len_at, 4)?;
        let room = i32::from_ne_bytes(room.try_into().map_err(|_| libc::EFAULT)?);
        let room = usize::try_from(room).map_err(|_| libc::EINVAL)?;
        let given = &value[..value.len().min(room)];
        if !given.is_empty() {
            write_memory(self.0, at, given)?;
        }
        let told = if whole { value.len() } else { given.len() };
        write_memory(self.0, len_at, &(told as u32).to_ne_bytes())
    }
}

/// What `/proc/PID/fdinfo` says of the flags.
fn parse(text: &str) -> Option<Flags> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    Some(Flags {
        nonblocking: flags & libc::O_NONBLOCK != 0,
        close_on_exec: flags & libc::O_CLOEXEC != 0,
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_file_descriptor_has_a_number_and_flags() {
        let own = Caller(std::process::id());
        let (one, other) = UnixStream::pair().unwrap();
        one.set_nonblocking(true).unwrap();
        let same = other.try_clone().unwrap();
        let number = |socket: &UnixStream| own.number(socket.as_raw_fd());
        assert!(number(&one).is_some() && number(&one) != number(&other));
        assert_eq!(number(&other), number(&same));
        let flags = |nonblocking| Flags {
            nonblocking,
            close_on_exec: true,
        };
        assert_eq!(own.flags(one.as_raw_fd()), flags(true));
        assert_eq!(own.flags(other.as_raw_fd()), flags(false));
        assert_eq!(own.number(1_000_000), None);
        assert_eq!(own.flags(1_000_000), Flags::default());
    }

    #[test]
    fn values_are_given_as_far_as_there_is_room() {
        let own = Caller(std::process::id());
        let (mut place, mut len) = ([0_u8; 8], 3_u32);
        let (at, len_at) = (place.as_mut_ptr() as u64, (&raw mut len) as u64);
        own.give(b"abcdef", at, len_at, true).unwrap();
        assert_eq!(std::hint::black_box(&place), b"abc\0\0\0\0\0");
        assert_eq!(std::hint::black_box(len), 6);
        own.give(b"xy", at, len_at, false).unwrap();
        assert_eq!(std::hint::black_box(&place), b"xyc\0\0\0\0\0");
        assert_eq!(std::hint::black_box(len), 2);
        let mut negative = -1_i32;
        let negative_at = (&raw mut negative) as u64;
        assert_eq!(own.give(b"x", at, negative_at, false), Err(libc::EINVAL));
        assert_eq!(own.give(b"x", 8, len_at, false), Err(libc::EFAULT));
        assert_eq!(own.give(b"x", at, 8, false), Err(libc::EFAULT));
    }
}
