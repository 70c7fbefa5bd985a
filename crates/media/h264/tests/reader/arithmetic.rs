//! An arithmetic decoder as clauses 9.3.1.2 and 9.3.3.2 describe it, a bit at a time.

use super::arithmetic_tables::{AFTER_LPS, RANGE_LPS};

/// A context variable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// pStateIdx.
    pub state: u8,
    /// valMPS.
    pub most: bool,
}

/// Decodes bins from bytes.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    /// The next bit.
    pub at: usize,
    range: u32,
    offset: u32,
}

impl<'a> Decoder<'a> {
    /// A decoder that begins at byte `at`.
    pub fn new(bytes: &'a [u8], at: usize) -> Decoder<'a> {
        let mut decoder = Decoder {
            bytes,
            at: 8 * at,
            range: 510,
            offset: 0,
        };
        for _ in 0..9 {
            decoder.offset = decoder.offset << 1 | decoder.bit();
        }
        decoder
    }

    fn bit(&mut self) -> u32 {
        let byte = self.bytes.get(self.at / 8).expect("there are more bits");
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        u32::from(bit)
    }

    /// DecodeDecision.
    pub fn decision(&mut self, context: &mut Context) -> bool {
        let less = u32::from(RANGE_LPS[usize::from(context.state)][(self.range >> 6 & 3) as usize]);
        self.range -= less;
        let bin;
        if self.offset >= self.range {
            bin = !context.most;
            self.offset -= self.range;
            self.range = less;
            if context.state == 0 {
                context.most = !context.most;
            }
            context.state = AFTER_LPS[usize::from(context.state)];
        } else {
            bin = context.most;
            if context.state < 62 {
                context.state += 1;
            }
        }
        self.renormalise();
        bin
    }

    /// DecodeBypass.
    pub fn bypass(&mut self) -> bool {
        self.offset = self.offset << 1 | self.bit();
        let bin = self.offset >= self.range;
        if bin {
            self.offset -= self.range;
        }
        bin
    }

    /// DecodeTerminate.
    pub fn terminate(&mut self) -> bool {
        self.range -= 2;
        if self.offset >= self.range {
            return true;
        }
        self.renormalise();
        false
    }

    /// The byte behind the zeros that follow the end of arithmetic code, whose last bit is a 1.
    pub fn aligned(&mut self) -> usize {
        self.at -= 1;
        assert_eq!(self.bit(), 1, "the last bit");
        while !self.at.is_multiple_of(8) {
            assert_eq!(self.bit(), 0, "a bit behind the last");
        }
        self.at / 8
    }

    fn renormalise(&mut self) {
        while self.range < 256 {
            self.range <<= 1;
            self.offset = self.offset << 1 | self.bit();
        }
    }
}
