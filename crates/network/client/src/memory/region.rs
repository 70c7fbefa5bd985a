//! A mapping, and parts of it.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use memmap2::{MmapOptions, MmapRaw};

/// A mapping of memory that other processes may have too. No reference to its bytes is ever made, as they may change at
/// any time: they are copied in and out, or handed to the operating system.
#[derive(Debug)]
pub struct Region {
    map: MmapRaw,
}

impl Region {
    /// Memory of this process alone, `len` bytes of zeros.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn private(len: usize) -> io::Result<Arc<Region>> {
        let map = MmapOptions::new().len(len).map_anon()?.into();
        Ok(Arc::new(Region { map }))
    }

    /// The first `len` bytes of a file, which must have them and must not become shorter: a memfd sealed against
    /// shrinking.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn of_file(file: &File, len: usize) -> io::Result<Arc<Region>> {
        let map = MmapOptions::new().len(len).map_raw(file)?;
        Ok(Arc::new(Region { map }))
    }

    /// `len` bytes that the operating system shares at `offset` of a file which is not one on a disk, such as a socket.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn of_system(fd: RawFd, offset: u64, len: usize) -> io::Result<Arc<Region>> {
        let map = MmapOptions::new().offset(offset).len(len).map_raw(fd)?;
        Ok(Arc::new(Region { map }))
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A part of a region.
#[derive(Clone, Debug)]
pub struct Span {
    region: Arc<Region>,
    offset: usize,
    len: usize,
}

impl Span {
    /// `len` bytes from `offset` on.
    ///
    /// # Panics
    /// If the region does not have them.
    pub fn new(region: &Arc<Region>, offset: usize, len: usize) -> Span {
        let end = offset.checked_add(len).expect("a span within a region");
        assert!(end <= region.len(), "a span within a region");
        Span {
            region: Arc::clone(region),
            offset,
            len,
        }
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Part of it.
    ///
    /// # Panics
    /// If it does not have those bytes.
    pub fn part(&self, at: usize, len: usize) -> Span {
        self.check(at, len);
        Span::new(&self.region, self.offset + at, len)
    }

    fn check(&self, at: usize, len: usize) {
        let end = at.checked_add(len).expect("bytes of a span");
        assert!(end <= self.len, "bytes of a span");
    }

    fn pointer(&self, at: usize) -> *mut u8 {
        self.region.map.as_mut_ptr().wrapping_add(self.offset + at)
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they go beyond the end.
    pub fn write(&self, at: usize, bytes: &[u8]) {
        self.check(at, bytes.len());
        // SAFETY: the bytes are within the mapping, which lives as long as `self`. No reference to them exists.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.pointer(at), bytes.len()) };
    }

    /// Copies bytes in from memory that others may change.
    ///
    /// # Panics
    /// If they go beyond the end.
    pub fn write_shared(&self, at: usize, bytes: Shared<'_>) {
        self.check(at, bytes.len);
        // SAFETY: as in `write`; the source lives as long as `bytes`, and may be part of the same mapping.
        unsafe { ptr::copy(bytes.pointer, self.pointer(at), bytes.len) };
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// If they go beyond the end.
    pub fn read(&self, at: usize, to: &mut [u8]) {
        self.shared(at, to.len()).copy_to(to);
    }

    /// Names `len` bytes from `at` on.
    ///
    /// # Panics
    /// If they go beyond the end.
    pub fn shared(&self, at: usize, len: usize) -> Shared<'_> {
        self.check(at, len);
        Shared {
            pointer: self.pointer(at),
            len,
            of: PhantomData,
        }
    }

    /// The word of eight bytes at `at`.
    ///
    /// # Panics
    /// If it goes beyond the end or is not aligned.
    pub fn word(&self, at: usize) -> &AtomicU64 {
        self.check(at, 8);
        let pointer = self.pointer(at).cast::<u64>();
        assert!(pointer.is_aligned(), "a word is aligned");
        // SAFETY: the word is within the mapping, which lives as long as `self`, is aligned, and is used as an atomic only.
        unsafe { AtomicU64::from_ptr(pointer) }
    }

    /// The word of four bytes at `at`.
    ///
    /// # Panics
    /// If it goes beyond the end or is not aligned.
    pub fn half_word(&self, at: usize) -> &AtomicU32 {
        self.check(at, 4);
        let pointer = self.pointer(at).cast::<u32>();
        assert!(pointer.is_aligned(), "a word is aligned");
        // SAFETY: as in `word`.
        unsafe { AtomicU32::from_ptr(pointer) }
    }
}

/// Bytes that others may change while they are read: a pointer and a length, never a slice.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    pointer: *const u8,
    len: usize,
    of: PhantomData<&'a [u8]>,
}

impl<'a> Shared<'a> {
    /// No bytes.
    pub const EMPTY: Shared<'static> = Shared {
        pointer: ptr::NonNull::dangling().as_ptr(),
        len: 0,
        of: PhantomData,
    };

    /// Bytes.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Where they are, for the operating system.
    pub fn as_ptr(self) -> *const u8 {
        self.pointer
    }

    /// The first `at` bytes, and the others.
    ///
    /// # Panics
    /// If it has fewer.
    pub fn split_at(self, at: usize) -> (Shared<'a>, Shared<'a>) {
        assert!(at <= self.len);
        let first = Shared { len: at, ..self };
        let second = Shared {
            pointer: self.pointer.wrapping_add(at),
            len: self.len - at,
            of: PhantomData,
        };
        (first, second)
    }

    /// Copies them out.
    ///
    /// # Panics
    /// If `to` is not as long.
    pub fn copy_to(self, to: &mut [u8]) {
        assert_eq!(to.len(), self.len);
        // SAFETY: the bytes are within a mapping or slice that lives as long as `'a`; `to` is this process's alone.
        unsafe { ptr::copy_nonoverlapping(self.pointer, to.as_mut_ptr(), self.len) };
    }
}

impl<'a> From<&'a [u8]> for Shared<'a> {
    fn from(bytes: &'a [u8]) -> Shared<'a> {
        Shared {
            pointer: bytes.as_ptr(),
            len: bytes.len(),
            of: PhantomData,
        }
    }
}

#[cfg(test)]
mod tests;
