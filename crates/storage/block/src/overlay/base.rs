//! The base of an overlay, and its identity.

use evener_files::SourceFile;

use crate::error::Error;
use crate::hash::Hash;
use crate::image::Image;

/// The context that the identity is derived with, so that no other hash is equal to it.
const CONTEXT: &str = "evener 2026-11 image under an overlay, version 1";
/// The same of an overlay under an overlay.
const OVERLAY_CONTEXT: &str = "evener 2026-11 overlay under an overlay, version 1";
/// The name of the format of an overlay.
pub const OVERLAY: &str = "overlay";
/// Bytes at the beginning that are hashed: the partition table, and the beginning of the first partition.
const HEAD: u64 = 2 << 20;
/// Bytes at the end.
const TAIL: u64 = 64 << 10;
/// Samples in between, and bytes of each.
const SAMPLES: u64 = 256;
const SAMPLE: u64 = 4096;

/// The base of an overlay: an image, with other overlays on it if there are any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// Its identity.
    pub identity: Hash,
    /// The file of the image.
    pub source: SourceFile,
}

impl Base {
    /// Identifies an open image. An image with a root hash is identified by it, in any container. Otherwise the
    /// start, the end and 256 samples of the file are hashed, which detects mistakes but proves nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(image: &Image) -> Result<Base, Error> {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&image.size().to_le_bytes());
        match image.root() {
            Some(root) => {
                hasher.update(b"root").update(&root.0);
            }
            None => samples(image, &mut hasher)?,
        }
        for under in image.layers() {
            samples(under, &mut hasher)?;
        }
        Ok(Base {
            name: image.file().name().to_owned(),
            format: image.format().name,
            size: image.size(),
            identity: Hash(*hasher.finalize().as_bytes()),
            source: image.source_file(),
        })
    }
}

impl Base {
    /// This with the overlay `name` on it, whose content has a version.
    pub(super) fn over(&self, name: &str, version: &[u8; 16]) -> Base {
        let mut hasher = blake3::Hasher::new_derive_key(OVERLAY_CONTEXT);
        hasher.update(&self.identity.0).update(version);
        Base {
            name: name.to_owned(),
            format: OVERLAY,
            size: self.size,
            identity: Hash(*hasher.finalize().as_bytes()),
            source: self.source,
        }
    }
}

fn samples(image: &Image, hasher: &mut blake3::Hasher) -> Result<(), Error> {
    let (file, format) = (image.file(), image.format().name);
    let size = file.size();
    hasher.update(b"file").update(&size.to_le_bytes());
    hasher
        .update(&[format.len() as u8])
        .update(format.as_bytes());
    hasher.update(&file.bytes(0, HEAD)?);
    let (from, to) = (HEAD, size.saturating_sub(TAIL));
    if from < to {
        let step = ((to - from) / SAMPLES).max(SAMPLE);
        for at in (from..to).step_by(step as usize).take(SAMPLES as usize) {
            hasher.update(&file.bytes(at, SAMPLE)?);
        }
    }
    hasher.update(&file.bytes(to.max(HEAD), TAIL)?);
    Ok(())
}
