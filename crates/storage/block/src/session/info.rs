//! Describing an image.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;

use evener_runtime::quantity::Size;
use serde::Serialize;

use super::overlay::{OverlayInfo, overlay_info};
use super::{OpenOptions, SessionError, open};
use crate::block::Place;
use crate::hash::Hash;
use crate::pack::Packed;

/// What is known of an image without decoding it. `Display` prints some readable lines, `Serialize` is for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// The image.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// The size of the image in bytes.
    pub size: u64,
    /// The size of the file in bytes.
    pub packed_size: u64,
    /// `size` divided by `packed_size`.
    pub ratio: f64,
    /// The length of its largest block that must be decoded.
    pub block_size: u32,
    /// The blocks by codec, including uncompressed ones.
    pub codecs: BTreeMap<&'static str, CodecUse>,
    /// The number of zero bytes that take no space.
    pub zero_bytes: u64,
    /// The approximate number of blocks with these bytes.
    pub zero_blocks: u64,
    /// The root hash stored in the image.
    pub root: Option<Hash>,
}

/// The blocks of a codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodecUse {
    /// The number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Their packed size in bytes.
    pub packed: u64,
}

/// The contents of a file. `Display` prints some readable lines, `Serialize` is for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Described {
    /// An image.
    Image(Info),
    /// An overlay.
    Overlay(OverlayInfo),
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Described::Image(info) => info.fmt(f),
            Described::Overlay(info) => info.fmt(f),
        }
    }
}

/// Describes `input`: an image, or an overlay if no format is given.
///
/// # Errors
/// The input cannot be read, is damaged, or is not supported.
pub fn describe(input: &OsStr, options: OpenOptions) -> Result<Described, SessionError> {
    let overlay = match options.format {
        None => overlay_info(input)?,
        Some(_) => None,
    };
    match overlay {
        Some(info) => Ok(Described::Overlay(info)),
        None => info(input, options).map(Described::Image),
    }
}

/// Describes the image `input`.
///
/// # Errors
/// The input cannot be read, is damaged, or is not supported.
pub fn info(input: &OsStr, options: OpenOptions) -> Result<Info, SessionError> {
    let image = open(input, &options)?;
    let mut codecs = BTreeMap::<_, CodecUse>::new();
    let (mut at, mut zero_bytes) = (0, 0);
    while at < image.size() {
        let block = image.block(at)?;
        // A zero block may begin before `at`.
        let len = block.start + block.len - at;
        let (codec, packed) = match block.place {
            Place::Zero { .. } => {
                zero_bytes += len;
                at += len;
                continue;
            }
            Place::Backing => ("backing", 0),
            Place::Stored { .. } => ("none", len),
            Place::Packed { codec, packed, .. } => (codec.name, packed.into()),
        };
        let used = codecs.entry(codec).or_default();
        used.blocks += 1;
        used.bytes += len;
        used.packed += packed;
        at += len;
    }
    let (size, packed_size) = (image.size(), image.file().size());
    Ok(Info {
        name: image.file().name().to_owned(),
        format: image.format().name,
        size,
        packed_size,
        ratio: size as f64 / packed_size.max(1) as f64,
        block_size: image.block_size(),
        codecs,
        zero_bytes,
        zero_blocks: zero_bytes.div_ceil(image.block_size().into()),
        root: image.root(),
    })
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        writeln!(f, "  format    {}", self.format)?;
        writeln!(f, "  size      {} ({} bytes)", Size(self.size), self.size)?;
        let packed = Size(self.packed_size);
        writeln!(f, "  file      {packed}{}", smaller(self.ratio))?;
        writeln!(f, "  block     {}", Size(self.block_size.into()))?;
        for (codec, used) in &self.codecs {
            let (bytes, packed) = (Size(used.bytes), Size(used.packed));
            writeln!(
                f,
                "  {codec:<9} {} blocks, {bytes} in {packed}",
                used.blocks
            )?;
        }
        write!(
            f,
            "  zero      {} blocks, {}",
            self.zero_blocks,
            Size(self.zero_bytes)
        )?;
        if let Some(root) = self.root {
            write!(f, "\n  root      {root}")?;
        }
        Ok(())
    }
}

/// `, 3.12 times smaller`; nothing of what is not.
fn smaller(ratio: f64) -> String {
    match ratio {
        1.01.. => format!(", {ratio:.2} times smaller"),
        _ => String::new(),
    }
}

impl fmt::Display for Packed {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, packed) = (Size(self.size), Size(self.packed_size));
        let ratio = self.size as f64 / self.packed_size.max(1) as f64;
        write!(f, "{size} in {packed}{}, ", smaller(ratio))?;
        write!(f, "{} of {} blocks zero", self.zero_blocks, self.blocks)?;
        if let Some(root) = self.root {
            write!(f, ", root {root}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_large_is_not_called_smaller() {
        for (ratio, says) in [
            (0.5, ""),
            (1.0, ""),
            (1.004, ""),
            (1.01, ", 1.01 times smaller"),
            (3.118, ", 3.12 times smaller"),
        ] {
            assert_eq!(smaller(ratio), says);
        }
    }
}
