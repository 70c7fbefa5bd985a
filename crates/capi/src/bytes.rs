//! Bytes in memory of the caller.

use std::io::{self, Read, Write};
use std::ptr;
use std::slice;

use crate::status::Failure;

/// Bytes that a caller named.
#[derive(Clone, Copy)]
pub struct Bytes {
    start: *const u8,
    len: usize,
}

impl Bytes {
    /// The `len` bytes at `start`, which may be null if there are none. Messages call them `what`.
    pub fn new(start: *const u8, len: usize, what: &str) -> Result<Bytes, Failure> {
        if start.is_null() && len > 0 {
            return Err(Failure::invalid(format!("{what} is null")));
        }
        // No object is larger, in C neither.
        if isize::try_from(len).is_err() {
            return Err(Failure::invalid(format!("{what} has {len} bytes")));
        }
        Ok(Bytes { start, len })
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.len
    }

    /// Refuses an output of another size than the result.
    pub fn check_len(self, wanted: u64) -> Result<(), Failure> {
        match self.len as u64 == wanted {
            true => Ok(()),
            false => Err(Failure::invalid(format!(
                "the output has {} bytes, the result {wanted}",
                self.len
            ))),
        }
    }

    /// Whether they are exactly the same bytes as `other`.
    pub fn is(self, other: Bytes) -> bool {
        (self.start, self.len) == (other.start, other.len)
    }

    /// Refuses an output that shares bytes with an input.
    pub fn check_apart(self, output: Bytes) -> Result<(), Failure> {
        let span = |bytes: Bytes| (bytes.start as usize, bytes.start as usize + bytes.len);
        let ((from, end), (to, stop)) = (span(self), span(output));
        match from < stop && to < end {
            true => Err(Failure::invalid(
                "the output lies where the input is; give it memory of its own",
            )),
            false => Ok(()),
        }
    }

    /// They, to read.
    ///
    /// # Safety
    /// They are there, and nothing writes them, as long as the result lives.
    pub unsafe fn read<'a>(self) -> &'a [u8] {
        match self.len {
            0 => &[],
            // SAFETY: promised by the caller.
            len => unsafe { slice::from_raw_parts(self.start, len) },
        }
    }

    /// They, to write.
    ///
    /// # Safety
    /// They are there, are writable, and nothing else reads or writes them, as long as the result lives.
    pub unsafe fn write<'a>(self) -> &'a mut [u8] {
        match self.len {
            0 => &mut [],
            // SAFETY: promised by the caller.
            len => unsafe { slice::from_raw_parts_mut(self.start.cast_mut(), len) },
        }
    }
}

/// Reads or writes bytes one after the other, each once.
pub struct Cursor(Bytes);

// SAFETY: only the owner of the cursor follows the pointer, and its maker promised that the memory stays there.
unsafe impl Send for Cursor {}

impl Cursor {
    /// # Safety
    /// The bytes are there as long as the cursor lives. They are not written by others if they are read, and neither read nor
    /// written by others if they are written. A cursor that reads and one that writes may share bytes if each is read
    /// before it is written.
    pub unsafe fn new(bytes: Bytes) -> Cursor {
        Cursor(bytes)
    }

    fn advance(&mut self, len: usize) {
        // SAFETY: `len` bytes at the pointer are within the memory that was promised.
        self.0.start = unsafe { self.0.start.add(len) };
        self.0.len -= len;
    }
}

impl Read for Cursor {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let len = room.len().min(self.0.len);
        if len > 0 {
            // SAFETY: promised to `new`; memory of the library is never that of the caller.
            unsafe { ptr::copy_nonoverlapping(self.0.start, room.as_mut_ptr(), len) };
            self.advance(len);
        }
        Ok(len)
    }
}

impl Write for Cursor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.0.len);
        if len > 0 {
            // SAFETY: as in `read`.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.start.cast_mut(), len) };
            self.advance(len);
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
