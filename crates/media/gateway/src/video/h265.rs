//! H.265 (Rec. ITU-T H.265, clause 7.3).

use super::bits::Bits;
use crate::media::Class;

/// Kinds of NAL units (table 7-1).
pub mod kind {
    /// The last kind that pictures have which others of their layer do not refer to, if the kind is even.
    pub const LAST_REFERENCE: u8 = 15;
    /// The first and the last kind of pictures at which decoding may begin.
    pub const ENTRY: std::ops::RangeInclusive<u8> = 16..=23;
    /// A video parameter set.
    pub const VPS: u8 = 32;
    /// A sequence parameter set.
    pub const SPS: u8 = 33;
    /// A picture parameter set.
    pub const PPS: u8 = 34;
    /// An access unit delimiter.
    pub const AUD: u8 = 35;
    /// Filler data.
    pub const FILLER: u8 = 38;
}

/// The kind of a unit; 63, which is none, if it has no header.
pub fn kind_of(unit: &[u8]) -> u8 {
    match unit {
        [first, _, ..] => first >> 1 & 0x3f,
        _ => 63,
    }
}

/// Whether a unit is a slice segment.
pub fn is_slice(unit: &[u8]) -> bool {
    kind_of(unit) < 32
}

/// Whether the segment is the first of its picture.
pub fn is_first_slice(unit: &[u8]) -> bool {
    is_slice(unit) && unit.get(2).is_some_and(|byte| byte & 0x80 != 0)
}

/// What is known of a picture when some of its units are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    slice: Option<Class>,
    parameters: bool,
}

impl Seen {
    /// Looks at one more unit; its first bytes are enough. `highest` is the highest temporal layer so far: only
    /// pictures of that are referred to by none.
    pub fn unit(&mut self, unit: &[u8], highest: &mut u8) {
        let kind = kind_of(unit);
        if kind == kind::SPS {
            self.parameters = true;
        }
        if !is_slice(unit) || self.slice.is_some() {
            return;
        }
        let layer = (unit[1] & 7).saturating_sub(1);
        *highest = layer.max(*highest);
        self.slice = Some(match kind {
            _ if kind::ENTRY.contains(&kind) => Class::Key,
            _ if kind < kind::LAST_REFERENCE && kind.is_multiple_of(2) && layer == *highest => {
                Class::Disposable
            }
            _ => Class::Reference,
        });
    }

    /// The class. `entry` says that the container has a mark that decoding may begin here.
    pub fn class(&self, entry: bool) -> Class {
        match self.slice {
            Some(class) => class,
            None if entry || self.parameters => Class::Key,
            None => Class::Reference,
        }
    }
}

/// What a sequence parameter set says (clause 7.3.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Profile, compatibility, constraints and level as they are written: 12 bytes (clause 7.3.3).
    pub profile: [u8; 12],
    /// Of the pictures as shown, in pixels.
    pub width: u32,
    /// Likewise.
    pub height: u32,
    /// `chroma_format_idc`: 1 is 4:2:0.
    pub chroma: u8,
    /// Bits of luma and of chroma.
    pub depth: (u8, u8),
    /// Temporal layers.
    pub layers: u8,
    /// Whether a layer's pictures refer to those of lower layers only, so that layers may be left out.
    pub nested: bool,
    /// How many pictures may come before one that is shown earlier.
    pub reorder: u32,
}

/// Reads a set, as a NAL unit without start code; `None` if it is malformed.
pub fn sequence(unit: &[u8]) -> Option<Sequence> {
    if kind_of(unit) != kind::SPS {
        return None;
    }
    let mut bits = Bits::new(&unit[2..]);
    bits.skip(4)?;
    let layers = bits.number(3).filter(|&more| more < 7)? as u8 + 1;
    let nested = bits.bit()?;
    let mut profile = [0; 12];
    for byte in &mut profile {
        *byte = bits.number(8)? as u8;
    }
    let mut present = [(false, false); 8];
    let sub_layers = usize::from(layers - 1);
    for flags in &mut present[..sub_layers] {
        *flags = (bits.bit()?, bits.bit()?);
    }
    if sub_layers > 0 {
        bits.skip(2 * (8 - sub_layers as u32))?;
    }
    for (profile, level) in &present[..sub_layers] {
        bits.skip(88 * u32::from(*profile) + 8 * u32::from(*level))?;
    }
    bits.unsigned()?;
    let chroma = bits.unsigned().filter(|&chroma| chroma <= 3)? as u8;
    let planes = chroma == 3 && bits.bit()?;
    // Far above the largest level.
    let mut size = || bits.unsigned().filter(|size| (1..65536).contains(size));
    let (mut width, mut height) = (size()?, size()?);
    if bits.bit()? {
        let across = if !planes && matches!(chroma, 1 | 2) {
            2
        } else {
            1
        };
        let down = if !planes && chroma == 1 { 2 } else { 1 };
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
    let mut depth_of = || {
        bits.unsigned()
            .filter(|&more| more <= 8)
            .map(|more| more as u8 + 8)
    };
    let depth = (depth_of()?, depth_of()?);
    bits.unsigned()?;
    let mut reorder = 0;
    for _ in 0..if bits.bit()? { layers } else { 1 } {
        bits.unsigned()?;
        // That of the highest layer is the last.
        reorder = bits.unsigned().filter(|&reorder| reorder <= 16)?;
        bits.unsigned()?;
    }
    Some(Sequence {
        profile,
        width,
        height,
        chroma,
        depth,
        layers,
        nested,
        reorder,
    })
}
