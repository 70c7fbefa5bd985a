//! A buffer whose rows several workers write at once, checked while it runs.

use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU64, Ordering};

use super::aligned::{Aligned, Sample};

/// Writers in the upper half of `state`, readers in the lower.
const WRITER: u64 = 1 << 32;
const READERS: u64 = WRITER - 1;

/// `rows` rows of `width` samples without padding between them.
///
/// Jobs of a batch write disjoint ranges of rows through a shared reference. [`Rows::write`] marks its rows as taken,
/// as `RefCell` does for one value. So overlapping writers, or a reader beside a writer, panic and never race. A claim
/// costs two atomic operations for up to 64 rows.
pub struct Rows<T: Sample> {
    data: Aligned<T>,
    width: usize,
    rows: usize,
    state: AtomicU64,
    taken: Box<[AtomicU64]>,
}

impl<T: Sample> Rows<T> {
    /// A zeroed buffer of `rows` rows of `width` samples.
    pub fn zeroed(width: usize, rows: usize) -> Self {
        let len = width
            .checked_mul(rows)
            .expect("a buffer is smaller than the address space");
        Rows {
            data: Aligned::zeroed(len),
            width,
            rows,
            state: AtomicU64::new(0),
            taken: (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The same samples in rows of another width.
    ///
    /// # Panics
    /// If `width` does not divide their number.
    #[must_use]
    pub fn reshaped(self, width: usize) -> Self {
        let len = self.data.len();
        let rows = len.checked_div(width).unwrap_or(0);
        assert_eq!(rows * width, len, "{len} samples in rows of {width}");
        Rows {
            width,
            rows,
            state: AtomicU64::new(0),
            taken: (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            data: self.data,
        }
    }

    /// Samples in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All samples, row after row.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// All samples, for reading, beside other readers.
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

    /// The rows `range`, for writing, beside writers of other rows.
    ///
    /// # Panics
    /// If a row is out of bounds or being written, or if any part is being read.
    pub fn write(&self, range: Range<usize>) -> RowsMut<'_, T> {
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

/// All rows, read.
pub struct RowsRef<'a, T: Sample> {
    rows: &'a Rows<T>,
}

impl<T: Sample> Deref for RowsRef<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows.data
    }
}

impl<T: Sample> Drop for RowsRef<'_, T> {
    fn drop(&mut self) {
        self.rows.state.fetch_sub(1, Ordering::Release);
    }
}

/// A range of rows, written.
pub struct RowsMut<'a, T: Sample> {
    rows: &'a Rows<T>,
    range: Range<usize>,
}

impl<T: Sample> Deref for RowsMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let width = self.rows.width;
        // SAFETY: the range is in bounds, and while this guard lives no other guard covers these rows.
        unsafe {
            std::slice::from_raw_parts(
                self.rows.data.as_ptr().add(self.range.start * width),
                self.range.len() * width,
            )
        }
    }
}

impl<T: Sample> DerefMut for RowsMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let width = self.rows.width;
        // SAFETY: as above; no reader exists while a writer does, and slices of other writers are disjoint.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.rows.data.as_ptr().add(self.range.start * width),
                self.range.len() * width,
            )
        }
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

    fn refused(f: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }

    #[test]
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
