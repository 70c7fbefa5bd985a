//! Findings in the blocks of an image.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use evener_files::{error_text, lock};
use serde::Serialize;

use crate::error::Error;

/// A block that cannot be decoded, or differs from the packed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadBlock {
    /// Its offset in the image.
    pub at: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The problem.
    pub what: String,
    /// The kind of problem.
    pub kind: Kind,
}

/// Kinds of bad blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is damaged.
    Damaged,
    /// It uses a feature that is not supported.
    Unsupported,
    /// The system cannot read it.
    Unreadable,
}

impl BadBlock {
    /// A block of `len` bytes at byte `at` that could not be read because of `error`.
    ///
    /// # Errors
    /// The error, if it does not concern this block alone.
    pub(super) fn of(error: Error, at: u64, len: u64) -> Result<BadBlock, Error> {
        let (kind, what) = match error {
            Error::Block { fault, .. } => (Kind::Damaged, fault.to_string()),
            Error::Damaged { what, .. } | Error::Cut { what, .. } => {
                (Kind::Damaged, format!("is not to be found: {what}"))
            }
            Error::Unsupported { what, .. } => {
                (Kind::Unsupported, format!("is not read: the image {what}"))
            }
            Error::File(evener_files::Error::Read { reason, .. }) => {
                let reason = error_text(&reason);
                (Kind::Unreadable, format!("cannot be read: {reason}"))
            }
            other => return Err(other),
        };
        Ok(BadBlock {
            at,
            len,
            what,
            kind,
        })
    }
}

/// The most bad blocks that are kept. Further ones are only counted.
const MAX_KEPT: usize = 10_000;

/// The findings of all workers.
#[derive(Clone, Default)]
pub struct Findings(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    /// By their first byte and length. Some have no bytes.
    bad: BTreeMap<(u64, u64), BadBlock>,
    bad_count: u64,
    /// Blocks by what they were compared with.
    checked: BTreeMap<&'static str, u64>,
}

impl Findings {
    fn lock(&self) -> MutexGuard<'_, Found> {
        lock(&self.0)
    }

    pub(super) fn good(&self, check: &'static str, blocks: u64) {
        *self.lock().checked.entry(check).or_default() += blocks;
    }

    pub(super) fn bad(&self, bad: BadBlock) {
        let mut found = self.lock();
        found.bad_count += 1;
        found.bad.insert((bad.at, bad.len), bad);
        // If there are too many, the first ones in the image are kept.
        if found.bad.len() > MAX_KEPT {
            found.bad.pop_last();
        }
    }

    /// Bad blocks in order, at most ten thousand, and their total number.
    pub fn bad_blocks(&self) -> (Vec<BadBlock>, u64) {
        let found = self.lock();
        (found.bad.values().cloned().collect(), found.bad_count)
    }

    /// The number of good blocks by kind of check.
    pub fn checked(&self) -> BTreeMap<&'static str, u64> {
        self.lock().checked.clone()
    }
}
