//! The Internet checksum (RFC 1071).

use std::net::IpAddr;

use crate::memory::Shared;

/// Bytes that are copied and then summed while they are in the first cache.
const BLOCK: usize = 4096;

/// A ones' complement sum of bytes that follow each other, not folded. Words are summed as they are in memory: the sum
/// does not depend on the order of bytes in a word (RFC 1071 section 2B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    value: u64,
    /// Whether the number of bytes so far is odd.
    odd: bool,
}

impl Sum {
    /// Of no bytes.
    pub const ZERO: Sum = Sum {
        value: 0,
        odd: false,
    };

    /// Of the pseudo header of TCP, UDP (RFC 9293 section 3.1, RFC 768) or ICMPv6 (RFC 8200 section 8.1). `len` is the
    /// number of bytes from the header of `protocol` on. Both addresses are of one version.
    pub fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8, len: u32) -> Sum {
        let addresses = add_around(address(source), address(destination));
        let last = (u64::from(len) + u64::from(protocol)).to_be();
        Sum {
            value: add_around(addresses, last),
            odd: false,
        }
    }

    /// With `bytes` after those so far. No number of bytes is wrong: after an odd one the words are taken apart
    /// differently.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "bytes are no sum")]
    pub fn add(self, bytes: &[u8]) -> Sum {
        self.combine(Sum {
            value: sum(bytes),
            odd: bytes.len() % 2 == 1,
        })
    }

    /// With those of `later` after those so far.
    #[must_use]
    pub fn combine(self, later: Sum) -> Sum {
        let value = if self.odd {
            later.value.rotate_left(8)
        } else {
            later.value
        };
        Sum {
            value: add_around(self.value, value),
            odd: self.odd != later.odd,
        }
    }

    /// Copies `bytes` to `to`, and adds what was copied.
    ///
    /// # Panics
    /// If they are not of one length.
    #[must_use]
    pub fn add_copied(self, mut bytes: Shared<'_>, mut to: &mut [u8]) -> Sum {
        assert_eq!(bytes.len(), to.len());
        let mut sum = self;
        while !to.is_empty() {
            let (block, rest) = to.split_at_mut(to.len().min(BLOCK));
            let (first, others) = bytes.split_at(block.len());
            first.copy_to(block);
            // The copy is summed and not the original, which may have changed meanwhile.
            sum = sum.add(block);
            (bytes, to) = (others, rest);
        }
        sum
    }

    /// The complement of the sum: what a checksum field has, and 0 for a packet whose field is included and right.
    pub fn folded(self) -> u16 {
        !self.partial()
    }

    /// The sum itself: what the field has when a device completes the checksum ([`Checksum::Partial`]) and this is the
    /// sum of the pseudo header.
    ///
    /// [`Checksum::Partial`]: crate::packet::Checksum::Partial
    pub fn partial(self) -> u16 {
        let value = (self.value & 0xffff_ffff) + (self.value >> 32);
        let value = (value & 0xffff) + ((value >> 16) & 0xffff) + (value >> 32);
        let value = (value & 0xffff) + (value >> 16);
        let value = (value & 0xffff) + (value >> 16);
        u16::from_be(value as u16)
    }
}

fn address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u64::from(u32::from_ne_bytes(address.octets())),
        IpAddr::V6(address) => {
            let halves = u128::from_ne_bytes(address.octets());
            add_around(halves as u64, (halves >> 64) as u64)
        }
    }
}

/// The sum modulo 2^64 - 1.
fn add_around(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

/// The ones' complement sum of words of eight bytes, the last filled up with zeros.
fn sum(bytes: &[u8]) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut sum = if blocks.is_empty() {
        0
    } else {
        sum_blocks(blocks)
    };
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        sum = add_around(sum, u64::from_ne_bytes(*word));
    }
    add_around(sum, sum_last(rest))
}

fn sum_blocks(blocks: &[[u8; 32]]) -> u64 {
    // Halves of words in lanes of 64 bits: no carry can be lost below 2^32 blocks, and the lanes become vectors.
    let mut lanes = [0u64; 8];
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let mut sum = 0;
    for (at, lane) in lanes.iter().enumerate() {
        let in_place = if at % 2 == 0 {
            *lane
        } else {
            lane.rotate_left(32)
        };
        sum = add_around(sum, in_place);
    }
    sum
}

/// The sum of fewer than eight bytes. Where a part of two or four bytes is in a word makes no difference, so none is
/// assembled in memory.
fn sum_last(bytes: &[u8]) -> u64 {
    let (fours, rest) = bytes.as_chunks::<4>();
    let (twos, rest) = rest.as_chunks::<2>();
    let four = fours.first().map_or(0, |four| u32::from_ne_bytes(*four));
    let two = twos.first().map_or(0, |two| u16::from_ne_bytes(*two));
    let one = rest.first().map_or(0, |one| u16::from_ne_bytes([*one, 0]));
    u64::from(four) + u64::from(two) + u64::from(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Word by word, as RFC 1071 section 1 defines it.
    fn definition(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for word in bytes.chunks(2) {
            let low = word.get(1).copied().unwrap_or(0);
            sum += u32::from(u16::from_be_bytes([word[0], low]));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::ZERO.add(&bytes).partial(), 0xddf2);
        assert_eq!(Sum::ZERO.add(&bytes).folded(), !0xddf2);
    }

    #[test]
    fn a_large_packet_of_ones_loses_no_carry() {
        let bytes = vec![0xff; 70_001];
        assert_eq!(Sum::ZERO.add(&bytes).partial(), definition(&bytes));
    }

    proptest! {
        #[test]
        fn parts_of_any_length_sum_as_the_definition(bytes: Vec<u8>, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let (mut sum, mut at) = (Sum::ZERO, 0);
            for cut in cuts.into_iter().chain([bytes.len()]) {
                sum = sum.add(&bytes[at..cut]);
                at = cut;
            }
            // Zero has two forms, of which an empty sum has one only.
            prop_assert_eq!(sum.partial() % 0xffff, definition(&bytes) % 0xffff);
        }

        #[test]
        fn copied_bytes_are_summed(len in 0..10_000usize, odd: bool) {
            let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + 3) as u8).collect();
            let mut to = vec![0; len];
            let before = if odd { Sum::ZERO.add(&[5]) } else { Sum::ZERO };
            let sum = before.add_copied(Shared::from(&bytes[..]), &mut to);
            prop_assert_eq!(&to, &bytes);
            prop_assert_eq!(sum.partial(), before.add(&bytes).partial());
        }
    }
}
