//! TCP (RFC 9293) and its options: maximum segment size, window scale and timestamps (RFC 7323), selective
//! acknowledgment (RFC 2018).

use super::{Malformed, array, u16_at, u32_at};

/// Flags of a segment: the low byte of the word that has them.
pub mod flags {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    pub const PSH: u8 = 8;
    pub const ACK: u8 = 16;
    pub const URG: u8 = 32;
    pub const ECE: u8 = 64;
    pub const CWR: u8 = 128;
}

/// Bytes of a header without options.
pub const MIN_LEN: usize = 20;
/// Bytes of a header with as many options as there can be.
pub const MAX_LEN: usize = 60;
/// Bytes of the timestamps option with its padding.
pub const TIMESTAMPS_LEN: usize = 12;
/// Where the checksum is in the header.
pub const CHECKSUM_AT: usize = 16;

/// The largest shift of a window (RFC 7323 section 2.3); a larger one means this.
const MAX_WINDOW_SCALE: u8 = 14;

mod kind {
    pub const END: u8 = 0;
    pub const NOP: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
}

/// The blocks of a SACK option: at most four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const fn new() -> SackBlocks {
        SackBlocks {
            blocks: [(0, 0); 4],
            len: 0,
        }
    }

    /// Adds the block from sequence number `left` to before `right`. A fifth one is dropped.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.len)) {
            *block = (left, right);
            self.len += 1;
        }
    }

    /// The left and right edge of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks[..self.len()].iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What the header of a segment says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: u8,
    /// As it is in the header, not scaled.
    pub window: u16,
    pub options: Options,
}

/// The options of a segment. Those that are not known are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    /// At most 14.
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    pub sack: SackBlocks,
}

impl Header {
    /// Bytes that [`write`](fn@write) makes of it.
    pub fn len(&self) -> usize {
        MIN_LEN + self.options.len()
    }

