//! What was found in the blocks of an image.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// A block that is not what was packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bad {
    /// Where it begins in the image.
    pub at: u64,
    /// Bytes of it.
    pub len: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Bad blocks that are kept; more are only counted.
const KEPT: usize = 10_000;

/// What workers find, together.
#[derive(Clone, Default)]
pub struct Findings(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    /// By where they begin and their length: some have none.
    bad: BTreeMap<(u64, u64), Bad>,
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

    pub(super) fn bad(&self, bad: Bad) {
        let mut found = self.lock();
        found.bad_count += 1;
        found.bad.insert((bad.at, bad.len), bad);
        // Of too many the first in the image are kept, whoever finds them first.
        if found.bad.len() > KEPT {
            found.bad.pop_last();
        }
    }

    /// Bad blocks in order, at most ten thousand, and how many there are in all.
    pub fn bad_blocks(&self) -> (Vec<Bad>, u64) {
        let found = self.lock();
        (found.bad.values().cloned().collect(), found.bad_count)
    }

    /// Good blocks by what they were compared with.
    pub fn checked(&self) -> BTreeMap<&'static str, u64> {
        self.lock().checked.clone()
    }
}
