//! GCM with nonces of 96 bits: counter mode and GHASH in one pass.

use std::arch::x86_64::__m128i;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::blocks::Blocks;
use super::counters::Counters;
use super::ctr::{GROUP, stream};
use super::ghash::{POWERS, Powers, Products, absorb};
use super::schedule::RoundKeys;
use super::{Token, compiled};

/// A key, ready for GCM.
pub(crate) struct GcmKernel {
    token: Token,
    key: Box<Key>,
}

struct Key {
    rounds: RoundKeys,
    powers: Powers,
}

/// A message. The pointers are to `length` bytes each, which are the same or do not overlap.
#[derive(Clone, Copy)]
struct Message<'a> {
    nonce: &'a [u8; 12],
    aad: &'a [u8],
    from: *const u8,
    to: *mut u8,
    length: usize,
}

impl GcmKernel {
    /// The kernel for a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// The key has another length.
    pub(crate) fn new(token: Token, key: &[u8]) -> Self {
        let mut ready = Box::new(Key {
            rounds: RoundKeys::empty(),
            powers: Powers::empty(),
        });
        ready.rounds.set(token, key);
        // SAFETY: the body asks nothing of its caller but the token.
        unsafe { powers(token, &mut ready) };
        GcmKernel { token, key: ready }
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// Encrypts `input` into `output`, of the same length and at most 2^32 - 2 blocks, and returns the tag.
    pub(crate) fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) -> [u8; 16] {
        let message = message(nonce, aad, input, output);
        // SAFETY: `message` made it from two slices of one length.
        unsafe { seal(self.token, &self.key, message) }
    }

    /// Decrypts `input` into `output`, of the same length and at most 2^32 - 2 blocks. Returns whether `tag` is that of
    /// the message. If not, the caller must erase `output`.
    pub(crate) fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        tag: &[u8],
        output: &mut [u8],
    ) -> bool {
        let message = message(nonce, aad, input, output);
        // SAFETY: `message` made it from two slices of one length.
        let mut computed = unsafe { open(self.token, &self.key, message) };
        let genuine = computed.ct_eq(tag).into();
        // This tag would make an altered message pass.
        computed.zeroize();
        genuine
    }
}

fn message<'a>(nonce: &'a [u8; 12], aad: &'a [u8], input: &[u8], output: &mut [u8]) -> Message<'a> {
    assert_eq!(input.len(), output.len());
    assert!(input.len() as u128 <= 16 * ((1 << 32) - 2));
    Message {
        nonce,
        aad,
        from: input.as_ptr(),
        to: output.as_mut_ptr(),
        length: input.len(),
    }
}

