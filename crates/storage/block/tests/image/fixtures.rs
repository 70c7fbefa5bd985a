//! Files that other programs wrote.

use evener_block::Image;
use evener_block::session::{OpenOptions, info};

use crate::common::{Folder, fixture, packed, read_all, same, sample, unpacked, verified};

#[test]
fn what_other_programs_wrote_is_read() {
    let folder = Folder::in_memory();
    let once = sample();
    let twice = [once.clone(), once.clone()].concat();
    let mut filled = once.clone();
    filled.resize(48 << 10, 0);
    for (name, format, codec, checked, wanted) in [
        ("zlib.qcow2", "qcow2", "deflate", "nothing", &once),
        ("zstd.qcow2", "qcow2", "zstd-first", "nothing", &once),
        ("blocks.xz", "xz", "xz-block-crc64", "CRC-64", &once),
        ("streams.xz", "xz", "xz-block-sha256", "SHA-256", &twice),
        ("v2.cloop", "cloop", "zlib", "Adler-32", &filled),
        ("frames.zst", "zstd", "zstd", "XXH64", &once),
    ] {
        let path = fixture(name);
        let image = Image::open(&path).unwrap();
        assert_eq!(image.format().name, format);
        assert_eq!(image.root(), None);
        same(&read_all(&image).unwrap(), wanted, name);
        for how in ["sequential", "farm"] {
            same(&unpacked(&folder, &path, how).unwrap(), wanted, name);
        }
        let found = verified(&path).unwrap();
        assert!(
            found.good && found.checked.contains_key(checked),
            "{found:?}"
        );
        let told = info(path.as_os_str(), OpenOptions::default()).unwrap();
        assert!(told.codecs[codec].blocks > 0, "{told}");
        assert_eq!(told.size, wanted.len() as u64);
    }
}

#[test]
fn an_image_without_sums_of_packed_bytes_is_read_whole() {
    let (folder, plain) = (Folder::in_memory(), sample());
    let old = fixture("version1.zst");
    let image = Image::open(&old).unwrap();
    same(&read_all(&image).unwrap(), &plain, "version 1");
    let found = verified(&old).unwrap();
    assert!(found.good && found.root_good == Some(true), "{found:?}");
    packed(&folder, &plain, "zstd", 8192, "auto");
    let new = Image::open(&folder.path("packed")).unwrap();
    assert_eq!(image.root(), new.root());
    let has_prefix = |image: &Image| image.has_prefix(&image.block(0).unwrap());
    assert!(!has_prefix(&image) && has_prefix(&new));
}

#[test]
fn holes_of_qcow2_are_known() {
    let image = Image::open(&fixture("zlib.qcow2")).unwrap();
    let extent = image.extent(16384, image.size()).unwrap();
    assert_eq!((extent.bytes, extent.zero), (16384..32768, true));
    let extent = image.extent(100, image.size()).unwrap();
    assert_eq!((extent.bytes, extent.zero), (100..16384, false));
}

#[test]
fn a_changed_block_is_told_and_the_others_are_good() {
    let folder = Folder::in_memory();
    for (name, place) in [("blocks.xz", 60), ("v2.cloop", 3000), ("frames.zst", 300)] {
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        bytes[place] ^= 4;
        let path = folder.file(name, &bytes);
        let found = verified(&path).unwrap();
        assert!(!found.good, "{name}");
        assert_eq!((found.bad_count, found.bad[0].at), (1, 0), "{name}");
        assert!(unpacked(&folder, &path, "auto").is_err());
        assert!(!folder.path("unpacked").exists());
    }
}
