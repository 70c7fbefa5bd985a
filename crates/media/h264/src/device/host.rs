//! What the kernels compute, on a core, for a simulated device.

use evener_runtime::device::{Buffer, HostMemory};

use super::words::{FOUND, Sizes, WORD, pack};
use crate::estimate;
use crate::kernels::Kernels;
use crate::search::{Search, SearchResult};

/// Searches a picture in another, and writes what is found from byte `at` on.
pub(super) fn search(
    sizes: &Sizes,
    (kernels, starts): (Kernels, u8),
    memory: &HostMemory,
    [source, reference, out]: [Buffer; 3],
    at: usize,
) {
    let (source, reference) = (memory.read(source), memory.read(reference));
    let (source, reference) = (sizes.pyramid(&source), sizes.pyramid(&reference));
    let search = Search::new(sizes.geometry, kernels, source, reference).going_on_from(starts);
    let mut out = memory.write(out);
    let bytes = out[at..].chunks_exact_mut(4 * FOUND * WORD);
    let (across, down) = sizes.cells();
    for (cell, bytes) in bytes.take(across * down).enumerate() {
        let mut found = [SearchResult::default(); 4];
        search.cell(cell % across, cell / across, &mut found);
        for (to, from) in bytes.iter_mut().zip(found.iter().flat_map(pack)) {
            *to = from;
        }
    }
}

/// Writes what predicting each macroblock from its own picture costs, from byte `at` on.
pub(super) fn intra(
    sizes: &Sizes,
    kernels: Kernels,
    memory: &HostMemory,
    [source, out]: [Buffer; 2],
    at: usize,
) {
    let source = memory.read(source);
    let half = sizes.pyramid(&source).half;
    let mut out = memory.write(out);
    for ((x, y), i, place) in sizes.inside() {
        let cost = estimate::intra(kernels, half, 2 * x + i % 2, 2 * y + i / 2);
        out[at + WORD * place..][..WORD].copy_from_slice(&cost.to_ne_bytes());
    }
}
