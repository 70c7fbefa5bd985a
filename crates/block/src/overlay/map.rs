//! Which granules are in the overlay: two maps in the file, and the first of them in memory.
//!
//! Bits are only ever set, by whoever has written the granule before. A page of a map is in memory once it has a bit.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::header::{Layout, PAGE};
use super::medium::Medium;

/// Granules that a page tells of.
const PER_PAGE: u64 = 8 * PAGE;
const WORDS: usize = (PAGE / 8) as usize;

/// Which of the two maps is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Believed {
    /// The one that is written first.
    First,
    /// The durable one, and the first is left as it is.
    Second,
    /// The durable one, which is copied to the first.
    SecondIntoFirst,
}

/// The maps of an overlay.
pub struct Map {
    layout: Layout,
    pages: Box<[OnceLock<Box<Page>>]>,
    /// Granules that are in the overlay.
    count: AtomicU64,
    /// Pages that differ in the durable map.
    dirty: Mutex<Vec<u64>>,
}

struct Page {
    words: [AtomicU64; WORDS],
    state: Mutex<State>,
}

/// Held while bits of a page are set.
#[derive(Default)]
struct State {
    dirty: bool,
    /// The durable map has room for the page, so that no flush can find the disk full.
    placed: bool,
}

/// A page as it was, and its number.
pub type Copied = (u64, [u8; PAGE as usize]);

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
    /// The maps cannot be read, or the first not be written where it is to be.
    pub fn load(medium: &dyn Medium, layout: Layout, believed: Believed) -> io::Result<Map> {
        let map = Map {
            layout,
            pages: (0..layout.pages).map(|_| OnceLock::new()).collect(),
            count: AtomicU64::new(0),
            dirty: Mutex::default(),
        };
        let mut number = 0;
        while let Some(found) = next_page(medium, &layout, number) {
            map.load_page(medium, found, believed)?;
            number = found + 1;
        }
        Ok(map)
    }

    /// How many granules one of the maps in a medium has: the first if `written` says so.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn count_in(medium: &dyn Medium, layout: Layout, written: bool) -> io::Result<u64> {
        let map = if written {
            layout.written
        } else {
            layout.durable
        };
        let (mut number, mut count) = (0, 0);
        while let Some(found) = next_page(medium, &layout, number) {
            let mut bytes = [0; PAGE as usize];
            medium.read(map + found * PAGE, &mut bytes)?;
            count += bytes
                .iter()
                .map(|byte| u64::from(byte.count_ones()))
                .sum::<u64>();
            number = found + 1;
        }
        Ok(count)
    }

    fn load_page(&self, medium: &dyn Medium, number: u64, believed: Believed) -> io::Result<()> {
        let (mut written, mut durable) = ([0; PAGE as usize], [0; PAGE as usize]);
        let at = self.layout.written + number * PAGE;
        medium.read(at, &mut written)?;
        medium.read(self.layout.durable + number * PAGE, &mut durable)?;
        if believed != Believed::First && written != durable {
            written = durable;
            if believed == Believed::SecondIntoFirst {
                medium.write(at, &mut [IoSlice::new(&written)])?;
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
            // There are none behind the end of the image.
            let there = self.layout.granules().saturating_sub(first);
            let bits = u64::from_le_bytes(*bytes) & mask(0..there.min(64));
            word.store(bits, Ordering::Relaxed);
            self.count
                .fetch_add(bits.count_ones().into(), Ordering::Relaxed);
        }
        // That was done before the first of its bits was written. Once more could undo a flush.
        state.placed = true;
        if written != durable {
            state.dirty = true;
            lock(&self.dirty).push(number);
        }
        Ok(())
    }

    /// Whether granule `from` is in the overlay, and up to which it is the same, `end` at most.
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

    /// Puts granules that were written into the first map, and then into memory.
    ///
    /// # Errors
    /// The map cannot be written: some of them are not in it.
    pub fn mark(&self, medium: &dyn Medium, granules: Range<u64>) -> io::Result<()> {
        let mut at = granules.start;
        while at < granules.end {
            let number = at / PER_PAGE;
            let end = granules.end.min((number + 1) * PER_PAGE);
            self.mark_page(medium, number, at % PER_PAGE..end - number * PER_PAGE)?;
            at = end;
        }
        Ok(())
    }

    fn mark_page(&self, medium: &dyn Medium, number: u64, bits: Range<u64>) -> io::Result<()> {
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
        if !state.placed {
            let zeros = [0; PAGE as usize];
            let at = self.layout.durable + number * PAGE;
            medium.write(at, &mut [IoSlice::new(&zeros)])?;
            state.placed = true;
        }
        let bytes = &bytes[..8 * (words.end - words.start) as usize];
        let at = self.layout.written + number * PAGE + 8 * words.start;
        medium.write(at, &mut [IoSlice::new(bytes)])?;
        for (at, bytes) in words.zip(bytes.as_chunks().0) {
            page.words[at as usize].store(u64::from_le_bytes(*bytes), Ordering::Release);
        }
        self.count.fetch_add(more.into(), Ordering::Relaxed);
        if !std::mem::replace(&mut state.dirty, true) {
            lock(&self.dirty).push(number);
        }
        Ok(())
    }

    /// The pages that differ in the durable map, as they are now. From now on they count as the same.
    pub fn copy_dirty(&self) -> Vec<Copied> {
        let dirty = std::mem::take(&mut *lock(&self.dirty));
        let copy = |number: u64| {
            let page = self.pages[number as usize].get_or_init(Page::empty);
            lock(&page.state).dirty = false;
            (number, page.bytes())
        };
        dirty.into_iter().map(copy).collect()
    }

    /// Writes pages into the durable map. All granules in them have to be durable.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn settle(&self, medium: &dyn Medium, pages: &[Copied]) -> io::Result<()> {
        pages.iter().try_for_each(|(number, bytes)| {
            let at = self.layout.durable + number * PAGE;
            medium.write(at, &mut [IoSlice::new(bytes)])
        })
    }

    /// Pages may differ in the durable map after all.
    pub fn unsettle(&self, pages: &[Copied]) {
        for (number, _) in pages {
            let page = self.pages[*number as usize].get_or_init(Page::empty);
            let mut state = lock(&page.state);
            if !std::mem::replace(&mut state.dirty, true) {
                lock(&self.dirty).push(*number);
            }
        }
    }
}

/// The first page from `number` on that is not a hole in both maps.
fn next_page(medium: &dyn Medium, layout: &Layout, number: u64) -> Option<u64> {
    if number >= layout.pages {
        return None;
    }
    let first = |map: u64| {
        let at = map + number * PAGE;
        let data = match medium.hole(at, map + layout.pages * PAGE) {
            (true, data) => data,
            (false, _) => at,
        };
        (data - map) / PAGE
    };
    let page = first(layout.written).min(first(layout.durable));
    (page < layout.pages).then_some(page)
}

/// A word in which these bits are set.
fn mask(bits: Range<u64>) -> u64 {
    let below = |bit: u64| u64::MAX.checked_shr(64 - bit as u32).unwrap_or(0);
    below(bits.end) & !below(bits.start)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
