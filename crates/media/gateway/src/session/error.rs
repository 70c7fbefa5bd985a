use std::io;

/// Why a gateway cannot run.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is not said where clients come to.
    #[error("there is no address to listen at; give --listen tcp:HOST:PORT, or listen in the file")]
    Nowhere,
    /// It cannot listen.
    #[error("{address}: cannot listen there: {reason}")]
    Listen {
        /// Where.
        address: String,
        /// What the operating system says.
        reason: io::Error,
    },
    /// The operating system refuses something.
    #[error("the gateway cannot run: {0}")]
    System(io::Error),
    /// The runtime refuses a thread.
    #[error(transparent)]
    Runtime(#[from] evener_runtime::Error),
}

impl SessionError {
    /// Whether what was asked for cannot work.
    pub fn is_request(&self) -> bool {
        matches!(self, SessionError::Nowhere)
    }
}
