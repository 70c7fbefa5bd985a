//! A buffer whose rows several workers write at once, with checks at run time.

use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use super::aligned::{Aligned, Sample};
use super::lent::Lent;

/// Writers in the upper half of `state`, readers in the lower.
const WRITER: u64 = 1 << 32;
const READERS: u64 = WRITER - 1;

/// `rows` rows of `width` samples, `stride` samples from one to the next, in its own memory or in lent memory.
///
/// Jobs of a batch write disjoint ranges of rows through a shared reference. [`Rows::write`] claims its rows, as
/// `RefCell` does for one value. So overlapping writers, or a reader beside a writer, panic and never race. A claim
/// costs two atomic operations for up to 64 rows.
pub struct Rows<T: Sample> {
    memory: Memory<T>,
    width: usize,
    stride: usize,
    rows: usize,
    state: AtomicU64,
    taken: Box<[AtomicU64]>,
}

enum Memory<T: Sample> {
    Own(Aligned<T>),
    Lent(Lent<T>),
}

impl<T: Sample> Rows<T> {
    fn new(memory: Memory<T>, width: usize, stride: usize, rows: usize) -> Self {
        Rows {
            memory,
            width,
            stride,
            rows,
            state: AtomicU64::new(0),
            taken: (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Allocates a zeroed buffer of `rows` rows of `width` samples.
    pub fn zeroed(width: usize, rows: usize) -> Self {
        Rows::padded(width, width, rows)
    }

    /// Allocates a zeroed buffer of `rows` rows of `width` samples, `stride` samples from one to the next.
    ///
    /// # Panics
    /// If the rows overlap.
    pub fn padded(width: usize, stride: usize, rows: usize) -> Self {
        assert!(stride >= width, "rows of {width} samples overlap");
        let memory = Aligned::zeroed(span(width, stride, rows));
        Rows::new(Memory::Own(memory), width, stride, rows)
    }

    /// Uses lent memory for rows, `stride` samples from one to the next. Samples between rows are neither read nor
    /// written.
    ///
    /// # Panics
    /// If the rows overlap or do not lie in `memory`.
    pub fn lent(memory: Lent<T>, width: usize, stride: usize, rows: usize) -> Self {
        assert!(stride >= width, "rows of {width} samples overlap");
        let span = span(width, stride, rows);
        assert!(span <= memory.len(), "{span} samples of {}", memory.len());
        Rows::new(Memory::Lent(memory), width, stride, rows)
    }

    /// Returns the same samples in rows of another width.
    ///
    /// # Panics
    /// If `width` does not divide their number, or there is padding.
    #[must_use]
    pub fn reshaped(self, width: usize) -> Self {
        assert_eq!(self.stride, self.width, "rows have padding");
        let len = self.width * self.rows;
        let rows = len.checked_div(width).unwrap_or(0);
        assert_eq!(rows * width, len, "{len} samples in rows of {width}");
        Rows::new(self.memory, width, width, rows)
    }

    #[inline]
    fn as_ptr(&self) -> *mut T {
        match &self.memory {
            Memory::Own(samples) => samples.as_ptr(),
            Memory::Lent(samples) => samples.as_ptr(),
        }
    }

    fn assert_writable(&self) {
        let writable = match &self.memory {
            Memory::Own(_) => true,
            Memory::Lent(samples) => samples.is_writable(),
        };
        assert!(writable, "memory that is only lent for reading is written");
    }

    /// The number of samples in a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of samples from the start of a row to the start of the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All samples, row after row, including the padding.
    ///
    /// # Panics
    /// If the memory was lent for reading only.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.assert_writable();
        let len = span(self.width, self.stride, self.rows);
        // SAFETY: so many samples lie there, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), len) }
    }

    /// All samples, including the padding, for reading, beside other readers.
    ///
    /// # Panics
    /// If a part is being written.
    pub fn read(&self) -> RowsRef<'_, T> {
        let before = self.state.fetch_add(1, Ordering::Acquire);
        if before >= WRITER {
            self.state.fetch_sub(1, Ordering::Release);
            panic!("rows are read while they are written");
        }
        RowsRef { rows: self }
    }

    /// The rows `range`, including the padding, for writing, beside writers of other rows.
    ///
    /// # Panics
    /// If a row is out of bounds or being written, if any part is being read, or if the memory was lent for reading only.
    pub fn write(&self, range: Range<usize>) -> RowsMut<'_, T> {
        self.assert_writable();
        assert!(
            range.start <= range.end && range.end <= self.rows,
            "rows {range:?} of {}",
            self.rows
        );
        let before = self.state.fetch_add(WRITER, Ordering::Acquire);
        if before & READERS != 0 {
            self.state.fetch_sub(WRITER, Ordering::Release);
            panic!("rows are written while they are read");
        }
        for (word, mask) in words(&range) {
            let clash = self.taken[word].fetch_or(mask, Ordering::Acquire) & mask;
            if clash != 0 {
                // What this claim marked stays marked: the batch has failed and the buffer with it.
                panic!("rows {range:?} are written twice at once");
            }
        }
        RowsMut { rows: self, range }
    }
}

