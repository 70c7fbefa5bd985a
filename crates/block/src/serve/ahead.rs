//! Which bytes a reader will want next.

use std::ops::Range;

/// What is read ahead first.
const FIRST: u64 = 128 << 10;
/// Requests in a row before anything is, at first and after a row that was long enough.
const ENOUGH: u32 = 2;
/// The most of them that are ever waited for.
const MOST: u32 = 64;

/// Watches the requests of one reader. One that begins where the last ended, or a little further, as readers that leave
/// out holes do, goes on in a row; any other begins anew, so random readers cost nothing. A row that ends before what
/// was read ahead for it is of use was one of a reader whose rows are short: the next has to be twice as long before
/// anything is. One that was of use makes up for it.
#[derive(Debug)]
pub struct Ahead {
    /// Most bytes ahead of the reader.
    limit: u64,
    /// Where the last request ended.
    next: u64,
    /// How many have been in a row.
    row: u32,
    /// Where the row began.
    from: u64,
    /// How many have to be.
    enough: u32,
    /// How far ahead to be.
    window: u64,
    /// Up to where it has been read.
    done: u64,
}

impl Ahead {
    /// For at most `limit` bytes; with 0 nothing is read ahead.
    pub fn new(limit: u64) -> Ahead {
        Ahead {
            limit,
            next: 0,
            row: 0,
            from: 0,
            enough: ENOUGH,
            window: 0,
            done: 0,
        }
    }

    /// A request has come.
    pub fn note(&mut self, bytes: &Range<u64>) {
        let slack = 4 * (bytes.end - bytes.start);
        let goes_on = bytes.start >= self.next && bytes.start - self.next <= slack;
        match goes_on {
            true => {
                self.row = self.row.saturating_add(1);
                self.window = match self.window {
                    0 => FIRST,
                    window => window.saturating_mul(2),
                };
                self.window = self.window.min(self.limit);
            }
            false => {
                self.judge();
                (self.row, self.window, self.done) = (0, 0, 0);
                self.from = bytes.start;
            }
        }
        self.next = bytes.end;
    }

    /// A row has ended: was it worth it?
    fn judge(&mut self) {
        let unused = self.done.saturating_sub(self.next);
        let used = self.next - self.from;
        if unused > used {
            self.enough = (2 * self.enough).min(MOST);
        } else if self.row >= self.enough {
            self.enough = ENOUGH;
        }
    }

    /// What to read ahead next, `step` bytes at most, up to byte `end`.
    pub fn step(&self, step: u64, end: u64) -> Option<Range<u64>> {
        if self.row < self.enough {
            return None;
        }
        let from = self.done.max(self.next);
        let to = (from + step).min(self.next + self.window).min(end);
        (from < to).then_some(from..to)
    }

    /// A step was read.
    pub fn took(&mut self, step: &Range<u64>) {
        self.done = step.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_readers_get_more_and_more() {
        let mut ahead = Ahead::new(1 << 20);
        let mut most = 0;
        for request in 0..20u64 {
            let bytes = request * 4096..(request + 1) * 4096;
            ahead.note(&bytes);
            while let Some(step) = ahead.step(65536, 1 << 30) {
                assert!(request >= 1 && step.start >= bytes.end);
                assert!(step.end - bytes.end <= 1 << 20);
                most = most.max(step.end - bytes.end);
                ahead.took(&step);
            }
        }
        assert_eq!(most, 1 << 20);
        // The end of the image is the end.
        assert_eq!(ahead.step(65536, 20 * 4096), None);
    }

    #[test]
    fn random_readers_get_nothing() {
        let mut ahead = Ahead::new(1 << 20);
        let mut state = 1u64;
        for _ in 0..1000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 34) * 4096;
            ahead.note(&(at..at + 4096));
            assert_eq!(ahead.step(65536, 1 << 50), None);
        }
    }

    #[test]
    fn readers_of_short_rows_get_nothing_any_more_until_one_is_long() {
        let mut ahead = Ahead::new(1 << 20);
        let mut rows = |rows: u64, requests: u64| {
            let mut read = 0;
            for row in 0..rows {
                let start = ((row * 7919) % 1000) << 22;
                for request in 0..requests {
                    let at = start + request * 4096;
                    ahead.note(&(at..at + 4096));
                    while let Some(step) = ahead.step(65536, 1 << 40) {
                        read += step.end - step.start;
                        ahead.took(&step);
                    }
                }
            }
            read
        };
        assert!(rows(5, 3) > 0);
        assert_eq!(rows(100, 3), 0);
        assert!(rows(1, 1000) > 2 << 20);
        assert!(rows(1, 3) > 0);
    }

    #[test]
    fn none_is_none() {
        let mut ahead = Ahead::new(0);
        for request in 0..10 {
            ahead.note(&(request * 10..request * 10 + 10));
            assert_eq!(ahead.step(65536, 1 << 30), None);
        }
    }
}
