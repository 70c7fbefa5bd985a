//! The search below many starts of one border: a table of variants.

mod job;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod layout;
#[cfg(target_arch = "x86_64")]
mod stacks;
#[cfg(test)]
mod tests;

use evener_runtime::Simd;

use crate::counts::Counts;
use crate::reference;

pub use job::Job;

#[cfg(target_arch = "x86_64")]
use self::{
    lanes::{Avx2, Avx512},
    layout::{Narrow, Wide},
    stacks::search,
};

/// Memory that is kept from job to job.
#[derive(Default)]
pub struct Memory {
    #[cfg(target_arch = "x86_64")]
    stacks: stacks::Memory,
}

/// A way to run a job.
struct Variant {
    /// Its name in failing tests and in lists of kernels.
    name: &'static str,
    /// The most columns inside the border.
    columns: u32,
    /// Whether a SIMD level allows it and the processor has the instructions.
    exists: fn(Simd) -> bool,
    /// Solutions below all roots, unweighted.
    run: fn(&Job<'_>, &mut Memory) -> Counts,
}

/// The variants, the best first. The last one always exists.
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

/// The best variant that exists for a number of columns.
fn best(simd: Simd, columns: u32) -> &'static Variant {
    let mut variants = VARIANTS.iter();
    let best = variants.find(|v| v.columns >= columns && (v.exists)(simd));
    best.expect("the reference takes every board")
}

/// Solutions below all roots of a job, unweighted, by the best variant that exists.
pub fn run(simd: Simd, job: &Job<'_>, memory: &mut Memory) -> Counts {
    (best(simd, job.columns()).run)(job, memory)
}

/// What runs at a level on boards of up to 18 rows.
pub fn variant(simd: Simd) -> &'static str {
    best(simd, 16).name
}

fn scalar(job: &Job<'_>, _: &mut Memory) -> Counts {
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
        fn $name(job: &Job<'_>, memory: &mut Memory) -> Counts {
            #[target_feature(enable = $features)]
            fn compiled(lanes: $lanes, job: &Job<'_>, memory: &mut Memory) -> Counts {
                search(lanes, $layout, job, &mut memory.stacks)
            }
            match $lanes::new(Simd::$level) {
                // The stacks need at least two rows.
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
