//! Memory of Python objects, lent to streams.
//!
//! A loan holds the buffer of its object, so that the object neither frees nor moves its memory. All loans of the process
//! are known here: what is lent for writing overlaps nothing else that is lent. Python code that writes to an array while a
//! stream holds it is not hindered; the documentation of the package forbids it.
//!
//! Streams return memory on threads that are not attached to the interpreter, where a buffer cannot be released. So what is
//! returned waits until an attached thread comes by: [`collect`].

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use evener_runtime::buffer::{Lent, Sample};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

use crate::forked::ForkLock;

/// What is lent. Only locked by attached threads.
static LENT: ForkLock<Vec<Entry>> = ForkLock::new();
/// What was returned and is not yet released.
static RETURNED: ForkLock<Vec<Returned>> = ForkLock::new();

/// Addresses that are lent.
struct Entry {
    bytes: Range<usize>,
    writable: bool,
}

struct Returned {
    buffer: PyUntypedBuffer,
    bytes: Range<usize>,
}

/// What memory is lent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Others may read it too.
    Read,
    /// It is the borrower's alone.
    Write,
}

/// Why memory cannot be lent.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its object only lets it be read.
    ReadOnly,
    /// It is lent already, and one of the two writes.
    Overlap,
}

/// Memory of a Python object that is lent as long as this lives.
pub struct Loan {
    /// Taken when it is returned.
    buffer: Option<PyUntypedBuffer>,
    bytes: Range<usize>,
    writable: bool,
}

impl Loan {
    /// Lends the memory of `buffer`.
    pub fn new(
        py: Python<'_>,
        buffer: PyUntypedBuffer,
        access: Access,
    ) -> Result<Arc<Loan>, Refused> {
        collect(py);
        let writable = access == Access::Write;
        if writable && buffer.readonly() {
            buffer.release(py);
            return Err(Refused::ReadOnly);
        }
        let bytes = addresses(&buffer);
        let mut lent = LENT.lock();
        let meets = |other: &Entry| {
            (writable || other.writable)
                && bytes.start < other.bytes.end
                && other.bytes.start < bytes.end
        };
        if lent.iter().any(meets) {
            drop(lent);
            buffer.release(py);
            return Err(Refused::Overlap);
        }
        lent.push(Entry {
            bytes: bytes.clone(),
            writable,
        });
        Ok(Arc::new(Loan {
            buffer: Some(buffer),
            bytes,
            writable,
        }))
    }

    /// The buffer.
    pub fn buffer(&self) -> &PyUntypedBuffer {
        self.buffer.as_ref().expect("it is taken by drop alone")
    }

    /// `len` samples that begin `offset` bytes from the first item.
    ///
    /// # Panics
    /// If they do not lie in the buffer, or not at multiples of their size.
    pub fn lent<T: Sample>(self: &Arc<Self>, offset: isize, len: usize) -> Lent<T> {
        let start = self.buffer().buf_ptr().cast::<u8>().wrapping_offset(offset);
        let end = len
            .checked_mul(size_of::<T>())
            .and_then(|bytes| start.addr().checked_add(bytes));
        let inside =
            end.is_some_and(|end| self.bytes.start <= start.addr() && end <= self.bytes.end);
        // Of no samples it does not matter where they are.
        assert!(inside || len == 0, "{len} samples are not in the buffer");
        let start = match len {
            0 => NonNull::dangling(),
            _ => NonNull::new(start.cast::<T>()).expect("buffers are somewhere"),
        };
        assert!(
            start.addr().get().is_multiple_of(size_of::<T>()),
            "unaligned samples"
        );
        // SAFETY: the samples lie in the buffer, whose object keeps its memory while `self` is held; numbers of any bits
        // are initialised. Loans that overlap are refused where one is written.
        unsafe { Lent::new(start, len, self.writable, self.clone()) }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            let bytes = self.bytes.clone();
            RETURNED.lock().push(Returned { buffer, bytes });
        }
    }
}

/// Releases what was returned.
pub fn collect(py: Python<'_>) {
    let returned = std::mem::take(&mut *RETURNED.lock());
    if returned.is_empty() {
        return;
    }
    let mut buffers = Vec::with_capacity(returned.len());
    let mut lent = LENT.lock();
    for Returned { buffer, bytes } in returned {
        if let Some(at) = lent.iter().position(|entry| entry.bytes == bytes) {
            lent.swap_remove(at);
        }
        buffers.push(buffer);
    }
    drop(lent);
    // This may run code of Python, which may lend again.
    buffers.into_iter().for_each(|buffer| buffer.release(py));
}

/// In the child of a fork, where no stream holds any memory.
pub fn forked() {
    LENT.forget();
    RETURNED.forget();
}

/// The addresses of all items.
fn addresses(buffer: &PyUntypedBuffer) -> Range<usize> {
    let (mut low, mut high) = (0isize, buffer.item_size() as isize);
    for (&length, &stride) in buffer.shape().iter().zip(buffer.strides()) {
        match length {
            0 => return 0..0,
            _ if stride < 0 => low += (length as isize - 1) * stride,
            _ => high += (length as isize - 1) * stride,
        }
    }
    let start = buffer.buf_ptr().addr();
    start.wrapping_add_signed(low)..start.wrapping_add_signed(high)
}
