//! What a server says of what it cannot give, and of itself.

use std::fs::File;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::serve::{Server, client, read};
use super::{content, folder};
use crate::run::Folder;
use crate::signals::is_ignored;

/// What a program of others says about a URI, from another folder than the server's; `None`, and a line, where it is not
/// installed.
fn told(program: &str, args: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let command = command.args(args).current_dir("/").stdin(Stdio::null());
    let Ok(done) = command.output() else {
        evener_testing::skip(format_args!("{program} is not installed"));
        return None;
    };
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {args:?}: {said}");
    Some(String::from_utf8(done.stdout).unwrap())
}

/// What stands between quotes behind the name of a client in the first line of a server.
fn uri(server: &Server) -> String {
    let quoted = server.line.split("nbdcopy '").nth(1).unwrap();
    quoted.split('\'').next().unwrap().to_owned()
}

#[test]
fn a_fault_is_told_once_and_then_counted() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let pack = "image pack disk.img disk.zst --block 16K";
    folder.line(pack).succeeded();
    let mut bytes = content(&folder, "disk.zst");
    bytes[60] ^= 0x55;
    folder.file("disk.zst", bytes);
    let server = Server::start(
        &folder,
        "image serve disk.zst --nbd unix:socket --readahead off",
    );
    let (mut stream, _) = client(&folder);
    for _ in 0..42 {
        assert_eq!(read(&mut stream, 512, 512), Err(5));
    }
    let (_, said) = server.end(Signal::INT);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(
        lines[0].starts_with("evener: warning: disk.zst: the block at byte 0 "),
        "{said}"
    );
    assert_eq!(lines[1], format!("{} (the same 41 times more)", lines[0]));
}

#[test]
fn what_a_file_has_not_any_more_is_an_error_and_data() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let server = Server::start(&folder, "image serve disk.img --nbd unix:socket");
    let (mut stream, size) = client(&folder);
    assert!(read(&mut stream, 1 << 20, 512).is_ok());
    let file = File::options().write(true).open(folder.path("disk.img"));
    file.unwrap().set_len(500_000).unwrap();
    assert!(read(&mut stream, 4096, 512).is_ok());
    // There was a hole at the second.
    for at in [800_000, 3 << 19, size - 512] {
        assert_eq!(read(&mut stream, at, 512), Err(5), "{at}");
    }
    if let Some(map) = told("nbdinfo", &["--map", &uri(&server)]) {
        let lines: Vec<_> = map.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 1, "{map}");
        assert!(lines[0].ends_with("data"), "{map}");
    }
    let (_, said) = server.end(Signal::INT);
    let warning = "evener: warning: disk.img: shrank from 3146505 to 500000 bytes";
    let warnings: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with(warning))
        .collect();
    assert_eq!(warnings.len(), 2, "{said}");
    assert!(warnings[1].ends_with("(the same 2 times more)"), "{said}");
}

#[test]
fn clusters_that_are_missing_count_as_data_as_elsewhere() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let disk = folder
        .path("disk.img")
        .into_os_string()
        .into_string()
        .unwrap();
    let image = folder
        .path("disk.qcow2")
        .into_os_string()
        .into_string()
        .unwrap();
    let convert = ["convert", "-f", "raw", "-O", "qcow2", &disk, &image];
    if told("qemu-img", &convert).is_none() {
        return;
    }
    let whole = content(&folder, "disk.qcow2");
    folder.file("disk.qcow2", &whole[..whole.len() - 300_000]);
    let server = Server::start(&folder, "image serve disk.qcow2 --nbd unix:socket");
    let (Some(ours), Some(theirs)) = (
        told("nbdinfo", &["--map", &uri(&server)]),
        by_qemu(&folder, &image),
    ) else {
        return;
    };
    assert_eq!(ours, theirs);
    let data = "data";
    assert!(ours.trim_end().ends_with(data), "{ours}");
    let (mut stream, size) = client(&folder);
    assert_eq!(read(&mut stream, size - 512, 512), Err(5));
    let (_, said) = server.end(Signal::INT);
    assert!(said.contains("lies beyond the end of the file"), "{said}");
}

/// The map that nbdinfo shows of qemu-nbd, which serves one client.
fn by_qemu(folder: &Folder, image: &str) -> Option<String> {
    let socket = folder.path("qemu").into_os_string().into_string().unwrap();
    let mut command = Command::new("qemu-nbd");
    // It goes on in the background once it listens.
    let pid = folder.path("pid").into_os_string().into_string().unwrap();
    let args = [
        "-r",
        "-f",
        "qcow2",
        "-k",
        &socket,
        "--fork",
        "--pid-file",
        &pid,
        image,
    ];
    let command = command.args(args).stdin(Stdio::null());
    if command.status().is_err() {
        evener_testing::skip("qemu-nbd is not installed");
        return None;
    }
    told(
        "nbdinfo",
        &["--map", &format!("nbd+unix:///?socket={socket}")],
    )
}

#[test]
fn the_uri_can_be_used_from_anywhere() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    for (address, part) in [
        ("unix:a b'c&d%", "nbd+unix:///?socket=/"),
        ("tcp:0.0.0.0:0", "nbd://127.0.0.1:"),
        ("tcp:[::1]:0", "nbd://[::1]:"),
        ("tcp:localhost:0", "nbd://"),
    ] {
        let args = ["image", "serve", "disk.img", "--nbd", address];
        let mut command = folder.evener(args);
        let server = Server::of({
            command.stdout(Stdio::null());
            command
        });
        // Not every machine has the newer protocol.
        if server.line.contains("cannot listen on") {
            evener_testing::skip(&server.line);
            continue;
        }
        let uri = uri(&server);
        assert!(uri.starts_with(part), "{uri}");
        if let Some(size) = told("nbdinfo", &["--size", &uri]) {
            assert_eq!(size.trim(), "3146505", "{uri}");
        }
        server.end(Signal::INT);
    }
}
