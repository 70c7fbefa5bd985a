//! H.264 (Rec. ITU-T H.264, clause 7.3).

use super::bits::Bits;
use crate::media::Class;

/// Kinds of NAL units (table 7-1).
pub mod kind {
    /// A slice of a picture that is no IDR picture.
    pub const SLICE: u8 = 1;
    /// A slice of an IDR picture.
    pub const IDR: u8 = 5;
    /// Supplemental enhancement information.
    pub const SEI: u8 = 6;
    /// A sequence parameter set.
    pub const SPS: u8 = 7;
    /// A picture parameter set.
    pub const PPS: u8 = 8;
    /// An access unit delimiter.
    pub const AUD: u8 = 9;
    /// Filler data.
    pub const FILLER: u8 = 12;
}

/// The kind of a unit; 0, which is none, if it is empty.
pub fn kind_of(unit: &[u8]) -> u8 {
    unit.first().map_or(0, |header| header & 0x1f)
}

/// Whether a unit is a slice, or the first partition of one.
pub fn is_slice(unit: &[u8]) -> bool {
    matches!(kind_of(unit), kind::SLICE | 2 | kind::IDR)
}

/// Whether the slice is the first of its picture.
pub fn is_first_slice(unit: &[u8]) -> bool {
    is_slice(unit) && Bits::new(unit.get(1..).unwrap_or(&[])).unsigned() == Some(0)
}

/// What is known of a picture when some of its units are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// By the first slice.
    slice: Option<Class>,
    parameters: bool,
}

impl Seen {
    /// Looks at one more unit; its first bytes are enough.
    pub fn unit(&mut self, unit: &[u8]) {
        match kind_of(unit) {
            kind::IDR => self.slice = Some(Class::Key),
            kind::SLICE | 2 if self.slice.is_none() => {
                self.slice = Some(match (unit[0] & 0x60, self.parameters && is_intra(unit)) {
                    (0, _) => Class::Disposable,
                    (_, true) => Class::Key,
                    (_, false) => Class::Reference,
                });
            }
            kind::SPS => self.parameters = true,
            _ => {}
        }
    }

    /// The class. `entry` says that the container has a mark that decoding may begin here.
    pub fn class(&self, entry: bool) -> Class {
        match self.slice {
            Some(Class::Reference) if entry => Class::Key,
            Some(class) => class,
            None if entry || self.parameters => Class::Key,
            None => Class::Reference,
        }
    }
}

/// I and SI slices (table 7-6).
fn is_intra(slice: &[u8]) -> bool {
    let mut bits = Bits::new(slice.get(1..).unwrap_or(&[]));
    let kind = bits.unsigned().and_then(|_| bits.unsigned());
    kind.is_some_and(|kind| matches!(kind % 5, 2 | 4) && kind < 10)
}

/// What a sequence parameter set says (clauses 7.3.2.1.1 and E.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// `profile_idc`.
    pub profile: u8,
    /// Of the pictures as shown, in pixels.
    pub width: u32,
    /// Likewise.
    pub height: u32,
    /// `chroma_format_idc`: 1 is 4:2:0.
    pub chroma: u8,
    /// Bits of luma and of chroma.
    pub depth: (u8, u8),
    /// How many pictures may come before one that is shown earlier; `None` if the set does not say.
    pub reorder: Option<u32>,
}

