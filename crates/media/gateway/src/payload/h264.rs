//! H.264 in RTP (RFC 6184): single units, STAP-A, FU-A. Interleaved modes are not read.

use bytes::{Buf, Bytes};

use super::Codec;
use super::pictures::{Coding, Content, aggregated};
use crate::media::Class;
use crate::video::bits::Bits;
use crate::video::h264::{Seen, is_first_slice, is_slice, kind, kind_of, sequence};

#[derive(Debug)]
pub struct H264;

const STAP_A: u8 = 24;
const FU_A: u8 = 28;

impl Coding for H264 {
    const KINDS: usize = 2;

    fn content(&self, mut payload: Bytes) -> Content {
        match kind_of(&payload) {
            1..STAP_A => Content::Units(vec![payload]),
            STAP_A => {
                payload.advance(1);
                aggregated(payload).map_or(Content::Malformed, Content::Units)
            }
            FU_A if payload.len() > 2 => {
                let [indicator, fragment] = [payload[0], payload[1]];
                payload.advance(2);
                Content::Fragment {
                    first: fragment & 0x80 != 0,
                    last: fragment & 0x40 != 0,
                    header: [indicator & 0xe0 | fragment & 0x1f, 0],
                    header_len: 1,
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
        let id_at = |at: usize| Bits::new(unit.get(at..)?).unsigned();
        match kind_of(unit) {
            kind::SPS => Some((0, id_at(4)?)),
            kind::PPS => Some((1, id_at(1)?)),
            _ => None,
        }
    }

    fn class(&mut self, units: &[Bytes]) -> Class {
        let mut seen = Seen::default();
        units.iter().for_each(|unit| seen.unit(unit));
        seen.class(false)
    }

    fn reorder(&self, sets: &[Bytes]) -> Option<u32> {
        sets.iter().find_map(|set| sequence(set))?.reorder
    }

    fn codec(&self, sets: Vec<Bytes>) -> Codec {
        Codec::H264(sets)
    }
}
