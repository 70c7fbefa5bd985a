//! Headers of packets, read and written. Source: the RFC that each file names.
//!
//! Reading takes any bytes and never panics. Writing needs a buffer with room and says how much that is. Nothing here
//! allocates.

// Fields and numbers have the names that the RFC gives them, and say no more.
#![allow(missing_docs)]

use thiserror::Error;

pub mod arp;
pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ip;
pub mod ndp;
pub mod tcp;
pub mod udp;

/// Why bytes are not the packet that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A header goes beyond the end.
    #[error("the packet ends within a header")]
    Truncated,
    /// A length field that cannot be.
    #[error("a length field does not fit the packet")]
    Length,
    /// A version or kind of address that this protocol does not have.
    #[error("the version or kind is not known")]
    Version,
    /// The checksum does not fit the bytes.
    #[error("the checksum is wrong")]
    Checksum,
    /// An extension header or option that says to discard the packet, or that is not allowed where it stands.
    #[error("an extension header or option forbids the packet")]
    Extension,
}

/// The `N` bytes from `at` on.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Malformed> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<N>())
        .copied()
        .ok_or(Malformed::Truncated)
}

/// The word of two bytes at `at`.
fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Malformed> {
    array(bytes, at).map(u16::from_be_bytes)
}

/// The word of four bytes at `at`.
fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Malformed> {
    array(bytes, at).map(u32::from_be_bytes)
}
