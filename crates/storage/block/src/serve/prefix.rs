//! Decides whether it pays to decode only a prefix of a block.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::counter::Counter;

/// Prefixes are whole pages of the clients.
const PAGE: usize = 4096;
/// The balance of saved bytes lies between this and its negative.
const MAX_BALANCE: i64 = 1 << 20;
/// While prefixes do not pay, every block of this number is still decoded as a prefix, to notice when they do.
const TRIAL: u64 = 16;

/// Chooses between a prefix and the whole block.
///
/// A prefix saves decoding the rest of the block. If the rest is requested after all, the whole block is decoded
/// again. Which happens more often depends on the clients, so the bytes saved are weighed against the bytes decoded
/// twice.
#[derive(Debug)]
pub struct PrefixPolicy {
    /// Bytes that were not decoded, less those that were decoded twice.
    balance: AtomicI64,
    /// Prefixes that were asked about while they did not pay.
    refused: AtomicU64,
    decoded: Counter,
    extended: Counter,
}

impl Default for PrefixPolicy {
    fn default() -> PrefixPolicy {
        PrefixPolicy {
            balance: AtomicI64::new(MAX_BALANCE),
            refused: AtomicU64::new(0),
            decoded: Counter::default(),
            extended: Counter::default(),
        }
    }
}

impl PrefixPolicy {
    /// The number of bytes to decode of a block of `len` bytes if the first `needed` are requested.
    pub fn length(&self, needed: usize, len: usize) -> usize {
        let prefix = needed.next_multiple_of(PAGE);
        // If the prefix is nearly the block, it saves too little to risk decoding it twice.
        match prefix <= len / 4 * 3 && self.pays() {
            true => prefix,
            false => len,
        }
    }

    fn pays(&self) -> bool {
        self.balance.load(Ordering::Relaxed) > 0
            || self.refused.fetch_add(1, Ordering::Relaxed) % TRIAL == TRIAL - 1
    }

    /// Counts a block of `len` bytes of which `prefix` were decoded.
    pub fn count_decoded(&self, prefix: usize, len: usize) {
        self.decoded.add(1);
        self.add_balance(len.saturating_sub(prefix) as i64);
    }

    /// Blocks of which only a prefix was decoded.
    pub fn decoded_total(&self) -> u64 {
        self.decoded.get()
    }

    /// Blocks of which more than the cached prefix was requested later.
    pub fn extended_total(&self) -> u64 {
        self.extended.get()
    }

    /// Counts a block of `len` bytes of which more than the cached prefix is requested.
    pub fn count_extended(&self, len: usize) {
        self.extended.add(1);
        self.add_balance(-(len as i64));
    }

    fn add_balance(&self, bytes: i64) {
        let add = |balance: i64| Some((balance + bytes).clamp(-MAX_BALANCE, MAX_BALANCE));
        // `add` never gives `None`, so this cannot fail.
        let _ = self
            .balance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 65_536;

    #[test]
    fn a_prefix_is_whole_pages_and_much_less_than_the_block() {
        let prefixes = PrefixPolicy::default();
        assert_eq!(prefixes.length(1, LEN), 4096);
        assert_eq!(prefixes.length(4097, LEN), 8192);
        assert_eq!(prefixes.length(49_152, LEN), 49_152);
        assert_eq!(prefixes.length(49_153, LEN), LEN);
        assert_eq!(prefixes.length(1, 4096), 4096);
    }

    #[test]
    fn clients_that_request_the_rest_get_whole_blocks_until_they_stop() {
        let prefixes = PrefixPolicy::default();
        let whole = |prefixes: &PrefixPolicy, extends: bool| {
            (0..1000)
                .filter(|_| {
                    let prefix = prefixes.length(32_768, LEN);
                    if prefix < LEN {
                        prefixes.count_decoded(prefix, LEN);
                    }
                    if extends && prefix < LEN {
                        prefixes.count_extended(LEN);
                    }
                    prefix == LEN
                })
                .count()
        };
        assert_eq!(whole(&prefixes, false), 0);
        assert!((800..950).contains(&whole(&prefixes, true)));
        assert!((400..600).contains(&whole(&prefixes, false)));
        assert_eq!(whole(&prefixes, false), 0);
    }

    #[test]
    fn half_of_the_prefixes_may_be_extended() {
        let prefixes = PrefixPolicy::default();
        for number in 0..10_000 {
            assert_eq!(prefixes.length(4096, LEN), 4096, "{number}");
            prefixes.count_decoded(4096, LEN);
            if number % 2 == 0 {
                prefixes.count_extended(LEN);
            }
        }
    }
}