compiled! {
    unsafe fn powers(key: &mut Key) = powers_body;
}
compiled! {
    unsafe fn seal(key: &Key, message: Message<'_>) -> [u8; 16] = seal_body;
}
compiled! {
    unsafe fn open(key: &Key, message: Message<'_>) -> [u8; 16] = open_body;
}

#[inline(always)]
unsafe fn powers_body<B: Blocks>(b: B, key: &mut Key) {
    let ni = b.single();
    let h = key.rounds.encrypt(ni, ni.counters(0));
    key.powers.set(ni, h);
}

/// # Safety
/// `length` bytes can be read and written where the message says.
#[inline(always)]
unsafe fn seal_body<B: Blocks>(b: B, key: &Key, message: Message<'_>) -> [u8; 16] {
    // SAFETY: the caller's promise.
    unsafe { crypt::<B, true>(b, key, message) }
}

/// # Safety
/// Of [`seal_body`].
#[inline(always)]
unsafe fn open_body<B: Blocks>(b: B, key: &Key, message: Message<'_>) -> [u8; 16] {
    // SAFETY: the caller's promise.
    unsafe { crypt::<B, false>(b, key, message) }
}

/// The message encrypted or decrypted, and its tag.
///
/// # Safety
/// Of [`seal_body`].
#[inline(always)]
unsafe fn crypt<B: Blocks, const SEAL: bool>(b: B, key: &Key, message: Message<'_>) -> [u8; 16] {
    let ni = b.single();
    let Message { from, to, .. } = message;
    let bytes = GROUP * 16 * B::N;
    let groups = message.length / bytes;
    // The counter is in the last four bytes of a block. It begins with 1, which is used for the tag.
    let mut first = [0u8; 16];
    first[..12].copy_from_slice(message.nonce);
    let first = u128::from_be_bytes(first) | 1;

    // SAFETY: groups lie within the length, and so do the whole blocks and the last bytes of the rest. The hash is over
    // the sealed bytes: when opening, they are read before anything is written over them.
    unsafe {
        let mut hash = absorb_padded(b, &key.powers, ni.counters(0), message.aad);
        let mut counters = Counters::new(b, &key.rounds, first + 1);
        let (mut at_from, mut at_to) = (from, to);
        for group in 0..groups {
            let states = counters.group(b, &key.rounds);
            hash = match (SEAL, group) {
                (true, 0) => {
                    finish(b, &key.rounds, states, 2, at_from, at_to);
                    hash
                }
                (true, _) => step(
                    b,
                    key,
                    states,
                    at_from,
                    at_to,
                    at_to.cast_const().sub(bytes),
                    hash,
                ),
                (false, _) => step(b, key, states, at_from, at_to, at_from, hash),
            };
            at_from = at_from.add(bytes);
            at_to = at_to.add(bytes);
        }
        if SEAL && groups > 0 {
            hash = absorb(
                b,
                &key.powers,
                hash,
                at_to.cast_const().sub(bytes),
                bytes / 16,
            );
        }

        let rest = message.length - groups * bytes;
        let (blocks, tail) = (rest / 16, rest % 16);
        let counter = first + 1 + (groups * bytes / 16) as u128;
        if !SEAL {
            hash = absorb(b, &key.powers, hash, at_from, blocks);
        }
        stream(b, &key.rounds, counter, at_from, at_to, blocks);
        if SEAL {
            hash = absorb(b, &key.powers, hash, at_to, blocks);
        }
        if tail > 0 {
            let at = 16 * blocks;
            let mut last = [0u8; 16];
            std::ptr::copy_nonoverlapping(at_from.add(at), last.as_mut_ptr(), tail);
            if !SEAL {
                hash = absorb(b, &key.powers, hash, last.as_ptr(), 1);
            }
            let counter = counter + blocks as u128;
            stream(b, &key.rounds, counter, last.as_ptr(), last.as_mut_ptr(), 1);
            std::ptr::copy_nonoverlapping(last.as_ptr(), at_to.add(at), tail);
            if SEAL {
                last[tail..].fill(0);
                hash = absorb(b, &key.powers, hash, last.as_ptr(), 1);
            }
        }

        let (aad, text) = (8 * message.aad.len() as u64, 8 * message.length as u64);
        let mut tag = (u128::from(aad) << 64 | u128::from(text)).to_be_bytes();
        hash = absorb(b, &key.powers, hash, tag.as_ptr(), 1);
        let mask = key.rounds.encrypt(ni, ni.reversed(ni.counters(first)));
        ni.store(ni.xor(ni.reversed(hash), mask), tag.as_mut_ptr());
        tag
    }
}

/// Encrypts a group, and in the same rounds adds another group, from `hashed` on, to the hash. Products fill the time
/// that `aesenc` takes.
///
/// # Safety
/// A group can be read from `from` and `hashed` and written to `to`.
#[inline(always)]
unsafe fn step<B: Blocks>(
    b: B,
    key: &Key,
    mut states: [B::V; GROUP],
    from: *const u8,
    to: *mut u8,
    hashed: *const u8,
    hash: __m128i,
) -> __m128i {
    let width = 16 * B::N;
    const { assert!(GROUP * B::N <= POWERS) };
    // Every key has more rounds. The compiler does not know, and so keeps to this order: unrolled, it would compute block
    // after block and then the products, which only processors that look far ahead undo.
    let end = key.rounds.rounds().min(GROUP + 1);
    // SAFETY: GROUP registers are a group, and no round is beyond the last.
    unsafe {
        let mut products = Products::new(b);
        // The first register comes last, since it waits for the hash of the group before.
        for round in 2..end {
            let round_key = key.rounds.of(b, round);
            for state in &mut states {
                *state = b.round(*state, round_key);
            }
            let i = round - 1;
            let terms = b.reversed(b.load(hashed.add(i * width)));
            products = products.with(terms, key.powers.of(b, (GROUP - i) * B::N));
        }
        let terms = b.xor(b.reversed(b.load(hashed)), b.widened(hash));
        let products = products.with(terms, key.powers.of(b, GROUP * B::N));
        finish(b, &key.rounds, states, end, from, to);
        products.reduced(b.single())
    }
}

/// Encrypts a group from round `round` on.
///
/// # Safety
/// A group can be read from `from` and written to `to`.
#[inline(always)]
unsafe fn finish<B: Blocks>(
    b: B,
    keys: &RoundKeys,
    mut states: [B::V; GROUP],
    round: usize,
    from: *const u8,
    to: *mut u8,
) {
    let width = 16 * B::N;
    let rounds = keys.rounds();
    // SAFETY: GROUP registers are a group, and no round is beyond the last.
    unsafe {
        for round in round..rounds {
            let round_key = keys.of(b, round);
            for state in &mut states {
                *state = b.round(*state, round_key);
            }
        }
        let last = keys.of(b, rounds);
        for (i, state) in states.iter().enumerate() {
            let input = b.load(from.add(i * width));
            let output = b.last_round(*state, b.xor(last, input));
            b.store(output, to.add(i * width));
        }
    }
}

/// Adds bytes to the hash, padded with zeros to whole blocks.
///
/// # Safety
/// Only that the token exists.
#[inline(always)]
unsafe fn absorb_padded<B: Blocks>(b: B, powers: &Powers, hash: __m128i, bytes: &[u8]) -> __m128i {
    let (blocks, tail) = bytes.as_chunks::<16>();
    // SAFETY: the slice has this number of blocks, and the array has one.
    unsafe {
        let hash = absorb(b, powers, hash, bytes.as_ptr(), blocks.len());
        if tail.is_empty() {
            return hash;
        }
        let mut last = [0u8; 16];
        last[..tail.len()].copy_from_slice(tail);
        absorb(b, powers, hash, last.as_ptr(), 1)
    }
}
