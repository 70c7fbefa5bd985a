//! Frames of Ethernet II, without a tag (IEEE 802.3).

use super::{Malformed, array, u16_at};

/// Bytes of a header.
pub const LEN: usize = 14;

/// An address of a device.
pub type Address = [u8; 6];

/// All devices.
pub const BROADCAST: Address = [0xff; 6];

/// What follows a header.
pub mod ethertype {
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    pub const IPV6: u16 = 0x86dd;
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub destination: Address,
    pub source: Address,
    pub ethertype: u16,
}

/// Reads the header at the front of a frame.
///
/// # Errors
/// [`Malformed`] if there are fewer bytes.
pub fn parse(bytes: &[u8]) -> Result<Header, Malformed> {
    Ok(Header {
        destination: array(bytes, 0)?,
        source: array(bytes, 6)?,
        ethertype: u16_at(bytes, 12)?,
    })
}

/// Writes the header, and returns its bytes, [`LEN`].
///
/// # Panics
/// If `to` has less room.
pub fn write(header: &Header, to: &mut [u8]) -> usize {
    to[0..6].copy_from_slice(&header.destination);
    to[6..12].copy_from_slice(&header.source);
    to[12..14].copy_from_slice(&header.ethertype.to_be_bytes());
    LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{EtherType, Ethernet2Header};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_and_writes_as_etherparse(destination: [u8; 6], source: [u8; 6], ethertype: u16) {
            let header = Header { destination, source, ethertype };
            let mut bytes = [0; LEN];
            prop_assert_eq!(write(&header, &mut bytes), LEN);
            let other = Ethernet2Header { source, destination, ether_type: EtherType(ethertype) };
            prop_assert_eq!(bytes, other.to_bytes());
            prop_assert_eq!(parse(&bytes), Ok(header));
        }
    }

    #[test]
    fn a_short_frame_is_refused() {
        assert_eq!(parse(&[0; 13]), Err(Malformed::Truncated));
    }
}