    /// Whether [`write`](fn@write) makes no bytes of it: never.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl Options {
    /// Bytes that [`write`](fn@write) makes of them, a multiple of 4.
    pub fn len(&self) -> usize {
        let sack = match self.sack_fitting() {
            0 => 0,
            blocks => 4 + 8 * blocks,
        };
        self.len_without_sack() + sack
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len_without_sack(&self) -> usize {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let timestamps = match (self.timestamps.is_some(), self.sack_permitted) {
            (true, _) => TIMESTAMPS_LEN,
            (false, true) => 4,
            (false, false) => 0,
        };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        mss + timestamps + scale
    }

    /// How many blocks there is room for: 4 in an option area that has nothing else, 3 beside timestamps.
    fn sack_fitting(&self) -> usize {
        let room = MAX_LEN - MIN_LEN - self.len_without_sack();
        self.sack.len().min(room.saturating_sub(4) / 8)
    }
}

/// Reads the header at the front of a segment, and returns it and its bytes. The checksum is not looked at.
///
/// An option whose length cannot be ends the options; those before it count.
///
/// # Errors
/// [`Malformed`] if the header goes beyond the end, or is shorter than a header can be.
pub fn parse(bytes: &[u8]) -> Result<(Header, usize), Malformed> {
    let fixed: &[u8; MIN_LEN] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
    let len = usize::from(fixed[12] >> 4) * 4;
    if len < MIN_LEN {
        return Err(Malformed::Length);
    }
    let options = bytes.get(MIN_LEN..len).ok_or(Malformed::Truncated)?;
    let header = Header {
        source_port: u16::from_be_bytes([fixed[0], fixed[1]]),
        destination_port: u16::from_be_bytes([fixed[2], fixed[3]]),
        sequence: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
        acknowledgment: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
        flags: fixed[13],
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        options: parse_options(options),
    };
    Ok((header, len))
}

fn parse_options(bytes: &[u8]) -> Options {
    let mut options = Options::default();
    // Nearly every segment has the timestamps and nothing else.
    if let [
        kind::NOP,
        kind::NOP,
        kind::TIMESTAMPS,
        10,
        v0,
        v1,
        v2,
        v3,
        e0,
        e1,
        e2,
        e3,
    ] = *bytes
    {
        let value = u32::from_be_bytes([v0, v1, v2, v3]);
        let echo = u32::from_be_bytes([e0, e1, e2, e3]);
        options.timestamps = Some((value, echo));
        return options;
    }
    let mut rest = bytes;
    loop {
        let (option, after) = match *rest {
            [] | [kind::END, ..] => return options,
            [kind::NOP, ref after @ ..] => {
                rest = after;
                continue;
            }
            [_, len, ..] if len >= 2 && usize::from(len) <= rest.len() => {
                rest.split_at(usize::from(len))
            }
            _ => return options,
        };
        // An option of a length that is not its own leaves nothing.
        let _ = take_option(option, &mut options);
        rest = after;
    }
}

fn take_option(option: &[u8], options: &mut Options) -> Result<(), Malformed> {
    match (option[0], option.len()) {
        (kind::MSS, 4) => options.mss = Some(u16_at(option, 2)?),
        (kind::WINDOW_SCALE, 3) => options.window_scale = Some(option[2].min(MAX_WINDOW_SCALE)),
        (kind::SACK_PERMITTED, 2) => options.sack_permitted = true,
        (kind::TIMESTAMPS, 10) => {
            options.timestamps = Some((u32_at(option, 2)?, u32_at(option, 6)?))
        }
        (kind::SACK, 10 | 18 | 26 | 34) => {
            options.sack = SackBlocks::new();
            for block in option[2..].as_chunks::<8>().0 {
                options.sack.push(u32_at(block, 0)?, u32_at(block, 4)?);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Writes the header with a checksum of 0 and an urgent pointer of 0, and returns its bytes, [`Header::len`]. The order
/// of options is that of Linux. SACK blocks for which there is no room are left out.
///
/// # Panics
/// If `to` has less room.
pub fn write(header: &Header, to: &mut [u8]) -> usize {
    let len = header.len();
    let (fixed, options) = to[..len].split_at_mut(MIN_LEN);
    fixed[0..2].copy_from_slice(&header.source_port.to_be_bytes());
    fixed[2..4].copy_from_slice(&header.destination_port.to_be_bytes());
    fixed[4..8].copy_from_slice(&header.sequence.to_be_bytes());
    fixed[8..12].copy_from_slice(&header.acknowledgment.to_be_bytes());
    fixed[12] = (len as u8 / 4) << 4;
    fixed[13] = header.flags;
    fixed[14..16].copy_from_slice(&header.window.to_be_bytes());
    fixed[16..20].fill(0);
    write_options(&header.options, options);
    len
}

fn write_options(options: &Options, to: &mut [u8]) {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        to[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    if let Some(mss) = options.mss {
        put(&[kind::MSS, 4]);
        put(&mss.to_be_bytes());
    }
    match (options.sack_permitted, options.timestamps) {
        (true, _) if options.timestamps.is_some() => put(&[kind::SACK_PERMITTED, 2]),
        (true, _) => put(&[kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]),
        (false, Some(_)) => put(&[kind::NOP, kind::NOP]),
        (false, None) => {}
    }
    if let Some((value, echo)) = options.timestamps {
        put(&[kind::TIMESTAMPS, 10]);
        put(&value.to_be_bytes());
        put(&echo.to_be_bytes());
    }
    if let Some(scale) = options.window_scale {
        put(&[kind::NOP, kind::WINDOW_SCALE, 3, scale]);
    }
    let blocks = options.sack_fitting();
    if blocks > 0 {
        put(&[kind::NOP, kind::NOP, kind::SACK, 2 + 8 * blocks as u8]);
        for (left, right) in options.sack.iter().take(blocks) {
            put(&left.to_be_bytes());
            put(&right.to_be_bytes());
        }
    }
}

/// Writes the checksum into the header at the front of `segment`.
///
/// # Panics
/// If it is not as long as a header.
pub fn set_checksum(segment: &mut [u8], checksum: u16) {
    segment[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The checksum in the header at the front of `segment`.
///
/// # Errors
/// [`Malformed`] if it is shorter than that.
pub fn checksum(segment: &[u8]) -> Result<u16, Malformed> {
    array(segment, CHECKSUM_AT).map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests;
