//! Whether decoding only the fronts of blocks pays.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::counter::Counter;

/// The front of a block is whole pages of those who ask.
const PAGE: usize = 4096;
/// Bytes of decoding that fronts have to cost more than they saved, after having saved a lot, before blocks are decoded
/// whole.
const MOST: i64 = 1 << 20;
/// Of so many fronts that would not pay one is decoded, to notice when they do.
const TRIAL: u64 = 16;

/// A front saves decoding the rest, unless somebody needs that after all: then the block is decoded anew and whole.
/// Which of the two there is more of is up to the clients.
#[derive(Debug)]
pub struct Fronts {
    /// Bytes that were not decoded, less those that were decoded twice.
    saved: AtomicI64,
    refused: AtomicU64,
    made: Counter,
    again: Counter,
}

impl Default for Fronts {
    fn default() -> Fronts {
        Fronts {
            saved: AtomicI64::new(MOST),
            refused: AtomicU64::new(0),
            made: Counter::default(),
            again: Counter::default(),
        }
    }
}

impl Fronts {
    /// How many of the `len` bytes of a block to decode whose first `needed` are wanted.
    pub fn of(&self, needed: usize, len: usize) -> usize {
        let front = needed.next_multiple_of(PAGE);
        // The rest would not be worth doing it twice.
        match front <= len / 4 * 3 && self.pays() {
            true => front,
            false => len,
        }
    }

    fn pays(&self) -> bool {
        self.saved.load(Ordering::Relaxed) > 0
            || self.refused.fetch_add(1, Ordering::Relaxed) % TRIAL == TRIAL - 1
    }

    /// Of a block of `len` bytes so many were decoded.
    pub fn made(&self, front: usize, len: usize) {
        self.made.add(1);
        self.note(len.saturating_sub(front) as i64);
    }

    /// Blocks of which only the front was decoded.
    pub fn made_total(&self) -> u64 {
        self.made.get()
    }

    /// Blocks that are needed farther than their front in the cache goes.
    pub fn again_total(&self) -> u64 {
        self.again.get()
    }

    /// A block of `len` bytes is needed farther than its front goes.
    pub fn short(&self, len: usize) {
        self.again.add(1);
        self.note(-(len as i64));
    }

    fn note(&self, bytes: i64) {
        let add = |saved: i64| Some((saved + bytes).clamp(-MOST, MOST));
        // It gives something always.
        let _ = self
            .saved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 65_536;

    #[test]
    fn a_front_is_whole_pages_and_much_less_than_the_block() {
        let fronts = Fronts::default();
        assert_eq!(fronts.of(1, LEN), 4096);
        assert_eq!(fronts.of(4097, LEN), 8192);
        assert_eq!(fronts.of(49_152, LEN), 49_152);
        assert_eq!(fronts.of(49_153, LEN), LEN);
        assert_eq!(fronts.of(1, 4096), 4096);
    }

    #[test]
    fn clients_who_come_back_for_the_rest_get_blocks_whole_until_they_stop() {
        let fronts = Fronts::default();
        let whole = |fronts: &Fronts, back: bool| {
            (0..1000)
                .filter(|_| {
                    let front = fronts.of(32_768, LEN);
                    if front < LEN {
                        fronts.made(front, LEN);
                    }
                    if back && front < LEN {
                        fronts.short(LEN);
                    }
                    front == LEN
                })
                .count()
        };
        assert_eq!(whole(&fronts, false), 0);
        assert!((800..950).contains(&whole(&fronts, true)));
        assert!((400..600).contains(&whole(&fronts, false)));
        assert_eq!(whole(&fronts, false), 0);
    }

    #[test]
    fn a_few_who_come_back_do_no_harm() {
        let fronts = Fronts::default();
        for number in 0..10_000 {
            assert_eq!(fronts.of(4096, LEN), 4096, "{number}");
            fronts.made(4096, LEN);
            if number % 2 == 0 {
                fronts.short(LEN);
            }
        }
    }
}
