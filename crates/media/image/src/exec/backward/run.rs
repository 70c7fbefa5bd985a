//! Runs of outputs, and memory for their samples.

/// Outputs that are pulled at once where stages pull from each other.
pub(super) const RUN: usize = 64;

/// Outputs computed together, all inside the plane.
#[derive(Clone, Copy)]
pub(super) enum Run<'a> {
    /// (x0, y) to (x0 + n, y).
    Row { x0: i32, y: i32, n: usize },
    /// (`xs[i]`, `ys[i]`).
    List { xs: &'a [i32], ys: &'a [i32] },
}

/// The first `n` samples of memory that grows when it must.
pub(super) fn sized<T: Copy + Default>(memory: &mut Vec<T>, n: usize) -> &mut [T] {
    if memory.len() < n {
        memory.resize(n, T::default());
    }
    &mut memory[..n]
}
