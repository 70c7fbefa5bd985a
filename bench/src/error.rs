//! Errors of benchmarks.

/// Why a benchmark failed.
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
    /// The frame or image to measure with cannot be used.
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
    /// A figure of the network stack could not be measured.
    #[error(
        "{0}: {1}; what needs TUN can be run as: unshare --user --map-root-user --net evener bench net"
    )]
    Net(&'static str, std::io::Error),
    /// The gateway could not be measured.
    #[error(
        "{0}; it can be measured as: unshare --user --map-root-user --net evener bench gateway"
    )]
    Gateway(std::io::Error),
    /// A process that takes part in the measurement failed.
    #[error("the process that {what}: {reason}")]
    Process {
        /// What the process does, as a part of a sentence.
        what: &'static str,
        /// What happened.
        reason: String,
    },
}
