//! What is damaged, what is cut short, and what may be well and is not read, each called by its name.

use std::fs;
use std::sync::Arc;

use evener_block::check::Kind;
use evener_block::codec::ZSTD;
use evener_block::format::{Format, Layout, Opened, RAW};
use evener_block::session::{Options, verify};
use evener_block::{Block, Error, Image, ImageFile};
use libdeflater::crc32;

use crate::bombs::seekable;
use crate::common::{Folder, fixture, has, known, packed, runtime, sample, verified};

fn frame(plain: &[u8]) -> Vec<u8> {
    let mut room = vec![0; plain.len() + 1000];
    let len = ZSTD.encoder.unwrap()(1).encode(plain, &mut room).unwrap();
    room.truncate(len);
    room
}

fn refused(folder: &Folder, bytes: &[u8]) -> Error {
    Image::open(&folder.file("image", bytes)).unwrap_err()
}

#[test]
fn limits_and_features_are_unsupported_and_named() {
    let folder = Folder::in_memory();
    let large = frame(&vec![0; 8 << 20]);
    let small = frame(&[1; 100]);
    let mut later = seekable(&[(&small[..], 100, None)]);
    let descriptor = later.len() - 5;
    later[descriptor] |= 4;
    let qcow2 = |at: usize, bytes: &[u8]| {
        let mut image = fs::read(fixture("zlib.qcow2")).unwrap();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        image
    };
    let mut newer = packed(&folder, &sample(), "none", 4096, "auto");
    let tail = newer.len() - 80;
    let number = |at: usize| u32::from_le_bytes(*newer[tail + at..].first_chunk().unwrap());
    let (entries, leaves) = (number(12) as usize, number(16) as usize);
    let hashes = tail - 32 * leaves;
    newer[hashes - 8 * entries + 4] = 99;
    let sum = crc32(&newer[hashes - 8 * entries..hashes]).to_le_bytes();
    newer[tail + 20..tail + 24].copy_from_slice(&sum);
    let sum = crc32(&newer[tail..tail + 76]).to_le_bytes();
    newer[tail + 76..].copy_from_slice(&sum);
    for (bytes, said) in [
        (
            seekable(&[(&large[..], 8 << 20, None)]),
            &["8388608 bytes", "up to 4 MiB are read"][..],
        ),
        (later, &["seek table of a later kind"]),
        (newer, &["codec 99", "newer evener"]),
        (qcow2(8, &[0, 0, 0, 0, 0, 0, 2, 0]), &["backing file"]),
        (qcow2(32, &[0, 0, 0, 2]), &["encrypted"]),
        (qcow2(78, &[1]), &["0x100", "qemu-img convert"]),
        (qcow2(4, &[0, 0, 0, 9]), &["version 9"]),
    ] {
        let error = refused(&folder, &bytes);
        let text = error.to_string();
        assert!(matches!(error, Error::Unsupported { .. }), "{text}");
        for part in said {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
    }
}

#[test]
fn what_a_codec_does_not_read_is_no_damage() {
    let folder = Folder::in_memory();
    // A frame of three bytes as they are, made with dictionary 7.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 3, 0x19, 0, 0, 1, 2, 3];
    let dictionary = seekable(&[(&frame[..], 3, None)]);
    let path = folder.file("image", &dictionary);
    let found = verified(&path).unwrap();
    assert_eq!((found.good, found.bad_count), (false, 1));
    assert_eq!(found.bad[0].kind, Kind::Unsupported);
    let said = "needs a dictionary of its own";
    assert!(found.bad[0].what.contains(said), "{found}");
    assert!(!found.to_string().contains("get the file"), "{found}");
    let error = crate::common::unpacked(&folder, &path, "auto").unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(said) && !text.contains("get the file"),
        "{text}"
    );
    // A dictionary of 128 MiB, as the header of the first block says, and its checksum.
    let mut xz = fs::read(fixture("blocks.xz")).unwrap();
    assert_eq!(xz[12..17], [2, 0, 0x21, 1, 12]);
    xz[16] = 30;
    let sum = crc32(&xz[12..20]).to_le_bytes();
    xz[20..24].copy_from_slice(&sum);
    let error = refused(&folder, &xz);
    let text = error.to_string();
    assert!(matches!(error, Error::Unsupported { .. }), "{text}");
    assert!(
        text.contains("needs a dictionary of more than the 64 MiB"),
        "{text}"
    );
}

#[test]
fn what_was_cut_is_called_that() {
    let folder = Folder::in_memory();
    let whole = fs::read(fixture("zlib.qcow2")).unwrap();
    for len in [20, 100, 0x3000, 0x3800] {
        let error = refused(&folder, &whole[..len]);
        let text = error.to_string();
        assert!(matches!(error, Error::Cut { .. }), "{len}: {text}");
        assert!(
            text.contains("cut short") && text.contains("again"),
            "{text}"
        );
    }
    let evb = packed(&folder, &sample(), "lz4", 4096, "auto");
    let error = refused(&folder, &evb[..evb.len() - 1]);
    assert!(matches!(error, Error::Cut { .. }), "{error}");
}

/// An image of which two blocks are not to be found.
struct Lost(Box<dyn Layout>);

impl Layout for Lost {
    fn block(&self, at: u64) -> Result<Block, Error> {
        match at >> 16 {
            3 | 5 => Err(Error::Damaged {
                name: "lost".to_owned(),
                format: "raw",
                what: format!("the cluster at byte {at} lies nowhere"),
            }),
            _ => self.0.block(at),
        }
    }
}

fn open_lost(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let opened = (RAW.open)(file)?;
    Ok(Opened {
        layout: Box::new(Lost(opened.layout)),
        ..opened
    })
}

#[test]
fn blocks_that_are_not_to_be_found_are_listed_and_the_others_looked_at() {
    static LOST: Format = Format {
        name: "lost",
        about: "",
        recognise: |_| false,
        open: open_lost,
    };
    let folder = Folder::in_memory();
    let path = folder.file("image", vec![7; (8 << 16) - 100]);
    let session = verify(path.as_os_str(), known(&LOST)).unwrap();
    let (found, _) = session.run(runtime(), Options::default()).unwrap();
    let places: Vec<_> = found.bad.iter().map(|bad| (bad.at, bad.len)).collect();
    assert_eq!(places, [(3 << 16, 1 << 16), (5 << 16, 1 << 16)]);
    assert_eq!(found.checked["nothing"], 6);
    assert!(
        found
            .to_string()
            .contains("the cluster at byte 196608 lies nowhere"),
        "{found}"
    );
    // A copy that skips zero ranges has to find the damage too.
    let image = Image::of(ImageFile::open(&path).unwrap(), Some(&LOST)).unwrap();
    let extent = image.extent(3 << 16, 4 << 16).unwrap();
    assert_eq!((extent.bytes, extent.zero), (3 << 16..4 << 16, false));
}

#[test]
fn clusters_behind_the_end_are_all_listed() {
    if !has("qemu-img") {
        return;
    }
    let folder = Folder::in_memory();
    folder.file("raw", vec![7; 16 << 16]);
    let made = std::process::Command::new("qemu-img")
        .args(["convert", "-f", "raw", "-O", "qcow2", "raw", "image"])
        .current_dir(folder.path(""))
        .status();
    assert!(made.unwrap().success());
    let whole = fs::read(folder.path("image")).unwrap();
    let path = folder.file("image", &whole[..whole.len() - (3 << 16)]);
    let found = verified(&path).unwrap();
    assert_eq!((found.bad_count, found.checked["nothing"]), (3, 13));
    assert!(found.bad[0].what.contains("cut short"), "{found}");
}
