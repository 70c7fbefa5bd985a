//! Any bytes as a disk image, and real images of every format changed here and there, with the checksums of headers
//! repaired so that what they say is looked at: no panic, no memory beyond the limits, blocks one after the other. What
//! passes for a block of a container of ours by its hash is a block that was packed.

#![no_main]
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use evener_block::codec::Codec;
use evener_block::session::{Options, PackOptions, pack};
use evener_block::{Check, Decoder, Image, ImageFile, MAX_BLOCK, Place};
use evener_files::InputFile;
use evener_runtime::Runtime;
use libdeflater::crc32;
use libfuzzer_sys::fuzz_target;

/// Bytes of the last record of our containers, and where it has the sum of itself.
const TAIL: usize = 80;
const TAIL_SUM: usize = 76;
/// Bytes of a block in the containers of ours.
const BLOCK: u32 = 4096;
/// Blocks that are decoded of one input at most.
const BLOCKS: usize = 64;

struct Fixed {
    /// Real images, in containers of ours first.
    seeds: Vec<Vec<u8>>,
    /// How many of them are ours.
    ours: usize,
    /// What is in those.
    plain: Vec<u8>,
    /// A file without a name, so that nothing is left behind.
    file: File,
}

fn fixed() -> &'static Fixed {
    static FIXED: OnceLock<Fixed> = OnceLock::new();
    FIXED.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let path = |name: &str| folder.join(format!("evener-fuzz-{name}-{}", std::process::id()));
        let (input, output) = (path("in"), path("out"));
        let mut plain: Vec<u8> = (0..40_000u32).map(|i| (i / 64 % 251) as u8).collect();
        plain[8192..24_576].fill(0);
        fs::write(&input, &plain).expect("a file");
        let runtime = Runtime::builder()
            .workers(1)
            .memory(false)
            .build()
            .expect("threads");
        let mut seeds = Vec::new();
        for codec in Codec::encoders() {
            let options = PackOptions {
                codec,
                block: BLOCK,
                ..PackOptions::default()
            };
            let session = pack(input.as_os_str(), output.as_os_str(), &options).expect("an image");
            session.run(&runtime, Options::default()).expect("room");
            seeds.push(fs::read(&output).expect("a file"));
        }
        let ours = seeds.len();
        seeds.extend([
            include_bytes!("../../crates/storage/block/tests/fixtures/zlib.qcow2").to_vec(),
            include_bytes!("../../crates/storage/block/tests/fixtures/zstd.qcow2").to_vec(),
            include_bytes!("../../crates/storage/block/tests/fixtures/blocks.xz").to_vec(),
            include_bytes!("../../crates/storage/block/tests/fixtures/streams.xz").to_vec(),
            include_bytes!("../../crates/storage/block/tests/fixtures/v2.cloop").to_vec(),
            include_bytes!("../../crates/storage/block/tests/fixtures/frames.zst").to_vec(),
            include_bytes!("../../crates/storage/block/tests/fixtures/version1.zst").to_vec(),
        ]);
        let file = File::options()
            .read(true)
            .write(true)
            .open(&output)
            .expect("a file");
        fs::remove_file(input).expect("a file");
        fs::remove_file(output).expect("a file");
        Fixed {
            seeds,
            ours,
            plain,
            file,
        }
    })
}

/// Puts sums where changed bytes of an `evb` have them, so that they say what somebody wanted them to say.
fn repair(bytes: &mut [u8]) {
    let Some(at) = bytes.len().checked_sub(TAIL) else {
        return;
    };
    let number = |bytes: &[u8], at: usize| {
        bytes[at..at + 4]
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | byte as usize)
    };
    let (entries, leaves) = (number(bytes, at + 12), number(bytes, at + 16));
    let index = at.checked_sub(
        leaves
            .saturating_mul(32)
            .saturating_add(entries.saturating_mul(8)),
    );
    if let Some(index) = index {
        let sum = crc32(&bytes[index..index + entries * 8]);
        bytes[at + 20..at + 24].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = crc32(&bytes[at..at + TAIL_SUM]);
    bytes[at + TAIL_SUM..].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32(&bytes[..12]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
}

/// A real image with some bytes changed, and whether it was in a container of ours; or the input as it is.
fn image(data: &[u8]) -> (Vec<u8>, bool) {
    let Some((&kind, edits)) = data.split_first() else {
        return (Vec::new(), false);
    };
    let number = usize::from(kind & 0x1f);
    let Some(seed) = fixed().seeds.get(number) else {
        return (edits.to_vec(), false);
    };
    let mut bytes = seed.clone();
    let (edits, _) = edits.as_chunks::<3>();
    for &[low, high, value] in edits {
        // Most of what matters lies at one of the ends.
        let at = usize::from(low) | usize::from(high & 0x7f) << 8;
        let at = at % bytes.len();
        let at = if high & 0x80 == 0 {
            at
        } else {
            bytes.len() - 1 - at
        };
        bytes[at] = value;
    }
    if kind & 0x20 != 0 {
        repair(&mut bytes);
    }
    if kind & 0x40 != 0 {
        bytes.truncate(bytes.len() - bytes.len().min(edits.len()));
    }
    (bytes, number < fixed().ours)
}

// What an input names as its backing file is a file of this machine, so it is not opened.
fuzz_target!(|data: &[u8]| {
    let (bytes, ours) = image(data);
    let file = &fixed().file;
    file.set_len(0).expect("a file");
    file.write_all_at(&bytes, 0).expect("room");
    let file = file.try_clone().expect("a descriptor");
    let input = InputFile::from_file(file, "fuzz").expect("a file");
    let image = match ImageFile::of(input).and_then(|file| Image::of(file.alone(), None)) {
        Ok(image) => image,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text}");
            return;
        }
    };
    let faults = image.faults().expect("a file");
    assert!(faults.len() < 50 && faults.iter().all(|fault| !fault.contains('\n')));
    let mut decoder = Decoder::new();
    for block in (0..BLOCKS).map_while(|number| image.empty(number)) {
        let _ = image.check_empty(&mut decoder, &block);
    }
    let mut plain = vec![0; MAX_BLOCK as usize];
    let mut at = 0;
    for _ in 0..BLOCKS {
        if at >= image.size() {
            break;
        }
        let Ok(block) = image.block(at) else {
            break;
        };
        assert!(
            block.start <= at && at - block.start < block.len,
            "{block:?} at {at}"
        );
        at = block.start + block.len;
        assert!(at <= image.size(), "{block:?} of {}", image.size());
        if let Place::Zero { .. } = block.place {
            continue;
        }
        let plain = &mut plain[..block.len as usize];
        let done = image.read_block(&mut decoder, &block, plain);
        let done = done.and_then(|()| image.check(&block, plain));
        if image.has_prefix(&block) {
            let mut prefix = vec![0; plain.len() / 2];
            let read = image.read_prefix(&mut decoder, &block, &mut prefix);
            assert!(
                done.is_err() || read.is_ok() && plain.starts_with(&prefix),
                "{block:?}: {read:?}"
            );
        }
        if ours && done.is_ok() && matches!(block.check, Check::Leaf(_)) {
            let mut packed = fixed().plain.chunks(BLOCK as usize);
            assert!(
                packed.any(|packed| packed == plain),
                "{block:?} was not packed"
            );
        }
    }
});
