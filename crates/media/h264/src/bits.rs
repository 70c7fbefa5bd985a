//! Bits, and the units they are packed in: Exp-Golomb codes (clause 9.1), NAL units with emulation prevention
//! (clause 7.4.1) and start codes (annex B).

/// Writes bits, the most significant first.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that do not fill eight bytes yet: the lowest `held` of it.
    accumulator: u64,
    held: u32,
}

impl BitWriter {
    /// A writer of no bits.
    pub fn new() -> BitWriter {
        BitWriter::default()
    }

    /// Forgets all bits and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.accumulator = 0;
        self.held = 0;
    }

    /// The number of bits so far.
    pub fn bits(&self) -> u64 {
        self.bytes.len() as u64 * 8 + u64::from(self.held)
    }

    /// The lowest `count` bits of `value`, at most 32. The bits above them must be zero.
    #[inline(always)]
    pub fn put(&mut self, value: u32, count: u32) {
        debug_assert!(count <= 32 && u64::from(value) >> count == 0);
        let held = self.held + count;
        if held < 64 {
            self.accumulator = self.accumulator << count | u64::from(value);
            self.held = held;
        } else {
            self.spill(value, count);
        }
    }

    #[inline(never)]
    fn spill(&mut self, value: u32, count: u32) {
        let room = 64 - self.held;
        let rest = count - room;
        let full = self.accumulator << room | u64::from(value) >> rest;
        self.bytes.extend_from_slice(&full.to_be_bytes());
        self.accumulator = u64::from(value) & ((1 << rest) - 1);
        self.held = rest;
    }

    /// One bit.
    #[inline]
    pub fn flag(&mut self, value: bool) {
        self.put(u32::from(value), 1);
    }

    /// `ue(v)`: an unsigned Exp-Golomb code of `value`, less than 2^32 - 1.
    #[inline]
    pub fn ue(&mut self, value: u32) {
        let code = value + 1;
        let length = 32 - code.leading_zeros();
        if length <= 16 {
            self.put(code, 2 * length - 1);
        } else {
            self.put(0, length - 1);
            self.put(code, length);
        }
    }

    /// `se(v)`: a signed Exp-Golomb code of `value`, not `i32::MIN`.
    #[inline]
    pub fn se(&mut self, value: i32) {
        let magnitude = 2 * value.unsigned_abs();
        self.ue(magnitude - u32::from(value > 0));
    }

    /// Whether a whole number of bytes is written.
    pub fn is_aligned(&self) -> bool {
        self.held.is_multiple_of(8)
    }

    /// Repeats a bit until a whole number of bytes is written.
    pub fn align(&mut self, bit: bool) {
        while !self.is_aligned() {
            self.flag(bit);
        }
    }

    /// `rbsp_trailing_bits` (clause 7.3.2.11): a one, then zeros up to a whole number of bytes.
    pub fn trailing_bits(&mut self) {
        self.flag(true);
        self.align(false);
    }

    /// The bytes, to read or to append to. A whole number of bytes must have been written.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        assert!(self.is_aligned(), "not a whole number of bytes");
        let rest = (self.held / 8) as usize;
        let last = self.accumulator.to_be_bytes();
        self.bytes.extend_from_slice(&last[8 - rest..]);
        self.held = 0;
        &mut self.bytes
    }
}

/// `nal_unit_type` (table 7-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NalType {
    /// A slice of a picture that needs others.
    Slice = 1,
    /// A slice of a picture from which decoding may start.
    IdrSlice = 5,
    /// Supplemental enhancement information.
    Sei = 6,
    /// A sequence parameter set.
    Sequence = 7,
    /// A picture parameter set.
    Picture = 8,
    /// An access unit delimiter.
    Delimiter = 9,
}

/// Appends a NAL unit: a start code of four bytes, the header, and `payload` (an RBSP, which does not end with a zero
/// byte) with emulation prevention.
pub fn write_nal_unit(out: &mut Vec<u8>, reference: u8, kind: NalType, payload: &[u8]) {
    debug_assert!(reference < 4 && payload.last() != Some(&0));
    out.reserve(payload.len() + payload.len() / 64 + 16);
    out.extend_from_slice(&[0, 0, 0, 1, reference << 5 | kind as u8]);
    escape(out, payload);
}

/// Appends `payload` with a 3 before each byte of at most 3 that follows two zero bytes (clause 7.4.1.1).
fn escape(out: &mut Vec<u8>, payload: &[u8]) {
    // What is copied so far; where the next zero is looked for; zeros right before it.
    let mut copied = 0;
    let mut at = 0;
    let mut zeros = 0;
    while at < payload.len() {
        if zeros == 0 {
            at += until_zero(&payload[at..]);
            if at == payload.len() {
                break;
            }
        }
        let byte = payload[at];
        if zeros >= 2 && byte <= 3 {
            out.extend_from_slice(&payload[copied..at]);
            out.push(3);
            copied = at;
            zeros = 0;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        at += 1;
    }
    out.extend_from_slice(&payload[copied..]);
}

/// The number of bytes before the first zero byte, or all of them.
fn until_zero(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut words = bytes.chunks_exact(8);
    let mut before = 0;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("chunks are of eight bytes"));
        // The lowest byte of which the top bit is set is the first that is zero.
        let found = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if found != 0 {
            return before + found.trailing_zeros() as usize / 8;
        }
        before += 8;
    }
    let rest = words.remainder();
    before + rest.iter().position(|&b| b == 0).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
