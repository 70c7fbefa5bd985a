//! The kernel on a core, for a simulated device.

use evener_runtime::Simd;
use evener_runtime::device::{Buffer, HostMemory};

use super::SUM;
use super::batch::FIRST;
use crate::inner::{Row, State};
use crate::kernels::{self, Job, Memory};

/// Does what the kernel does with so many roots.
pub(super) fn count(
    simd: Simd,
    memory: &HostMemory,
    [tables, roots, sums]: [Buffer; 3],
    count: usize,
) {
    let (tables, roots, mut sums) = (memory.read(tables), memory.read(roots), memory.write(sums));
    let (tables, roots) = (words(&tables), words(&roots));
    let (roots, _) = roots.as_chunks::<4>();
    let mut kernel = Memory::default();
    let (mut rows, mut states) = (Vec::new(), Vec::new());
    for run in roots[..count].chunk_by(|one, next| one[3] == next[3]) {
        let [unit, weight, table @ ..] = &tables[run[0][3] as usize..] else {
            unreachable!("a table has a unit and a weight");
        };
        let table = table.iter().take_while(|&&word| word & 3 != 0);
        rows.clear();
        rows.extend(table.map(|word| Row {
            row: 0,
            shift: (word & 3) as u8,
            blocked: !(!word >> FIRST),
        }));
        states.clear();
        states.extend(run.iter().map(|root| State {
            rising: root[0] >> FIRST,
            falling: root[1] >> FIRST,
            columns: root[2] >> FIRST,
        }));
        let job = Job {
            rows: &rows,
            depth: 0,
            roots: &states,
        };
        let found = kernels::run(simd, &job, &mut kernel).solutions as u64;
        let (sums, _) = sums[SUM..].as_chunks_mut::<SUM>();
        let sum = &mut sums[*unit as usize];
        *sum = (u64::from_ne_bytes(*sum) + found * u64::from(*weight)).to_ne_bytes();
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| u32::from_ne_bytes(word)).collect()
}
