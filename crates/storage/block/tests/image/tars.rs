//! Disk images in tars.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use evener_block::codec::ZSTD;
use evener_block::format::RAW;
use evener_block::session::{Options, PackOptions, SessionError, pack};
use evener_block::{Image, ImageFile};

use crate::bombs::seekable;
use crate::common::{
    Folder, fixture, has, known, read_all, runtime, same, sample, unpacked, verified,
};
use crate::ranges;

/// A tar of these files: name, kind and bytes.
pub fn tar(files: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, kind, bytes) in files {
        tar.extend(header(name, *kind, bytes.len() as u64));
        tar.extend(*bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn header(name: &str, kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    summed(header)
}

fn summed(mut header: [u8; 512]) -> [u8; 512] {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

/// What `pack` makes of a file: the bytes of the image.
fn packed(folder: &Folder, path: &std::path::Path) -> Result<Vec<u8>, SessionError> {
    let output = folder.path("packed");
    let session = pack(
        path.as_os_str(),
        output.as_os_str(),
        &PackOptions::default(),
    )?;
    session.run(runtime(), Options::default())?;
    let plain = read_all(&Image::open(&output).unwrap()).unwrap();
    fs::remove_file(output).unwrap();
    Ok(plain)
}

/// Compresses a file by a program, if it is there.
fn compressed(folder: &Folder, name: &str, program: &str) -> Option<PathBuf> {
    if !has(program) {
        return None;
    }
    let done = Command::new(program)
        .args(["-k", "-q"])
        .arg(folder.path(name))
        .status();
    assert!(done.unwrap().success(), "{program}");
    let ending = if program == "gzip" {
        "gz"
    } else if program == "xz" {
        "xz"
    } else {
        "zst"
    };
    Some(folder.path(&format!("{name}.{ending}")))
}

/// Packs and unpacks a tar as it is, and packs it compressed.
#[track_caller]
fn is_read(folder: &Folder, tar: &[u8], wanted: &[u8], what: &str) {
    let path = folder.file("d.tar", tar);
    same(&unpacked(folder, &path, "auto").unwrap(), wanted, what);
    same(&packed(folder, &path).unwrap(), wanted, what);
    for program in ["gzip", "xz", "zstd"] {
        let Some(path) = compressed(folder, "d.tar", program) else {
            continue;
        };
        same(
            &packed(folder, &path).unwrap(),
            wanted,
            &format!("{what}, {program}"),
        );
        let _ = fs::remove_file(path);
    }
}

/// Refused as it is and compressed.
#[track_caller]
fn is_refused(folder: &Folder, tar: &[u8], says: &[&str]) {
    let path = folder.file("d.tar", tar);
    let mut errors = vec![
        Image::open(&path).unwrap_err().to_string(),
        packed(folder, &path).unwrap_err().to_string(),
    ];
    if let Some(path) = compressed(folder, "d.tar", "gzip") {
        errors.push(packed(folder, &path).unwrap_err().to_string());
        fs::remove_file(path).unwrap();
    }
    for error in errors {
        let all = says.iter().all(|part| error.contains(part));
        assert!(all && error.lines().count() == 1, "{says:?}: {error}");
    }
    assert!(!folder.path("packed").exists());
}

#[test]
fn the_one_image_in_a_tar_is_what_is_read() {
    let folder = Folder::in_memory();
    let plain = sample();
    let text = b"not a disk";
    for (what, files) in [
        ("alone", &[("disk.raw", b'0', &plain[..])][..]),
        (
            "beside others",
            &[
                ("machine/", b'5', b""),
                ("machine/machine.ovf", b'0', text),
                ("machine/link.img", b'2', b""),
                ("machine/disk.img", b'0', &plain),
                ("machine/machine.mf", 0, text),
            ],
        ),
        (
            "beside what macOS adds",
            &[("./._disk.raw", b'0', text), ("./disk.raw", b'0', &plain)],
        ),
        (
            "with a long name",
            &[
                ("././@LongLink", b'L', b"a/very/long/name/disk.raw\0"),
                ("a/very/long/na", b'0', &plain),
            ],
        ),
        (
            "with a name of pax",
            &[
                ("pax_global_header", b'g', b"14 comment=ab\n"),
                ("PaxHeaders/x", b'x', b"17 path=disk.raw\n"),
                ("x", b'0', &plain),
            ],
        ),
    ] {
        is_read(&folder, &tar(files), &plain, what);
    }
    // Without blocks of zeros at its end, as some programs write it.
    let whole = tar(&[("disk.raw", b'0', &plain)]);
    is_read(
        &folder,
        &whole[..whole.len() - 1024],
        &plain,
        "without an end",
    );
    // The name of a member is that of the image.
    let path = folder.file("d.tar", &whole);
    let image = Image::open(&path).unwrap();
    let name = image.file().name();
    assert!(name.ends_with("d.tar:disk.raw"), "{name}");
    // Bytes as they are.
    let file = ImageFile::open(&path).unwrap();
    let image = Image::of(file, Some(&RAW)).unwrap();
    same(&read_all(&image).unwrap(), &whole, "as raw");
}

#[test]
fn an_image_of_a_format_is_read_in_a_tar() {
    let folder = Folder::in_memory();
    let plain = sample();
    for name in ["zlib.qcow2", "frames.zst"] {
        let bytes = fs::read(fixture(name)).unwrap();
        let path = folder.file(
            "d.tar",
            tar(&[
                ("notes", b'0', b"a"),
                (
                    &format!("img-{name}").replace(".zst", ".raw.zst"),
                    b'0',
                    &bytes,
                ),
            ]),
        );
        same(&unpacked(&folder, &path, "auto").unwrap(), &plain, name);
        assert!(verified(&path).unwrap().good, "{name}");
        same(&packed(&folder, &path).unwrap(), &plain, name);
    }
    // Compressed it cannot be read at any place.
    let bytes = fs::read(fixture("zlib.qcow2")).unwrap();
    folder.file("q.tar", tar(&[("disk.qcow2", b'0', &bytes)]));
    if let Some(path) = compressed(&folder, "q.tar", "gzip") {
        let error = packed(&folder, &path).unwrap_err().to_string();
        assert!(error.contains("disk.qcow2, an image in qcow2"), "{error}");
        assert!(error.contains("unpack it into a file"), "{error}");
    }
}

#[test]
fn other_tars_are_refused_with_what_is_in_them() {
    let folder = Folder::in_memory();
    let plain = sample();
    let vmdk = [b"KDMV", &plain[..4096]].concat();
    for (files, says) in [
        (
            &[("a.txt", b'0', &b"a"[..]), ("b/c.txt", b'0', b"b")][..],
            &["no disk image in it", "a.txt, b/c.txt", "--format raw"][..],
        ),
        (&[("d/", b'5', b"")], &["no file in it"]),
        (
            &[("a.raw", b'0', &plain), ("b.img", b'0', &plain)],
            &["several disk images", "a.raw, b.img", "name one"],
        ),
        (
            &[("m.ovf", b'0', b"<"), ("m-disk1", b'0', &vmdk)],
            &["m-disk1", "a VMDK image", "not read", "qemu-img convert"],
        ),
        (&[("disk.raw", b'M', &plain)], &["begins in another tar"]),
    ] {
        is_refused(&folder, &tar(files), says);
    }
    let many: Vec<_> = (0..20).map(|i| format!("file {i}")).collect();
    let many: Vec<_> = many
        .iter()
        .map(|name| (&name[..], b'0', &b"x"[..]))
        .collect();
    is_refused(&folder, &tar(&many), &["file 5 and 14 more"]);
}

#[test]
fn a_damaged_tar_is_called_that() {
    let folder = Folder::in_memory();
    let plain = sample();
    let whole = tar(&[("disk.raw", b'0', &plain), ("notes", b'0', b"text")]);
    is_refused(&folder, &whole[..512 + 10_000], &["cut short", "disk.raw"]);
    let second = 512 + plain.len().next_multiple_of(512);
    is_refused(&folder, &whole[..second + 100], &["cut short", "a header"]);
    let mut bad = whole.clone();
    bad[second] ^= 1;
    is_refused(&folder, &bad, &["damaged tar", &format!("byte {second} ")]);
    // A size that leads beyond any file.
    let mut header = header("disk.raw", b'0', 0);
    header[124..136].copy_from_slice(&[
        0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ]);
    is_refused(&folder, &summed(header), &["damaged tar", "byte 0 "]);
}

#[test]
fn holes_of_tar_are_zero() {
    if !has("tar") {
        return;
    }
    let folder = Folder::in_memory();
    let mut plain = vec![0; 4 << 20];
    // More pieces than a header has room for.
    for (number, at) in (0..plain.len()).step_by(96 << 10).enumerate() {
        plain[at..at + 5000].fill(number as u8 + 1);
    }
    plain.truncate((4 << 20) - 777);
    let file = fs::File::create(folder.path("disk.raw")).unwrap();
    file.set_len(plain.len() as u64).unwrap();
    for at in (0..plain.len())
        .step_by(4096)
        .filter(|&at| plain[at..].iter().take(4096).any(|&b| b != 0))
    {
        let end = plain.len().min(at + 4096);
        std::os::unix::fs::FileExt::write_all_at(&file, &plain[at..end], at as u64).unwrap();
    }
    for format in ["oldgnu", "gnu", "posix"] {
        let done = Command::new("tar")
            .args([
                &format!("--format={format}"),
                "-Scf",
                "made.tar",
                "disk.raw",
            ])
            .current_dir(folder.root())
            .status();
        assert!(done.unwrap().success());
        let made = fs::read(folder.path("made.tar")).unwrap();
        assert!(made.len() < plain.len() / 4, "{format}: no holes");
        is_read(&folder, &made, &plain, format);
    }
    // The older ways of pax say nothing that could be overlooked.
    let done = Command::new("tar")
        .args([
            "--format=posix",
            "--sparse-version=0.1",
            "-Scf",
            "made.tar",
            "disk.raw",
        ])
        .current_dir(folder.root())
        .status();
    assert!(done.unwrap().success());
    is_refused(
        &folder,
        &fs::read(folder.path("made.tar")).unwrap(),
        &["disk.raw", "holes", "unpack it with tar"],
    );
}

#[test]
fn a_tar_on_a_server_is_read_where_the_image_lies() {
    let folder = Folder::in_memory();
    let plain = sample();
    let whole = tar(&[("machine.ovf", b'0', b"<"), ("disk.raw", b'0', &plain)]);
    let url = ranges::server(move |_, asked| {
        ranges::part(&whole, asked.start..asked.end.min(whole.len()))
    });
    let got = unpacked(&folder, url.as_ref(), "auto").unwrap();
    same(&got, &plain, "over HTTP");
}

#[test]
fn blocks_that_hold_a_tar_or_an_image_are_no_disk() {
    let folder = Folder::in_memory();
    let plain = sample();
    let frame = |bytes: &[u8]| {
        let mut room = vec![0; 2 * bytes.len() + 100];
        let len = ZSTD.encoder.unwrap()(1).encode(bytes, &mut room).unwrap();
        room.truncate(len);
        seekable(&[(&room[..], bytes.len() as u32, None)])
    };
    let whole = tar(&[("disk.raw", b'0', &plain)]);
    let path = folder.file("d.zst", frame(&whole));
    let error = unpacked(&folder, &path, "auto").unwrap_err().to_string();
    assert!(
        error.contains("holds a tar") && error.contains("--format zstd"),
        "{error}"
    );
    same(&packed(&folder, &path).unwrap(), &plain, "packed");
    let session =
        evener_block::session::verify(path.as_os_str(), known(&evener_block::format::SEEKABLE));
    assert_eq!(session.unwrap().bytes(), whole.len() as u64);
    let qcow2 = fs::read(fixture("zlib.qcow2")).unwrap();
    let path = folder.file("q.zst", frame(&qcow2));
    for error in [
        unpacked(&folder, &path, "auto").unwrap_err(),
        packed(&folder, &path).unwrap_err(),
    ] {
        assert!(
            error.to_string().contains("holds an image in qcow2"),
            "{error}"
        );
    }
    // What evener packed is a disk, whatever a guest wrote into it.
    let own = crate::common::packed(&folder, &whole, "zstd", 4096, "auto");
    let path = folder.file("own.zst", own);
    same(&unpacked(&folder, &path, "auto").unwrap(), &whole, "own");
}