/// Reads a set, as a NAL unit without start code; `None` if it is malformed.
pub fn sequence(unit: &[u8]) -> Option<Sequence> {
    if kind_of(unit) != kind::SPS {
        return None;
    }
    let mut bits = Bits::new(&unit[1..]);
    let profile = bits.number(8)? as u8;
    bits.skip(16)?;
    bits.unsigned()?;
    let (mut chroma, mut depth, mut planes) = (1, (8, 8), false);
    if matches!(
        profile,
        100 | 110 | 122 | 244 | 44 | 83 | 86 | 118 | 128 | 138 | 139 | 134 | 135
    ) {
        chroma = bits.unsigned().filter(|&chroma| chroma <= 3)? as u8;
        if chroma == 3 {
            planes = bits.bit()?;
        }
        let mut depth_of = || {
            bits.unsigned()
                .filter(|&more| more <= 6)
                .map(|more| more as u8 + 8)
        };
        depth = (depth_of()?, depth_of()?);
        bits.bit()?;
        if bits.bit()? {
            for list in 0..if chroma == 3 { 12 } else { 8 } {
                if bits.bit()? {
                    scaling_list(&mut bits, if list < 6 { 16 } else { 64 })?;
                }
            }
        }
    }
    bits.unsigned()?;
    let order = bits.unsigned()?;
    match order {
        0 => {
            bits.unsigned()?;
        }
        1 => {
            bits.bit()?;
            bits.signed()?;
            bits.signed()?;
            let cycle = bits.unsigned().filter(|&cycle| cycle < 256)?;
            for _ in 0..cycle {
                bits.signed()?;
            }
        }
        _ => {}
    }
    bits.unsigned()?;
    bits.bit()?;
    // Far above the largest level.
    let mut macroblocks = || {
        bits.unsigned()
            .filter(|&count| count < 4096)
            .map(|count| 16 * (count + 1))
    };
    let (mut width, mut height) = (macroblocks()?, macroblocks()?);
    let frames_only = bits.bit()?;
    if !frames_only {
        height *= 2;
        bits.bit()?;
    }
    bits.bit()?;
    if bits.bit()? {
        let across = if !planes && matches!(chroma, 1 | 2) {
            2
        } else {
            1
        };
        let down = if !planes && chroma == 1 { 2 } else { 1 };
        let down = down * if frames_only { 1 } else { 2 };
        let mut crop = |unit: u32| {
            let (first, last) = (bits.unsigned()?, bits.unsigned()?);
            first.checked_add(last)?.checked_mul(unit)
        };
        width = width
            .checked_sub(crop(across)?)
            .filter(|&width| width > 0)?;
        height = height
            .checked_sub(crop(down)?)
            .filter(|&height| height > 0)?;
    }
    let reorder = match (order, profile) {
        (2, _) | (_, 66) => Some(0),
        _ => restriction(&mut bits),
    };
    Some(Sequence {
        profile,
        width,
        height,
        chroma,
        depth,
        reorder,
    })
}

fn scaling_list(bits: &mut Bits, count: usize) -> Option<()> {
    let (mut last, mut next) = (8, 8);
    for _ in 0..count {
        if next != 0 {
            next = (last + bits.signed()?).rem_euclid(256);
        }
        if next != 0 {
            last = next;
        }
    }
    Some(())
}

/// `max_num_reorder_frames` of the usability information, if there is one.
fn restriction(bits: &mut Bits) -> Option<u32> {
    if !bits.bit()? {
        return None;
    }
    // The aspect ratio, overscan, the video signal, where chroma is, times.
    if bits.bit()? && bits.number(8)? == 255 {
        bits.skip(32)?;
    }
    if bits.bit()? {
        bits.bit()?;
    }
    if bits.bit()? {
        bits.skip(4)?;
        if bits.bit()? {
            bits.skip(24)?;
        }
    }
    if bits.bit()? {
        bits.unsigned()?;
        bits.unsigned()?;
    }
    if bits.bit()? {
        bits.skip(65)?;
    }
    let mut with_buffer = false;
    for _ in 0..2 {
        if bits.bit()? {
            with_buffer = true;
            let count = bits.unsigned().filter(|&count| count < 32)?;
            bits.skip(8)?;
            for _ in 0..=count {
                bits.unsigned()?;
                bits.unsigned()?;
                bits.bit()?;
            }
            bits.skip(20)?;
        }
    }
    if with_buffer {
        bits.bit()?;
    }
    bits.bit()?;
    if !bits.bit()? {
        return None;
    }
    bits.bit()?;
    for _ in 0..4 {
        bits.unsigned()?;
    }
    bits.unsigned().filter(|&reorder| reorder <= 16)
}
