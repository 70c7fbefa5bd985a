//! Reports (RFC 3550, section 6): what senders say, and what is said to them.

use rtcp_types::{
    Compound, Packet, ReceiverReport, ReportBlock, RtcpPacketWriter, RtcpPacketWriterExt,
    RtcpParseError, RtcpWriteError, Sdes, SdesChunk, SdesItem,
};

use super::Block;

/// What a sender says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A sender report: at `ntp` (seconds since 1900 in 32.32 bits), its payload's clock was at `rtp`.
    Report {
        /// Of the sender.
        ssrc: u32,
        /// The sender's wall clock.
        ntp: u64,
        /// The same moment on the payload's clock.
        rtp: u32,
    },
    /// The name that binds the streams of a sender (`CNAME`), as text.
    Name {
        /// Of the sender.
        ssrc: u32,
        /// What it says, with characters that are none replaced.
        name: String,
    },
    /// The sender sends no more.
    Bye {
        /// Of the sender.
        ssrc: u32,
    },
}

/// Reads a compound packet. Packets of other types in it are skipped.
///
/// # Errors
/// If one of its packets is malformed; what is before it is lost with it.
pub fn parse(datagram: &[u8]) -> Result<Vec<Said>, RtcpParseError> {
    let mut said = Vec::new();
    for packet in Compound::parse(datagram)? {
        match packet? {
            Packet::Sr(report) => said.push(Said::Report {
                ssrc: report.ssrc(),
                ntp: report.ntp_timestamp(),
                rtp: report.rtp_timestamp(),
            }),
            Packet::Sdes(sources) => {
                for source in sources.chunks() {
                    let names = source
                        .items()
                        .filter(|item| item.type_() == SdesItem::CNAME);
                    said.extend(names.map(|item| Said::Name {
                        ssrc: source.ssrc(),
                        name: String::from_utf8_lossy(item.value()).into_owned(),
                    }));
                }
            }
            Packet::Bye(bye) => said.extend(bye.ssrcs().map(|ssrc| Said::Bye { ssrc })),
            _ => {}
        }
    }
    Ok(said)
}

/// A receiver report of `ssrc` with at most 31 blocks, and its name.
///
/// # Errors
/// If there are more blocks, or `name` has more than 255 bytes.
pub fn report(ssrc: u32, name: &str, blocks: &[Block]) -> Result<Vec<u8>, RtcpWriteError> {
    let mut receiver = ReceiverReport::builder(ssrc);
    for block in blocks {
        receiver = receiver.add_report_block(
            ReportBlock::builder(block.ssrc)
                .fraction_lost(block.fraction_lost)
                // 24 bits in two's complement.
                .cumulative_lost(block.lost as u32 & 0xff_ffff)
                .extended_sequence_number(block.highest)
                .interarrival_jitter(block.jitter)
                .last_sender_report_timestamp(block.last_report)
                .delay_since_last_sender_report_timestamp(block.delay),
        );
    }
    let name = SdesItem::builder(SdesItem::CNAME, name);
    let sources = Sdes::builder().add_chunk(SdesChunk::builder(ssrc).add_item(name));
    let compound = Compound::builder().add_packet(receiver).add_packet(sources);
    let mut bytes = vec![0; compound.calculate_size()?];
    compound.write_into(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_report_has_the_layout_of_the_standard() {
        let block = Block {
            ssrc: 0x0102_0304,
            fraction_lost: 25,
            lost: -2,
            highest: 0x0001_fffe,
            jitter: 7,
            last_report: 0x1122_3344,
            delay: 0x1_8000,
        };
        let bytes = report(0xa0a1_a2a3, "me", &[block]).unwrap();
        let expected = [
            0x81, 201, 0, 7, 0xa0, 0xa1, 0xa2, 0xa3, 1, 2, 3, 4, 25, 0xff, 0xff, 0xfe, 0, 1, 0xff,
            0xfe, 0, 0, 0, 7, 0x11, 0x22, 0x33, 0x44, 0, 1, 0x80,
            0, // The name, padded with at least a zero.
            0x81, 202, 0, 3, 0xa0, 0xa1, 0xa2, 0xa3, 1, 2, b'm', b'e', 0, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert!(report(1, &"n".repeat(256), &[]).is_err());
        assert!(report(1, "n", &[block; 32]).is_err());
    }

    #[test]
    fn what_a_sender_says_is_read() {
        let bytes = [
            0x80, 200, 0, 6, 0, 0, 0, 9, 0xe0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 3, 0xe8, 0, 0, 0, 1,
            0, 0, 0, 2, //
            0x81, 202, 0, 3, 0, 0, 0, 9, 1, 2, b'h', b'i', 0, 0, 0, 0, //
            0x81, 203, 0, 1, 0, 0, 0, 9,
        ];
        let ssrc = 9;
        let said = [
            Said::Report {
                ssrc,
                ntp: 0xe000_0001_8000_0000,
                rtp: 1000,
            },
            Said::Name {
                ssrc,
                name: "hi".into(),
            },
            Said::Bye { ssrc },
        ];
        assert_eq!(parse(&bytes).unwrap(), said);
        assert!(parse(&bytes[..30]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 199..208u8) {
            if let [first, second, ..] = &mut bytes[..] {
                *first = *first & 0x3f | 0x80;
                *second = kind;
            }
            if let Ok(said) = parse(&bytes) {
                prop_assert!(said.len() <= bytes.len());
            }
        }
    }
}
