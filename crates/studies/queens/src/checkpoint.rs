//! The finished part of a count, as a text from which a later run can go on and which people can check.
//!
//! ```text
//! evener queens checkpoint, version 2
//! n 6, depth 0, starts 8
//! 0..3 0
//! 3..8 4
//! sum 4
//! check 485b7b71a43c8c1a
//! ```
//!
//! There is a line for each finished range of [`Starts`], with its weighted solutions. Ranges follow one another from
//! start 0, and the count is complete when they reach the last start. There are at most 4096 ranges, so that writing
//! takes little time; before there would be more, each two neighbours are merged. `check` is FNV-1a (Fowler, Noll, Vo)
//! of 64 bits over all bytes before its line. It detects damage, but not forgery. The version is that of this format
//! and of the numbering of starts.

#![forbid(unsafe_code)]

use std::fmt;
use std::ops::Range;

use crate::starts::Starts;

const MAGIC: &str = "evener queens checkpoint, version ";
const VERSION: &str = "2";
/// The most ranges of a file.
const MAX_RANGES: usize = 4096;

/// A finished range of starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its starts.
    pub starts: Range<u64>,
    /// All solutions below them, times their weights.
    pub solutions: u128,
}

/// The finished part of a count. `Display` gives its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    n: u32,
    depth: usize,
    starts: u64,
    finished: Vec<Finished>,
}

/// A text from which this count cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// It does not begin like a checkpoint.
    #[error("is not a checkpoint; name another file")]
    Foreign,
    /// Another version wrote it.
    #[error(
        "is a checkpoint of version {0}, and this evener knows version {VERSION}; go on with the evener that wrote it, or \
         remove the file to begin anew"
    )]
    Version(String),
    /// It is of another board.
    #[error("is a checkpoint of N = {found}, not of N = {wanted}; name another file")]
    Board {
        /// Rows of its board.
        found: u32,
        /// Rows of the board to count.
        wanted: u32,
    },
    /// It was cut off or changed.
    #[error("the checkpoint is damaged at line {line}; remove the file to begin anew")]
    Damaged {
        /// The line where this was noticed, counted from 1.
        line: usize,
    },
}

impl Checkpoint {
    /// A checkpoint of which nothing is finished.
    pub fn new(starts: &Starts) -> Checkpoint {
        Checkpoint {
            n: starts.n(),
            depth: starts.depth(),
            starts: starts.len(),
            finished: Vec::new(),
        }
    }

    /// Reads the text of a checkpoint of these starts.
    ///
    /// # Errors
    /// The text is not exactly what `Display` gives.
    pub fn parse(text: &str, starts: &Starts) -> Result<Checkpoint, ParseError> {
        let mut checkpoint = Checkpoint::new(starts);
        let version = text.strip_prefix(MAGIC).ok_or(ParseError::Foreign)?;
        let version = version.lines().next().unwrap_or_default();
        if version != VERSION {
            // The line of a damaged file may be long.
            let shown = version.chars().filter(|c| c.is_ascii_graphic()).take(12);
            return Err(ParseError::Version(shown.collect()));
        }
        let damaged = |line: usize| ParseError::Damaged { line };
        let last = text.lines().count();
        let before = text.rfind("check ").ok_or(damaged(last))?;
        if text[before..] != check_line(&text[..before]) {
            return Err(damaged(last));
        }
        let lines: Vec<&str> = text.lines().collect();
        let board = lines.get(1).ok_or(damaged(2))?;
        let found = board
            .strip_prefix("n ")
            .and_then(|rest| rest.split_once(','));
        let found = found.and_then(|(n, _)| n.parse().ok()).ok_or(damaged(2))?;
        if found != starts.n() {
            let wanted = starts.n();
            return Err(ParseError::Board { found, wanted });
        }
        if **board != checkpoint.board() {
            return Err(damaged(2));
        }
        let ranges = lines.get(2..last.saturating_sub(2)).ok_or(damaged(last))?;
        for (at, line) in ranges.iter().enumerate() {
            let finished = range(line).ok_or(damaged(at + 3))?;
            if !checkpoint.follows(&finished) || checkpoint.finished.len() >= MAX_RANGES {
                return Err(damaged(at + 3));
            }
            checkpoint.finished.push(finished);
        }
        let sum = checkpoint.checked_sum().ok_or(damaged(last))?;
        if lines.get(last - 2).copied() != Some(format!("sum {sum}").as_str()) {
            return Err(damaged(last - 1));
        }
        // `Display` writes numbers in one way only, so any other text is damaged.
        if checkpoint.to_string() != text {
            return Err(damaged(last));
        }
        Ok(checkpoint)
    }

    /// Adds the next range.
    ///
    /// # Panics
    /// It is not the next one, or there are no such starts.
    pub fn add(&mut self, finished: Finished) {
        assert!(self.follows(&finished), "{finished:?} is out of order");
        if self.finished.len() == MAX_RANGES {
            let pairs = self.finished.chunks(2).map(|pair| Finished {
                starts: pair[0].starts.start..pair[pair.len() - 1].starts.end,
                solutions: pair.iter().map(|one| one.solutions).sum(),
            });
            self.finished = pairs.collect();
        }
        self.finished.push(finished);
    }

    fn follows(&self, next: &Finished) -> bool {
        let Range { start, end } = next.starts;
        start == self.done() && start < end && end <= self.starts
    }

    /// The number of finished starts, which are the first ones.
    pub fn done(&self) -> u64 {
        self.finished.last().map_or(0, |last| last.starts.end)
    }

    /// Whether all starts are finished.
    pub fn is_complete(&self) -> bool {
        self.done() == self.starts
    }

    /// Solutions found so far, of the whole board when all is finished.
    pub fn solutions(&self) -> u128 {
        self.finished.iter().map(|one| one.solutions).sum()
    }

    /// The ranges, in order.
    pub fn finished(&self) -> &[Finished] {
        &self.finished
    }

    fn checked_sum(&self) -> Option<u128> {
        // There are fewer than 2^108 ways to place even 30 rooks. A larger sum is damaged, and could overflow later.
        let possible = |sum: &u128| sum >> 108 == 0;
        let mut solutions = self.finished.iter().map(|one| one.solutions);
        solutions.try_fold(0u128, |sum, more| sum.checked_add(more).filter(possible))
    }

    fn board(&self) -> String {
        format!("n {}, depth {}, starts {}", self.n, self.depth, self.starts)
    }
}

fn range(line: &str) -> Option<Finished> {
    let (starts, solutions) = line.split_once(' ')?;
    let (start, end) = starts.split_once("..")?;
    Some(Finished {
        starts: start.parse().ok()?..end.parse().ok()?,
        solutions: solutions.parse().ok()?,
    })
}

fn check_line(before: &str) -> String {
    let sum = before.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("check {sum:016x}\n")
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{MAGIC}{VERSION}\n{}\n", self.board());
        for Finished { starts, solutions } in &self.finished {
            text.push_str(&format!("{}..{} {solutions}\n", starts.start, starts.end));
        }
        text.push_str(&format!("sum {}\n", self.solutions()));
        let check = check_line(&text);
        f.write_str(&text)?;
        f.write_str(&check)
    }
}
