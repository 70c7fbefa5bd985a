//! Which packets of a session have come: a packet that comes again is refused (as RFC 4303, 3.4.3, and RFC 6479).

/// Packets that may come that late. A multiple of 64.
const PACKETS: u64 = 2048;
const WORDS: usize = PACKETS as usize / 64;

/// The numbers of the latest packets, a bit for each.
#[derive(Debug)]
pub(super) struct Window {
    /// One more than the highest number.
    end: u64,
    bits: [u64; WORDS],
}

impl Window {
    pub(super) fn new() -> Window {
        Window {
            end: 0,
            bits: [0; WORDS],
        }
    }

    /// Takes the number of a packet that is genuine. False if it came before, or is too old to tell.
    pub(super) fn take(&mut self, number: u64) -> bool {
        if number >= self.end {
            // The words between the highest and this one begin anew.
            let (old, new) = (self.end.div_ceil(64), number / 64 + 1);
            for word in old.max(new.saturating_sub(WORDS as u64))..new {
                self.bits[word as usize % WORDS] = 0;
            }
            self.end = number + 1;
        }
        // The place of its word holds a later one by now.
        if number / 64 + (WORDS as u64) <= (self.end - 1) / 64 {
            return false;
        }
        let word = &mut self.bits[(number / 64) as usize % WORDS];
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_number_is_taken_once(steps in proptest::collection::vec((-3000i64..3000, 1usize..4), 1..400)) {
            let mut window = Window::new();
            let mut seen = HashSet::new();
            let (mut at, mut highest) = (5000i64, 0);
            for (step, times) in steps {
                at = (at + step).max(0);
                for _ in 0..times {
                    let number = at as u64;
                    let is_new = !seen.contains(&number);
                    let taken = window.take(number);
                    prop_assert!(is_new || !taken);
                    highest = highest.max(number);
                    // All within the packets that may come late, but for a word, are told from one another.
                    if is_new && number + (PACKETS - 64) > highest {
                        prop_assert!(taken);
                    }
                    if taken {
                        seen.insert(number);
                    }
                }
            }
        }
    }

    #[test]
    fn the_ends_of_numbers() {
        let mut window = Window::new();
        assert!(window.take(0) && !window.take(0));
        assert!(window.take(1 << 40) && !window.take(1 << 40) && !window.take(0));
        assert!(window.take((1 << 40) - 1900));
    }
}
