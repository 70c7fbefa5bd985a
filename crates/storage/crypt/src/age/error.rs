//! Why an age file, a recipient or an identity is rejected. Every message is one line that follows the name of a
//! file.

use super::keys::MAX_WORK;
use crate::keys::RandomError;

/// The header yields no file key.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// It is not an age file.
    #[error("is not an age file: it does not begin as one")]
    NoAge,
    /// It has another version.
    #[error("is an age file of version {0}; this evener knows v1, so use a newer one")]
    Version(String),
    /// The file ends within the header.
    #[error("was cut: it ends within line {line} of its header; fetch it again")]
    Cut {
        /// The line, counted from 1.
        line: usize,
    },
    /// A line is malformed.
    #[error("has a damaged header: line {line} {what}; fetch it again")]
    Malformed {
        /// The line, counted from 1.
        line: usize,
        /// The problem.
        what: &'static str,
    },
    /// The header is longer than is accepted.
    #[error(
        "has a header of more than {} bytes, so it is damaged or made to do harm",
        super::MAX_HEADER
    )]
    Long,
    /// A recipient stanza does not follow the rules of its kind.
    #[error("has a damaged header: recipient {number}, {kind}, {what}; fetch it again")]
    Stanza {
        /// The number of the recipient, counted from 1.
        number: usize,
        /// Its kind.
        kind: &'static str,
        /// The problem.
        what: &'static str,
    },
    /// A passphrase needs more work than is accepted.
    #[error(
        "asks for a work factor of {0} to make the key; at most {MAX_WORK} is accepted, so it is damaged or made to \
         do harm"
    )]
    Work(u64),
    /// There is not enough memory for the passphrase.
    #[error("making the key needs {0} MiB of memory, which cannot be had")]
    Memory(u64),
    /// No identity matches.
    #[error("is encrypted to none of these identities; it is for {0}")]
    NoMatch(String),
    /// The passphrase is wrong.
    #[error("cannot be decrypted: the passphrase does not match")]
    WrongPassphrase,
    /// The file needs a passphrase.
    #[error("is encrypted with a passphrase; use -p")]
    NeedsPassphrase,
    /// The file needs an identity.
    #[error("is encrypted to {0}, not with a passphrase; use -i IDENTITY")]
    NeedsIdentity(String),
    /// The header was altered.
    #[error("was altered: its header is not what was written with its key; fetch it again")]
    Mac,
    /// The file ends within the nonce.
    #[error("was cut: it ends right after its header; fetch it again")]
    NoPayload,
    /// The operating system provides no randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A chunk of an age file cannot be decrypted. Chunks of 64 KiB are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// It differs from what was encrypted at its place.
    #[error(
        "was altered: chunk {chunk} of 64 KiB after its header is not what was encrypted there (changed, moved, cut or \
         with bytes added); fetch it again"
    )]
    Altered {
        /// The chunk.
        chunk: u64,
    },
    /// The file ends before its last chunk.
    #[error(
        "was cut: it ends before the end of chunk {chunk} of 64 KiB after its header; fetch it again"
    )]
    Truncated {
        /// The missing chunk.
        chunk: u64,
    },
    /// The last chunk is empty, but not the only one.
    #[error("has bytes added: its last chunk, number {chunk}, is empty; fetch it again")]
    Empty {
        /// The chunk.
        chunk: u64,
    },
}

/// A recipient or an identity cannot be used. No message repeats an identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It is of a kind that is not supported.
    #[error(
        "{0} are not supported, only those of X25519 (age1..., AGE-SECRET-KEY-1...); age itself supports them"
    )]
    Unsupported(&'static str),
    /// It is not a recipient.
    #[error("'{0}' is not a recipient; one begins with age1 and has 62 characters")]
    NoRecipient(String),
    /// A recipient has a wrong character or length.
    #[error("'{0}' is mistyped; copy it again")]
    BadRecipient(String),
    /// It is an identity where a recipient belongs.
    #[error(
        "is an identity, which is secret, where a recipient belongs; `evener keygen -y` prints its recipient"
    )]
    IsIdentity,
    /// It is not an identity.
    #[error("is not an identity; one begins with AGE-SECRET-KEY-1 and has 74 characters")]
    NoIdentity,
    /// An identity has a wrong character or length.
    #[error("is a mistyped identity; copy it again")]
    BadIdentity,
    /// It is a recipient, but an identity is needed.
    #[error("is a recipient, which decrypts nothing, where an identity belongs")]
    IsRecipient,
    /// The file of identities is encrypted.
    #[error("is encrypted itself; use `evener decrypt -p FILE | evener decrypt -i - IN`")]
    Encrypted,
    /// The file is empty.
    #[error("has no line with a recipient or an identity")]
    Nothing,
}
