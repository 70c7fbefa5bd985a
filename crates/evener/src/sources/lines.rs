//! Lines of text.

use std::ops::Range;

use crate::drive::Parallel;
use crate::end::Loop;

/// Lines of strings.
pub trait ParStr {
    /// A parallel loop over the lines, without their ends, as [`str::lines`].
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let text = "one two\nthree\n";
    /// let words = text.par_lines().flat_map(str::split_whitespace);
    /// assert_eq!(words.collect::<Vec<_>>(), ["one", "two", "three"]);
    /// ```
    fn par_lines(&self) -> Loop<Lines<'_>>;
}

impl ParStr for str {
    fn par_lines(&self) -> Loop<Lines<'_>> {
        Loop(Lines(self))
    }
}

/// Lines of a text, which is divided by bytes: a part has the lines that begin in it.
#[derive(Debug)]
pub struct Lines<'a>(&'a str);

impl<'a> Lines<'a> {
    /// Where the first of the lines begins that do so in `range`.
    fn first(&self, range: Range<usize>) -> Option<usize> {
        let Some(before) = range.start.checked_sub(1) else {
            return (!range.is_empty()).then_some(0);
        };
        let mut bytes = self.0.as_bytes()[before..].iter().take(range.len());
        Some(range.start + bytes.position(|byte| *byte == b'\n')?)
    }

    fn within(&self, range: Range<usize>) -> &'a str {
        let len = self.0.len();
        let end = range.end;
        match self.first(range) {
            Some(start) => &self.0[start..self.first(end..len).unwrap_or(len)],
            None => "",
        }
    }
}

impl<'a> Parallel for Lines<'a> {
    type Item = &'a str;

    /// Bytes.
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    unsafe fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &'a str> {
        self.within(range).lines()
    }
}
