//! Errors of requests.

#![forbid(unsafe_code)]

/// The largest board.
pub const LARGEST: u32 = 30;

/// A board cannot be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// More rows than [`LARGEST`].
    #[error(
        "a board of {0} x {0} is too large: at most {LARGEST} x {LARGEST}, whose search would already take millennia"
    )]
    TooLarge(u32),
}

/// Returns `n`, if it is not too large.
pub(crate) fn checked(n: u32) -> Result<u32, Error> {
    if n <= LARGEST {
        Ok(n)
    } else {
        Err(Error::TooLarge(n))
    }
}
