//! Which granules are in the overlay: two maps in the file, of which the first is also in memory.
//!
//! A bit is set after its granule was written, and never cleared. A page of a map is in memory once it has a bit.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use evener_files::lock;

use super::header::{Layout, PAGE};
use super::storage::Storage;

/// Granules of a page.
const PER_PAGE: u64 = 8 * PAGE;
const WORDS: usize = (PAGE / 8) as usize;

/// Which of the two maps to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedMap {
    /// The one that is written with each granule.
    Written,
    /// The durable one. The other one stays as it is.
    Durable,
    /// The durable one, which is copied over the other one.
    DurableIntoWritten,
}

/// The maps of an overlay.
pub struct Map {
    layout: Layout,
    pages: Box<[OnceLock<Box<Page>>]>,
    /// Granules that are in the overlay.
    count: AtomicU64,
    /// Pages that the durable map lacks.
    dirty: Mutex<Vec<u64>>,
}

struct Page {
    words: [AtomicU64; WORDS],
    state: Mutex<State>,
}

/// What is locked while bits of a page are set.
#[derive(Default)]
struct State {
    dirty: bool,
    /// The durable map has space for the page, so that no flush can find the disk full.
    allocated: bool,
}

/// The number of a page, and a copy of it.
pub type PageCopy = (u64, [u8; PAGE as usize]);

impl Page {
    fn empty() -> Box<Page> {
        Box::new(Page {
            words: std::array::from_fn(|_| AtomicU64::new(0)),
            state: Mutex::default(),
        })
    }

    fn bytes(&self) -> [u8; PAGE as usize] {
        let mut bytes = [0; PAGE as usize];
        for (room, word) in bytes.as_chunks_mut().0.iter_mut().zip(&self.words) {
            *room = word.load(Ordering::Relaxed).to_le_bytes();
        }
        bytes
    }
}

impl Map {
    /// The map of an overlay.
    ///
    /// # Errors
    /// The maps cannot be read, or the first one cannot be written.
    pub fn load(storage: &dyn Storage, layout: Layout, trusted: TrustedMap) -> io::Result<Map> {
        let map = Map {
            layout,
            pages: (0..layout.pages).map(|_| OnceLock::new()).collect(),
            count: AtomicU64::new(0),
            dirty: Mutex::default(),
        };
        let mut number = 0;
        while let Some(found) = next_page(storage, &layout, number) {
            map.load_page(storage, found, trusted)?;
            number = found + 1;
        }
        Ok(map)
    }

