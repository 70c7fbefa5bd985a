//! Levels by rate and distortion: each is chosen for what it costs together with what it mends.
//!
//! Differences are measured in levels, whose steps are equally large everywhere in an orthonormal transform. So the price
//! of a bit is a constant: 0.85 * 2^((QP - 12) / 3) over the square of the step, 0.625 * 2^(QP / 6).

use crate::entropy::cost::{BIT, BlockKind, Costs};

/// One level, in the unit of magnitudes.
const ONE: i32 = 256;
/// The price of a bit, in squares of magnitudes.
const PRICE: u64 = (ONE as u64 * ONE as u64) * 136 / 1000;

/// What turns coefficients of a kind of block into levels.
pub struct Steps<'a> {
    /// Factors by raster position, times 2 to the power of `shift`.
    pub multiplier: &'a [u16],
    /// See `multiplier`.
    pub shift: u32,
    /// Raster positions in the order of coding.
    pub scan: &'a [u8],
}

/// Chooses the levels of a block in the order of coding, from its coefficients in raster order. How many are not zero.
///
/// `levels` and `steps.scan` begin at the first level that is coded. `is_coded` is what it costs to say that there are
/// levels, and that there are none.
pub fn choose<const N: usize>(
    costs: &Costs,
    kind: BlockKind,
    coefficients: &[i16],
    steps: &Steps<'_>,
    coded: (u32, u32),
    levels: &mut [i16],
) -> u8 {
    let count = levels.len();
    assert!(count <= N && steps.scan.len() == count);
    let price = |bits: u32| u64::from(bits) * PRICE / u64::from(BIT);
    let mut magnitude = [0i32; N];
    let mut last = None;
    let mut energy = 0u64;
    for (i, &at) in steps.scan.iter().enumerate() {
        let at = usize::from(at);
        let c = u32::from(coefficients[at].unsigned_abs());
        let m = (u64::from(c) * u64::from(steps.multiplier[at])) >> (steps.shift - ONE.ilog2());
        magnitude[i] = m as i32;
        energy += m * m;
        if m as i32 >= ONE / 2 {
            last = Some(i);
        }
    }
    levels.fill(0);
    let Some(last) = last else { return 0 };

    // From the last level to the first, as they are coded.
    let (mut ones, mut more) = (0, 0);
    // Costs as a level with others behind it, and as the last one.
    let mut among = [0u64; N];
    let mut ending = [u64::MAX; N];
    for i in (0..=last).rev() {
        let m = magnitude[i];
        let square = |level: i32| {
            let error = i64::from(m - level * ONE);
            (error * error) as u64
        };
        let has_flags = i + 1 < count;
        let (zero, one) = match has_flags {
            true => (
                costs.significant(kind, i, false),
                costs.significant(kind, i, true),
            ),
            false => (0, 0),
        };
        let mut best = (0, square(0) + price(zero));
        let most = ((m + ONE / 2) / ONE).min(2047);
        if most == 0 {
            among[i] = best.1;
            continue;
        }
        let mut end = u64::MAX;
        let (goes_on, ends) = match has_flags {
            true => (costs.last(kind, i, false), costs.last(kind, i, true)),
            false => (0, 0),
        };
        let mut best_end = 0;
        for level in (most - 1).max(1)..=most {
            let bits = one + costs.level(kind, level as u32, ones, more);
            let cost = square(level) + price(bits + goes_on);
            if cost < best.1 {
                best = (level, cost);
            }
            let cost = square(level) + price(bits + ends);
            if cost < end {
                end = cost;
                best_end = level;
            }
        }
        among[i] = best.1;
        ending[i] = end;
        levels[i] = best.0 as i16;
        // Where it ends here it may be better to have a level after all.
        if best.0 == 0 {
            levels[i] = -(best_end as i16);
        }
        match best.0 {
            0 => {}
            1 => ones += 1,
            _ => more += 1,
        }
    }

    // Where to end.
    let mut behind: u64 = magnitude[last + 1..count]
        .iter()
        .map(|&m| (m as u64) * (m as u64))
        .sum();
    let mut before: u64 = among[..=last].iter().sum();
    let mut best = (None, energy + price(coded.1));
    for i in (0..=last).rev() {
        before -= among[i];
        if ending[i] != u64::MAX {
            let cost = before + ending[i] + behind + price(coded.0);
            if cost < best.1 {
                best = (Some(i), cost);
            }
        }
        behind += (magnitude[i] as u64) * (magnitude[i] as u64);
    }
    let Some(end) = best.0 else {
        levels.fill(0);
        return 0;
    };
    let mut nonzero = 0;
    for (i, level) in levels.iter_mut().enumerate() {
        *level = match *level {
            _ if i > end => 0,
            l if l < 0 && i == end => -l,
            l if l < 0 => 0,
            l => l,
        };
        if *level != 0 {
            nonzero += 1;
            if coefficients[usize::from(steps.scan[i])] < 0 {
                *level = -*level;
            }
        }
    }
    nonzero
}

/// The price of distortion, as a sum of squares, for bits in units of a 256th, at a quantisation parameter: 0.85 times 2
/// to the power of (QP - 12) / 3.
#[inline]
pub fn price(qp: u8, bits: u32) -> u64 {
    // 0.85 * 2^(-4 + k / 3) in 65536ths.
    const THIRDS: [u64; 3] = [3482, 4387, 5527];
    (u64::from(bits) * (THIRDS[usize::from(qp % 3)] << (qp / 3))) >> 24
}
