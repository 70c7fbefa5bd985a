//! A packet of a transport stream (H.222.0, clause 2.4.3).

/// Bytes of a packet.
pub const LEN: usize = 188;
/// The first byte of each.
pub const SYNC: u8 = 0x47;
/// The PID of packets that say nothing.
pub const NULL: u16 = 0x1fff;

/// A packet, of which the sync byte has been checked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8; LEN]);

impl<'a> View<'a> {
    /// `None` without sync byte.
    pub fn new(bytes: &'a [u8; LEN]) -> Option<View<'a>> {
        (bytes[0] == SYNC).then_some(View(bytes))
    }

    /// Which stream it is of; 13 bits.
    pub fn pid(&self) -> u16 {
        u16::from_be_bytes([self.0[1], self.0[2]]) & 0x1fff
    }

    /// The receiver that made the stream found an error that it could not correct.
    pub fn has_error(&self) -> bool {
        self.0[1] & 0x80 != 0
    }

    /// A PES packet begins with the payload, or a section within it.
    pub fn begins_unit(&self) -> bool {
        self.0[1] & 0x40 != 0 && self.has_payload()
    }

    /// The payload cannot be read without a key.
    pub fn is_scrambled(&self) -> bool {
        self.0[3] & 0xc0 != 0
    }

    /// There is a payload, so the continuity counter is one more than before.
    pub fn has_payload(&self) -> bool {
        self.0[3] & 0x10 != 0
    }

    /// Four bits that count the packets with payload of a PID.
    pub fn continuity(&self) -> u8 {
        self.0[3] & 0xf
    }

    /// The adaptation field without its length; empty if there is none, or it is longer than the packet.
    pub fn adaptation(&self) -> &'a [u8] {
        match self.0[3] & 0x20 != 0 {
            true => self.0.get(5..5 + usize::from(self.0[4])).unwrap_or(&[]),
            false => &[],
        }
    }

    /// Empty if there is none.
    pub fn payload(&self) -> &'a [u8] {
        let begin = match self.0[3] & 0x20 != 0 {
            true => 5 + usize::from(self.0[4]),
            false => 4,
        };
        match self.has_payload() {
            true => self.0.get(begin..).unwrap_or(&[]),
            false => &[],
        }
    }

    fn flag(&self, bit: u8) -> bool {
        self.adaptation()
            .first()
            .is_some_and(|flags| flags & bit != 0)
    }

    /// Counters or clock do not go on from what was before.
    pub fn is_discontinuous(&self) -> bool {
        self.flag(0x80)
    }

    /// Decoding may begin here.
    pub fn is_random_access(&self) -> bool {
        self.flag(0x40)
    }

    /// The program clock reference in units of 27 MHz, below 300 * 2^33.
    pub fn pcr(&self) -> Option<u64> {
        let field = self.adaptation().get(1..7).filter(|_| self.flag(0x10))?;
        let number = field
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte));
        Some((number >> 15) * 300 + (number & 0x1ff))
    }
}
