//! What of a count is finished, as a text that a later run goes on from and anybody can audit.
//!
//! ```text
//! evener queens checkpoint, version 1
//! n 6, depth 0, starts 8
//! 0..7 0
//! 7..8 4
//! sum 4
//! check d6731b2979c9526b
//! ```
//!
//! A line for each range of [`Starts`] that is finished: its solutions, weighted. Ranges follow one
//! another from start 0; `N` is done when they reach the last. There are at most 4096, so that writing takes no time
//! worth speaking of; before there would be more, each two neighbours become one. `check` is FNV-1a (Fowler, Noll, Vo)
//! of 64 bits over all bytes before its line: it tells a damaged file, not one that somebody made up. The version
//! stands for this format and for how starts are numbered.

#![forbid(unsafe_code)]

use std::fmt;
use std::ops::Range;

use crate::starts::Starts;

const MAGIC: &str = "evener queens checkpoint, version ";
const VERSION: &str = "1";
/// Ranges in a file, at most.
const RANGES: usize = 4096;

/// A range of starts that is finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its starts.
    pub starts: Range<u64>,
    /// All solutions below them, times their weights.
    pub solutions: u128,
}

/// What of a count is finished. Its text is what `Display` gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    n: u32,
    depth: usize,
    starts: u64,
    finished: Vec<Finished>,
}

/// A text that this count cannot go on from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// It does not begin as checkpoints do.
    #[error("is no checkpoint; name another file")]
    Foreign,
    /// Another version wrote it.
    #[error(
        "is a checkpoint of version {0}, and this evener knows version {VERSION}; go on with the evener that wrote it, or \
         remove the file to begin anew"
    )]
    Version(String),
    /// It is about another board.
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
        /// Where this was noticed, from 1.
        line: usize,
    },
}

impl Checkpoint {
    /// Nothing is finished.
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
    /// [`ParseError`]: whatever differs from what `Display` writes.
    pub fn parse(text: &str, starts: &Starts) -> Result<Checkpoint, ParseError> {
        let mut checkpoint = Checkpoint::new(starts);
        let version = text.strip_prefix(MAGIC).ok_or(ParseError::Foreign)?;
        let version = version.lines().next().unwrap_or_default();
        if version != VERSION {
            // A damaged file can have a line of any length there.
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
            if !checkpoint.follows(&finished) || checkpoint.finished.len() >= RANGES {
                return Err(damaged(at + 3));
            }
            checkpoint.finished.push(finished);
        }
        let sum = checkpoint.checked_sum().ok_or(damaged(last))?;
        if lines.get(last - 2).copied() != Some(format!("sum {sum}").as_str()) {
            return Err(damaged(last - 1));
        }
        // Other ways to write the same are nobody's but a damaged file's.
        if checkpoint.to_string() != text {
            return Err(damaged(last));
        }
        Ok(checkpoint)
    }

    /// Adds the range that follows.
    ///
    /// # Panics
    /// It does not follow, or there are no such starts.
    pub fn add(&mut self, finished: Finished) {
        assert!(self.follows(&finished), "{finished:?} is out of order");
        if self.finished.len() == RANGES {
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

    /// Starts that are finished: those before this one.
    pub fn done(&self) -> u64 {
        self.finished.last().map_or(0, |last| last.starts.end)
    }

    /// Whether all are.
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
        // More than there are ways to place 30 rooks, 2^107, is no count of queens, and could overflow later.
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
