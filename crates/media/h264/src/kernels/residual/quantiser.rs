//! Scaling of coefficients to levels and back, with flat scaling matrices.

/// Levels are within ± this. Every profile's CAVLC can code it, whatever came before (clause 9.2.2.1).
///
/// Only DC of `I16x16` at parameters up to 10, DC of chroma and the 8x8 transform up to 4 would ever exceed it.
pub const MAX_LEVEL: i16 = 2047;

/// The highest quantisation parameter.
pub const MAX_QP: u8 = 51;

/// `normAdjust4x4` by `qP % 6` (equation 8-315): where row and column are even, where both are odd, elsewhere.
pub const NORM_4X4: [[u8; 3]; 6] = [
    [10, 16, 13],
    [11, 18, 14],
    [13, 20, 16],
    [14, 23, 18],
    [16, 25, 20],
    [18, 29, 23],
];

/// `normAdjust8x8` by `qP % 6` (equation 8-318), in its six classes of positions: see [`class_8x8`].
pub const NORM_8X8: [[u8; 6]; 6] = [
    [20, 18, 32, 19, 25, 24],
    [22, 19, 35, 21, 28, 26],
    [26, 23, 42, 24, 33, 31],
    [28, 25, 45, 26, 35, 33],
    [32, 28, 51, 30, 40, 38],
    [36, 32, 58, 34, 46, 43],
];

/// The square of a DC basis function's norm over that of a class, with the factors that the inverse has instead.
const GAIN_4X4: [(u64, u64); 3] = [(1, 1), (16, 25), (4, 5)];
const GAIN_8X8: [(u64, u64); 6] = [
    (1, 1),
    (65536, 83521),
    (64, 25),
    (256, 289),
    (8, 5),
    (2048, 1445),
];

/// The class of a raster position of a 4x4 block in [`NORM_4X4`].
pub const fn class_4x4(position: usize) -> usize {
    match (position / 4 % 2, position % 2) {
        (0, 0) => 0,
        (1, 1) => 1,
        _ => 2,
    }
}

/// The class of a raster position of an 8x8 block in [`NORM_8X8`].
pub const fn class_8x8(position: usize) -> usize {
    match (position / 8 % 4, position % 4) {
        (0, 0) => 0,
        (1 | 3, 1 | 3) => 1,
        (2, 2) => 2,
        (0, 1 | 3) | (1 | 3, 0) => 3,
        (0, 2) | (2, 0) => 4,
        _ => 5,
    }
}

/// The factor by which coefficients of a class become levels, times 2 to the power of `15 + qp / 6`.
pub const fn multiplier_4x4(qp: u8, class: usize) -> u32 {
    let norm = NORM_4X4[qp as usize % 6][class];
    multiplier(1 << 17, GAIN_4X4[class], norm)
}

/// The factor by which coefficients of a class of 8x8 become levels, times 2 to the power of `16 + qp / 6`.
pub const fn multiplier_8x8(qp: u8, class: usize) -> u32 {
    let norm = NORM_8X8[qp as usize % 6][class];
    multiplier(1 << 18, GAIN_8X8[class], norm)
}

const fn multiplier(unit: u64, (over, under): (u64, u64), norm: u8) -> u32 {
    let under = under * norm as u64;
    ((unit * over + under / 2) / under) as u32
}

/// Quantisation and scaling of 4x4 blocks and of DC at one parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Quantiser {
    /// Twice [`multiplier_4x4`] of each position.
    pub multiplier: [u16; 16],
    /// What is added to a magnitude before it is multiplied, in quarters.
    pub bias: [u16; 16],
    /// What a level is multiplied with: `normAdjust4x4` shifted by `qp / 6`.
    pub scale: [i16; 16],
    /// The parameter.
    pub qp: u8,
    /// What is added to a magnitude, in 64ths of a step.
    pub rounding: u8,
}

