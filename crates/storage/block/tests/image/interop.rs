//! The programs themselves as the other side, where they are installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use evener_block::Image;
use evener_block::session::{Options, PackOptions, pack};

use crate::common::{Folder, has, packed, read_all, runtime, same, sample, verified};

#[track_caller]
fn run(folder: &Folder, line: &str) -> Vec<u8> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    let done = command
        .args(words)
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}: {said}");
    done.stdout
}

/// An image with holes, text and noise of a few MiB.
fn image() -> Vec<u8> {
    let mut bytes = vec![0; (9 << 20) + 512];
    for (number, place) in [0, 1 << 20, (5 << 20) + 4096, 9 << 20]
        .into_iter()
        .enumerate()
    {
        for copy in 0..if place < 9 << 20 { number + 8 } else { 0 } {
            let at = place + copy * 41_472;
            bytes[at..at + 41_472].copy_from_slice(&sample());
            bytes[at + 77] = copy as u8;
        }
    }
    bytes
}

#[test]
fn zstd_unpacks_what_is_packed() {
    if !has("zstd") {
        return;
    }
    let folder = Folder::in_memory();
    let plain = image();
    for block in [4096, 65536, 1 << 20] {
        let bytes = packed(&folder, &plain, "zstd", block, "auto");
        folder.file("image.zst", &bytes);
        run(&folder, "zstd -t image.zst");
        same(&run(&folder, "zstd -dc image.zst"), &plain, "zstd -d");
    }
    // Zeros alone: frames of the longest runs.
    let zeros = vec![0; 9 << 20];
    let bytes = packed(&folder, &zeros, "zstd", 65536, "auto");
    assert!(bytes.len() < 2000, "{}", bytes.len());
    folder.file("image.zst", &bytes);
    same(&run(&folder, "zstd -dc image.zst"), &zeros, "zeros");
}

#[test]
fn images_of_qemu_are_read_and_packed() {
    if !has("qemu-img") {
        return;
    }
    let folder = Folder::in_memory();
    let plain = image();
    folder.file("raw", &plain);
    for options in [
        "-c -O qcow2",
        "-c -O qcow2 -o compression_type=zstd",
        "-c -O qcow2 -o compat=0.10",
        "-O qcow2",
        "-O qcow2 -o cluster_size=2M",
        "-c -O qcow2 -o cluster_size=512",
    ] {
        run(
            &folder,
            &format!("qemu-img convert -f raw {options} raw image.qcow2"),
        );
        let path = folder.path("image.qcow2");
        same(
            &read_all(&Image::open(&path).unwrap()).unwrap(),
            &plain,
            options,
        );
        assert!(verified(&path).unwrap().good);
        let (input, output) = (path.as_os_str(), folder.path("image.zst"));
        let session = pack(input, output.as_os_str(), &PackOptions::default()).unwrap();
        session.run(runtime(), Options::default()).unwrap();
        let from_raw = packed(&folder, &plain, "zstd", 65536, "auto");
        same(&fs::read(&output).unwrap(), &from_raw, options);
    }
}

#[test]
fn what_is_not_read_of_qcow2_is_refused_in_one_line() {
    if !has("qemu-img") {
        return;
    }
    let folder = Folder::in_memory();
    run(&folder, "qemu-img create -q -f raw base 1M");
    for (line, said) in [
        ("-f qcow2 -o data_file=other image 1M", "another file"),
        ("-f qcow2 -b base -F qed -u image 1M", "the format qed"),
        ("-f qcow2 -b nbd://host/x -F raw -u image 1M", "not a path"),
    ] {
        run(&folder, &format!("qemu-img create -q {line}"));
        let error = Image::open(&folder.path("image")).unwrap_err().to_string();
        assert!(
            error.contains(said) && error.contains("qemu-img convert"),
            "{error}"
        );
        fs::remove_file(folder.path("image")).unwrap();
    }
}

/// Writes into an image by `qemu-io`, and compares all of it with what QEMU reads.
#[track_caller]
fn written_and_read(folder: &Folder, name: &str, writes: &[&str]) -> Vec<u8> {
    let path = folder.path(name);
    let mut command = Command::new("qemu-io");
    command.arg("-f").arg("qcow2").arg(&path);
    for write in writes {
        command.arg("-c").arg(write);
    }
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && !said.contains("failed"), "{said}");
    run(
        folder,
        &format!("qemu-img convert -f qcow2 -O raw {name} flat"),
    );
    let wanted = fs::read(folder.path("flat")).unwrap();
    let image = Image::open(&path).unwrap();
    same(&read_all(&image).unwrap(), &wanted, name);
    let found = verified(&path).unwrap();
    assert!(found.good, "{name}: {found}");
    // Whole, and by runs.
    let session = pack(
        path.as_os_str(),
        folder.path("out").as_os_str(),
        &PackOptions::default(),
    );
    session.unwrap().run(runtime(), Options::default()).unwrap();
    let from_raw = packed(folder, &wanted, "zstd", 65536, "auto");
    same(&fs::read(folder.path("out")).unwrap(), &from_raw, name);
    wanted
}

