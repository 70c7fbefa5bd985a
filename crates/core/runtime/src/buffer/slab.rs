//! Huge pages shared by buffers that are smaller than one.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, Weak};

use super::pages::{HUGE, MOSTLY, Mapping, PAGE};
use crate::sync::lock;

/// Bytes of a buffer that shares a page: least and most.
pub(super) const MIN: usize = 64 << 10;
const MAX: usize = HUGE / 2;

/// The huge page that buffers are taken from, and how many of its bytes are used. It lives as long as a buffer in it.
struct Current {
    page: Weak<Mapping>,
    used: usize,
}

static CURRENT: Mutex<Current> = Mutex::new(Current {
    page: Weak::new(),
    used: 0,
});

/// `bytes` zeroed bytes of a huge page, which are the caller's alone as long as the huge page lives. `None` for sizes
/// that would leave too much of it unused, and where memory is exhausted.
///
/// They begin at a small page, so that buffers choose their place within it.
pub(super) fn take(bytes: usize) -> Option<(NonNull<u8>, Arc<Mapping>)> {
    let bytes = bytes.checked_next_multiple_of(PAGE)?;
    if !(MIN..=MAX).contains(&bytes) || HUGE / bytes * bytes < MOSTLY {
        return None;
    }
    let mut current = lock(&CURRENT);
    let held = current.page.upgrade();
    let page = match held.filter(|_| current.used + bytes <= HUGE) {
        Some(page) => page,
        None => {
            let page = Arc::new(Mapping::zeroed(HUGE)?);
            current.page = Arc::downgrade(&page);
            current.used = 0;
            page
        }
    };
    // SAFETY: `used` + `bytes` are at most `HUGE`, the size of the mapping.
    let start = unsafe { page.start().add(current.used) };
    current.used += bytes;
    Some((start, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_fill_a_page_share_one() {
        // Frames of 352x288 in f32 and 8 bits, luma of 1280x720.
        for bytes in [405_504, 101_376, 921_600] {
            assert!(take(bytes).is_some(), "{bytes}");
        }
        for bytes in [0, 1, MIN - PAGE, MOSTLY / 2 - PAGE, HUGE, usize::MAX] {
            assert!(take(bytes).is_none(), "{bytes}");
        }
    }

    #[test]
    fn no_byte_is_given_out_twice() {
        let taken: Vec<_> = (0..40).map(|i| (i, take(MIN + i * 1000))).collect();
        let mut ranges: Vec<_> = taken
            .iter()
            .filter_map(|(i, piece)| {
                let (start, page) = piece.as_ref()?;
                let (from, page) = (start.as_ptr() as usize, page.start().as_ptr() as usize);
                let to = from + MIN + i * 1000;
                assert!(from % PAGE == 0 && page <= from && to <= page + HUGE);
                Some(from..to)
            })
            .collect();
        ranges.sort_by_key(|range| range.start);
        assert!(ranges.len() > 30);
        assert!(ranges.windows(2).all(|two| two[0].end <= two[1].start));
    }
}
