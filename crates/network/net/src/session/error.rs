//! Why an engine could not run.

use std::io;

use crate::layout::LayoutError;

/// An engine could not run, or not on. Every message is one line that says what, where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// It has no address.
    #[error("the stack needs an address: --address 10.1.0.2/24")]
    NoAddress,
    /// An address that a stack cannot have, or a gateway that it cannot reach.
    #[error("{address}: {reason}")]
    Address {
        /// As it was given.
        address: String,
        /// Why.
        reason: &'static str,
    },
    /// A processor that the process may not use.
    #[error("CPU {0}: this process may not use a CPU of this number; choose another with --core")]
    Core(usize),
    /// The sizes of memory cannot be.
    #[error(transparent)]
    Sizes(#[from] LayoutError),
    /// The device cannot be opened, or is gone.
    #[error("{device}: {reason}")]
    Device {
        /// Which.
        device: String,
        /// Why.
        reason: io::Error,
    },
    /// It was stopped before the peer of its device came.
    #[error("the stack was stopped before it began")]
    Stopped,
    /// The file for packets cannot be made.
    #[error("{path}: packets cannot be recorded there: {reason}")]
    Capture {
        /// Where.
        path: String,
        /// Why.
        reason: io::Error,
    },
    /// The file that a rule mirrors to cannot be made.
    #[error("packets cannot be mirrored: {0}")]
    Mirror(io::Error),
    /// It cannot listen.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        reason: io::Error,
    },
    /// A thread could not be started or placed.
    #[error(transparent)]
    Thread(#[from] evener_runtime::Error),
    /// The operating system refused something.
    #[error("the operating system refused: {0}")]
    System(io::Error),
}

impl SessionError {
    /// Whether the request can never work.
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            SessionError::NoAddress
                | SessionError::Address { .. }
                | SessionError::Core(_)
                | SessionError::Sizes(_)
        )
    }
}
