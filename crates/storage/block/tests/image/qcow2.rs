//! Headers and tables of qcow2 that say what cannot be, beside what `qemu-img` makes of them.

use std::fs;
use std::process::{Command, Output};

use evener_block::{Error, Image};

use crate::common::{Folder, fixture, has, read_all, sample, verified};

/// What is to be made of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// It is as good as before.
    Good,
    /// All of it can be read, and `verify` tells what is wrong.
    Faulty,
    Damaged,
    Unsupported,
}
use Wanted::{Damaged, Faulty, Good, Unsupported};

/// Where `zlib.qcow2` has its parts: clusters of 4096 bytes, of which the first table takes a few bytes of the fourth.
const COUNTS: usize = 0x1000;
const COUNTS_BLOCK: usize = 0x2000;
const L1: usize = 0x3000;
const L2: usize = 0x4000;

/// What is changed: where, how many bytes the number has, the number, and what is to be made of it.
const EDITS: &[(usize, usize, u64, Wanted)] = &[
    // Version, backing file.
    (4, 4, 2, Good),
    (4, 4, 1, Unsupported),
    (4, 4, 4, Unsupported),
    (8, 8, 0x70, Unsupported),
    (8, 8, 0x2000, Damaged),
    (16, 4, 7, Good),
    // Bits of a cluster, bytes of the image, encryption.
    (20, 4, 8, Damaged),
    (20, 4, 11, Damaged),
    (20, 4, 23, Unsupported),
    (20, 4, 0x1_0000, Damaged),
    (24, 8, 0, Good),
    (24, 8, 16384, Good),
    (24, 8, 2 << 20, Good),
    (24, 8, (2 << 20) + 512, Damaged),
    (24, 8, 1 << 62, Damaged),
    (32, 4, 1, Unsupported),
    (32, 4, 3, Unsupported),
    // The first table.
    (36, 4, 0, Damaged),
    (36, 4, 2, Good),
    (36, 4, 1 << 23, Faulty),
    (40, 8, 0, Damaged),
    (40, 8, 0x3200, Damaged),
    (40, 8, 0x30200, Damaged),
    (40, 8, 0x4000, Damaged),
    (40, 8, 0x10_0000, Damaged),
    (40, 8, u64::MAX - 0xfff, Damaged),
    // Reference counts, snapshots.
    (48, 8, 0, Faulty),
    (48, 8, 0x1200, Faulty),
    (48, 8, 0x3000, Faulty),
    (48, 8, 0x10_0000, Faulty),
    (56, 4, 0, Faulty),
    (56, 4, 2, Faulty),
    (56, 4, 0x8000, Faulty),
    (60, 4, 1, Faulty),
    (60, 4, 0x1_0001, Faulty),
    (64, 8, 0x200, Faulty),
    (64, 8, 0x8000, Good),
    (64, 8, 1 << 63, Faulty),
    // Features, width of a reference count, length of the header.
    (72, 8, 1, Good),
    (72, 8, 2, Unsupported),
    (72, 8, 8, Damaged),
    (72, 8, 16, Unsupported),
    (72, 8, 1 << 63, Unsupported),
    (80, 8, 1 << 40, Good),
    (88, 8, 1, Faulty),
    (88, 8, 2, Faulty),
    (96, 4, 3, Faulty),
    (96, 4, 7, Faulty),
    (100, 4, 103, Damaged),
    (100, 4, 108, Damaged),
    (100, 4, 0x2000, Damaged),
    (104, 1, 1, Damaged),
    (104, 1, 7, Damaged),
    // An extension of the header.
    (112, 8, 0x1234_5678_0000_0008, Good),
    (112, 8, 0x1234_5678_0000_2000, Faulty),
    (112, 8, 0x0000_0000_0000_2000, Faulty),
    // Entries of tables.
    (COUNTS, 8, 0x2200, Faulty),
    (COUNTS, 8, 0x2001, Faulty),
    (COUNTS, 8, 0x4000, Faulty),
    (COUNTS_BLOCK, 2, 0, Faulty),
    (COUNTS_BLOCK + 10, 2, 2, Faulty),
    (COUNTS_BLOCK + 8, 2, 2, Faulty),
    (COUNTS_BLOCK + 100, 2, 1, Good),
    (L1, 8, 0x8000_0000_0000_4200, Damaged),
    (L1, 8, 0x8000_0000_0000_3000, Damaged),
    (L1, 8, 0x8000_0000_0010_0000, Damaged),
    (L1, 8, 0x8100_0000_0000_4000, Faulty),
    (L1, 8, 0x0000_0000_0000_4000, Faulty),
    (L1, 8, 0x8000_0000_0000_0000, Faulty),
    (L2, 8, 0x8000_0000_0000_5000, Faulty),
    (L2, 8, 0x8000_0000_0000_5200, Damaged),
    (L2, 8, 0x8000_0000_0010_0000, Damaged),
    (L2, 8, 0x8000_0000_0000_3000, Faulty),
    (L2, 8, 0x0000_0000_0000_0001, Good),
    (L2, 8, 0x0000_0000_0000_5201, Damaged),
    (L2, 8, 0xcc00_0000_0000_5000, Faulty),
    (L2, 8, 0x4c00_0000_0010_0000, Damaged),
];

fn change(bytes: &mut [u8], (at, len, number, _): (usize, usize, u64, Wanted)) {
    bytes[at..at + len].copy_from_slice(&number.to_be_bytes()[8 - len..]);
}

fn made(path: &std::path::Path) -> (Wanted, Vec<u8>) {
    let image = match Image::open(path) {
        Ok(image) => image,
        Err(Error::Damaged { .. } | Error::Cut { .. }) => return (Damaged, Vec::new()),
        Err(Error::Unsupported { .. }) => return (Unsupported, Vec::new()),
        Err(error) => panic!("{error}"),
    };
    match read_all(&image) {
        Err(_) => (Damaged, Vec::new()),
        Ok(bytes) => match verified(path).unwrap().good {
            true => (Good, bytes),
            false => (Faulty, bytes),
        },
    }
}

fn qemu_img(line: &str, folder: &Folder) -> Output {
    let mut command = Command::new("qemu-img");
    command.args(line.split(' ')).current_dir(folder.path(""));
    command.output().unwrap()
}

#[test]
fn every_number_of_header_and_tables_is_checked() {
    let folder = Folder::in_memory();
    let whole = fs::read(fixture("zlib.qcow2")).unwrap();
    assert!(made(&fixture("zlib.qcow2")) == (Good, sample()));
    let with = has("qemu-img");
    let mut wrong = Vec::new();
    for &edit in EDITS {
        let mut bytes = whole.clone();
        change(&mut bytes, edit);
        let path = folder.file("edited", &bytes);
        let (what, ours) = made(&path);
        if what != edit.3 {
            wrong.push(format!("{edit:x?}: {what:?}"));
        }
        if !with || edit.3 == Damaged || edit.3 == Unsupported {
            continue;
        }
        // What it refuses is at least told, and what both read is the same.
        let done = qemu_img("convert -f qcow2 -O raw edited theirs", &folder);
        match done.status.success() {
            true => assert!(
                fs::read(folder.path("theirs")).unwrap() == ours,
                "{edit:x?}"
            ),
            false => assert_eq!(what, Faulty, "{edit:x?}"),
        }
    }
}
