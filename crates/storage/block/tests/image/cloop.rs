//! CLOOP V4.0, which no packaged program writes: images put together after its header file.

use std::fs;

use evener_block::Image;
use evener_block::codec::{Codec, LZO};

use crate::common::{Folder, fixture, read_all, same, sample, verified};

const BLOCK: usize = 8192;

fn encoded(codec: &'static Codec, plain: &[u8]) -> Vec<u8> {
    let mut room = vec![0; plain.len() * 2 + 1024];
    let len = codec.encoder.unwrap()(0).encode(plain, &mut room).unwrap();
    room.truncate(len);
    room
}

/// Blocks with their flags, header first or last.
fn image(blocks: &[(u64, Vec<u8>)], header_first: bool) -> Vec<u8> {
    let mut header = b"#!/bin/sh\n#V4.0 Format\n".to_vec();
    header.resize(128, 0);
    header.extend((BLOCK as u32).to_be_bytes());
    header.extend((blocks.len() as u32).to_be_bytes());
    let mut offset = match header_first {
        true => header.len() + (blocks.len() + 1) * 8,
        false => 0,
    } as u64;
    let mut index = Vec::new();
    for (flags, block) in blocks {
        index.extend((flags << 60 | offset).to_be_bytes());
        offset += block.len() as u64;
    }
    index.extend(offset.to_be_bytes());
    let data: Vec<u8> = blocks.iter().flat_map(|(_, block)| block.clone()).collect();
    match header_first {
        true => [header, index, data].concat(),
        false => [data, index, header].concat(),
    }
}

#[test]
fn blocks_of_any_codec_with_the_header_at_either_end() {
    let folder = Folder::in_memory();
    let mut plain = sample();
    plain.truncate(5 * BLOCK);
    // A block of zlib as create_compressed_fs wrote it: the first of these bytes.
    let v2 = fs::read(fixture("v2.cloop")).unwrap();
    let blocks = [
        (0, v2[192..3460].to_vec()),
        (1, plain[BLOCK..2 * BLOCK].to_vec()),
        (3, lz4_flex::block::compress(&plain[2 * BLOCK..3 * BLOCK])),
        (4, encoded(&LZO, &plain[3 * BLOCK..4 * BLOCK])),
        (3, lz4_flex::block::compress(&plain[4 * BLOCK..])),
    ];
    for header_first in [true, false] {
        let path = folder.file("v4.cloop", image(&blocks, header_first));
        let image = Image::open(&path).unwrap();
        assert_eq!(image.format().name, "cloop");
        same(&read_all(&image).unwrap(), &plain, "v4");
        assert!(verified(&path).unwrap().good);
    }
    let mut odd = blocks.clone();
    odd[1].0 = 5;
    let error = Image::open(&folder.file("v4.cloop", image(&odd, true))).unwrap_err();
    assert!(error.to_string().contains("codec 5"), "{error}");
}

#[test]
fn offsets_that_run_backwards_are_refused() {
    let folder = Folder::in_memory();
    let blocks = vec![(1, vec![1; BLOCK]), (1, vec![2; BLOCK])];
    let mut bytes = image(&blocks, true);
    bytes.copy_within(136..144, 144);
    let error = Image::open(&folder.file("v4.cloop", &bytes)).unwrap_err();
    assert!(error.to_string().contains("damaged cloop image"), "{error}");
}
