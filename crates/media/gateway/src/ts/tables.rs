//! The tables that say what a transport stream has (H.222.0, clause 2.4.4): PAT and PMT.

use super::packet::View;

/// The PID of the PAT.
pub const PAT_PID: u16 = 0;
/// Bytes of the longest section that these tables have.
const MAX: usize = 1024;

/// Puts together the sections of one PID.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    buffer: Vec<u8>,
    last: Option<u8>,
}

impl Sections {
    /// Takes a packet of the PID, and gives `out` each section that is whole and whose check is right.
    pub fn push(&mut self, packet: View, mut out: impl FnMut(&[u8])) {
        if !packet.has_payload() || packet.has_error() || packet.is_scrambled() {
            return;
        }
        let counter = packet.continuity();
        if self.last == Some(counter) {
            return;
        }
        let follows = self.last.is_some_and(|last| (last + 1) & 0xf == counter);
        self.last = Some(counter);
        if !follows {
            self.buffer.clear();
        }
        let mut payload = packet.payload();
        if packet.begins_unit() {
            let Some((&pointer, rest)) = payload.split_first() else {
                return;
            };
            let Some((end, begin)) = rest.split_at_checked(pointer.into()) else {
                return;
            };
            self.add(end, &mut out);
            self.buffer.clear();
            payload = begin;
            self.buffer.extend_from_slice(payload);
            self.take(&mut out);
        } else if !self.buffer.is_empty() {
            self.add(payload, &mut out);
        }
    }

    fn add(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) {
        if !self.buffer.is_empty() {
            self.buffer.extend_from_slice(bytes);
            self.take(out);
        }
    }

    fn take(&mut self, out: &mut impl FnMut(&[u8])) {
        let mut rest = &self.buffer[..];
        // A table of 0xff is stuffing up to the end of the packet.
        while let [table, high, low, ..] = *rest
            && table != 0xff
        {
            let length = 3 + usize::from(u16::from_be_bytes([high & 0xf, low]));
            if length > MAX {
                rest = &[];
                break;
            }
            let Some((section, after)) = rest.split_at_checked(length) else {
                break;
            };
            if crc(section) == 0 {
                out(section);
            }
            rest = after;
        }
        if rest.first() == Some(&0xff) {
            rest = &[];
        }
        let kept = rest.len();
        self.buffer.drain(..self.buffer.len() - kept);
    }
}

/// A table's section is not what the standard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a malformed table in a transport stream")]
pub struct Malformed;

/// Which programs there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pat {
    /// Of the transport stream.
    pub id: u16,
    /// Number and PID of the PMT of each.
    pub programs: Vec<(u16, u16)>,
}

/// What a program has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pmt {
    /// The program's number.
    pub program: u16,
    /// Where the clock is.
    pub pcr_pid: u16,
    /// Its streams.
    pub streams: Vec<Stream>,
}

/// A stream of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// `stream_type`, see [`kind`].
    pub kind: u8,
    /// Where its packets are.
    pub pid: u16,
    /// More about it, as it is written.
    pub descriptors: Vec<u8>,
}

/// Kinds of streams (table 2-34).
pub mod kind {
    /// MPEG-1 video.
    pub const MPEG1: u8 = 0x01;
    /// MPEG-2 video.
    pub const MPEG2: u8 = 0x02;
    /// Data that a descriptor says more of.
    pub const PRIVATE: u8 = 0x06;
    /// AAC with ADTS headers.
    pub const AAC: u8 = 0x0f;
    /// H.264.
    pub const H264: u8 = 0x1b;
    /// H.265.
    pub const H265: u8 = 0x24;
}

/// The body of a section of `table` that is current, and its number.
fn body(section: &[u8], table: u8) -> Result<(u16, &[u8]), Malformed> {
    match section {
        [
            kind,
            syntax,
            _,
            high,
            low,
            current,
            _,
            _,
            body @ ..,
            _,
            _,
            _,
            _,
        ] if *kind == table && syntax & 0x80 != 0 && current & 1 != 0 => {
            Ok((u16::from_be_bytes([*high, *low]), body))
        }
        _ => Err(Malformed),
    }
}

fn pid(high: u8, low: u8) -> u16 {
    u16::from_be_bytes([high & 0x1f, low])
}

fn split(bytes: &[u8], high: u8, low: u8) -> Result<(&[u8], &[u8]), Malformed> {
    let length = u16::from_be_bytes([high & 0xf, low]);
    bytes.split_at_checked(length.into()).ok_or(Malformed)
}

impl Pat {
    /// Reads a section whose check is right.
    ///
    /// # Errors
    /// [`Malformed`], or if it is another table, or not yet current.
    pub fn parse(section: &[u8]) -> Result<Pat, Malformed> {
        let (id, body) = body(section, 0)?;
        let (entries, rest) = body.as_chunks();
        if !rest.is_empty() {
            return Err(Malformed);
        }
        // Number 0 is the network's table.
        let programs = entries
            .iter()
            .map(|&[a, b, c, d]| (u16::from_be_bytes([a, b]), pid(c, d)));
        Ok(Pat {
            id,
            programs: programs.filter(|&(number, _)| number != 0).collect(),
        })
    }

