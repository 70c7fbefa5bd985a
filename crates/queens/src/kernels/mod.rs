//! The search below many starts with one border: a table of variants.

#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod layout;
#[cfg(target_arch = "x86_64")]
mod stacks;
#[cfg(test)]
mod tests;

use evener_runtime::Simd;

use crate::found::Found;
use crate::inner::{Row, State};
use crate::reference;

#[cfg(target_arch = "x86_64")]
use self::{
    lanes::{Avx2, Avx512},
    layout::{Narrow, Wide},
    stacks::search,
};

/// What is to be searched.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The rows inside the border.
    pub rows: &'a [Row],
    /// Which of them the roots meet.
    pub depth: usize,
    /// Where to start.
    pub roots: &'a [State],
}

impl Job<'_> {
    /// Columns inside the border.
    fn columns(&self) -> u32 {
        let widest = self
            .rows
            .iter()
            .map(|row| u32::BITS - (!row.blocked).leading_zeros());
        widest.max().unwrap_or(0)
    }
}

/// Memory that a search keeps from job to job.
#[derive(Default)]
pub struct Memory {
    #[cfg(target_arch = "x86_64")]
    stacks: stacks::Memory,
}

/// One way to do a job.
struct Variant {
    /// What failing tests call it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the product shows no names"))]
    name: &'static str,
    /// Columns that its boards may have inside the border.
    columns: u32,
    /// Whether a SIMD level allows it and the processor has what it needs.
    exists: fn(Simd) -> bool,
    /// Solutions below all roots, unweighted.
    run: fn(&Job<'_>, &mut Memory) -> Found,
}

/// Best first. The last one is always there.
const VARIANTS: &[Variant] = &[
    #[cfg(target_arch = "x86_64")]
    Variant {
        name: "avx512 narrow",
        columns: 16,
        exists: has_avx512,
        run: avx512_narrow,
    },
    #[cfg(target_arch = "x86_64")]
    Variant {
        name: "avx512 wide",
        columns: 32,
        exists: has_avx512,
        run: avx512_wide,
    },
    #[cfg(target_arch = "x86_64")]
    Variant {
        name: "avx2 narrow",
        columns: 16,
        exists: has_avx2,
        run: avx2_narrow,
    },
    #[cfg(target_arch = "x86_64")]
    Variant {
        name: "avx2 wide",
        columns: 32,
        exists: has_avx2,
        run: avx2_wide,
    },
    Variant {
        name: "scalar",
        columns: 32,
        exists: |_| true,
        run: scalar,
    },
];

/// Solutions below all roots of a job, unweighted, by the best variant there is.
pub fn run(simd: Simd, job: &Job<'_>, memory: &mut Memory) -> Found {
    let columns = job.columns();
    let mut variants = VARIANTS.iter();
    let best = variants.find(|v| v.columns >= columns && (v.exists)(simd));
    (best.expect("the reference takes every board").run)(job, memory)
}

fn scalar(job: &Job<'_>, _: &mut Memory) -> Found {
    let roots = job.roots.iter();
    roots
        .map(|&root| reference::count(job.rows, job.depth, root))
        .sum()
}

#[cfg(target_arch = "x86_64")]
fn has_avx512(simd: Simd) -> bool {
    Avx512::new(simd).is_some()
}

#[cfg(target_arch = "x86_64")]
fn has_avx2(simd: Simd) -> bool {
    Avx2::new(simd).is_some()
}

/// A variant: a register width and a layout, compiled with the instructions of the former.
#[cfg(target_arch = "x86_64")]
macro_rules! variant {
    ($name:ident, $lanes:ident at $level:ident, $layout:ident, $features:literal) => {
        fn $name(job: &Job<'_>, memory: &mut Memory) -> Found {
            #[target_feature(enable = $features)]
            fn compiled(lanes: $lanes, job: &Job<'_>, memory: &mut Memory) -> Found {
                search(lanes, $layout, job, &mut memory.stacks)
            }
            match $lanes::new(Simd::$level) {
                // With fewer rows there is nothing to do for it.
                Some(lanes) if job.rows.len() >= job.depth + 2 => {
                    // SAFETY: `lanes` exists, so the processor has these instructions.
                    unsafe { compiled(lanes, job, memory) }
                }
                _ => scalar(job, memory),
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
variant!(avx512_narrow, Avx512 at Avx512, Narrow, "avx512f,avx512bw,popcnt");
#[cfg(target_arch = "x86_64")]
variant!(avx512_wide, Avx512 at Avx512, Wide, "avx512f,avx512bw,popcnt");
#[cfg(target_arch = "x86_64")]
variant!(avx2_narrow, Avx2 at Avx2, Narrow, "avx2,popcnt");
#[cfg(target_arch = "x86_64")]
variant!(avx2_wide, Avx2 at Avx2, Wide, "avx2,popcnt");
