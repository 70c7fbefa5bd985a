//! The interface of an overlay's file.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fdatasync, seek};

/// Bytes that any thread can read and write at any offset.
pub trait Storage: Send + Sync {
    /// Fills `room` from byte `at` on.
    ///
    /// # Errors
    /// They cannot be read, or the storage ends before them.
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()>;

    /// Writes all of `slices`, one after the other, from byte `at` on.
    ///
    /// # Errors
    /// They cannot all be written.
    fn write(&self, at: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()>;

    /// Makes bytes zero, so that they take no space.
    ///
    /// # Errors
    /// `Unsupported` if the storage has no holes. After any other error the bytes may or may not be zero.
    fn punch(&self, at: u64, len: u64) -> io::Result<()>;

    /// Returns when everything written before is durable.
    ///
    /// # Errors
    /// It may not be durable.
    fn sync(&self) -> io::Result<()>;

    /// Whether byte `at` is in a hole, and where the hole or the data ends, at most at `end`.
    fn hole(&self, at: u64, end: u64) -> (bool, u64);
}

impl Storage for File {
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(room, at)
    }

    fn write(&self, mut at: u64, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match rustix::io::pwritev(self, slices, at) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => {
                    IoSlice::advance_slices(&mut slices, n);
                    at += n as u64;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn punch(&self, at: u64, len: u64) -> io::Result<()> {
        loop {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(self, mode, at, len) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(fdatasync(self)?)
    }

    fn hole(&self, at: u64, end: u64) -> (bool, u64) {
        match seek(self, SeekFrom::Data(at)) {
            Ok(data) if data > at => (true, data.min(end)),
            // No data from here on.
            Err(rustix::io::Errno::NXIO) => (true, end),
            Err(_) => (false, end),
            Ok(_) => match seek(self, SeekFrom::Hole(at)) {
                Ok(hole) => (false, hole.clamp(at + 1, end)),
                Err(_) => (false, end),
            },
        }
    }
}

/// A file that is gone when the server ends, so syncing it would protect nothing.
pub struct Temporary(pub File);

impl Storage for Temporary {
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        Storage::read(&self.0, at, room)
    }

    fn write(&self, at: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        Storage::write(&self.0, at, slices)
    }

    fn punch(&self, at: u64, len: u64) -> io::Result<()> {
        self.0.punch(at, len)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn hole(&self, at: u64, end: u64) -> (bool, u64) {
        self.0.hole(at, end)
    }
}
