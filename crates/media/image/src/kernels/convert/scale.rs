use std::sync::OnceLock;

use crate::format::{Codes, ColourRange, Depth};

/// Adding and taking away 1.5 x 2²³ rounds a small value to the nearest integer, ties to even, and leaves that
/// integer in the low bits of the sum: two operations where a rounding and a conversion would be more.
const ROUND: f32 = 12_582_912.0;

/// The arithmetic between the codes of a plane and their values.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub(super) zero: f32,
    pub(super) span: f32,
    /// 1 / span is the sum of these two, the second being what rounding loses of the first.
    inverse: (f32, f32),
    /// The largest code.
    pub(super) maximum: f32,
    codes: Codes,
}

impl Scale {
    /// That of `codes`.
    pub fn new(codes: Codes) -> Self {
        let span = codes.span();
        let inverse = 1.0 / f64::from(span);
        let nearest = inverse as f32;
        Scale {
            zero: codes.zero(),
            span,
            inverse: (nearest, (inverse - f64::from(nearest)) as f32),
            maximum: codes.depth.maximum().unwrap_or(0) as f32,
            codes,
        }
    }

    /// (code − zero) / span, right to the last bit for every code of 16 bits, and faster than a division.
    #[inline(always)]
    pub fn value(self, code: f32) -> f32 {
        let above = code - self.zero;
        above.mul_add(self.inverse.0, above * self.inverse.1)
    }

    /// 1 / span as the sum of two numbers.
    pub fn inverse(self) -> (f32, f32) {
        self.inverse
    }

    /// The largest code.
    pub fn largest(self) -> u32 {
        self.maximum as u32
    }

    /// The code nearest to a value, ties to even; that of the end for values beyond, 0 for a NaN.
    #[inline(always)]
    pub fn code(self, value: f32) -> u32 {
        // No `clamp`, which keeps a NaN; `max` makes it 0.
        let code = value.mul_add(self.span, self.zero).max(0.0);
        (code.min(self.maximum) + ROUND).to_bits() & 0xffff
    }

    /// The values of all codes: a look-up is faster than arithmetic where samples are read one by one.
    pub fn table(self) -> &'static [f32] {
        static TABLES: [OnceLock<Box<[f32]>>; 16] = [const { OnceLock::new() }; 16];
        let depth = match self.codes.depth {
            Depth::U8 | Depth::F32 => 0,
            Depth::U10 => 1,
            Depth::U12 => 2,
            Depth::U16 => 3,
        };
        let bits = [self.codes.range == ColourRange::Limited, self.codes.chroma];
        let at = bits
            .iter()
            .fold(depth, |at, &bit| 2 * at + usize::from(bit));
        TABLES[at].get_or_init(|| {
            let codes = 0..=self.codes.depth.maximum().unwrap_or(0);
            codes.map(|code| self.value(code as f32)).collect()
        })
    }
}
