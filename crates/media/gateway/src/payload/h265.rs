//! H.265 in RTP (RFC 7798): single units, aggregation packets, fragmentation units.

use bytes::{Buf, Bytes};

use super::pictures::{Coding, Content, aggregated};
use super::{Codec, Format, Unsupported};
use crate::media::Class;
use crate::video::bits::Bits;
use crate::video::h265::{Seen, is_first_slice, is_slice, kind, kind_of, sequence};

#[derive(Debug)]
pub struct H265 {
    /// The highest temporal layer so far.
    highest: u8,
}

const AGGREGATION: u8 = 48;
const FRAGMENT: u8 = 49;

impl H265 {
    /// Decoding order numbers (`sprop-max-don-diff`) are not read.
    pub fn new(format: &Format) -> Result<H265, Unsupported> {
        match format.number("sprop-max-don-diff") {
            None | Some(0) => Ok(H265 { highest: 0 }),
            Some(_) => Err(Unsupported::Parameter("H265", "sprop-max-don-diff")),
        }
    }
}

impl Coding for H265 {
    const KINDS: usize = 3;

    fn content(&self, mut payload: Bytes) -> Content {
        match kind_of(&payload) {
            0..AGGREGATION => Content::Units(vec![payload]),
            AGGREGATION => {
                payload.advance(2);
                aggregated(payload).map_or(Content::Malformed, Content::Units)
            }
            FRAGMENT if payload.len() > 3 => {
                let [first, second, fragment] = [payload[0], payload[1], payload[2]];
                payload.advance(3);
                Content::Fragment {
                    first: fragment & 0x80 != 0,
                    last: fragment & 0x40 != 0,
                    header: [first & 0x81 | (fragment & 0x3f) << 1, second],
                    header_len: 2,
                    bytes: payload,
                }
            }
            _ => Content::Malformed,
        }
    }

    fn is_slice(&self, unit: &[u8]) -> bool {
        is_slice(unit)
    }

    fn is_first_slice(&self, unit: &[u8]) -> bool {
        is_first_slice(unit)
    }

    fn is_idle(&self, unit: &[u8]) -> bool {
        matches!(kind_of(unit), kind::AUD | kind::FILLER)
    }

    fn set(&self, unit: &[u8]) -> Option<(u8, u32)> {
        match kind_of(unit) {
            // The last of each is kept: streams that have several in use at once are not read.
            kind::VPS => Some((0, 0)),
            kind::SPS => Some((1, 0)),
            kind::PPS => Some((2, Bits::new(unit.get(2..)?).unsigned()?)),
            _ => None,
        }
    }

    fn class(&mut self, units: &[Bytes]) -> Class {
        let mut seen = Seen::default();
        units
            .iter()
            .for_each(|unit| seen.unit(unit, &mut self.highest));
        seen.class(false)
    }

    fn reorder(&self, sets: &[Bytes]) -> Option<u32> {
        Some(sets.iter().find_map(|set| sequence(set))?.reorder)
    }

    fn codec(&self, sets: Vec<Bytes>) -> Codec {
        Codec::H265(sets)
    }
}