impl Quantiser {
    /// That of parameter `qp`. A magnitude rounds up from `1 - rounding / 64` on: 32 is to the nearest, 21 (a third) is
    /// usual in intra macroblocks and 11 (a sixth) in others.
    ///
    /// # Panics
    /// `qp` is above 51 or `rounding` above 32.
    pub const fn new(qp: u8, rounding: u8) -> Quantiser {
        assert!(qp <= MAX_QP && rounding <= 32);
        let mut quantiser = Quantiser {
            multiplier: [0; 16],
            bias: [0; 16],
            scale: [0; 16],
            qp,
            rounding,
        };
        let mut i = 0;
        while i < 16 {
            let class = class_4x4(i);
            let multiplier = multiplier_4x4(qp, class);
            quantiser.multiplier[i] = 2 * multiplier as u16;
            quantiser.bias[i] = bias(17 + qp / 6, rounding, multiplier);
            quantiser.scale[i] = (NORM_4X4[qp as usize % 6][class] as i16) << (qp / 6);
            i += 1;
        }
        quantiser
    }

    /// Those of all parameters.
    pub const fn table(rounding: u8) -> [Quantiser; 52] {
        let mut table = [Quantiser::new(0, rounding); 52];
        let mut qp = 1;
        while qp <= MAX_QP {
            table[qp as usize] = Quantiser::new(qp, rounding);
            qp += 1;
        }
        table
    }

    /// The level of a DC coefficient whose multiplier is times 2 to the power of `bits`.
    #[inline(always)]
    pub(super) fn dc_level(&self, coefficient: i32, bits: u32) -> i16 {
        let multiplier = u32::from(self.multiplier[0] / 2);
        let rounding = (u32::from(self.rounding) << bits) / 64;
        let level = (coefficient.unsigned_abs() * multiplier + rounding) >> bits;
        let level = level.min(MAX_LEVEL as u32) as i16;
        if coefficient < 0 { -level } else { level }
    }
}

/// Quantisation and scaling of 8x8 blocks at one parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Quantiser8x8 {
    /// [`multiplier_8x8`] of each position.
    pub multiplier: [u16; 64],
    /// What is added to a magnitude before it is multiplied, in halves.
    pub bias: [u16; 64],
    /// What a level is multiplied with: `normAdjust8x8` shifted by `qp / 6 - 2`, or not at all where that is negative
    /// and the product is shifted to the right instead.
    pub scale: [i16; 64],
    /// The parameter.
    pub qp: u8,
}

impl Quantiser8x8 {
    /// As [`Quantiser::new`].
    ///
    /// # Panics
    /// `qp` is above 51 or `rounding` above 32.
    pub const fn new(qp: u8, rounding: u8) -> Quantiser8x8 {
        assert!(qp <= MAX_QP && rounding <= 32);
        let mut quantiser = Quantiser8x8 {
            multiplier: [0; 64],
            bias: [0; 64],
            scale: [0; 64],
            qp,
        };
        let mut i = 0;
        while i < 64 {
            let class = class_8x8(i);
            let multiplier = multiplier_8x8(qp, class);
            quantiser.multiplier[i] = multiplier as u16;
            quantiser.bias[i] = bias(17 + qp / 6, rounding, multiplier);
            quantiser.scale[i] =
                (NORM_8X8[qp as usize % 6][class] as i16) << (qp / 6).saturating_sub(2);
            i += 1;
        }
        quantiser
    }

    /// Those of all parameters.
    pub const fn table(rounding: u8) -> [Quantiser8x8; 52] {
        let mut table = [Quantiser8x8::new(0, rounding); 52];
        let mut qp = 1;
        while qp <= MAX_QP {
            table[qp as usize] = Quantiser8x8::new(qp, rounding);
            qp += 1;
        }
        table
    }
}

/// `rounding` 64ths of a step of `2^bits / multiplier`, to the nearest.
const fn bias(bits: u8, rounding: u8, multiplier: u32) -> u16 {
    let under = 64 * multiplier as u64;
    ((((rounding as u64) << bits) + under / 2) / under) as u16
}
