//! What an overlay asks of the file it lies in.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fdatasync, seek};

/// Bytes that are read and written at any place, from any thread.
pub trait Medium: Send + Sync {
    /// Fills `room` from byte `at` on.
    ///
    /// # Errors
    /// They cannot be read, or it ends before.
    fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()>;

    /// Writes all of `slices`, one after the other, from byte `at` on.
    ///
    /// # Errors
    /// They cannot all be written.
    fn write(&self, at: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()>;

    /// Makes bytes zero that then take no room.
    ///
    /// # Errors
    /// `Unsupported`, if it never can; else they may or may not be zero.
    fn punch(&self, at: u64, len: u64) -> io::Result<()>;

    /// Returns when what was written before would survive a power cut.
    ///
    /// # Errors
    /// It may not.
    fn sync(&self) -> io::Result<()>;

    /// Whether the bytes from `at` on are in a hole, and up to where they are, or are not, `end` at most.
    fn hole(&self, at: u64, end: u64) -> (bool, u64);
}

impl Medium for File {
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
