//! Packets that are sealed or opened one after the other, by one worker: as many as the system takes or hands over at once.

use evener_crypt::gcm::TAG;

use super::message::{HEADER, Header, MESSAGE, Message, OVERHEAD};
use super::tunnel::Direction;

/// Bytes of the largest chunk that is sealed: what the system takes at once.
pub(super) const LARGEST: usize = 65_507;
/// Datagrams that the system takes at once.
const MOST: usize = 64;

/// Packets that are sealed.
#[derive(Default)]
pub(super) struct Outbound {
    plain: Vec<u8>,
    /// Bytes of each packet, and whether its checksum is partial.
    packets: Vec<(usize, bool)>,
    /// The number of the first, and what they are sealed with.
    first: u64,
    with: Option<Direction>,
    sealed: Vec<u8>,
}

impl Outbound {
    /// Whether a packet of `len` bytes can follow those that there are: the system takes datagrams of one size and a last one
    /// that may be shorter.
    pub(super) fn has_room(&self, len: usize) -> bool {
        let (Some((first, _)), Some((last, _))) = (self.packets.first(), self.packets.last())
        else {
            return true;
        };
        let bytes = (self.packets.len() + 1) * (first + OVERHEAD);
        last == first && len <= *first && self.packets.len() < MOST && bytes <= LARGEST
    }

    /// Bytes of each datagram but the last.
    pub(super) fn datagram(&self) -> usize {
        self.packets.first().map_or(0, |(len, _)| len + OVERHEAD)
    }

    /// Adds a packet of `len` bytes, which `fill` puts in place.
    pub(super) fn push(&mut self, len: usize, is_partial: bool, fill: impl FnOnce(&mut [u8])) {
        let at = self.plain.len();
        self.plain.resize(at + len, 0);
        fill(&mut self.plain[at..]);
        self.packets.push((len, is_partial));
    }

    pub(super) fn count(&self) -> usize {
        self.packets.len()
    }

    /// Says with what and from which number on they are sealed.
    pub(super) fn assign(&mut self, with: Direction, first: u64) {
        self.with = Some(with);
        self.first = first;
    }

    pub(super) fn seal(&mut self) {
        let Some(with) = &self.with else { return };
        self.sealed.clear();
        let mut plain = &self.plain[..];
        for (number, &(len, is_partial)) in (self.first..).zip(&self.packets) {
            let header = Header {
                is_partial,
                len,
                session: with.name,
                number,
            };
            let encoded = header.encode();
            self.sealed.extend(encoded);
            let at = self.sealed.len();
            self.sealed.resize(at + len + TAG, 0);
            let (packet, rest) = plain.split_at(len);
            let to = &mut self.sealed[at..];
            with.key.seal(&header.nonce(), &encoded, packet, to);
            plain = rest;
        }
    }

    pub(super) fn sealed(&self) -> &[u8] {
        &self.sealed
    }

    pub(super) fn clear(&mut self) {
        self.plain.clear();
        self.packets.clear();
        self.with = None;
    }
}

/// What the system handed over at once.
pub(super) struct Inbound {
    /// Room for it, and how much of it there is.
    pub(super) sealed: Box<[u8]>,
    pub(super) len: usize,
    plain: Vec<u8>,
    pub(super) opened: Vec<Opened>,
    pub(super) messages: Vec<[u8; MESSAGE]>,
    /// Packets of no session that there is, or that were changed.
    pub(super) refused: u64,
    /// What was neither a packet nor a message.
    pub(super) malformed: u64,
}

/// A packet that is genuine. It may have come before.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    at: usize,
    pub len: usize,
    pub is_partial: bool,
    pub session: u32,
    pub number: u64,
}

impl Inbound {
    pub(super) fn new() -> Inbound {
        Inbound {
            sealed: vec![0; 1 << 16].into(),
            len: 0,
            plain: Vec::new(),
            opened: Vec::new(),
            messages: Vec::new(),
            refused: 0,
            malformed: 0,
        }
    }

