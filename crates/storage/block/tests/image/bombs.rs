//! Files that say less than they hold, or more: refused without taking the memory.

use std::fs::{self, File};
use std::io::Write;

use evener_block::codec::{Codec, ZSTD};
use evener_block::format::evb;
use evener_block::{Decoder, Error, Fault, Image};

use crate::common::{Folder, fixture, read_all};

fn encoded(codec: &'static Codec, plain: &[u8]) -> Vec<u8> {
    let mut room = vec![0; plain.len() + plain.len() / 8 + 1024];
    let level = codec.levels.map_or(0, |levels| levels.default);
    let len = codec.encoder.unwrap()(level)
        .encode(plain, &mut room)
        .unwrap();
    room.truncate(len);
    room
}

/// A file in zstd's seekable format with one frame, said to hold `plain` bytes.
pub fn seekable(frames: &[(&[u8], u32, Option<u32>)]) -> Vec<u8> {
    let mut bytes: Vec<u8> = frames
        .iter()
        .flat_map(|(frame, ..)| frame.to_vec())
        .collect();
    let mut table = Vec::new();
    for (frame, plain, sum) in frames {
        table.extend((frame.len() as u32).to_le_bytes());
        table.extend(plain.to_le_bytes());
        table.extend(sum.map(u32::to_le_bytes).iter().flatten());
    }
    table.extend((frames.len() as u32).to_le_bytes());
    table.push(u8::from(frames[0].2.is_some()) << 7);
    table.extend(0x8F92_EAB1u32.to_le_bytes());
    bytes.extend(0x184D_2A5Eu32.to_le_bytes());
    bytes.extend((table.len() as u32).to_le_bytes());
    bytes.extend(table);
    bytes
}

#[test]
fn a_frame_that_holds_more_than_the_table_says() {
    let folder = Folder::in_memory();
    let frame = encoded(&ZSTD, &vec![0; 64 << 20]);
    let path = folder.file("bomb", seekable(&[(&frame[..], 65536, None)]));
    let image = Image::open(&path).unwrap();
    let error = read_all(&image).unwrap_err().to_string();
    assert!(error.contains("holds more than the block has"), "{error}");
}

#[test]
fn frames_larger_than_any_block_are_refused_when_opened() {
    let folder = Folder::in_memory();
    let frame = encoded(&ZSTD, &vec![0; 5 << 20]);
    let path = folder.file("large", seekable(&[(&frame[..], 5 << 20, None)]));
    let error = Image::open(&path).unwrap_err().to_string();
    assert!(error.contains("up to 4 MiB are read"), "{error}");
}

#[test]
fn every_codec_keeps_to_the_room_there_is() {
    let plain: Vec<u8> = (0..100_000u32).map(|i| (i >> 8) as u8).collect();
    for codec in Codec::encoders() {
        let packed = encoded(codec, &plain);
        let mut decoder = Decoder::new();
        for room in [
            0,
            1,
            1000,
            plain.len() - 1,
            plain.len() + 1,
            2 * plain.len(),
        ] {
            let mut out = vec![0; room];
            let error = decoder.decode(codec, &packed, &mut out).unwrap_err();
            assert!(matches!(error, Fault::Codec { .. }));
        }
        let mut out = vec![0; plain.len()];
        decoder.decode(codec, &packed, &mut out).unwrap();
        assert!(out == plain);
    }
}

/// Writes a file that is large and has few bytes.
fn sparse(folder: &Folder, head: &[u8], len: u64, tail: &[u8]) -> std::path::PathBuf {
    let path = folder.file("sparse", head);
    let mut file = File::options().append(true).open(&path).unwrap();
    file.set_len(len).unwrap();
    file.write_all(tail).unwrap();
    path
}

#[test]
fn numbers_that_are_too_large_are_refused_at_once() {
    let folder = Folder::in_memory();
    // A seek table of four thousand million frames.
    let mut tail = u32::MAX.to_le_bytes().to_vec();
    tail.push(0);
    tail.extend(0x8F92_EAB1u32.to_le_bytes());
    let path = sparse(&folder, &0xFD2F_B528u32.to_le_bytes(), 1 << 42, &tail);
    assert!(Image::open(&path).is_err());
    // A cloop of as many blocks.
    let mut head = fs::read(fixture("v2.cloop")).unwrap();
    head[132..136].fill(0xff);
    let path = sparse(&folder, &head, 1 << 42, b"");
    assert!(Image::open(&path).is_err());
    // A qcow2 image of 8 EiB.
    let mut head = fs::read(fixture("zlib.qcow2")).unwrap();
    head[24] = 0x7f;
    let path = sparse(&folder, &head, 1 << 42, b"");
    assert!(Image::open(&path).is_err());
    // An evb without an end.
    let path = sparse(&folder, &evb::header(65536), 1 << 42, b"");
    assert!(matches!(Image::open(&path), Err(Error::Cut { .. })));
    // An xz with nothing behind it.
    let path = sparse(&folder, b"\xfd7zXZ\0", 1 << 42, b"");
    assert!(Image::open(&path).is_err());
}

#[test]
fn tables_of_qcow2_that_are_all_one_are_refused() {
    let folder = Folder::in_memory();
    let mut bytes = fs::read(fixture("zlib.qcow2")).unwrap();
    let l1 = u64::from_be_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let first: [u8; 8] = bytes[l1..l1 + 8].try_into().unwrap();
    // 4 MiB in clusters of 4096 bytes take two tables.
    bytes[24..32].copy_from_slice(&(4u64 << 20).to_be_bytes());
    bytes[36..40].copy_from_slice(&2u32.to_be_bytes());
    bytes[l1 + 8..l1 + 16].copy_from_slice(&first);
    let error = Image::open(&folder.file("q", &bytes))
        .unwrap_err()
        .to_string();
    assert!(error.contains("overlap"), "{error}");
}
