//! Why nothing could be measured.

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The graph cannot be used.
    #[error("graph '{graph}': {reason}")]
    Graph {
        /// As given.
        graph: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The frame to compute cannot be had.
    #[error("{0}")]
    Picture(String),
    /// The runtime or a run failed.
    #[error("graph '{graph}', {size}, plan {plan}: {reason}")]
    Run {
        /// As given.
        graph: String,
        /// Width x height.
        size: String,
        /// As asked for.
        plan: String,
        /// What happened.
        reason: String,
    },
    /// Two frames of the same input differ.
    #[error("graph '{graph}', {size}, plan {plan}: frame {frame} differs from the first")]
    Differs {
        /// As given.
        graph: String,
        /// Width x height.
        size: String,
        /// As asked for.
        plan: String,
        /// The frame.
        frame: u64,
    },
    /// The runtime could not start.
    #[error("cannot start workers: {0}")]
    Runtime(String),
    /// A process that takes part in the measurement failed.
    #[error("the process that {what}: {reason}")]
    Process {
        /// What it is for.
        what: &'static str,
        /// What happened.
        reason: String,
    },
}
