//! The module `evener._evener`, which the Python package `evener` wraps. Its stubs and the Python files document the
//! functions.

use pyo3::prelude::*;

mod arrays;
mod beside;
mod crypt;
mod device;
mod disk;
mod errors;
#[allow(unsafe_code)]
mod forked;
mod frames;
mod graph;
mod kept;
#[allow(unsafe_code)]
mod lend;
mod pump;
mod queens;
mod remembered;
mod report;
mod setup;
mod stream;
mod video;
mod video_files;
mod waiting;

/// Called in the child of a fork.
#[pyfunction]
fn _forked() {
    lend::forked();
    kept::forked();
    stream::forked();
}

/// Called when the interpreter ends.
#[pyfunction]
fn _at_exit(py: Python<'_>) {
    kept::close_all(py, true);
}

/// Closes the idle streams that are kept open between calls.
#[pyfunction]
fn close_idle(py: Python<'_>) {
    kept::close_all(py, false);
}

/// Returns the number of streams kept open.
#[pyfunction]
fn _kept() -> usize {
    kept::count()
}

#[pymodule(name = "_evener")]
mod module {
    #[pymodule_export]
    #[allow(non_upper_case_globals)] // It is that of Python.
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::crypt::{_crypt_bytes, _crypt_file, _ctr_bytes, _ctr_file, Key};
    #[pymodule_export]
    use super::device::_use_device;
    #[pymodule_export]
    use super::disk::Image;
    #[pymodule_export]
    use super::graph::{Graph, filters};
    #[pymodule_export]
    use super::queens::{_Ledger, _queens, _queens_range};
    #[pymodule_export]
    use super::remembered::{_plans, _remember};
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::video_files::{_encode_file, _filter_file};
    #[pymodule_export]
    use super::{_at_exit, _forked, _kept, close_idle};
}
