//! UDP (RFC 768).

use super::{Malformed, u16_at};

/// Bytes of a header.
pub const LEN: usize = 8;
/// Where the checksum is in the header.
pub const CHECKSUM_AT: usize = 6;

/// What a header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub source_port: u16,
    pub destination_port: u16,
    /// Of the header and what follows. Of a super-segment: of all its datagrams under one header.
    pub length: u16,
    /// 0 in IPv4 if the sender did not compute one; not allowed in IPv6.
    pub checksum: u16,
}

/// Reads the header at the front of `bytes`, in which all of the datagram is.
///
/// # Errors
/// [`Malformed`] if the length in the header is not one, or there are fewer bytes.
pub fn parse(bytes: &[u8]) -> Result<Header, Malformed> {
    let header = Header {
        source_port: u16_at(bytes, 0)?,
        destination_port: u16_at(bytes, 2)?,
        length: u16_at(bytes, 4)?,
        checksum: u16_at(bytes, 6)?,
    };
    let length = usize::from(header.length);
    if length < LEN || length > bytes.len() {
        return Err(Malformed::Length);
    }
    Ok(header)
}

/// Writes the header, and returns its bytes, [`LEN`].
///
/// # Panics
/// If `to` has less room.
pub fn write(header: &Header, to: &mut [u8]) -> usize {
    let to = &mut to[..LEN];
    to[0..2].copy_from_slice(&header.source_port.to_be_bytes());
    to[2..4].copy_from_slice(&header.destination_port.to_be_bytes());
    to[4..6].copy_from_slice(&header.length.to_be_bytes());
    to[6..8].copy_from_slice(&header.checksum.to_be_bytes());
    LEN
}

/// What the field has for this checksum: 0 means that there is none, so 0xffff is sent for it.
pub fn field(folded: u16) -> u16 {
    if folded == 0 { 0xffff } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::UdpHeader;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_and_writes_as_etherparse(source_port: u16, destination_port: u16, length in 8..=100u16, checksum: u16) {
            let header = Header { source_port, destination_port, length, checksum };
            let mut bytes = [0; 100];
            prop_assert_eq!(write(&header, &mut bytes), LEN);
            let other = UdpHeader { source_port, destination_port, length, checksum };
            prop_assert_eq!(&bytes[..LEN], &other.to_bytes()[..]);
            prop_assert_eq!(parse(&bytes), Ok(header));
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        let bytes = |length: u16| {
            let mut bytes = [0; 12];
            bytes[4..6].copy_from_slice(&length.to_be_bytes());
            bytes
        };
        assert_eq!(parse(&bytes(7)), Err(Malformed::Length));
        assert_eq!(parse(&bytes(13)), Err(Malformed::Length));
        assert_eq!(parse(&bytes(12)[..7]), Err(Malformed::Truncated));
        assert!(parse(&bytes(12)).is_ok());
        assert!(parse(&bytes(8)).is_ok());
    }

    #[test]
    fn a_checksum_of_zero_is_sent_as_ones() {
        assert_eq!((field(0), field(1)), (0xffff, 1));
    }
}
