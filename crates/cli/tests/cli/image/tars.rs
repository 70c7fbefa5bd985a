//! A tar with one disk image stands for that image, for every command.

use std::fs;

use rustix::process::Signal;

use super::serve::{Server, client, read};
use super::tools::{has, run};
use super::{content, folder, json, piped};
use crate::signals::is_ignored;

#[test]
fn every_command_reads_the_image_in_a_tar() {
    if !has(&["tar", "gzip", "xz", "zstd"]) {
        return;
    }
    let folder = folder();
    let plain = content(&folder, "disk.img");
    folder.file("disk.mf", "SHA1");
    run(&folder, "tar -cf d.tar disk.mf disk.img");
    for program in ["gzip", "xz -0", "zstd -q"] {
        run(&folder, &format!("{program} -k d.tar"));
    }
    folder.line("image pack disk.img wanted").succeeded();
    let wanted = content(&folder, "wanted");
    for name in ["d.tar", "d.tar.gz", "d.tar.xz", "d.tar.zst"] {
        folder.line(&format!("image pack {name} out")).succeeded();
        assert!(content(&folder, "out") == wanted, "{name}");
        piped(&folder, "image pack - out", &content(&folder, name)).succeeded();
        assert!(content(&folder, "out") == wanted, "{name} through a pipe");
        fs::remove_file(folder.path("out")).unwrap();
        if name != "d.tar" {
            for verb in ["info", "verify"] {
                let done = folder.line(&format!("image {verb} {name}"));
                done.failed(1, &[name, "evener image pack"]);
            }
        }
    }
    let told = json(&folder.line("image info --json d.tar").succeeded().stdout);
    assert_eq!(
        (&told["name"], &told["size"]),
        (&"d.tar:disk.img".into(), &plain.len().into())
    );
    folder.line("image verify d.tar").succeeded();
    assert!(folder.line("image unpack d.tar -").succeeded().stdout == plain);
    let whole = content(&folder, "d.tar");
    assert!(
        folder
            .line("image unpack d.tar - --format raw")
            .succeeded()
            .stdout
            == whole
    );
    if !is_ignored(Signal::INT) {
        let server = Server::start(&folder, "image serve d.tar --nbd unix:socket");
        let (mut stream, _) = client(&folder);
        assert!(read(&mut stream, 2 << 20, 512).unwrap() == plain[2 << 20..][..512]);
        server.end(Signal::INT);
    }
    run(&folder, "tar -cf other.tar disk.mf");
    for line in [
        "info other.tar",
        "verify other.tar",
        "unpack other.tar out",
        "pack other.tar out",
        "serve other.tar --nbd unix:s",
    ] {
        let done = folder.line(&format!("image {line}"));
        done.failed(
            1,
            &[
                "other.tar",
                "no disk image in it, but disk.mf",
                "--format raw",
            ],
        );
    }
    folder
        .line("image pack disk.img disk.qcow2")
        .failed(2, &["disk.qcow2", "zstd's seekable format"]);
    let done = folder.line("image info d.tar --backing disk.mf");
    done.failed(2, &["--backing", "has no backing file"]);
    let done = folder.line("image serve d.tar disk.img --nbd unix:s --backing disk.mf");
    done.failed(2, &["--backing is of one image"]);
}
