//! Images to measure with where none is given.

use std::fs;
use std::path::PathBuf;

use evener_block::codec::{LZ4, ZSTD};
use evener_block::session::{Options, PackOptions, pack};
use evener_runtime::Runtime;

use crate::error::Error;

/// Bytes of a made image.
const BYTES: usize = 32 << 20;

/// Images, removed when this is dropped.
pub(super) struct Made {
    pub images: Vec<PathBuf>,
}

impl Drop for Made {
    fn drop(&mut self) {
        for image in &self.images {
            let _ = fs::remove_file(image);
        }
    }
}

/// One with zstd and one with lz4.
pub(super) fn images(runtime: &Runtime) -> Result<Made, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Picture(format!("a made image: {error}"));
    let name =
        |end: &str| std::env::temp_dir().join(format!("evener-bench-{}.{end}", std::process::id()));
    let raw = name("img");
    let mut made = Made {
        images: vec![raw.clone()],
    };
    fs::write(&raw, words()).map_err(|error| failed(&error))?;
    for codec in [&ZSTD, &LZ4] {
        let image = name(codec.name);
        made.images.push(image.clone());
        let options = PackOptions {
            codec,
            ..PackOptions::default()
        };
        let session = pack(raw.as_os_str(), image.as_os_str(), &options);
        let packed = session.and_then(|session| session.run(runtime, Options::default()));
        packed.map_err(|error| failed(&error))?;
    }
    let _ = fs::remove_file(made.images.remove(0));
    Ok(made)
}

/// Words of a small vocabulary, some more often than others, with numbers among them: about as hard as what disks hold.
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
