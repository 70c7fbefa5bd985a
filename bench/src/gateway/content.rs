//! A transport stream of the rate that is asked for: 25 pictures a second that nothing decodes, in datagrams of RTP.

/// Bytes of a packet of the stream (H.222.0, clause 2.4.3).
pub const PACKET: usize = 188;
/// Bytes of the stream in a datagram: seven packets.
pub const PAYLOAD: usize = 7 * PACKET;
/// Bytes of the header of RTP.
pub const HEADER: usize = 12;
/// What the time of sending lies after, at the end of the first packet of a datagram that has one.
pub const MARK: [u8; 8] = *b"\xe5sent-at";

const PICTURES: u64 = 25;
/// Pictures from a key picture to the next.
const GROUP: u64 = 25;
const PID: u16 = 0x100;
const PMT: u16 = 0x1000;
/// A sequence parameter set and a picture parameter set of H.264, High profile, 320x240.
const PARAMETERS: &[u8] = &[
    0, 0, 0, 1, 0x67, 0x64, 0x00, 0x0c, 0xac, 0xd9, 0x41, 0x41, 0xfb, 0x01, 0x10, 0x00, 0x00, 0x03,
    0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xf1, 0x42, 0x99, 0x60, 0, 0, 0, 1, 0x68, 0xeb, 0xe3,
    0xcb, 0x22, 0xc0,
];

/// Datagrams one after the other.
pub struct Content {
    /// Packets of a picture.
    packets: u64,
    picture: u64,
    /// The number of the packet in the picture.
    at: u64,
    counters: [u8; 3],
    sequence: u16,
    datagram: Vec<u8>,
}

impl Content {
    /// For so many bits of the stream a second.
    pub fn new(bits: f64) -> Content {
        let packets = bits / 8.0 / PACKET as f64 / PICTURES as f64;
        Content {
            // A PAT, a PMT, and something of a picture.
            packets: (packets.round() as u64).max(4),
            picture: 0,
            at: 0,
            counters: [0; 3],
            sequence: 0,
            datagram: Vec::with_capacity(HEADER + PAYLOAD),
        }
    }

    /// The next datagram, and where the time of sending can be written in it.
    pub fn next(&mut self) -> (&mut Vec<u8>, Option<usize>) {
        let time = (self.picture * 90_000 / PICTURES) as u32;
        self.datagram.clear();
        self.datagram.extend([0x80, 33]);
        self.datagram.extend(self.sequence.to_be_bytes());
        self.datagram.extend(time.to_be_bytes());
        self.datagram.extend(0x6576_656eu32.to_be_bytes());
        self.sequence = self.sequence.wrapping_add(1);
        let mut place = None;
        for number in 0..7 {
            let in_picture = self.packet();
            if number == 0 && in_picture {
                let end = HEADER + PACKET;
                self.datagram[end - 16..end - 8].copy_from_slice(&MARK);
                place = Some(end - 8);
            }
        }
        (&mut self.datagram, place)
    }

    /// Adds a packet, and says whether it is one of a picture, and not of a table.
    fn packet(&mut self) -> bool {
        let at = self.at;
        match at {
            0 => self.table(0, 0, &pat()),
            1 => self.table(PMT, 1, &pmt()),
            _ => self.video(at == 2),
        }
        self.at += 1;
        if self.at == self.packets {
            self.at = 0;
            self.picture += 1;
        }
        at > 1
    }

    fn header(&mut self, pid: u16, stream: usize, begins: bool, adaptation: bool) {
        let counter = self.counters[stream];
        self.counters[stream] = (counter + 1) & 0xf;
        let [high, low] = pid.to_be_bytes();
        self.datagram.extend([
            0x47,
            high | u8::from(begins) << 6,
            low,
            0x10 | u8::from(adaptation) << 5 | counter,
        ]);
    }

    fn table(&mut self, pid: u16, stream: usize, section: &[u8]) {
        let end = self.datagram.len() + PACKET;
        self.header(pid, stream, true, false);
        self.datagram.push(0);
        self.datagram.extend(section);
        self.datagram.resize(end, 0xff);
    }

    fn video(&mut self, begins: bool) {
        let end = self.datagram.len() + PACKET;
        let key = self.picture.is_multiple_of(GROUP);
        self.header(PID, 2, begins, begins);
        if begins {
            let time = self.picture * 90_000 / PICTURES;
            let clock = (time << 15 | 0x7e00).to_be_bytes();
            // The adaptation field: an entry point or not, and the clock.
            let flags = 0x10 | u8::from(key) << 6;
            self.datagram.extend([7, flags]);
            self.datagram.extend(&clock[2..8]);
            let pts = time + 9_000;
            self.datagram.extend([
                0,
                0,
                1,
                0xe0,
                0,
                0,
                0x80,
                0x80,
                5,
                0x21 | (pts >> 29 & 0xe) as u8,
            ]);
            self.datagram
                .extend(((pts >> 14 & 0xfffe) as u16 | 1).to_be_bytes());
            self.datagram
                .extend(((pts << 1 & 0xfffe) as u16 | 1).to_be_bytes());
            self.datagram.extend([0, 0, 0, 1, 9, 0xf0]);
            if key {
                self.datagram.extend(PARAMETERS);
            }
            // Each other picture is one that no other refers to.
            let unit = match self.picture % GROUP {
                0 => 0x65,
                number if number.is_multiple_of(2) => 0x41,
                _ => 0x01,
            };
            self.datagram.extend([0, 0, 0, 1, unit, 0x88]);
        }
        self.datagram.resize(end, 0x55);
    }
}

fn pat() -> Vec<u8> {
    let [high, low] = PMT.to_be_bytes();
    with_check(vec![0, 0xb0, 13, 0, 1, 0xc1, 0, 0, 0, 1, 0xe0 | high, low])
}

fn pmt() -> Vec<u8> {
    let [high, low] = PID.to_be_bytes();
    let (high, kind) = (0xe0 | high, 0x1b);
    with_check(vec![
        2, 0xb0, 18, 0, 1, 0xc1, 0, 0, high, low, 0xf0, 0, kind, high, low, 0xf0, 0,
    ])
}

/// The section with its check (H.222.0, annex A).
fn with_check(mut section: Vec<u8>) -> Vec<u8> {
    let mut check = !0u32;
    for &byte in &section {
        check ^= u32::from(byte) << 24;
        for _ in 0..8 {
            check = check << 1 ^ if check >> 31 == 1 { 0x04c1_1db7 } else { 0 };
        }
    }
    section.extend(check.to_be_bytes());
    section
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use evener_gateway::ts::Classify;

    use super::*;

    #[test]
    fn the_gateway_finds_key_pictures_and_no_gaps_in_it() {
        let (mut content, mut classify) = (Content::new(2e6), Classify::new());
        let (mut starts, mut marked) = (0, 0);
        let datagrams = 3 * 2_000_000 / 8 / PAYLOAD;
        for number in 0..datagrams {
            let (datagram, place) = content.next();
            assert_eq!(datagram.len(), HEADER + PAYLOAD);
            assert_eq!(datagram[2..4], (number as u16).to_be_bytes());
            if let Some(place) = place {
                assert_eq!(datagram[place - 8..place], MARK);
                marked += 1;
            }
            let packets = Bytes::copy_from_slice(&datagram[HEADER..]);
            classify.push(packets, |chunk| starts += u32::from(chunk.starts()));
        }
        assert_eq!((classify.gaps(), classify.damaged()), (0, 0));
        assert!((2..=4).contains(&starts), "{starts}");
        assert!(marked > datagrams * 9 / 10);
    }
}
