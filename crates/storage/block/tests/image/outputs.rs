//! Outputs that cannot hold what is written: disks that are too small, and names of other formats.

use std::fs;

use evener_block::codec::Codec;
use evener_block::session::{OpenOptions, Options, PackOptions, pack, unpack};
use evener_testing::Disk;

use crate::common::{Folder, packed, runtime, sample};

#[test]
fn an_image_that_does_not_fit_onto_a_disk_is_refused_before_its_first_byte() {
    let Some(disk) = Disk::new(1 << 20) else {
        return;
    };
    let folder = Folder::in_memory();
    let out = disk.path().as_os_str();
    let try_unpack = |len: usize| {
        let plain = vec![7; len];
        let image = folder.file("image.zst", packed(&folder, &plain, "zstd", 65_536, "auto"));
        let session = unpack(image.as_os_str(), out, OpenOptions::default(), &[])?;
        session.run(runtime(), Options::default()).map(drop)
    };
    let error = try_unpack((1 << 20) + 1).unwrap_err().to_string();
    assert!(
        error.contains("is too small: 1048577 bytes") && error.contains("has room for 1048576"),
        "{error}"
    );
    let written = fs::read(disk.path()).unwrap();
    assert!(written.iter().all(|&byte| byte == 0));
    try_unpack(1 << 20).unwrap();
    assert!(fs::read(disk.path()).unwrap() == vec![7; 1 << 20]);
}

#[test]
fn a_name_of_another_format_is_refused_before_anything_is_written() {
    let folder = Folder::in_memory();
    let input = folder.file("plain", sample());
    let old = folder.file("old.qcow2", b"another image");
    for (name, codec, says) in [
        (
            "old.qcow2",
            "zstd",
            "pack writes zstd's seekable format; name it .zst, or use `evener image unpack`, then `qemu-img convert -O qcow2`",
        ),
        ("new.vmdk", "zstd", "seekable format"),
        ("new.img.gz", "zstd", "then `gzip`"),
        (
            "new.zst",
            "lz4",
            "evener's own container; name it .evb, or use `evener image pack --codec zstd`",
        ),
    ] {
        let options = PackOptions {
            codec: Codec::of_name(codec).unwrap(),
            ..PackOptions::default()
        };
        let output = folder.path(name);
        let error = pack(input.as_os_str(), output.as_os_str(), &options)
            .err()
            .unwrap();
        assert!(
            error.is_request() && error.to_string().contains(says),
            "{name}: {error}"
        );
    }
    for (name, how) in [
        ("old.qcow2", ", then run `qemu-img convert -O qcow2`"),
        ("new.img.zst", ", or use `evener image pack --codec zstd`"),
        ("new.vhdx", ", then run `qemu-img convert -O vhdx`"),
        ("new.tar", ""),
    ] {
        let output = folder.path(name);
        let error = unpack(
            input.as_os_str(),
            output.as_os_str(),
            OpenOptions::default(),
            &[],
        );
        let error = error.err().unwrap();
        let says = format!("unpack writes raw images; name it .img{how}");
        assert!(
            error.is_request() && error.to_string().ends_with(&says),
            "{name}: {error}"
        );
    }
    assert_eq!(folder.names(), ["old.qcow2", "plain"]);
    assert_eq!(fs::read(old).unwrap(), b"another image");
}