    /// How many granules a map in a storage has: the first map, or the durable one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn count_in(storage: &dyn Storage, layout: Layout, written: bool) -> io::Result<u64> {
        let map = if written {
            layout.written
        } else {
            layout.durable
        };
        let (mut number, mut count) = (0, 0);
        while let Some(found) = next_page(storage, &layout, number) {
            let mut bytes = [0; PAGE as usize];
            storage.read(map + found * PAGE, &mut bytes)?;
            count += bytes
                .iter()
                .map(|byte| u64::from(byte.count_ones()))
                .sum::<u64>();
            number = found + 1;
        }
        Ok(count)
    }

    fn load_page(&self, storage: &dyn Storage, number: u64, trusted: TrustedMap) -> io::Result<()> {
        let (mut written, mut durable) = ([0; PAGE as usize], [0; PAGE as usize]);
        let at = self.layout.written + number * PAGE;
        storage.read(at, &mut written)?;
        storage.read(self.layout.durable + number * PAGE, &mut durable)?;
        if trusted != TrustedMap::Written && written != durable {
            written = durable;
            if trusted == TrustedMap::DurableIntoWritten {
                storage.write(at, &mut [IoSlice::new(&written)])?;
            }
        }
        if written == [0; PAGE as usize] {
            return Ok(());
        }
        let page = self.pages[number as usize].get_or_init(Page::empty);
        let mut state = lock(&page.state);
        let (words, _) = written.as_chunks();
        for (at, (word, bytes)) in page.words.iter().zip(words).enumerate() {
            let first = number * PER_PAGE + at as u64 * 64;
            // The image has no granules beyond its end.
            let there = self.layout.granules().saturating_sub(first);
            let bits = u64::from_le_bytes(*bytes) & mask(0..there.min(64));
            word.store(bits, Ordering::Relaxed);
            self.count
                .fetch_add(bits.count_ones().into(), Ordering::Relaxed);
        }
        // This was done before the first bit of the page was written. Doing it again could undo a flush.
        state.allocated = true;
        if written != durable {
            state.dirty = true;
            lock(&self.dirty).push(number);
        }
        Ok(())
    }

    /// Whether granule `from` is in the overlay, and where the run of such granules ends, at most at `end`.
    pub fn run(&self, from: u64, end: u64) -> (bool, u64) {
        let mut at = from;
        let mut is = None;
        while at < end {
            let page = self.pages[(at / PER_PAGE) as usize].get();
            let word = page.map_or(0, |page| {
                page.words[(at % PER_PAGE / 64) as usize].load(Ordering::Acquire)
            });
            let is = *is.get_or_insert(word >> (at % 64) & 1 == 1);
            let other = if is { !word } else { word } >> (at % 64);
            if other != 0 {
                at += u64::from(other.trailing_zeros());
                break;
            }
            let step = if page.is_some() { 64 } else { PER_PAGE };
            at = (at / step + 1) * step;
        }
        (is.unwrap_or(false), at.min(end))
    }

    /// Whether a granule is in the overlay.
    pub fn has(&self, granule: u64) -> bool {
        self.run(granule, granule + 1).0
    }

    /// Granules that are in the overlay.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Sets the bits of granules that were written, in the first map and then in memory.
    ///
    /// # Errors
    /// The map cannot be written. The bits of some granules are not set.
    pub fn mark(&self, storage: &dyn Storage, granules: Range<u64>) -> io::Result<()> {
        let mut at = granules.start;
        while at < granules.end {
            let number = at / PER_PAGE;
            let end = granules.end.min((number + 1) * PER_PAGE);
            self.mark_page(storage, number, at % PER_PAGE..end - number * PER_PAGE)?;
            at = end;
        }
        Ok(())
    }

    fn mark_page(&self, storage: &dyn Storage, number: u64, bits: Range<u64>) -> io::Result<()> {
        let page = self.pages[number as usize].get_or_init(Page::empty);
        let mut state = lock(&page.state);
        let words = bits.start / 64..bits.end.div_ceil(64);
        let mut bytes = [0; PAGE as usize];
        let mut more = 0;
        for (at, room) in words.clone().zip(bytes.as_chunks_mut().0) {
            let first = at * 64;
            let part = bits.start.max(first) - first..bits.end.min(first + 64) - first;
            let old = page.words[at as usize].load(Ordering::Relaxed);
            let new = old | mask(part);
            more += (new ^ old).count_ones();
            *room = new.to_le_bytes();
        }
        if more == 0 {
            return Ok(());
        }
        if !state.allocated {
            let zeros = [0; PAGE as usize];
            let at = self.layout.durable + number * PAGE;
            storage.write(at, &mut [IoSlice::new(&zeros)])?;
            state.allocated = true;
        }
        let bytes = &bytes[..8 * (words.end - words.start) as usize];
        let at = self.layout.written + number * PAGE + 8 * words.start;
        storage.write(at, &mut [IoSlice::new(bytes)])?;
        for (at, bytes) in words.zip(bytes.as_chunks().0) {
            page.words[at as usize].store(u64::from_le_bytes(*bytes), Ordering::Release);
        }
        self.count.fetch_add(more.into(), Ordering::Relaxed);
        if !std::mem::replace(&mut state.dirty, true) {
            lock(&self.dirty).push(number);
        }
        Ok(())
    }

    /// Whether the durable map lacks nothing.
    pub fn is_durable(&self) -> bool {
        lock(&self.dirty).is_empty()
    }

    /// Copies of the pages that the durable map lacks, which are no longer marked as dirty.
    pub fn take_dirty(&self) -> Vec<PageCopy> {
        let dirty = std::mem::take(&mut *lock(&self.dirty));
        let copy = |number: u64| {
            let page = self.pages[number as usize].get_or_init(Page::empty);
            lock(&page.state).dirty = false;
            (number, page.bytes())
        };
        dirty.into_iter().map(copy).collect()
    }

    /// Writes pages into the durable map. All granules of them have to be durable.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_durable(&self, storage: &dyn Storage, pages: &[PageCopy]) -> io::Result<()> {
        pages.iter().try_for_each(|(number, bytes)| {
            let at = self.layout.durable + number * PAGE;
            storage.write(at, &mut [IoSlice::new(bytes)])
        })
    }

    /// Marks pages as dirty again.
    pub fn mark_dirty(&self, pages: &[PageCopy]) {
        for (number, _) in pages {
            let page = self.pages[*number as usize].get_or_init(Page::empty);
            let mut state = lock(&page.state);
            if !std::mem::replace(&mut state.dirty, true) {
                lock(&self.dirty).push(*number);
            }
        }
    }
}

/// The first page from `number` on that is a hole in neither map.
fn next_page(storage: &dyn Storage, layout: &Layout, number: u64) -> Option<u64> {
    if number >= layout.pages {
        return None;
    }
    let first = |map: u64| {
        let at = map + number * PAGE;
        let data = match storage.hole(at, map + layout.pages * PAGE) {
            (true, data) => data,
            (false, _) => at,
        };
        (data - map) / PAGE
    };
    let page = first(layout.written).min(first(layout.durable));
    (page < layout.pages).then_some(page)
}

/// A word with these bits set.
fn mask(bits: Range<u64>) -> u64 {
    let below = |bit: u64| u64::MAX.checked_shr(64 - bit as u32).unwrap_or(0);
    below(bits.end) & !below(bits.start)
}
