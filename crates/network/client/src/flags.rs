//! Flags in shared memory, one a connection, that one side sets and the other takes; and whether a side sleeps.
//!
//! The README beside this says why nothing is lost.

use std::sync::atomic::{AtomicU64, Ordering};

use super::sync::fence;
use crate::memory::Span;

/// A word of flags: the standard library's atomic, or that of a model checker.
pub trait Word {
    /// The word, of whatever moment.
    fn peek(&self) -> u64;
    /// The word, which becomes `value`. Acquires and releases.
    fn swap_with(&self, value: u64) -> u64;
    /// Sets bits. Acquires and releases.
    fn or(&self, bits: u64);
}

impl Word for AtomicU64 {
    fn peek(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn swap_with(&self, value: u64) -> u64 {
        self.swap(value, Ordering::AcqRel)
    }

    fn or(&self, bits: u64) {
        self.fetch_or(bits, Ordering::AcqRel);
    }
}

/// Bytes of the words of `connections` flags, on cache lines of their own.
pub fn bytes(connections: u32) -> usize {
    (connections as usize / 8).next_multiple_of(128)
}

/// Sets `bit` of a word, and the bit of its group in the summary, if it is not set.
pub fn set(summary: &impl Word, group: u64, word: &impl Word, bit: u64) {
    word.or(bit);
    fence();
    if summary.peek() & group == 0 {
        summary.or(group);
        fence();
    }
}

/// Takes the bits of the summary. The words of the groups are taken after that.
pub fn take_groups(summary: &impl Word) -> u64 {
    if summary.peek() == 0 {
        return 0;
    }
    let groups = summary.swap_with(0);
    fence();
    groups
}

/// Takes the bits of a word.
pub fn take_word(word: &impl Word) -> u64 {
    match word.peek() {
        0 => 0,
        _ => word.swap_with(0),
    }
}

/// Called before a side sleeps. It looks once more for anything to do after this, and sleeps only if there is nothing.
pub fn fall_asleep(asleep: &impl Word) {
    asleep.or(1);
    fence();
}

/// Whether the other side is to be woken, called after something was published for it. True once for each sleep.
pub fn must_wake(asleep: &impl Word) -> bool {
    fence();
    asleep.peek() != 0 && asleep.swap_with(0) != 0
}

/// One flag a connection.
pub struct Flags<'a> {
    summary: &'a AtomicU64,
    words: Span,
}

impl<'a> Flags<'a> {
    /// With a summary of 64 groups, and [`bytes`] of words.
    pub fn new(summary: &'a AtomicU64, words: Span) -> Flags<'a> {
        Flags { summary, words }
    }

    /// Words that a bit of the summary stands for.
    fn group(&self) -> usize {
        (self.words.len() / 8).div_ceil(64)
    }

    /// Sets the flag of a connection.
    pub fn set(&self, slot: u32) {
        let at = slot as usize / 64;
        let group = 1 << (at / self.group());
        set(
            self.summary,
            group,
            self.words.word(8 * at),
            1 << (slot % 64),
        );
    }

    /// Whether a flag may be set.
    pub fn any(&self) -> bool {
        self.summary.peek() != 0
    }

    /// Takes all flags, and calls `each` with the connections whose flags were set.
    pub fn take(&self, mut each: impl FnMut(u32)) {
        let mut groups = take_groups(self.summary);
        let (all, len) = (self.words.len() / 8, self.group());
        while groups != 0 {
            let first = groups.trailing_zeros() as usize * len;
            groups &= groups - 1;
            for at in first..all.min(first + len) {
                let mut bits = take_word(self.words.word(8 * at));
                while bits != 0 {
                    each(at as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Region;

    #[test]
    fn flags_are_taken_once_each_in_any_number_of_connections() {
        for connections in [64, 128, 4096, 16_384, 1 << 20] {
            let region = Region::private(bytes(connections)).unwrap();
            let summary = AtomicU64::new(0);
            let words = Span::new(&region, 0, bytes(connections));
            let flags = Flags::new(&summary, words);
            let mut some = vec![0, 1, 63, connections / 2, connections - 1];
            some.sort_unstable();
            some.dedup();
            some.iter().for_each(|&slot| flags.set(slot));
            flags.set(connections - 1);
            assert!(flags.any());
            let mut taken = Vec::new();
            flags.take(|slot| taken.push(slot));
            assert_eq!(taken, some);
            assert!(!flags.any());
            flags.take(|_| panic!("nothing is left"));
        }
    }

    #[test]
    fn whatever_is_in_the_words_no_index_is_out_of_the_memory() {
        let region = Region::private(bytes(64)).unwrap();
        let summary = AtomicU64::new(u64::MAX);
        let words = Span::new(&region, 0, bytes(64));
        words.write(0, &vec![0xFF; words.len()]);
        let mut taken = 0;
        Flags::new(&summary, words).take(|_| taken += 1);
        // Beyond the connections there are: the caller checks.
        assert_eq!(taken, 8 * bytes(64));
    }

    #[test]
    fn one_wake_up_a_sleep() {
        let asleep = AtomicU64::new(0);
        assert!(!must_wake(&asleep));
        fall_asleep(&asleep);
        fall_asleep(&asleep);
        assert!(must_wake(&asleep));
        assert!(!must_wake(&asleep));
    }
}
