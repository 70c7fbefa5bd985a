//! Every byte changed, every length cut to: an error, never a panic, and never other bytes than were packed.

use std::fs;

use evener_block::codec::Codec;
use evener_block::{Decoder, Error, Image, Place};

use crate::common::{Folder, fixture, packed, read_all, sample};

/// Opens and reads.
fn read(folder: &Folder, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let path = folder.file("changed", bytes);
    let image = Image::open(&path)?;
    image.faults()?;
    if image.size() > 1 << 24 {
        // A header that says more than there is must have been found out by now, but for formats where anything may be
        // a hole.
        assert_eq!(image.format().name, "qcow2");
        return Ok(Vec::new());
    }
    read_all(&image)
}

fn one_line(error: &Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text}");
}

#[test]
fn any_changed_byte_of_our_containers_shows() {
    let folder = Folder::in_memory();
    let plain = &sample()[10_000..40_000];
    for codec in Codec::encoders() {
        let bytes = packed(&folder, plain, codec.name, 4096, "auto");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            match read(&folder, &changed) {
                Err(error) => one_line(&error),
                // A bit that means nothing to a codec, or the frame of a zero block, which is never read.
                Ok(got) => assert!(got == plain, "{}, byte {at}", codec.name),
            }
        }
    }
}

#[test]
fn header_and_index_of_our_containers_are_checked_when_opened() {
    let folder = Folder::in_memory();
    for codec in Codec::encoders() {
        let bytes = packed(&folder, &sample(), codec.name, 4096, "auto");
        let image = Image::open(&folder.file("whole", &bytes)).unwrap();
        let mut leaves = 0;
        let mut blocks_end = 0;
        let mut at = 0;
        while at < image.size() {
            let block = image.block(at).unwrap();
            at = block.start + block.len;
            let (offset, len) = match block.place {
                Place::Packed { offset, packed, .. } => (offset, packed.into()),
                Place::Stored { offset } => (offset, block.len),
                Place::Zero { .. } | Place::Backing => continue,
            };
            leaves += 1;
            blocks_end = offset + len;
        }
        assert_eq!(leaves, 7);
        let opened = |bytes: &[u8]| Image::open(&folder.file("changed", bytes)).is_ok();
        let mut survived = 0;
        for at in (0..4).chain(blocks_end as usize..bytes.len()) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            survived += usize::from(opened(&changed));
        }
        // Hashes are compared with their blocks, not before.
        assert_eq!(survived, leaves * 32, "{}", codec.name);
    }
}

#[test]
fn a_prefix_is_refused_wherever_its_block_is_damaged() {
    let (folder, plain) = (Folder::in_memory(), sample());
    for codec in ["zstd", "lz4"] {
        let mut bytes = packed(&folder, &plain, codec, 16384, "auto");
        let image = Image::open(&folder.path("packed")).unwrap();
        let block = image.block(0).unwrap();
        let Place::Packed { offset, packed, .. } = block.place else {
            panic!("{block:?}");
        };
        assert!(image.has_prefix(&block));
        let read = |bytes: &[u8]| {
            let image = Image::open(&folder.file("changed", bytes))?;
            let mut prefix = [0; 100];
            image.read_prefix(&mut Decoder::new(), &block, &mut prefix)?;
            Ok::<_, Error>(prefix)
        };
        assert_eq!(read(&bytes).unwrap(), plain[..100]);
        let place = offset as usize..offset as usize + packed as usize;
        for at in place.clone().take(4).chain(place.step_by(7)) {
            bytes[at] ^= 1 << (at % 8);
            one_line(&read(&bytes).expect_err("other bytes than were packed"));
            bytes[at] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn any_changed_byte_of_other_formats_is_an_error_or_does_no_harm() {
    let folder = Folder::in_memory();
    for name in [
        "zlib.qcow2",
        "zstd.qcow2",
        "blocks.xz",
        "v2.cloop",
        "frames.zst",
    ] {
        let bytes = fs::read(fixture(name)).unwrap();
        for at in 0..bytes.len() {
            // Headers byte by byte; of the rest, which is blocks and in a qcow2 image padding, some.
            if at > 512 && at % if bytes[at] == 0 { 31 } else { 5 } != 0 {
                continue;
            }
            for change in [1 << (at % 8), 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                if let Err(error) = read(&folder, &changed) {
                    one_line(&error);
                }
            }
        }
    }
}

#[test]
fn any_length_cut_to_is_an_error() {
    let folder = Folder::in_memory();
    let plain = &sample()[12_000..36_000];
    for codec in Codec::encoders() {
        let bytes = packed(&folder, plain, codec.name, 4096, "auto");
        // Less than the magic is no image of ours.
        for len in 8..bytes.len() {
            one_line(&read(&folder, &bytes[..len]).expect_err("half an image"));
        }
    }
    for name in ["zlib.qcow2", "blocks.xz", "v2.cloop", "frames.zst"] {
        let bytes = fs::read(fixture(name)).unwrap();
        for len in (12..bytes.len()).step_by(7) {
            match read(&folder, &bytes[..len]) {
                Err(error) => one_line(&error),
                // The last cluster of a qcow2 image need not be whole.
                Ok(_) => assert!(
                    name == "zlib.qcow2" && len + 8192 > bytes.len(),
                    "{name} {len}"
                ),
            }
        }
    }
}