    /// The bytes of a packet.
    pub(super) fn packet(&self, opened: &Opened) -> &[u8] {
        &self.plain[opened.at..opened.at + opened.len]
    }

    pub(super) fn open(&mut self, with: &[Direction]) {
        self.plain.clear();
        self.opened.clear();
        self.messages.clear();
        (self.refused, self.malformed) = (0, 0);
        let mut rest = &self.sealed[..self.len];
        while !rest.is_empty() {
            if Message::is_one(rest) {
                let (message, following) = rest.split_first_chunk().expect("a message");
                self.messages.push(*message);
                rest = following;
                continue;
            }
            let Some(header) = Header::decode(rest) else {
                self.malformed += 1;
                return;
            };
            let (front, following) = rest.split_at(header.len + OVERHEAD);
            let (encoded, sealed) = front.split_at(HEADER);
            rest = following;
            let at = self.plain.len();
            self.plain.resize(at + header.len, 0);
            let to = &mut self.plain[at..];
            let found = with.iter().find(|with| with.name == header.session);
            let opens = |with: &Direction| {
                let opened = with.key.open(&header.nonce(), encoded, sealed, to);
                opened.is_ok()
            };
            if !found.is_some_and(opens) {
                self.plain.truncate(at);
                self.refused += 1;
                continue;
            }
            self.opened.push(Opened {
                at,
                len: header.len,
                is_partial: header.is_partial,
                session: header.session,
                number: header.number,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evener_crypt::gcm::Gcm;
    use evener_runtime::Simd;
    use proptest::prelude::*;

    use super::*;

    fn direction(key: u8) -> Direction {
        Direction {
            name: 7,
            key: Arc::new(Gcm::new(&[key; 32], Simd::Scalar)),
        }
    }

    fn inbound(sealed: &[u8]) -> Inbound {
        let mut chunk = Inbound::new();
        chunk.sealed[..sealed.len()].copy_from_slice(sealed);
        chunk.len = sealed.len();
        chunk
    }

    /// Three packets under one key.
    fn sealed() -> Outbound {
        let mut chunk = Outbound::default();
        for (len, byte) in [(100, 1), (100, 2), (30, 3)] {
            assert!(chunk.has_room(len));
            chunk.push(len, byte == 2, |to| to.fill(byte));
        }
        assert!(!chunk.has_room(30), "a shorter one is the last");
        chunk.assign(direction(9), 40);
        chunk.seal();
        chunk
    }

    #[test]
    fn packets_are_opened_as_far_as_they_are_there() {
        let chunk = sealed();
        let all = chunk.sealed();
        assert_eq!((all.len(), chunk.datagram()), (230 + 3 * OVERHEAD, 132));
        for cut in 0..=all.len() {
            let mut chunk = inbound(&all[..cut]);
            chunk.open(&[direction(9)]);
            let ends = [132, 264, all.len()];
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(chunk.opened.len(), whole);
            for (opened, number) in chunk.opened.iter().zip(0..) {
                assert_eq!((opened.number, opened.session), (40 + number, 7));
                assert_eq!(opened.is_partial, number == 1);
                assert!(
                    chunk
                        .packet(opened)
                        .iter()
                        .all(|byte| *byte == number as u8 + 1)
                );
            }
            let is_end = cut == 0 || ends.contains(&cut);
            assert_eq!((chunk.malformed, chunk.refused), (u64::from(!is_end), 0));
        }
    }

    #[test]
    fn another_key_opens_nothing() {
        let mut chunk = inbound(sealed().sealed());
        chunk.open(&[direction(8)]);
        assert_eq!((chunk.opened.len(), chunk.refused), (0, 3));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0..7u8) {
            let mut bytes = bytes;
            if bytes.len() > 3 {
                (bytes[0], bytes[1], bytes[2]) = (1, kind, 0);
            }
            let mut chunk = inbound(&bytes);
            chunk.open(&[direction(9)]);
            prop_assert_eq!(chunk.opened.len(), 0);
        }
    }
}
