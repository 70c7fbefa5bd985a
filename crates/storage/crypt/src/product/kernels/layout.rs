//! How a group of blocks lies in eight registers, and conversions between the layouts.
//!
//! - In **memory**: block after block.
//! - As **planes**: register i holds byte i of every block. Skipjack's layout, and the one between ciphers.
//! - As **words**: IDEA's, two registers for each of four words of 16 bits, the first byte the high one.
//! - As **doubles**: Raiden's, four registers for each of two words of 32 bits, the first byte the low one.
//!
//! A conversion takes 8 to 40 operations for a group, once for each cipher of a range. A pass of the cheapest cipher
//! takes 700.

use super::lanes::Lanes;

/// Eight registers: a group of as many blocks as a register has bytes.
pub type Group<S> = [<S as Lanes>::V; 8];

/// Memory to planes.
///
/// # Safety
/// A group's 8 · `BYTES` bytes from `at` on are inside one allocation.
#[inline(always)]
pub unsafe fn load<S: Lanes>(s: S, at: *const u8) -> Group<S> {
    // SAFETY: the caller's promise.
    let mut rows = unsafe { [s.load(at); 8] };
    for (i, row) in rows.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *row = s.pair_bytes(unsafe { s.load(at.add(i * S::BYTES)) });
    }
    transpose(s, rows)
}

/// Planes to memory.
///
/// # Safety
/// A group's 8 · `BYTES` bytes from `at` on are inside one allocation that may be written.
#[inline(always)]
pub unsafe fn store<S: Lanes>(s: S, planes: Group<S>, at: *mut u8) {
    let rows = transpose(s, planes);
    for (i, row) in rows.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { s.store(s.part_bytes(*row), at.add(i * S::BYTES)) };
    }
}

/// Transposes the 8 x 8 matrix of 16-bit elements that each 128 bits of eight registers are. Its own inverse.
#[inline(always)]
fn transpose<S: Lanes>(s: S, [a, b, c, d, e, f, g, h]: Group<S>) -> Group<S> {
    let ([a, e], [b, f]) = (s.unpack16(a, e), s.unpack16(b, f));
    let ([c, g], [d, h]) = (s.unpack16(c, g), s.unpack16(d, h));
    let ([a, c], [e, g]) = (s.unpack16(a, c), s.unpack16(e, g));
    let ([b, d], [f, h]) = (s.unpack16(b, d), s.unpack16(f, h));
    let ([a, b], [c, d]) = (s.unpack16(a, b), s.unpack16(c, d));
    let ([e, f], [g, h]) = (s.unpack16(e, f), s.unpack16(g, h));
    [a, b, c, d, e, f, g, h]
}

/// Words: first index the word, second the half of the group.
pub type Words<S> = [[<S as Lanes>::V; 2]; 4];

/// Planes to words.
#[inline(always)]
pub fn to_words<S: Lanes>(s: S, [a, b, c, d, e, f, g, h]: Group<S>) -> Words<S> {
    [
        s.unpack8(b, a),
        s.unpack8(d, c),
        s.unpack8(f, e),
        s.unpack8(h, g),
    ]
}

/// Words to planes.
#[inline(always)]
pub fn from_words<S: Lanes>(s: S, [first, second, third, fourth]: Words<S>) -> Group<S> {
    let ([b, a], [d, c]) = (s.pack8(first), s.pack8(second));
    let ([f, e], [h, g]) = (s.pack8(third), s.pack8(fourth));
    [a, b, c, d, e, f, g, h]
}

/// Doubles: first index the word, second the quarter of the group.
pub type Doubles<S> = [[<S as Lanes>::V; 4]; 2];

/// Planes to doubles.
#[inline(always)]
pub fn to_doubles<S: Lanes>(s: S, [a, b, c, d, e, f, g, h]: Group<S>) -> Doubles<S> {
    [to_double(s, [a, b, c, d]), to_double(s, [e, f, g, h])]
}

/// Doubles to planes.
#[inline(always)]
pub fn from_doubles<S: Lanes>(s: S, [first, second]: Doubles<S>) -> Group<S> {
    let [a, b, c, d] = from_double(s, first);
    let [e, f, g, h] = from_double(s, second);
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn to_double<S: Lanes>(s: S, [a, b, c, d]: [S::V; 4]) -> [S::V; 4] {
    let ([a, b], [c, d]) = (s.unpack8(a, b), s.unpack8(c, d));
    let ([a, c], [b, d]) = (s.unpack16(a, c), s.unpack16(b, d));
    [a, c, b, d]
}

#[inline(always)]
fn from_double<S: Lanes>(s: S, [a, c, b, d]: [S::V; 4]) -> [S::V; 4] {
    let ([a, c], [b, d]) = (s.pack16([a, c]), s.pack16([b, d]));
    let ([a, b], [c, d]) = (s.pack8([a, b]), s.pack8([c, d]));
    [a, b, c, d]
}