    /// The section.
    pub fn section(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for &(number, pid) in &self.programs {
            body.extend(number.to_be_bytes());
            body.extend((0xe000 | pid).to_be_bytes());
        }
        section(0, self.id, 0, &body)
    }
}

impl Pmt {
    /// Reads a section whose check is right.
    ///
    /// # Errors
    /// [`Malformed`], or if it is another table, or not yet current.
    pub fn parse(section: &[u8]) -> Result<Pmt, Malformed> {
        let (program, body) = body(section, 2)?;
        let [a, b, c, d, rest @ ..] = body else {
            return Err(Malformed);
        };
        let (_, mut rest) = split(rest, *c, *d)?;
        let mut streams = Vec::new();
        while let [kind, high, low, c, d, more @ ..] = rest {
            let (descriptors, next) = split(more, *c, *d)?;
            streams.push(Stream {
                kind: *kind,
                pid: pid(*high, *low),
                descriptors: descriptors.to_vec(),
            });
            rest = next;
        }
        match rest.is_empty() {
            true => Ok(Pmt {
                program,
                pcr_pid: pid(*a, *b),
                streams,
            }),
            false => Err(Malformed),
        }
    }

    /// The section, of version 0.
    pub fn section(&self) -> Vec<u8> {
        self.section_of(0)
    }

    /// The section of a version, a number of five bits.
    pub fn section_of(&self, version: u8) -> Vec<u8> {
        let mut body = (0xe000 | self.pcr_pid).to_be_bytes().to_vec();
        body.extend([0xf0, 0]);
        for stream in &self.streams {
            body.push(stream.kind);
            body.extend((0xe000 | stream.pid).to_be_bytes());
            body.extend((0xf000 | stream.descriptors.len() as u16).to_be_bytes());
            body.extend(&stream.descriptors);
        }
        section(2, self.program, version, &body)
    }
}

fn section(table: u8, id: u16, version: u8, body: &[u8]) -> Vec<u8> {
    let mut section = vec![table];
    // From here to the end of the check.
    section.extend((0xb000 | (body.len() + 9) as u16).to_be_bytes());
    section.extend(id.to_be_bytes());
    // Current, the first and only section.
    section.extend([0xc1 | version << 1, 0, 0]);
    section.extend(body);
    let check = crc(&section);
    section.extend(check.to_be_bytes());
    section
}

/// The check of annex A; that of a section with its check is 0.
fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte) << 24, |crc, _| {
            crc << 1 ^ if crc >> 31 != 0 { 0x04c1_1db7 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::{LEN, SYNC};
    use proptest::prelude::*;

    fn packet(begins: bool, counter: u8, payload: &[u8]) -> [u8; LEN] {
        let mut packet = [0xff; LEN];
        packet[..4].copy_from_slice(&[SYNC, u8::from(begins) << 6, 0, 0x10 | counter]);
        packet[4..4 + payload.len()].copy_from_slice(payload);
        packet
    }

    #[test]
    fn the_check_is_that_of_the_catalogue() {
        // CRC-32/MPEG-2 of the digits.
        assert_eq!(crc(b"123456789"), 0x0376_e6e7);
    }

    #[test]
    fn a_table_over_several_packets_is_put_together() {
        let stream = |pid| Stream {
            kind: kind::PRIVATE,
            pid,
            descriptors: vec![7; 60],
        };
        let pmt = Pmt {
            program: 1,
            pcr_pid: 256,
            streams: (300..305).map(stream).collect(),
        };
        let section = pmt.section();
        let mut first = vec![0];
        first.extend(&section[..183]);
        let (second, third) = (&section[183..], section.len());
        assert!(third < 183 + 184);
        let packets = [packet(true, 15, &first), packet(false, 0, second)];
        let mut found = Vec::new();
        let mut sections = Sections::default();
        for packet in &packets {
            sections.push(View::new(packet).unwrap(), |section| {
                found.push(Pmt::parse(section))
            });
        }
        assert_eq!(found, [Ok(pmt)]);
        // Without the second, what comes next is no part of it.
        sections.push(View::new(&packets[0]).unwrap(), |_| panic!());
        sections.push(View::new(&packet(false, 1, second)).unwrap(), |_| panic!());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(id: u16, programs in proptest::collection::vec((1..=u16::MAX, 0..8192u16), 0..20)) {
            let pat = Pat { id, programs };
            prop_assert_eq!(crc(&pat.section()), 0);
            prop_assert_eq!(Pat::parse(&pat.section()), Ok(pat));
        }

        #[test]
        fn any_packets_are_taken(packets in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 184)), 0..20)) {
            let mut sections = Sections::default();
            for (at, (begins, payload)) in packets.iter().enumerate() {
                let packet = packet(*begins, at as u8 & 0xf, payload);
                sections.push(View::new(&packet).unwrap(), |section| assert!(section.len() <= MAX));
                prop_assert!(sections.buffer.len() <= MAX + LEN);
            }
        }

        #[test]
        fn any_section_is_read_or_refused(mut section in proptest::collection::vec(any::<u8>(), 0..80), table in 0..3u8) {
            if let [kind, syntax, _, _, _, current, ..] = &mut section[..] {
                (*kind, *syntax, *current) = (table, *syntax | 0x80, *current | 1);
            }
            let _ = (Pat::parse(&section), Pmt::parse(&section));
        }
    }
}
