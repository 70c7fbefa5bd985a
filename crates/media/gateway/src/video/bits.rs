//! Bits of a NAL unit (Rec. ITU-T H.264, clauses 7.2, 7.3.1 and 9.1; those of H.265 are the same).

/// Reads bits; bytes that prevent the emulation of start codes are skipped. `None` is the end.
#[derive(Clone, Debug)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    zeros: u8,
    /// Bits left in the byte at `at`; 0 before the first.
    left: u8,
}

impl<'a> Bits<'a> {
    /// From the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits {
            bytes,
            at: 0,
            zeros: 0,
            left: 0,
        }
    }

    /// One bit.
    pub fn bit(&mut self) -> Option<bool> {
        if self.left == 0 {
            if self.at > 0 {
                self.zeros = match self.bytes[self.at - 1] {
                    0 => self.zeros + 1,
                    _ => 0,
                };
            }
            if self.zeros >= 2 && self.bytes.get(self.at) == Some(&3) {
                self.at += 1;
                self.zeros = 0;
            }
            self.bytes.get(self.at)?;
            self.at += 1;
            self.left = 8;
        }
        self.left -= 1;
        Some(self.bytes[self.at - 1] >> self.left & 1 != 0)
    }

    /// A number of at most 32 bits.
    pub fn number(&mut self, count: u32) -> Option<u32> {
        let mut number = 0;
        for _ in 0..count {
            number = number << 1 | u32::from(self.bit()?);
        }
        Some(number)
    }

    /// Passes over bits.
    pub fn skip(&mut self, count: u32) -> Option<()> {
        for _ in 0..count {
            self.bit()?;
        }
        Some(())
    }

    /// `ue(v)`: an Exp-Golomb code of at most 32 bits of value.
    pub fn unsigned(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.bit()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1 << zeros) - 1 + self.number(zeros)?)
    }

    /// `se(v)`.
    pub fn signed(&mut self) -> Option<i32> {
        let code = i64::from(self.unsigned()?);
        let magnitude = (code + 1) / 2;
        Some(if code % 2 == 0 { -magnitude } else { magnitude } as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_are_those_of_the_standard() {
        // Table 9-2: 1, 010, 011, 00100, 00111 are 0 to 2, 3, 6.
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0011, 0b1000_0000]);
        let numbers: Vec<_> = (0..5).map(|_| bits.unsigned().unwrap()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 6]);
        let mut bits = Bits::new(&[0b0100_1100, 0b1000_0101, 0]);
        assert_eq!(
            [bits.signed(), bits.signed(), bits.signed(), bits.signed()],
            [Some(1), Some(-1), Some(2), Some(-2)]
        );
    }

    #[test]
    fn bytes_against_emulation_are_skipped() {
        let mut bits = Bits::new(&[0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 3, 5]);
        let bytes: Vec<_> = std::iter::from_fn(|| bits.number(8)).collect();
        assert_eq!(bytes, [0, 0, 1, 0, 0, 0, 0, 3, 5]);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut bits = Bits::new(&bytes);
            let mut codes = 0;
            while bits.unsigned().is_some() {
                codes += 1;
            }
            prop_assert!(codes <= 8 * bytes.len());
        }
    }
}
