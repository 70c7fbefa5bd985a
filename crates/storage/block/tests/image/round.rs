//! Packed and read again: any image, codec, size of block and plan.

use evener_block::codec::Codec;
use evener_block::{Decoder, Image};
use proptest::prelude::*;

use crate::common::{Folder, packed, read_all, same, unpacked, verified};

/// Runs of zeros, of text and of noise.
fn image() -> impl Strategy<Value = Vec<u8>> {
    let run = (0..4u8, 1..80_000usize, any::<u64>());
    proptest::collection::vec(run, 0..12).prop_map(|runs| {
        let mut bytes = Vec::new();
        for (kind, len, seed) in runs {
            let mut state = seed | 1;
            bytes.extend((0..len).map(|i| match kind {
                0 | 1 => 0,
                2 => (i / 7 % 50) as u8 ^ seed as u8,
                _ => {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 32) as u8
                }
            }));
        }
        bytes
    })
}

const PLANS: [&str; 5] = [
    "auto",
    "sequential/fifo/1",
    "sequential/steal/3",
    "sequential/mailbox/2",
    "farm",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_image_comes_back(
        plain in image(),
        log2 in 12..=20u32,
        codec in 0..Codec::encoders().count(),
        how in 0..PLANS.len(),
        reads in proptest::collection::vec((any::<u64>(), 0..200_000usize), 8),
    ) {
        let codec = Codec::encoders().nth(codec).unwrap().name;
        let folder = Folder::in_memory();
        let block = 1 << log2;
        let bytes = packed(&folder, &plain, codec, block, PLANS[how]);
        let other = packed(&folder, &plain, codec, block, PLANS[(how + 1) % PLANS.len()]);
        prop_assert!(bytes == other, "the file depends on the plan");

        let path = folder.file("image", &bytes);
        let image = Image::open(&path).unwrap();
        prop_assert_eq!(image.size(), plain.len() as u64);
        prop_assert_eq!(image.block_size(), block);
        same(&read_all(&image).unwrap(), &plain, codec);
        same(&unpacked(&folder, &path, PLANS[how]).unwrap(), &plain, codec);
        let found = verified(&path).unwrap();
        prop_assert!(found.good && found.root_good == Some(true), "{}", found);

        let mut decoder = Decoder::new();
        for (at, len) in reads {
            let at = at % (plain.len() as u64 + 1);
            let len = len.min(plain.len() - at as usize);
            let mut got = vec![1; len];
            image.read_at(&mut decoder, at, &mut got).unwrap();
            same(&got, &plain[at as usize..][..len], codec);
        }
        prop_assert!(image.read_at(&mut decoder, image.size(), &mut [0]).is_err());
    }
}

#[test]
fn the_root_is_that_of_the_image_and_not_of_the_codec() {
    let folder = Folder::in_memory();
    let plain = crate::common::sample();
    let root = |codec: &str, block| {
        let bytes = packed(&folder, &plain, codec, block, "auto");
        Image::open(&folder.file("image", &bytes))
            .unwrap()
            .root()
            .unwrap()
    };
    let zstd = root("zstd", 4096);
    for codec in Codec::encoders() {
        assert_eq!(root(codec.name, 4096), zstd, "{}", codec.name);
    }
    assert_ne!(root("zstd", 8192), zstd);
}

#[test]
fn images_without_a_byte_are_images() {
    let folder = Folder::in_memory();
    for codec in Codec::encoders() {
        let bytes = packed(&folder, b"", codec.name, 4096, "auto");
        let path = folder.file("image", &bytes);
        assert_eq!(Image::open(&path).unwrap().size(), 0);
        assert!(verified(&path).unwrap().good);
        same(&unpacked(&folder, &path, "auto").unwrap(), b"", codec.name);
    }
}
