use std::time::Duration;

use super::message::MessageError;
use super::url::UrlError;
use crate::sdp::SdpError;

/// Why a session cannot be had, or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A request was refused.
    #[error("{method} was answered with {status} {reason}")]
    Refused {
        /// Of the request.
        method: &'static str,
        /// Of the response.
        status: u16,
        /// The server's words.
        reason: String,
    },
    /// The server wants to know who asks, and the address does not say.
    #[error("the server wants a user and a password")]
    NoCredentials,
    /// The user, or the password, is wrong.
    #[error("the server refuses the user and the password")]
    WrongCredentials,
    /// The server wants them by a scheme that is not known here.
    #[error("the server wants a user and a password by no scheme that is supported")]
    UnknownScheme,
    /// A request has no answer.
    #[error("{method} was not answered within {} s", .after.as_secs())]
    NoAnswer {
        /// Of the request.
        method: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// Nothing comes, over the connection either.
    #[error("no packet came within {} s", .0.as_secs())]
    NoPacket(Duration),
    /// The connection ended before the session.
    #[error("the server closed the connection")]
    Closed,
    /// The server has forgotten the session.
    #[error("the server knows the session no more")]
    SessionLost,
    /// SETUP was answered without a session, or with a transport that was not asked for.
    #[error("SETUP was answered with no usable {0}")]
    BadSetup(&'static str),
    /// What comes on the connection cannot be read.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The description cannot be used.
    #[error(transparent)]
    Description(#[from] SdpError),
    /// An address from the server cannot be used.
    #[error("the server named an unusable address: {0}")]
    Address(#[from] UrlError),
    /// The server asks more than it lets be answered.
    #[error("the server does not read what it asks for")]
    Flood,
}
