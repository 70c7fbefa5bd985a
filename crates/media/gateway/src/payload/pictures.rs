//! Access units of pictures from packets of NAL units: what H.264 and H.265 have in common.

use bytes::{Bytes, BytesMut};

use super::{Codec, Depacketise, TimestampedUnit};
use crate::media::Class;
use crate::rtp::Packet;

/// Beyond this an access unit is no picture: more than 8K pictures of intra coding have.
const MAX_BYTES: usize = 8 << 20;
const MAX_UNITS: usize = 2048;
/// Parameter sets are shorter, and fewer.
const MAX_SET: usize = 4096;
const MAX_SETS: usize = 32;

/// What a payload has.
pub enum Content {
    /// One or more whole units.
    Units(Vec<Bytes>),
    /// A piece of one. `header` is that of the unit.
    Fragment {
        first: bool,
        last: bool,
        header: [u8; 2],
        header_len: usize,
        bytes: Bytes,
    },
    /// Nothing that can be read.
    Malformed,
}

/// What a coding does in its own way.
pub trait Coding: Send + std::fmt::Debug {
    fn content(&self, payload: Bytes) -> Content;
    fn is_slice(&self, unit: &[u8]) -> bool;
    fn is_first_slice(&self, unit: &[u8]) -> bool;
    /// Delimiters and filler, which are not kept.
    fn is_idle(&self, unit: &[u8]) -> bool;
    /// For parameter sets: their place among the sets, and which set of that kind.
    fn set(&self, unit: &[u8]) -> Option<(u8, u32)>;
    /// How many kinds of sets a decoder needs.
    const KINDS: usize;
    fn class(&mut self, units: &[Bytes]) -> Class;
    fn reorder(&self, sets: &[Bytes]) -> Option<u32>;
    fn codec(&self, sets: Vec<Bytes>) -> Codec;
}

/// Puts together the pictures of a coding.
#[derive(Debug)]
pub struct Pictures<C> {
    coding: C,
    sets: Vec<((u8, u32), Bytes)>,
    /// What [`Coding::reorder`] says of `sets`.
    reorder: Option<u32>,
    timestamp: Option<u32>,
    units: Vec<Bytes>,
    bytes: usize,
    has_slice: bool,
    damaged: bool,
    /// Packets are missing that may have been the first of this picture.
    begin_missing: bool,
    fragment: Option<BytesMut>,
}

impl<C: Coding> Pictures<C> {
    pub fn new(coding: C, sets: Vec<Bytes>) -> Pictures<C> {
        let mut pictures = Pictures {
            coding,
            sets: Vec::new(),
            reorder: None,
            timestamp: None,
            units: Vec::new(),
            bytes: 0,
            has_slice: false,
            damaged: false,
            begin_missing: false,
            fragment: None,
        };
        sets.iter().for_each(|set| pictures.keep_set(set));
        pictures
    }

    fn all_sets(&self) -> Vec<Bytes> {
        self.sets.iter().map(|(_, set)| set.clone()).collect()
    }

    fn keep_set(&mut self, unit: &Bytes) {
        let Some(place) = self.coding.set(unit).filter(|_| unit.len() <= MAX_SET) else {
            return;
        };
        match self.sets.binary_search_by_key(&place, |&(place, _)| place) {
            Ok(at) if self.sets[at].1 == *unit => return,
            // A copy: the datagram that it is in is not kept.
            Ok(at) => self.sets[at].1 = Bytes::copy_from_slice(unit),
            Err(at) if self.sets.len() < MAX_SETS => {
                self.sets.insert(at, (place, Bytes::copy_from_slice(unit)));
            }
            Err(_) => return,
        }
        self.reorder = self.coding.reorder(&self.all_sets());
    }

