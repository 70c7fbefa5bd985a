use std::fmt::Display;
use std::sync::{Arc, Mutex};

use crate::lock;

/// The error of the earliest failed part of a stream. The stream itself keeps only the text.
#[derive(Debug)]
pub struct FirstError<E>(Arc<Mutex<Option<(u64, E)>>>);

impl<E> Default for FirstError<E> {
    fn default() -> Self {
        FirstError(Arc::default())
    }
}

impl<E> Clone for FirstError<E> {
    fn clone(&self) -> Self {
        FirstError(Arc::clone(&self.0))
    }
}

impl<E: Display> FirstError<E> {
    /// Records the error of the part at `at`, unless an earlier part failed, and returns its text.
    pub fn record(&self, at: u64, error: E) -> String {
        let text = error.to_string();
        let mut first = lock(&self.0);
        if first.as_ref().is_none_or(|(before, _)| at < *before) {
            *first = Some((at, error));
        }
        text
    }

    /// The recorded error, if a part failed.
    pub fn take(&self) -> Option<E> {
        lock(&self.0).take().map(|(_, error)| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_error_is_kept() {
        let first = FirstError::default();
        for at in [7, 3, 5] {
            assert_eq!(first.record(at, format!("part {at}")), format!("part {at}"));
        }
        assert_eq!(first.clone().take().as_deref(), Some("part 3"));
        assert_eq!(first.take(), None);
    }
}
