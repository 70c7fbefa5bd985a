//! NAL units (clause 7.3.1, annex B) and bits.

/// A NAL unit without emulation prevention.
pub struct Unit {
    pub reference: u8,
    pub kind: u8,
    pub payload: Vec<u8>,
}

/// The NAL units of a byte stream. Each must begin with a start code of four bytes.
pub fn units(stream: &[u8]) -> Vec<Unit> {
    let mut starts = Vec::new();
    for at in 0..stream.len().saturating_sub(2) {
        if stream[at..at + 3] == [0, 0, 1] {
            assert!(at > 0 && stream[at - 1] == 0, "a start code of three bytes");
            starts.push(at + 3);
        }
    }
    let mut units = Vec::new();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(stream.len(), |next| next - 4);
        units.push(unit(&stream[start..end]));
    }
    units
}

fn unit(bytes: &[u8]) -> Unit {
    let header = bytes[0];
    assert_eq!(header >> 7, 0, "forbidden_zero_bit");
    let mut payload = Vec::new();
    let mut zeros = 0;
    for (at, &byte) in bytes.iter().enumerate().skip(1) {
        if zeros == 2 {
            assert!(byte >= 3, "two zeros and {byte} within a NAL unit");
            zeros = 0;
            if byte == 3 {
                assert!(bytes.get(at + 1).is_none_or(|&next| next <= 3));
                continue;
            }
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        payload.push(byte);
    }
    assert_ne!(bytes.last(), Some(&0), "a NAL unit that ends with zero");
    Unit {
        reference: header >> 5 & 3,
        kind: header & 31,
        payload,
    }
}

/// Reads bits, the most significant first.
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn bit(&mut self) -> u32 {
        let byte = self.bytes[self.at / 8];
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        u32::from(bit)
    }

    pub fn flag(&mut self) -> bool {
        self.bit() == 1
    }

    pub fn u(&mut self, count: u32) -> u32 {
        (0..count).fold(0, |value, _| value << 1 | self.bit())
    }

    pub fn ue(&mut self) -> u32 {
        let mut zeros = 0;
        while !self.flag() {
            zeros += 1;
        }
        (1 << zeros) - 1 + self.u(zeros)
    }

    pub fn se(&mut self) -> i32 {
        let number = self.ue() as i32;
        match number % 2 {
            1 => (number + 1) / 2,
            _ => -(number / 2),
        }
    }

    /// `te(v)` of a syntax element that is at most `range`.
    pub fn te(&mut self, range: u32) -> u32 {
        match range {
            1 => 1 - self.bit(),
            _ => self.ue(),
        }
    }

    pub fn is_aligned(&self) -> bool {
        self.at.is_multiple_of(8)
    }

    /// `more_rbsp_data`: whether there is something before the last bit that is 1.
    pub fn more_data(&self) -> bool {
        let last = self.bytes.len() - 1;
        let end = last * 8 + 7 - self.bytes[last].trailing_zeros() as usize;
        self.at < end
    }

    /// `rbsp_trailing_bits`, and then nothing.
    pub fn end(mut self) {
        assert!(self.flag(), "rbsp_stop_one_bit");
        while !self.is_aligned() {
            assert!(!self.flag(), "rbsp_alignment_zero_bit");
        }
        assert_eq!(self.at, 8 * self.bytes.len());
    }
}