    fn add(&mut self, unit: Bytes) {
        if unit.is_empty() || self.coding.is_idle(&unit) {
            return;
        }
        if self.bytes + unit.len() > MAX_BYTES || self.units.len() == MAX_UNITS {
            self.damaged = true;
            return;
        }
        if self.coding.is_slice(&unit) {
            if !self.has_slice && self.begin_missing && !self.coding.is_first_slice(&unit) {
                self.damaged = true;
            }
            self.has_slice = true;
        }
        self.keep_set(&unit);
        self.bytes += unit.len();
        self.units.push(unit);
    }

    fn drop_fragment(&mut self) {
        self.damaged |= self.fragment.take().is_some();
    }

    fn complete(&mut self, out: &mut Vec<TimestampedUnit>) {
        self.drop_fragment();
        if !self.has_slice {
            // Parameter sets and the like that came on their own are of the next picture. After a loss, they are of one
            // that is lost.
            if std::mem::take(&mut self.damaged) {
                self.units.clear();
                self.bytes = 0;
            }
            return;
        }
        self.has_slice = false;
        self.bytes = 0;
        self.begin_missing = false;
        let mut units = std::mem::take(&mut self.units);
        let damaged = std::mem::take(&mut self.damaged);
        let mut class = self.coding.class(&units);
        if class == Class::Key {
            let kind_of = |unit: &Bytes| self.coding.set(unit).map(|(kind, _)| kind);
            let count = |kinds: &mut dyn Iterator<Item = u8>| {
                let mut kinds: Vec<u8> = kinds.collect();
                kinds.sort_unstable();
                kinds.dedup();
                kinds.len()
            };
            if count(&mut units.iter().filter_map(kind_of)) < C::KINDS {
                units.retain(|unit| kind_of(unit).is_none());
                units.splice(0..0, self.all_sets());
            }
            let complete = count(&mut units.iter().filter_map(kind_of)) == C::KINDS;
            if damaged || !complete {
                class = Class::Reference;
            }
        }
        out.push(TimestampedUnit {
            timestamp: self.timestamp.unwrap_or(0),
            class,
            damaged,
            units,
        });
    }
}

impl<C: Coding> Depacketise for Pictures<C> {
    fn push(&mut self, packet: Packet, missing: bool, out: &mut Vec<TimestampedUnit>) {
        let same = self.timestamp == Some(packet.timestamp);
        if missing {
            self.drop_fragment();
            self.damaged |= self.has_slice;
        }
        if !same {
            self.complete(out);
            self.timestamp = Some(packet.timestamp);
        }
        self.begin_missing |= missing;
        match self.coding.content(packet.payload) {
            Content::Units(units) => {
                self.drop_fragment();
                units.into_iter().for_each(|unit| self.add(unit));
            }
            Content::Fragment {
                first,
                last,
                header,
                header_len,
                bytes,
            } => {
                if first {
                    self.drop_fragment();
                    let mut unit = BytesMut::with_capacity(2 * bytes.len());
                    unit.extend_from_slice(&header[..header_len]);
                    self.fragment = Some(unit);
                }
                match &mut self.fragment {
                    Some(unit) if self.bytes + unit.len() + bytes.len() <= MAX_BYTES => {
                        unit.extend_from_slice(&bytes)
                    }
                    _ => {
                        self.fragment = None;
                        self.damaged = true;
                    }
                }
                if last && let Some(unit) = self.fragment.take() {
                    self.add(unit.freeze());
                }
            }
            Content::Malformed => {
                self.drop_fragment();
                self.damaged = true;
            }
        }
        if packet.marker {
            self.complete(out);
        }
    }

    fn codec(&self) -> Codec {
        self.coding.codec(self.all_sets())
    }

    fn reorder(&self) -> Option<u32> {
        self.reorder
    }
}

/// Units each after its length in two bytes; `None` if they are not.
pub fn aggregated(mut bytes: Bytes) -> Option<Vec<Bytes>> {
    let mut units = Vec::new();
    while !bytes.is_empty() {
        let [high, low] = *bytes.first_chunk()?;
        let _ = bytes.split_to(2);
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length == 0 || length > bytes.len() {
            return None;
        }
        units.push(bytes.split_to(length));
    }
    (!units.is_empty()).then_some(units)
}
