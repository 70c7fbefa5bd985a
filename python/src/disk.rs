//! Ranges of packed disk images.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use evener_block::Image as Packed;
use evener_block::serve::{PieceBytes, Store, Window};
use evener_runtime::{Rounds, Runtime, Topology};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{self, ImageError};
use crate::setup::Setup;

/// Bytes that are read between checks for signals.
const STEP: u64 = 4 << 20;

/// A disk image, packed or not, opened for reading. Any thread may use it.
#[pyclass(frozen, module = "evener")]
pub struct Image {
    store: Store,
    runtime: Runtime,
    /// The process that opened it. Other processes have no workers for it.
    process: u32,
}

#[pymethods]
impl Image {
    /// Opens the image at `path`. Up to `cache` bytes of decoded blocks are kept.
    #[new]
    #[pyo3(signature = (path, *, cache=67108864, workers=None))]
    fn new(py: Python<'_>, path: PathBuf, cache: u64, workers: Option<u32>) -> PyResult<Image> {
        let setup = Setup::new("auto", workers, "auto")?;
        py.detach(|| {
            let image = Packed::open(&path).map_err(|error| errors::of::<ImageError>(&error))?;
            let workers = workers.map_or(Topology::detect().workers(), |n| n as usize);
            Ok(Image {
                store: Store::new(Arc::new(image), cache, Rounds::plain(workers)),
                runtime: setup.runtime()?,
                process: std::process::id(),
            })
        })
    }

    /// Returns `size` bytes from `offset` on, or fewer at the end of the image.
    #[pyo3(signature = (offset=0, size=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if self.process != std::process::id() {
            return Err(ImageError::new_err(
                "the image was opened before this process was forked; open it here",
            ));
        }
        let all = self.store.image().size();
        let from = offset.min(all);
        let to = size.map_or(all, |size| from.saturating_add(size).min(all));
        let len = usize::try_from(to - from)
            .map_err(|_| PyValueError::new_err("size is larger than the address space"))?;
        PyBytes::new_with(py, len, |bytes| {
            let mut window = Window::default();
            let mut at = from;
            while at < to {
                let room = &mut bytes[(at - from) as usize..];
                let done = py.detach(|| self.step(at..to, room, &mut window));
                at = done?;
                py.check_signals()?;
            }
            Ok(())
        })
    }

    /// The size of the image in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.store.image().size()
    }

    /// The name of its format.
    #[getter]
    fn format(&self) -> &'static str {
        self.store.image().format().name
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.size()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!(
            "<evener.Image {}: {}, {} bytes>",
            self.store.image().file().name(),
            self.format(),
            self.size()
        )
    }
}

impl Image {
    /// Reads some bytes from the start of `range` into `room`, and returns where they end.
    fn step(&self, range: Range<u64>, room: &mut [u8], window: &mut Window) -> PyResult<u64> {
        let failed = |at: u64| {
            let name = self.store.image().file().name();
            ImageError::new_err(format!(
                "{name}: byte {at} cannot be read: the image is damaged there, or has changed"
            ))
        };
        let begin = range.start;
        let end = self.store.look_up(range, STEP, window);
        let end = end.map_err(|failure| failed(failure.at))?;
        let filled = self.store.fill(self.runtime.pool(), window);
        filled.map_err(|failure| failed(failure.at))?;
        let mut at = 0;
        for piece in window.pieces() {
            let len = piece.len() as usize;
            match piece.piece_bytes() {
                PieceBytes::Zero(_) => room[at..at + len].fill(0),
                PieceBytes::Bytes(bytes) => room[at..at + len].copy_from_slice(bytes),
            }
            at += len;
        }
        debug_assert_eq!(at as u64, end - begin);
        window.clear();
        Ok(end)
    }
}
