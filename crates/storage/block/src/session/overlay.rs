//! Describing an overlay.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::MetadataExt;

use evener_files::one_line;
use evener_runtime::quantity::Size;
use serde::Serialize;

use super::SessionError;
use crate::hash::Hash;
use crate::overlay::{OverlaySummary, is_overlay};

/// What is known of an overlay. `Display` prints some readable lines, `Serialize` is for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverlayInfo {
    /// The overlay.
    pub name: String,
    /// Always `overlay`.
    pub format: &'static str,
    /// The original name of the image below it.
    pub base: String,
    /// The format of that image.
    pub base_format: String,
    /// The identity of that image.
    pub base_identity: Hash,
    /// The size of the image in bytes.
    pub size: u64,
    /// The number of its bytes that are in the overlay, including zeros.
    pub bytes: u64,
    /// The space that the file takes, in bytes.
    pub file_bytes: u64,
}

/// Describes `input`, if it begins like an overlay.
pub(super) fn overlay_info(input: &OsStr) -> Result<Option<OverlayInfo>, SessionError> {
    let path = input.as_ref();
    // If the file cannot be read, opening it as an image says why.
    let Ok(found) = std::fs::metadata(path) else {
        return Ok(None);
    };
    let begins = || {
        let mut head = [0; 8];
        let file = std::fs::File::open(path)?;
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut head, 0)?;
        Ok::<_, std::io::Error>(is_overlay(&head))
    };
    if !found.is_file() || !begins().unwrap_or(false) {
        return Ok(None);
    }
    let summary = OverlaySummary::of(path)?;
    Ok(Some(OverlayInfo {
        name: one_line(&input.to_string_lossy()),
        format: "overlay",
        base: one_line(&summary.image),
        base_format: one_line(&summary.format),
        base_identity: summary.identity,
        size: summary.size,
        bytes: summary.bytes,
        file_bytes: found.blocks().saturating_mul(512),
    }))
}

impl fmt::Display for OverlayInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        writeln!(f, "  format    {}", self.format)?;
        writeln!(f, "  of        {}, {}", self.base, self.base_format)?;
        writeln!(f, "  size      {} ({} bytes)", Size(self.size), self.size)?;
        let (bytes, file) = (Size(self.bytes), Size(self.file_bytes));
        write!(f, "  written   {bytes}, the file takes {file}")
    }
}
