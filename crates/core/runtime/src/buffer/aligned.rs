//! Zeroed memory aligned to a cache line.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use super::pages::LINE;
use super::pages::{HUGE, MOSTLY, Mapping, PAGE};
use super::slab;

/// Buffers from this size on are coloured: they begin at different offsets. Otherwise what lies at one place in each of
/// several buffers, as in those of a unit and its result, would compete for the same few sets of a cache: the
/// second-level one repeats every 64 to 256 KiB, the first every 4.
const COLOURED: usize = slab::MIN;
/// Buffers that are made one after the other have different colours.
const COLOURS: usize = 16;
/// Bytes between two colours of buffers of huge pages, and of others.
const HUGE_COLOUR: usize = (8 << 10) + COLOUR;
const COLOUR: usize = 4 * LINE;

mod sealed {
    pub trait Sealed {}
}

/// Plain numbers for which all-zero bits are a value, and every bit pattern is one.
pub trait Sample: sealed::Sealed + Copy + Send + Sync + 'static {}

macro_rules! samples {
    ($($t:ty),*) => { $(impl sealed::Sealed for $t {} impl Sample for $t {})* };
}
samples!(u8, u16, u32, u64, f32);

/// A fixed number of samples, initially zero. The first is aligned to a cache line.
pub struct Aligned<T: Sample> {
    start: NonNull<T>,
    len: usize,
    memory: Memory,
}

/// What a buffer is a part of.
enum Memory {
    /// An allocation, which begins some bytes before it.
    Heap { before: usize },
    /// Huge pages, which it may share with other buffers.
    Pages { _held: Arc<Mapping> },
}

// SAFETY: `Aligned` owns its memory alone, like a boxed slice of plain numbers.
unsafe impl<T: Sample> Send for Aligned<T> {}
// SAFETY: as above; shared access only reads.
unsafe impl<T: Sample> Sync for Aligned<T> {}

impl<T: Sample> Aligned<T> {
    /// Allocates `len` zeroed samples. Ends the process if memory is exhausted, as `Vec` does.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Aligned {
                start: NonNull::dangling(),
                len,
                memory: Memory::Heap { before: 0 },
            };
        }
        let before = colour(len.saturating_mul(size_of::<T>()));
        let layout = Self::layout(len, before);
        let lean = LEAN.get() && layout.size() >= slab::MIN;
        let pages = match lean {
            true => {
                Mapping::lean(layout.size()).map(|mapping| (mapping.start(), Arc::new(mapping)))
            }
            false => in_pages(layout.size()),
        };
        let (memory, start) = match pages {
            Some((start, held)) => (Memory::Pages { _held: held }, start),
            // SAFETY: the layout has a non-zero size.
            None => match NonNull::new(unsafe { alloc_zeroed(layout) }) {
                Some(start) => (Memory::Heap { before }, start),
                None => handle_alloc_error(layout),
            },
        };
        // SAFETY: `start` begins `layout.size()` bytes that are ours alone, and `before` is less.
        let start = unsafe {
            if !lean {
                touch(start, layout.size());
            }
            start.add(before).cast::<T>()
        };
        Aligned { start, len, memory }
    }

    fn layout(len: usize, before: usize) -> Layout {
        let array = Layout::array::<T>(len).expect("a buffer is smaller than the address space");
        Layout::from_size_align(array.size() + before, LINE)
            .expect("a buffer is smaller than the address space")
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }
}

thread_local! {
    /// Whether buffers that this thread makes are lean.
    static LEAN: Cell<bool> = const { Cell::new(false) };
}

/// While the result lives, buffers that this thread makes are mapped as they are used, in small pages: for work of which
/// most will use little of them.
pub(crate) fn lean() -> Lean {
    Lean(LEAN.replace(true))
}

/// See [`lean`].
pub(crate) struct Lean(bool);

impl Drop for Lean {
    fn drop(&mut self) {
        LEAN.set(self.0);
    }
}

/// Has the system map `bytes` from `start` on, which are zero, now and not when they are first used.
///
/// # Safety
/// They are the caller's alone.
unsafe fn touch(start: NonNull<u8>, bytes: usize) {
    for at in (0..bytes).step_by(PAGE) {
        // SAFETY: promised by the caller. A volatile write is made although it changes nothing.
        unsafe { start.add(at).write_volatile(0) };
    }
}

/// `bytes` in huge pages of their own or in a shared one. `None` where they would leave too much of it unused.
fn in_pages(bytes: usize) -> Option<(NonNull<u8>, Arc<Mapping>)> {
    match in_huge_pages(bytes) {
        0 => slab::take(bytes),
        huge => {
            let mapping = Arc::new(Mapping::zeroed(bytes.max(huge))?);
            Some((mapping.start(), mapping))
        }
    }
}

/// Bytes of the huge pages of a buffer of `bytes`, with a last one that is [`MOSTLY`] used.
fn in_huge_pages(bytes: usize) -> usize {
    let rest = bytes % HUGE;
    bytes - rest + if rest >= MOSTLY { HUGE } else { 0 }
}

