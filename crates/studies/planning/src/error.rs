//! What can be wrong with an element file, or with measuring.

/// Why there is no plan. The text is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The element file cannot be read.
    #[error("{file}: cannot read: {reason}")]
    Read {
        /// Its name.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// Something in the element file is wrong.
    #[error("{file}: line {line}: {what}")]
    File {
        /// Its name.
        file: String,
        /// Where.
        line: usize,
        /// What, and what is right.
        what: String,
    },
    /// Costs could not be measured.
    #[error("cannot measure {workload}: {reason}")]
    Measure {
        /// What was measured.
        workload: String,
        /// Why not.
        reason: String,
    },
}