/// The words of the bitmap that `range` touches, each with the bits of its rows.
fn words(range: &Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
    let Range { start, end } = *range;
    let used = if start < end {
        start / 64..(end - 1) / 64 + 1
    } else {
        0..0
    };
    used.map(move |word| {
        let low = start.max(word * 64) - word * 64;
        let high = end.min(word * 64 + 64) - word * 64;
        (word, (u64::MAX >> (64 - (high - low))) << low)
    })
}

/// Samples from the first of the first row to the last of the last.
#[inline]
fn span(width: usize, stride: usize, rows: usize) -> usize {
    match rows.checked_sub(1) {
        None => 0,
        Some(before) => stride
            .checked_mul(before)
            .and_then(|before| before.checked_add(width))
            .expect("a buffer is smaller than the address space"),
    }
}

/// All rows, borrowed for reading.
pub struct RowsRef<'a, T: Sample> {
    rows: &'a Rows<T>,
}

impl<T: Sample> RowsRef<'_, T> {
    /// The number of samples from the start of a row to the start of the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.rows.stride
    }
}

impl<T: Sample> Deref for RowsRef<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let Rows {
            width,
            stride,
            rows,
            ..
        } = *self.rows;
        // SAFETY: so many samples lie there, and no writer exists while a reader does.
        unsafe { std::slice::from_raw_parts(self.rows.as_ptr(), span(width, stride, rows)) }
    }
}

impl<T: Sample> Drop for RowsRef<'_, T> {
    fn drop(&mut self) {
        self.rows.state.fetch_sub(1, Ordering::Release);
    }
}

/// A range of rows, borrowed for writing.
pub struct RowsMut<'a, T: Sample> {
    rows: &'a Rows<T>,
    range: Range<usize>,
}

impl<T: Sample> RowsMut<'_, T> {
    /// The number of samples in a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.rows.width
    }

    /// The number of samples from the start of a row to the start of the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.rows.stride
    }

    /// Where the samples begin, and how many there are, with the padding between rows.
    #[inline]
    fn samples(&self) -> (*mut T, usize) {
        let Rows { width, stride, .. } = *self.rows;
        let len = span(width, stride, self.range.len());
        match len {
            0 => (self.rows.as_ptr(), 0),
            // SAFETY: the rows are in bounds.
            _ => (
                unsafe { self.rows.as_ptr().add(self.range.start * stride) },
                len,
            ),
        }
    }
}

impl<T: Sample> Deref for RowsMut<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let (start, len) = self.samples();
        // SAFETY: the rows are in bounds, and while this guard lives no other guard covers them. The padding between them
        // is in no other guard's samples: each ends with the last sample of its last row.
        unsafe { std::slice::from_raw_parts(start, len) }
    }
}

impl<T: Sample> DerefMut for RowsMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let (start, len) = self.samples();
        // SAFETY: as above; no reader exists while a writer does, and slices of other writers are disjoint.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

