//! Errors of setting up the runtime.
#![forbid(unsafe_code)]

use std::io;

/// The runtime could not be set up, or its threads could not be started or placed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Workers could not be started or placed.
    #[error(transparent)]
    Pool(#[from] crate::dispatch::Error),
    /// The operating system refused a thread for input or output.
    #[error("starting thread {name} failed ({source}): raise the limit on threads")]
    Thread {
        /// The intended name of the thread.
        name: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The operating system does not let a thread run on the processor that was named.
    #[error("thread {name} cannot run on CPU {cpu} ({source}): evener topology lists the CPUs")]
    Pinned {
        /// The name of the thread.
        name: &'static str,
        /// The CPU.
        cpu: usize,
        /// The system's reason.
        source: io::Error,
    },
}
