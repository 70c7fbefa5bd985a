//! Which bytes of a request came, where a server answers in parts.

use std::ops::Range;

/// The parts of an answer, which come in any order, and must be all of what was asked for, each byte once.
pub struct Parts {
    at: u64,
    len: usize,
    /// Bytes that came.
    filled: usize,
    came: Vec<Range<usize>>,
}

impl Parts {
    /// `len` bytes from byte `at` on were asked for.
    pub fn of(at: u64, len: usize) -> Parts {
        let came = Vec::new();
        Parts {
            at,
            len,
            filled: 0,
            came,
        }
    }

    /// Which of the bytes that were asked for a part has, that is `len` bytes from byte `from` on.
    ///
    /// # Errors
    /// It has others, or none, or there are more than were asked for.
    pub fn add(&mut self, from: u64, len: u64) -> Result<Range<usize>, &'static str> {
        let start = from.checked_sub(self.at);
        let end = start.and_then(|start| start.checked_add(len));
        let part = match start.zip(end) {
            Some((start, end)) if end <= self.len as u64 => start as usize..end as usize,
            _ => return Err("it sends bytes that were not asked for"),
        };
        if part.is_empty() {
            return Err("a part of a reply is empty");
        }
        self.filled += part.len();
        if self.filled > self.len {
            return Err(TWICE);
        }
        self.came.push(part.clone());
        Ok(part)
    }

    /// Checks that all came.
    ///
    /// # Errors
    /// Some bytes are missing, or came twice.
    pub fn finish(mut self) -> Result<(), &'static str> {
        if self.filled < self.len {
            return Err("it sends fewer bytes than were asked for");
        }
        self.came.sort_unstable_by_key(|part| part.start);
        let meet = self.came.windows(2).all(|two| two[0].end <= two[1].start);
        meet.then_some(()).ok_or(TWICE)
    }
}

const TWICE: &str = "it sends the same bytes twice";

#[cfg(test)]
mod tests {
    use super::*;

    fn told(parts: &[(u64, u64)]) -> Result<(), &'static str> {
        let mut all = Parts::of(1000, 100);
        for &(from, len) in parts {
            all.add(from, len)?;
        }
        all.finish()
    }

    #[test]
    fn each_byte_comes_once() {
        assert_eq!(told(&[(1000, 100)]), Ok(()));
        assert_eq!(told(&[(1050, 50), (1000, 20), (1020, 30)]), Ok(()));
        for (parts, says) in [
            (&[(1000, 50)][..], "fewer bytes"),
            (&[], "fewer bytes"),
            // As many as were asked for, and not those.
            (&[(1000, 50), (1000, 50)], "twice"),
            (&[(1000, 50), (1040, 50)], "twice"),
            (&[(1000, 60), (1000, 60)], "twice"),
            (&[(999, 2)], "not asked for"),
            (&[(1099, 2)], "not asked for"),
            (&[(u64::MAX, 2)], "not asked for"),
            (&[(1000, u64::MAX)], "not asked for"),
            (&[(1000, 0)], "empty"),
        ] {
            let error = told(parts).unwrap_err();
            assert!(error.contains(says), "{parts:?}: {error}");
        }
    }
}
