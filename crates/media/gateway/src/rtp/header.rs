//! The header of a packet (RFC 3550, section 5.1).

use bytes::{Buf, Bytes};

/// A packet as it came. Its payload is a view of the datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// One more than that of the packet sent before.
    pub sequence: u16,
    /// When the payload was sampled, in units of the payload's clock.
    pub timestamp: u32,
    /// The sender.
    pub ssrc: u32,
    /// Which format the payload has.
    pub payload_type: u8,
    /// For pictures: the packet is the last of its access unit.
    pub marker: bool,
    /// Without header, extension and padding.
    pub payload: Bytes,
}

/// Why bytes are no RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The version is not 2.
    #[error("not RTP version 2")]
    Version,
    /// The packet ends before its header does.
    #[error("an RTP packet ends within its header")]
    Truncated,
    /// Padding of no byte, or of more than there are.
    #[error("more RTP padding than payload")]
    Padding,
    /// The type is one that RTCP has in its place.
    #[error("RTCP in place of RTP")]
    Control,
}

/// Bytes of a header without contributing sources and extension.
const LEN: usize = 12;

impl Packet {
    /// Reads a datagram, which is shared and not copied.
    ///
    /// # Errors
    /// [`Malformed`] if it is no RTP packet.
    pub fn parse(mut datagram: Bytes) -> Result<Packet, Malformed> {
        let header: &[u8; LEN] = datagram.first_chunk().ok_or(Malformed::Truncated)?;
        if header[0] >> 6 != 2 {
            return Err(Malformed::Version);
        }
        // RFC 5761, section 4: with the marker, these are types of RTCP.
        if (192..=223).contains(&header[1]) {
            return Err(Malformed::Control);
        }
        let [padded, extended] = [0x20, 0x10].map(|bit| header[0] & bit != 0);
        let mut packet = Packet {
            sequence: u16::from_be_bytes([header[2], header[3]]),
            timestamp: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            ssrc: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
            payload_type: header[1] & 0x7f,
            marker: header[1] & 0x80 != 0,
            payload: Bytes::new(),
        };
        let mut begin = LEN + 4 * usize::from(header[0] & 0xf);
        if extended {
            let length = datagram.get(begin + 2..begin + 4);
            let length = length.ok_or(Malformed::Truncated)?;
            begin += 4 + 4 * usize::from(u16::from_be_bytes([length[0], length[1]]));
        }
        if begin > datagram.len() {
            return Err(Malformed::Truncated);
        }
        if padded {
            let padding = usize::from(datagram[datagram.len() - 1]);
            if padding == 0 || padding > datagram.len() - begin {
                return Err(Malformed::Padding);
            }
            datagram.truncate(datagram.len() - padding);
        }
        datagram.advance(begin);
        packet.payload = datagram;
        Ok(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtp_types::{RtpPacket, RtpPacketBuilder, RtpPacketWriterVec};

    proptest! {
        #[test]
        fn reads_what_another_writes(
            sequence: u16, timestamp: u32, ssrc: u32, payload_type in 0..64u8, marker: bool, padding in 0..5u8,
            sources in proptest::collection::vec(any::<u32>(), 0..16), payload in proptest::collection::vec(any::<u8>(), 0..50),
            extension in proptest::option::of((any::<u16>(), (0..4usize).prop_map(|words| vec![7; 4 * words]))),
        ) {
            let mut builder = RtpPacketBuilder::new()
                .sequence_number(sequence).timestamp(timestamp).ssrc(ssrc)
                .payload_type(payload_type).marker_bit(marker).payload(&payload[..]);
            for &source in &sources {
                builder = builder.add_csrc(source);
            }
            if padding > 0 {
                builder = builder.padding(padding);
            }
            if let Some((id, data)) = &extension {
                builder = builder.extension(*id, &data[..]);
            }
            let packet = Packet::parse(builder.write(&mut RtpPacketWriterVec::default()).unwrap().into()).unwrap();
            let payload = payload.clone().into();
            prop_assert_eq!(packet, Packet { sequence, timestamp, ssrc, payload_type, marker, payload });
        }

        #[test]
        fn takes_and_refuses_what_another_does(mut bytes in proptest::collection::vec(any::<u8>(), 1..80), likely: bool) {
            if likely {
                bytes[0] = bytes[0] & 0x3f | 0x80;
                if let Some(kind) = bytes.get_mut(1) {
                    *kind &= 0xbf;
                }
            }
            let ours = Packet::parse(bytes.clone().into());
            if ours == Err(Malformed::Control) {
                return Ok(());
            }
            match RtpPacket::parse(&bytes) {
                Ok(other) => prop_assert_eq!(&ours.unwrap().payload[..], other.payload()),
                Err(_) => prop_assert!(ours.is_err()),
            }
        }
    }

    #[test]
    fn reports_are_not_packets() {
        let report = Bytes::from_static(&[0x80, 200, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Packet::parse(report), Err(Malformed::Control));
    }
}
