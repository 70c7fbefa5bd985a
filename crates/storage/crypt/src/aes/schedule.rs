//! Round keys.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::blocks::Blocks;
use super::compiled;
use super::counters::Changes;

/// The round keys of AES-128, 192 or 256. Each is repeated four times, so that a load of any width has it in every
/// block.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(crate) struct RoundKeys {
    keys: [[u8; 64]; 15],
    changes: Changes,
    rounds: usize,
}

impl RoundKeys {
    /// Keys that are not set yet. They are set in place, since moving them would leave a copy that is not wiped.
    pub(crate) fn empty() -> Self {
        RoundKeys {
            keys: [[0; 64]; 15],
            changes: Changes::empty(),
            rounds: 0,
        }
    }

    /// Sets them to those of a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// The key has another length.
    pub(crate) fn set(&mut self, token: super::Token, key: &[u8]) {
        assert!(matches!(key.len(), 16 | 24 | 32), "no AES key");
        self.rounds = key.len() / 4 + 6;
        // SAFETY: the body asks nothing of its caller but the token.
        unsafe { expand(token, key, self) }
    }

    /// The number of rounds, which is the index of the last round key.
    #[inline(always)]
    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// What the last bytes of counters change.
    #[inline(always)]
    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The key of `round`, in every block.
    ///
    /// # Safety
    /// `round` is at most [`RoundKeys::rounds`].
    #[inline(always)]
    pub(crate) unsafe fn of<B: Blocks>(&self, b: B, round: usize) -> B::V {
        // SAFETY: `rounds` is at most 14, and every key is 64 bytes, as wide as the widest register.
        unsafe { b.load(self.keys.as_ptr().add(round).cast()) }
    }

    /// Encrypts the blocks of a register.
    #[inline(always)]
    pub(crate) fn encrypt<B: Blocks>(&self, b: B, blocks: B::V) -> B::V {
        // SAFETY: no round is beyond the last.
        unsafe {
            let mut state = b.xor(blocks, self.of(b, 0));
            for round in 1..self.rounds {
                state = b.round(state, self.of(b, round));
            }
            b.last_round(state, self.of(b, self.rounds))
        }
    }
}

compiled! {
    unsafe fn expand(key: &[u8], expanded: &mut RoundKeys) = expand_body;
}

/// FIPS 197, section 5.2.
#[inline(always)]
unsafe fn expand_body<B: Blocks>(b: B, key: &[u8], expanded: &mut RoundKeys) {
    let step = key.len() / 4;
    let mut words = [0u32; 60];
    for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let mut constant = 1u32;
    for i in step..4 * (expanded.rounds + 1) {
        let mut word = words[i - 1];
        if i % step == 0 {
            word = substituted(b, word.rotate_right(8)) ^ constant;
            constant = (constant << 1) ^ (0x11b & (constant >> 7).wrapping_neg());
        } else if step == 8 && i % 8 == 4 {
            word = substituted(b, word);
        }
        words[i] = words[i - step] ^ word;
    }
    for (round, key) in words.chunks_exact(4).enumerate() {
        for (i, byte) in expanded.keys[round].iter_mut().enumerate() {
            *byte = key[i % 16 / 4].to_le_bytes()[i % 4];
        }
    }
    words.zeroize();
    expanded.changes.set(b, &expanded.keys[0]);
}

/// The S-box on each byte. The last round applies it and then shifts rows, which changes nothing if all columns are
/// equal. Unlike a table, it takes the same time for every key.
#[inline(always)]
fn substituted<B: Blocks>(b: B, word: u32) -> u32 {
    let b = b.single();
    let mut bytes = [0u8; 16];
    for column in bytes.chunks_exact_mut(4) {
        column.copy_from_slice(&word.to_le_bytes());
    }
    // SAFETY: loads and stores of 16 bytes that are there.
    unsafe {
        let zero = b.load([0u8; 16].as_ptr());
        let state = b.load(bytes.as_ptr());
        b.store(b.last_round(state, zero), bytes.as_mut_ptr());
    }
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
