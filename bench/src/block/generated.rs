//! Images to measure with where none is given.

use std::fs;
use std::path::PathBuf;

use evener_block::codec::{LZ4, ZSTD};
use evener_block::session::{Options, PackOptions, pack};
use evener_runtime::Runtime;
use tempfile::TempDir;

use crate::error::Error;

/// Bytes of a generated image.
const BYTES: usize = 32 << 20;

/// Images, removed when this is dropped.
pub(super) struct GeneratedImages {
    pub images: Vec<PathBuf>,
    _folder: TempDir,
}

/// One with zstd and one with lz4.
pub(super) fn images(runtime: &Runtime) -> Result<GeneratedImages, Error> {
    let failed =
        |error: &dyn std::fmt::Display| Error::Picture(format!("a generated image: {error}"));
    let folder = TempDir::with_prefix("evener-bench-").map_err(|error| failed(&error))?;
    let raw = folder.path().join("img");
    fs::write(&raw, words()).map_err(|error| failed(&error))?;
    let mut images = Vec::new();
    for codec in [&ZSTD, &LZ4] {
        let image = folder.path().join(codec.name);
        let options = PackOptions {
            codec,
            ..PackOptions::default()
        };
        let session = pack(raw.as_os_str(), image.as_os_str(), &options);
        let packed = session.and_then(|session| session.run(runtime, Options::default()));
        packed.map_err(|error| failed(&error))?;
        images.push(image);
    }
    let _ = fs::remove_file(raw);
    Ok(GeneratedImages {
        images,
        _folder: folder,
    })
}

/// Words of a small vocabulary with skewed frequencies, and numbers between them. They compress about as well as data on
/// disks does.
fn words() -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let vocabulary: Vec<Vec<u8>> = (0..4096)
        .map(|_| {
            let len = 2 + next() % 9;
            (0..len).map(|_| b'a' + (next() % 26) as u8).collect()
        })
        .collect();
    let mut bytes = Vec::with_capacity(BYTES + 16);
    while bytes.len() < BYTES {
        let (a, b) = (next() % 4096, next() % 4096);
        match next() % 8 {
            0 => bytes.extend((a * b).to_le_bytes()),
            _ => bytes.extend(&vocabulary[(a * b / 4096) as usize]),
        }
        bytes.push(b' ');
    }
    bytes.truncate(BYTES);
    bytes
}
