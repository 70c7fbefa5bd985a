//! Cache lines, and memory in huge pages.
//!
//! Reading a frame at an angle touches one page per row, so with small pages it waits for address translation. Also,
//! most of the cost of allocating a buffer is mapping small pages: in a virtual machine many times the cost of
//! clearing them.

use std::ptr::NonNull;

use memmap2::{MmapMut, MmapRaw};

use super::locked;

/// The size of a cache line in bytes, and the alignment of every buffer.
pub const LINE: usize = 64;
/// Bytes of a huge page.
pub(super) const HUGE: usize = 2 << 20;
/// The least bytes that are put into a huge page: to map one page and clear all of it then takes less time than to map
/// some hundred small ones.
pub(super) const MOSTLY: usize = HUGE / 4 * 3;
/// Least bytes of a page.
pub(super) const PAGE: usize = 4 << 10;

/// The pages of a mapping.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
enum Pages {
    Huge,
    Small,
}

/// Zeroed memory that begins at a huge page. Where there are no huge pages it is in small ones.
///
/// It comes from the system and goes back there. An allocator would keep memory that earlier uses had cut into small
/// pages, and it would stay so.
pub(super) struct Mapping {
    /// A huge page more than asked for, since the system aligns to small ones. What is never touched takes no memory.
    map: MmapRaw,
    before: usize,
}

impl Mapping {
    /// `bytes` in huge pages, for the rest in small ones. `None` where memory is exhausted.
    pub(super) fn zeroed(bytes: usize) -> Option<Mapping> {
        Mapping::new(bytes, Pages::Huge)
    }

    /// `bytes` in small pages, none of which takes memory before it is used.
    pub(super) fn lean(bytes: usize) -> Option<Mapping> {
        Mapping::new(bytes, Pages::Small)
    }

    fn new(bytes: usize, pages: Pages) -> Option<Mapping> {
        let map = MmapMut::map_anon(bytes.checked_add(HUGE)?).ok()?;
        let map = MmapRaw::from(map);
        let before = map.as_ptr().align_offset(HUGE);
        // It is only advice: without it nothing is lost but time. Miri has none.
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let advice = match pages {
                Pages::Huge => memmap2::Advice::HugePage,
                Pages::Small => memmap2::Advice::NoHugePage,
            };
            if let Err(reason) = map.advise_range(advice, before, bytes) {
                tracing::debug!(%reason, "no choice of pages");
            }
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        let _ = pages;
        let mapping = Mapping { map, before };
        locked::mapped(mapping.start().as_ptr().expose_provenance(), bytes);
        Some(mapping)
    }

    /// Where it begins.
    pub(super) fn start(&self) -> NonNull<u8> {
        let start = self.map.as_mut_ptr().wrapping_byte_add(self.before);
        NonNull::new(start).expect("a mapping is not at address 0")
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        locked::unmapping(self.start().as_ptr().expose_provenance());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
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
