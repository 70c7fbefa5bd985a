//! Transport streams (RFC 2250, section 2), in RTP or in UDP alone: whole packets of 188 bytes.

use bytes::Bytes;

use crate::ts::packet::{LEN, SYNC};

/// The payload holds no whole transport packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no transport packets in a payload")]
pub struct NotTransport;

/// Whether a datagram holds transport packets without RTP. No RTP packet does: there the first two bits are others.
pub fn is_bare(datagram: &[u8]) -> bool {
    !datagram.is_empty() && datagram.len().is_multiple_of(LEN) && whole(datagram) == datagram.len()
}

/// The transport packets at the front of a payload, which is shared and not copied. What follows a packet that has no
/// sync byte, or is shorter than it must be, is cut off: the second number is how many bytes.
///
/// # Errors
/// [`NotTransport`] if there is no packet at the front.
pub fn packets(mut payload: Bytes) -> Result<(Bytes, usize), NotTransport> {
    let length = whole(&payload);
    if length == 0 {
        return Err(NotTransport);
    }
    let cut = payload.len() - length;
    payload.truncate(length);
    Ok((payload, cut))
}

/// Bytes of the packets at the front.
fn whole(bytes: &[u8]) -> usize {
    let (packets, _) = bytes.as_chunks::<LEN>();
    LEN * packets
        .iter()
        .take_while(|packet| packet[0] == SYNC)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(packets: usize, more: usize) -> Bytes {
        let mut bytes = vec![0; LEN * packets + more];
        bytes.iter_mut().step_by(LEN).for_each(|byte| *byte = SYNC);
        bytes.into()
    }

    #[test]
    fn whole_packets_are_taken_as_they_are() {
        let payload = bytes(7, 0);
        let (packets, cut) = packets(payload.clone()).unwrap();
        assert_eq!(
            (packets.as_ptr(), packets.len(), cut),
            (payload.as_ptr(), 7 * LEN, 0)
        );
        assert!(is_bare(&payload));
    }

    #[test]
    fn what_is_no_packet_is_cut_off() {
        assert_eq!(packets(bytes(2, 100)), Ok((bytes(2, 0), 100)));
        let mut damaged = bytes(3, 0).to_vec();
        damaged[LEN] = 0;
        assert!(!is_bare(&damaged));
        assert_eq!(packets(damaged.into()).unwrap().1, 2 * LEN);
        assert_eq!(packets(bytes(0, 187)), Err(NotTransport));
        assert_eq!(packets(Bytes::new()), Err(NotTransport));
        assert!(!is_bare(&[]) && !is_bare(&bytes(1, 1)));
    }
}