/// At which byte of its memory a buffer of `bytes` begins, a multiple of a line.
fn colour(bytes: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if bytes < COLOURED {
        return 0;
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % COLOURS;
    // Downwards, because results are made after inputs: loads run ahead of stores, and a processor takes a load for one
    // of what was just stored where both lie at the same place of 4 KiB.
    (COLOURS - 1 - number) * if bytes >= HUGE { HUGE_COLOUR } else { COLOUR }
}

impl<T: Sample> Drop for Aligned<T> {
    fn drop(&mut self) {
        if let Memory::Heap { before } = self.memory
            && self.len > 0
        {
            // SAFETY: allocated in `zeroed` with the same layout.
            unsafe {
                let memory = self.start.as_ptr().cast::<u8>().sub(before);
                dealloc(memory, Self::layout(self.len, before));
            }
        }
    }
}

impl<T: Sample> Deref for Aligned<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised samples start here (or none, at a dangling aligned pointer).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Sample> DerefMut for Aligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Sample> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_at_a_line_and_is_zero() {
        let large = [100_001, 510_001, 700_001].map(|len| if cfg!(miri) { len / 20 } else { len });
        for len in [0, 1, 7, 64].into_iter().chain(large) {
            let mut a = Aligned::<f32>::zeroed(len);
            assert_eq!(a.len(), len);
            assert!(a.iter().all(|v| v.to_bits() == 0));
            let paged = len * size_of::<f32>() >= 64 << 10;
            assert_eq!(matches!(a.memory, Memory::Pages { .. }), paged, "{len}");
            if len > 0 {
                assert_eq!(a.as_ptr() as usize % LINE, 0);
                a[len - 1] = 3.0;
                assert_eq!(a.clone()[len - 1], 3.0);
            }
        }
    }

    #[test]
    fn lean_buffers_are_like_others_and_made_by_their_thread_alone() {
        let made = |len| {
            let mut a = Aligned::<u8>::zeroed(len);
            assert!(a.iter().all(|&v| v == 0) && (a.as_ptr() as usize).is_multiple_of(LINE));
            a[len - 1] = 3;
            assert_eq!(a.clone()[len - 1], 3);
        };
        let outer = lean();
        for len in [1, slab::MIN, (1 << 20) + 1, 5 << 20] {
            made(len);
        }
        drop(lean());
        assert!(LEAN.get());
        assert!(!std::thread::spawn(|| LEAN.get()).join().unwrap());
        drop(outer);
        assert!(!LEAN.get());
    }

    /// Pages of a buffer that lie in memory.
    #[cfg(target_os = "linux")]
    fn resident(a: &Aligned<u8>) -> u64 {
        let (start, maps) = (
            a.as_ptr() as usize,
            std::fs::read_to_string("/proc/self/smaps"),
        );
        let maps = maps.unwrap();
        let mut inside = false;
        for line in maps.lines() {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((from, to)) = range.and_then(|(from, to)| number(from).zip(number(to))) {
                inside = (from..to).contains(&start);
            } else if let Some(kib) = line.strip_prefix("Rss:").filter(|_| inside) {
                return kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 4;
            }
        }
        panic!("no such memory")
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_lean_buffer_has_the_pages_that_are_used() {
        let _lean = lean();
        let mut a = Aligned::<u8>::zeroed(4 << 20);
        assert!(resident(&a) <= 1);
        a[..4].fill(7);
        a[3 << 20] = 7;
        assert!((1..=3).contains(&resident(&a)));
    }

    #[test]
    fn a_huge_page_that_is_mostly_used_is_taken() {
        let luma = 1920 * 1080;
        assert_eq!(in_huge_pages(luma), HUGE);
        assert_eq!(in_huge_pages(luma / 4), 0);
        assert_eq!(in_huge_pages(4 * luma), 4 * HUGE);
        assert_eq!(in_huge_pages(HUGE + LINE), HUGE);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn large_buffers_begin_at_different_places_of_a_cache() {
        for (len, size) in [(17_001, PAGE), (100_001, PAGE), (700_001, 128 << 10)] {
            let made: Vec<_> = (0..COLOURS).map(|_| Aligned::<f32>::zeroed(len)).collect();
            let places = made.iter().map(|a| a.as_ptr() as usize % size / LINE);
            let places: std::collections::BTreeSet<_> = places.collect();
            // Others make buffers meanwhile.
            assert!(places.len() > COLOURS / 4, "{places:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn a_buffer_is_a_colour_below_the_one_before_it() {
        for len in [17_001, 100_001, 700_001] {
            let place = |a: &Aligned<f32>| a.as_ptr() as usize;
            let below = |_| {
                let [one, next] = [(); 2].map(|()| Aligned::<f32>::zeroed(len));
                place(&one).wrapping_sub(place(&next)) % PAGE == COLOUR
            };
            let pairs = (0..64).filter(|&i: &u32| below(i)).count();
            // Others make buffers meanwhile.
            assert!(pairs > 32, "{pairs} of {len}");
        }
    }
}