#[test]
fn backing_files_and_subclusters_are_read_as_qemu_reads_them() {
    if !has("qemu-img") || !has("qemu-io") {
        return;
    }
    let folder = Folder::in_memory();
    folder.file("base", image());
    let writes = [
        "write -P 1 0 3000",
        "write -z 2M 300k",
        "write -P 2 5M 70000",
        "write -P 3 3145728 512",
    ];
    for (under, kind) in [("base", "raw"), ("compressed", "qcow2")] {
        if kind == "qcow2" {
            run(
                &folder,
                "qemu-img convert -f raw -c -O qcow2 base compressed",
            );
        }
        for options in [
            "cluster_size=4k",
            "cluster_size=64k",
            "cluster_size=2M",
            "extended_l2=on,cluster_size=16k",
            "extended_l2=on",
        ] {
            run(
                &folder,
                &format!("qemu-img create -q -f qcow2 -b {under} -F {kind} -o {options} middle"),
            );
            written_and_read(&folder, "middle", &writes);
            // Longer than what is under it, and named from another folder.
            fs::create_dir_all(folder.path("sub")).unwrap();
            run(
                &folder,
                "qemu-img create -q -f qcow2 -b ../middle -F qcow2 sub/top 20M",
            );
            let top = [
                "write -P 9 64k 1k",
                "write -z -u 5M 64k",
                "write -P 8 19M 1k",
            ];
            written_and_read(&folder, "sub/top", &top);
        }
    }
    // Without one.
    run(
        &folder,
        "qemu-img create -q -f qcow2 -o extended_l2=on alone 8M",
    );
    written_and_read(&folder, "alone", &writes);
}

#[test]
fn a_chain_is_not_overwritten_and_ends() {
    if !has("qemu-img") {
        return;
    }
    let folder = Folder::in_memory();
    folder.file("base", image());
    run(&folder, "qemu-img create -q -f qcow2 -b base -F raw middle");
    run(
        &folder,
        "qemu-img create -q -f qcow2 -b middle -F qcow2 top",
    );
    let (top, options) = (folder.path("top"), PackOptions::default());
    for name in ["base", "middle", "top"] {
        let path = folder.path(name);
        let before = fs::read(&path).unwrap();
        let refused = pack(top.as_os_str(), path.as_os_str(), &options)
            .err()
            .unwrap();
        assert!(refused.to_string().contains("input as well"), "{refused}");
        same(&fs::read(&path).unwrap(), &before, name);
    }
    run(
        &folder,
        "qemu-img rebase -u -f qcow2 -b top -F qcow2 middle",
    );
    let refused = Image::open(&top).unwrap_err().to_string();
    assert!(refused.contains("under itself"), "{refused}");
    run(&folder, "mkfifo pipe");
    run(&folder, "qemu-img rebase -u -f qcow2 -b pipe -F raw middle");
    let refused = Image::open(&top).unwrap_err().to_string();
    assert!(refused.contains("'pipe', which is not a file"), "{refused}");
    run(
        &folder,
        "qemu-img rebase -u -f qcow2 -b missing -F raw middle",
    );
    let refused = Image::open(&top).unwrap_err().to_string();
    assert!(refused.contains("missing: cannot open"), "{refused}");
}

#[test]
fn files_of_xz_are_read() {
    if !has("xz") {
        return;
    }
    let folder = Folder::in_memory();
    let plain = image();
    folder.file("raw", &plain);
    for options in [
        "--block-size=65536",
        "--block-size=1MiB -T2",
        "--block-size=65536 --check=none",
        "--block-size=65536 --check=crc32",
        "--block-size=4096 -0 --check=sha256",
        "--block-size=65536 --x86 --lzma2=dict=1MiB",
        "--block-size=65536 -9",
    ] {
        let bytes = run(&folder, &format!("xz -k -c {options} raw"));
        let path = folder.file("image.xz", &bytes);
        same(
            &read_all(&Image::open(&path).unwrap()).unwrap(),
            &plain,
            options,
        );
        assert!(verified(&path).unwrap().good, "{options}");
    }
    let bytes = run(&folder, "xz -k -c raw");
    let error = Image::open(&folder.file("image.xz", &bytes))
        .unwrap_err()
        .to_string();
    assert!(error.contains("--block-size"), "{error}");
}

#[test]
fn compressed_loops_are_read() {
    if !has("create_compressed_fs") {
        return;
    }
    let folder = Folder::in_memory();
    let plain = image();
    folder.file("raw", &plain);
    for options in ["-B 65536", "-B 4096 -L 1", "-B 131072 -L 9"] {
        run(
            &folder,
            &format!("create_compressed_fs -q {options} raw image.cloop"),
        );
        let image = Image::open(Path::new(&folder.path("image.cloop"))).unwrap();
        let got = read_all(&image).unwrap();
        same(&got[..plain.len()], &plain, options);
        assert!(
            got[plain.len()..].iter().all(|&byte| byte == 0),
            "{options}"
        );
        fs::remove_file(folder.path("image.cloop")).unwrap();
    }
}
