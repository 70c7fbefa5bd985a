//! Cache lines, and memory in huge pages.
//!
//! Reading a frame at an angle touches a page per row, so with small pages it waits for address translation. And most
//! of the cost of making a buffer is mapping small pages: in a virtual machine many times as much as clearing them.

use std::ptr::NonNull;

/// Bytes of a cache line, the alignment of every buffer.
pub const LINE: usize = 64;
/// Bytes of a huge page.
pub(super) const HUGE: usize = 2 << 20;
/// The least bytes that are put into a huge page: to map one page and clear all of it then takes less time than to map
/// some hundred small ones.
pub(super) const MOSTLY: usize = HUGE / 4 * 3;
/// Least bytes of a page.
pub(super) const PAGE: usize = 4 << 10;

/// Zeroed memory that begins at a huge page. Where there are no huge pages it is in small ones.
///
/// It comes from the system and goes back there. An allocator would keep memory that earlier uses had cut into small
/// pages, and it would stay so.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is an address, and its bytes belong to its owner, on any thread.
unsafe impl Send for Mapping {}
// SAFETY: as above; nothing can be done with a shared one but ask where it is.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `bytes` in huge pages, for the rest in small ones. `None` where memory is exhausted.
    pub(super) fn zeroed(bytes: usize) -> Option<Mapping> {
        let start = system::map(bytes)?;
        Some(Mapping { start, bytes })
    }

    /// Where it begins.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `zeroed` with as many bytes; their users keep this alive.
        unsafe { system::unmap(self.start, self.bytes) }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::c_void;
    use std::ptr::{NonNull, null_mut};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    use super::{HUGE, PAGE};

    /// Zeroed `bytes` from the beginning of a huge page on.
    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        let room = bytes.checked_add(HUGE)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, placed by the system, touches nothing that is there.
        let all = unsafe { mmap_anonymous(null_mut(), room, access, MapFlags::PRIVATE) }.ok()?;
        let before = all.cast::<u8>().align_offset(HUGE);
        let start = all.wrapping_byte_add(before);
        give_back(all, before);
        give_back(start.wrapping_byte_add(bytes), HUGE - before);
        // SAFETY: the range is ours. It is only advice: without huge pages nothing is lost.
        if let Err(reason) = unsafe { madvise(start, bytes, Advice::LinuxHugepage) } {
            tracing::debug!(%reason, "no huge pages");
        }
        NonNull::new(start.cast())
    }

    /// Unmaps the excess of `map`, if there is any.
    fn give_back(start: *mut c_void, bytes: usize) {
        if bytes > 0 {
            // SAFETY: only `map` calls this, with whole pages that it mapped and gave to no one. What cannot be
            // unmapped stays, untouched.
            let _ = unsafe { munmap(start, bytes) };
        }
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// [`map`] gave `start` for as many bytes, and they are no longer used.
    pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        let bytes = bytes.next_multiple_of(PAGE);
        // SAFETY: promised by the caller.
        if let Err(reason) = unsafe { munmap(start.as_ptr().cast(), bytes) } {
            tracing::debug!(%reason, "memory is not given back");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    use super::HUGE;

    /// Zeroed `bytes` from the beginning of a huge page on.
    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes.max(1), HUGE).ok()?;
        // SAFETY: the layout has a non-zero size.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// [`map`] gave `start` for as many bytes, and they are no longer used.
    pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes.max(1), HUGE) {
            // SAFETY: promised by the caller.
            unsafe { dealloc(start.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_begins_a_huge_page_and_is_zero_to_its_end() {
        for bytes in [1, PAGE, HUGE, HUGE + 1, 3 * HUGE - LINE] {
            let mapping = Mapping::zeroed(bytes).unwrap();
            let start = mapping.start().as_ptr();
            assert_eq!(start as usize % HUGE, 0);
            // SAFETY: the mapping has so many bytes, and only this test has it.
            let all = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
            assert!(all.iter().all(|&byte| byte == 0));
            all.fill(7);
        }
        assert!(Mapping::zeroed(usize::MAX).is_none());
        assert!(Mapping::zeroed(usize::MAX / 2).is_none());
    }
}