impl<T: Sample> Drop for RowsMut<'_, T> {
    fn drop(&mut self) {
        for (word, mask) in words(&self.range) {
            self.rows.taken[word].fetch_and(!mask, Ordering::Release);
        }
        self.rows.state.fetch_sub(WRITER, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr::NonNull;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU16;

    fn refused(f: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long, and is safe")]
    fn words_cover_the_range() {
        for start in 0..140 {
            for end in start..140 {
                let mut bits = [false; 192];
                for (word, mask) in words(&(start..end)) {
                    (0..64)
                        .filter(|b| mask >> b & 1 == 1)
                        .for_each(|b| bits[word * 64 + b] = true);
                }
                assert!(
                    (0..192).all(|r| bits[r] == (start..end).contains(&r)),
                    "{start}..{end}"
                );
            }
        }
    }

    #[test]
    fn disjoint_writers_then_readers() {
        let rows = Rows::<u8>::zeroed(3, 200);
        std::thread::scope(|s| {
            for t in 0..4usize {
                let rows = &rows;
                s.spawn(move || {
                    for r in t * 50..t * 50 + 50 {
                        rows.write(r..r + 1).fill(r as u8);
                    }
                });
            }
        });
        let all = rows.read();
        let again = rows.read();
        assert!((0..200).all(|r| all[r * 3..r * 3 + 3] == [r as u8; 3]));
        assert_eq!(again.len(), 600);
    }

    #[test]
    fn another_shape_has_the_same_samples() {
        let mut rows = Rows::<u8>::zeroed(6, 100);
        rows.as_mut_slice()[599] = 7;
        let rows = rows.reshaped(2);
        assert_eq!((rows.width(), rows.rows()), (2, 300));
        assert_eq!(*rows.write(299..300), [0, 7]);
        assert!(refused(|| drop(rows.reshaped(7))));
    }

    fn lend(samples: Vec<u16>, writable: bool) -> (Arc<Vec<u16>>, Lent<u16>) {
        let owner = Arc::new(samples);
        let start = NonNull::new(owner.as_ptr().cast_mut()).unwrap();
        // SAFETY: the vector lives as long as it is held, and the tests reach its samples only when the rows are gone.
        let lent = unsafe { Lent::new(start, owner.len(), writable, owner.clone()) };
        (owner, lent)
    }

    #[test]
    fn lent_rows_leave_their_padding_alone_and_hold_their_owner() {
        // Samples in cells, so that they may be written while the vector is shared.
        let cells: Arc<Vec<AtomicU16>> = Arc::new((0..5 * 9 + 4).map(AtomicU16::new).collect());
        let start = NonNull::new(cells.as_ptr().cast_mut().cast::<u16>()).unwrap();
        // SAFETY: as in `lend`.
        let lent = unsafe { Lent::new(start, cells.len(), true, cells.clone()) };
        let rows = Rows::lent(lent, 4, 9, 6);
        assert_eq!((rows.width(), rows.stride(), rows.rows()), (4, 9, 6));
        assert_eq!(Arc::strong_count(&cells), 2);
        std::thread::scope(|scope| {
            for r in 0..6 {
                let rows = &rows;
                scope.spawn(move || rows.write(r..r + 1).fill(1000 + r as u16));
            }
        });
        assert_eq!(rows.write(1..4).len(), 2 * 9 + 4);
        assert_eq!(rows.write(2..2).len(), 0);
        let all = rows.read();
        assert_eq!((all.len(), all.stride()), (5 * 9 + 4, 9));
        assert_eq!(all[9..13], [1001; 4]);
        drop(all);
        drop(rows);
        assert_eq!(Arc::strong_count(&cells), 1);
        for (i, cell) in cells.iter().enumerate() {
            let expected = if i % 9 < 4 { 1000 + i / 9 } else { i };
            assert_eq!(usize::from(cell.load(Ordering::Relaxed)), expected);
        }
    }

    #[test]
    fn what_is_lent_for_reading_is_not_written() {
        let (owner, lent) = lend((0..20).collect(), false);
        let mut rows = Rows::lent(lent, 3, 5, 4);
        assert!(refused(|| drop(rows.write(0..1))));
        assert!(refused(|| rows.as_mut_slice()[0] = 1));
        assert_eq!(*rows.read(), owner[..18]);
        assert!(refused(|| drop(rows.reshaped(5))));
        for (width, stride, rows) in [(5, 4, 2), (5, 5, 5), (4, 17, 2), (1, usize::MAX, 3)] {
            let (_, lent) = lend(vec![0; 20], true);
            assert!(refused(|| drop(Rows::lent(lent, width, stride, rows))));
        }
    }

    #[test]
    fn samples_that_are_not_aligned_are_refused() {
        let owner = Arc::new(vec![0u16; 4]);
        let start = NonNull::new(owner.as_ptr().cast_mut()).unwrap();
        // SAFETY: as in `lend`; nothing is made of it.
        let lend = || unsafe {
            let start = start.byte_add(1);
            Lent::new(start, 3, false, owner.clone())
        };
        assert!(refused(|| drop(lend())));
    }

    #[test]
    fn overlap_is_refused() {
        let rows = Rows::<u16>::zeroed(4, 100);
        let held = rows.write(60..70);
        assert!(refused(|| drop(rows.write(69..80))));
        assert!(refused(|| drop(rows.read())));
        assert!(refused(|| drop(rows.write(99..101))));
        drop(rows.write(0..60));
        drop(held);
        let rows = Rows::<u16>::zeroed(4, 100);
        let seen = rows.read();
        assert!(refused(|| drop(rows.write(0..1))));
        drop(seen);
        drop(rows.write(0..100));
        assert_eq!(rows.read().len(), 400);
    }
}
