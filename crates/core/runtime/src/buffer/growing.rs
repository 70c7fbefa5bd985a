//! A buffer to which one worker appends rows while others read earlier rows.

use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::aligned::{Aligned, Sample};

/// Space for `rows` rows of `width` samples without padding. The first rows are *published*.
///
/// One worker at a time appends rows, in order. A published row never changes, so readers neither claim nor wait:
/// they see the rows published at the time of the call, while further rows are written. Reading costs one atomic
/// load, appending three operations.
pub struct GrowingRows<T: Sample> {
    data: Aligned<T>,
    width: usize,
    rows: usize,
    published: AtomicUsize,
    /// A guard of [`GrowingRows::append`] lives.
    appending: AtomicBool,
}

impl<T: Sample> GrowingRows<T> {
    /// Allocates `rows` rows of `width` samples, all zero, none published.
    pub fn zeroed(width: usize, rows: usize) -> Self {
        let len = width
            .checked_mul(rows)
            .expect("a buffer is smaller than the address space");
        GrowingRows {
            data: Aligned::zeroed(len),
            width,
            rows,
            published: AtomicUsize::new(0),
            appending: AtomicBool::new(false),
        }
    }

    /// The number of samples in a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows that fit.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of published rows. Everything written before they were published is visible to the caller.
    #[inline]
    pub fn published(&self) -> usize {
        self.published.load(Ordering::Acquire)
    }

    /// All published rows, one after the other.
    #[inline]
    pub fn read(&self) -> &[T] {
        let len = self.published() * self.width;
        // SAFETY: the samples are in bounds and initialised. Guards of `append` cover rows from `published` on only,
        // and the acquire ordered what was written to these rows before this. `published` gets smaller only in `reset`,
        // which borrows the buffer exclusively.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), len) }
    }

    /// Returns the next `count` rows for writing, beside readers. They contain what was last written there. Dropping
    /// the guard publishes them, unless its thread is panicking. After a panic the same rows can be appended again.
    ///
    /// # Panics
    /// If there is no room for them, or another guard lives.
    pub fn append(&self, count: usize) -> Appended<'_, T> {
        assert!(
            !self.appending.swap(true, Ordering::Acquire),
            "rows are appended twice at once"
        );
        // Only the holder of `appending` changes it.
        let start = self.published.load(Ordering::Relaxed);
        if count > self.rows - start {
            self.appending.store(false, Ordering::Release);
            panic!("{count} rows are appended to {start} of {}", self.rows);
        }
        Appended {
            rows: self,
            range: start..start + count,
        }
    }

    /// Unpublishes all rows. Their samples remain.
    pub fn reset(&mut self) {
        *self.published.get_mut() = 0;
        // A guard may have been forgotten, but none lives.
        *self.appending.get_mut() = false;
    }
}

/// Rows that are being written; see [`GrowingRows::append`].
#[must_use = "the rows are published when this is dropped"]
pub struct Appended<'a, T: Sample> {
    rows: &'a GrowingRows<T>,
    range: Range<usize>,
}

impl<T: Sample> Deref for Appended<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let width = self.rows.width;
        // SAFETY: the range is in bounds and not published, so no reader sees it, and `appending` was set by the one
        // guard there is, which this is.
        unsafe {
            std::slice::from_raw_parts(
                self.rows.data.as_ptr().add(self.range.start * width),
                self.range.len() * width,
            )
        }
    }
}

impl<T: Sample> DerefMut for Appended<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let width = self.rows.width;
        // SAFETY: as above, and this guard is borrowed exclusively.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.rows.data.as_ptr().add(self.range.start * width),
                self.range.len() * width,
            )
        }
    }
}

impl<T: Sample> Drop for Appended<'_, T> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.rows.published.store(self.range.end, Ordering::Release);
        }
        self.rows.appending.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn refused(f: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }

    #[test]
    fn rows_are_published_when_they_are_written() {
        let mut rows = GrowingRows::<u16>::zeroed(3, 5);
        assert_eq!((rows.width(), rows.rows(), rows.published()), (3, 5, 0));
        assert!(rows.read().is_empty());
        let mut first = rows.append(2);
        first.copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        assert_eq!((first.len(), rows.published()), (6, 0));
        drop(first);
        let before = rows.read();
        rows.append(1).fill(7);
        assert_eq!(before, [1, 2, 3, 4, 5, 6]);
        assert_eq!(rows.read(), [1, 2, 3, 4, 5, 6, 7, 7, 7]);
        drop(rows.append(0));
        assert_eq!(rows.published(), 3);
        rows.reset();
        assert!(rows.read().is_empty());
        // What was there is overwritten, not cleared.
        assert_eq!(*rows.append(1), [1, 2, 3]);
    }

    #[test]
    fn what_does_not_fit_or_is_appended_twice_is_refused() {
        let mut rows = GrowingRows::<u8>::zeroed(4, 3);
        let held = rows.append(2);
        assert!(refused(|| drop(rows.append(1))));
        drop(held);
        assert!(refused(|| drop(rows.append(2))));
        assert!(refused(|| drop(rows.append(usize::MAX))));
        drop(rows.append(1));
        drop(rows.append(0));
        assert_eq!(rows.published(), 3);
        rows.reset();
        std::mem::forget(rows.append(1));
        assert!(refused(|| drop(rows.append(1))));
        rows.reset();
        drop(rows.append(3));
        assert_eq!(rows.read(), [0; 12]);
    }

    #[test]
    fn a_panic_publishes_nothing_and_the_rows_can_be_appended_again() {
        let rows = GrowingRows::<u8>::zeroed(1, 2);
        assert!(refused(|| {
            let mut appended = rows.append(2);
            appended.fill(9);
            panic!("in the middle");
        }));
        assert_eq!(rows.published(), 0);
        rows.append(2).copy_from_slice(&[1, 2]);
        assert_eq!(rows.read(), [1, 2]);
    }

    /// Rows of no samples count like others.
    #[test]
    fn rows_may_be_empty() {
        let rows = GrowingRows::<f32>::zeroed(0, 2);
        drop(rows.append(2));
        assert_eq!((rows.published(), rows.read().len()), (2, 0));
    }

    #[test]
    fn readers_see_whole_rows_while_others_are_appended() {
        const ROWS: usize = if cfg!(miri) { 50 } else { 2000 };
        let rows = GrowingRows::<u64>::zeroed(7, ROWS);
        let (rows, appender) = (&rows, &std::sync::Mutex::new(0));
        thread::scope(|scope| {
            // Two take turns to append, as the workers of a line do.
            for _ in 0..2 {
                scope.spawn(move || {
                    loop {
                        let mut next = appender.lock().unwrap();
                        if *next == ROWS {
                            return;
                        }
                        let count = (1 + *next % 3).min(ROWS - *next);
                        let mut appended = rows.append(count);
                        for (i, row) in appended.chunks_exact_mut(7).enumerate() {
                            row.fill((*next + i + 1) as u64);
                        }
                        *next += count;
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut seen = 0;
                    while seen < ROWS {
                        let read = rows.read();
                        for (i, row) in read.chunks_exact(7).enumerate().skip(seen) {
                            assert_eq!(row, [i as u64 + 1; 7]);
                        }
                        assert!(read.len() >= 7 * seen);
                        seen = read.len() / 7;
                    }
                });
            }
        });
        assert_eq!(rows.published(), ROWS);
    }
}
