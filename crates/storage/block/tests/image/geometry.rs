//! What servers ask of an image: blocks, extents, reading from many threads.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;

use evener_block::{Decoder, Image, Place};

use crate::common::{Folder, packed, same, sample};

#[test]
fn extents_tell_zero_blocks_from_others() {
    let folder = Folder::in_memory();
    let plain = sample();
    for codec in ["zstd", "lz4", "none"] {
        let bytes = packed(&folder, &plain, codec, 4096, "auto");
        let image = Image::open(&folder.file("image", &bytes)).unwrap();
        let mut at = 0;
        let mut extents = Vec::new();
        while at < image.size() {
            let extent = image.extent(at, image.size()).unwrap();
            at = extent.bytes.end;
            extents.push((extent.bytes, extent.zero));
        }
        let wanted = [
            (0..16384, false),
            (16384..32768, true),
            (32768..41472, false),
        ];
        assert_eq!(extents, wanted, "{codec}");
        let part = image.extent(20_000, 25_000).unwrap();
        assert_eq!((part.bytes, part.zero), (20_000..25_000, true));
        assert!(image.extent(41_472, 41_473).is_err());
    }
}

#[test]
fn holes_of_raw_images_are_extents_where_the_system_tells() {
    let folder = Folder::in_memory();
    let path = folder.path("raw");
    let file = File::create(&path).unwrap();
    file.write_at(&[1; 4096], 0).unwrap();
    file.write_at(&[2; 4096], 8 << 20).unwrap();
    file.set_len((16 << 20) + 5).unwrap();
    let image = Image::open(&path).unwrap();
    let mut decoder = Decoder::new();
    let mut all = vec![9; image.size() as usize];
    image.read_at(&mut decoder, 0, &mut all).unwrap();
    let mut wanted = vec![0; all.len()];
    wanted[..4096].fill(1);
    wanted[8 << 20..][..4096].fill(2);
    same(&all, &wanted, "raw");
    let extent = image.extent(1 << 20, image.size()).unwrap();
    assert!(
        !extent.zero || extent.bytes == (1 << 20..8 << 20),
        "{extent:?}"
    );
}

#[test]
fn a_raw_image_that_ends_like_another_format_is_raw() {
    let folder = Folder::in_memory();
    for end in [&b"YZ"[..], b"\x89EVNTAIL", b"V4.0"] {
        let mut plain = sample();
        plain.extend(end);
        let image = Image::open(&folder.file("raw", &plain)).unwrap();
        assert_eq!(image.format().name, "raw");
    }
}

#[test]
fn threads_read_at_once() {
    let folder = Folder::in_memory();
    let plain = sample();
    let bytes = packed(&folder, &plain, "zstd", 4096, "auto");
    let image = Image::open(&folder.file("image", &bytes)).unwrap();
    thread::scope(|scope| {
        for number in 0..4u64 {
            let (image, plain) = (&image, &plain);
            scope.spawn(move || {
                let mut decoder = Decoder::new();
                let mut room = [0; 1000];
                for step in 0..200 {
                    let at = (number * 7919 + step * 1231) % (plain.len() as u64 - 1000);
                    image.read_at(&mut decoder, at, &mut room).unwrap();
                    assert!(room == plain[at as usize..][..1000]);
                }
            });
        }
    });
}

#[test]
fn packed_bytes_can_be_fetched_and_decoded_elsewhere() {
    let folder = Folder::in_memory();
    let plain = sample();
    let bytes = packed(&folder, &plain, "lz4", 4096, "auto");
    let image = Image::open(&folder.file("image", &bytes)).unwrap();
    let block = image.block(5000).unwrap();
    let Place::Packed {
        codec, plain: len, ..
    } = block.place
    else {
        panic!("{block:?}");
    };
    let mut fetched = Vec::new();
    image.fetch(&block, &mut fetched).unwrap();
    let mut out = vec![0; len as usize];
    Decoder::new().decode(codec, &fetched, &mut out).unwrap();
    same(&out, &plain[4096..8192], "block");
}
