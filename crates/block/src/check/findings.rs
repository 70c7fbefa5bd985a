//! What was found in the blocks of an image.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::error::Error;

/// A block that is not what was packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadBlock {
    /// Where it begins in the image.
    pub at: u64,
    /// Bytes of it.
    pub len: u64,
    /// What is wrong with it.
    pub what: String,
    /// Of which kind that is.
    pub kind: Kind,
}

/// What to make of a block that is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is not what was packed.
    Damaged,
    /// It may well be, and uses something that is not read.
    Unsupported,
    /// The system cannot read it.
    Unreadable,
}

impl BadBlock {
    /// A block of `len` bytes at byte `at`, by the error that reading it gave.
    ///
    /// # Errors
    /// That error, if it is not about this block alone.
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
                let reason = evener_files::error_text(&reason);
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

/// Bad blocks that are kept; more are only counted.
const KEPT: usize = 10_000;

/// What workers find, together.
#[derive(Clone, Default)]
pub struct Findings(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    /// By where they begin and their length: some have none.
    bad: BTreeMap<(u64, u64), BadBlock>,
    bad_count: u64,
    /// Blocks by what they were compared with.
    checked: BTreeMap<&'static str, u64>,
}

impl Findings {
    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn good(&self, check: &'static str) {
        *self.lock().checked.entry(check).or_default() += 1;
    }

    pub(super) fn bad(&self, bad: BadBlock) {
        let mut found = self.lock();
        found.bad_count += 1;
        found.bad.insert((bad.at, bad.len), bad);
        // Of too many the first in the image are kept, whoever finds them first.
        if found.bad.len() > KEPT {
            found.bad.pop_last();
        }
    }

    /// Bad blocks in order, at most ten thousand, and how many there are in all.
    pub fn bad_blocks(&self) -> (Vec<BadBlock>, u64) {
        let found = self.lock();
        (found.bad.values().cloned().collect(), found.bad_count)
    }

    /// Good blocks by what they were compared with.
    pub fn checked(&self) -> BTreeMap<&'static str, u64> {
        self.lock().checked.clone()
    }
}
