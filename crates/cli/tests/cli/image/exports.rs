//! `evener image serve`: which images and bytes are offered, where, and how long. By the clients people use.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::serve::Server;
use super::tools::{has, run};
use super::{content, folder};
use crate::run::{Folder, status_of};

/// The URI of an export of the server at `socket`.
fn uri(folder: &Folder, export: &str) -> String {
    let socket = folder.path("socket");
    format!("nbd+unix:///{export}?socket={}", socket.display())
}

#[test]
fn several_images_are_chosen_by_name() {
    if !has(&["nbdinfo", "nbdcopy", "qemu-img"]) {
        return;
    }
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    folder.file("other", vec![9; 1 << 20]);
    let serve = "image serve disk.zst other --nbd unix:socket --metrics 127.0.0.1:0";
    for (names, given) in [
        (["disk.zst", "other"], ""),
        (["a", "b"], "--export a --export b"),
    ] {
        let server = Server::start(&folder, &format!("{serve} {given}"));
        let socket = folder.path("socket");
        let list = run(&folder, &format!("nbdinfo --list {}", uri(&folder, "")));
        for (name, file) in names.iter().zip(["disk.img", "other"]) {
            assert!(list.contains(&format!("export=\"{name}\"")), "{list}");
            run(&folder, &format!("nbdcopy {} copy", uri(&folder, name)));
            assert!(content(&folder, "copy") == content(&folder, file), "{name}");
        }
        let other = format!("nbd+unix:///{}?socket={}", names[1], socket.display());
        run(
            &folder,
            &format!("qemu-img compare -f raw -F raw {other} other"),
        );
        let unnamed = Command::new("nbdinfo")
            .arg(uri(&folder, ""))
            .output()
            .unwrap();
        assert!(!unnamed.status.success());
        let metrics = server.line.split("metrics at tcp:").nth(1).unwrap();
        let mut http = std::net::TcpStream::connect(metrics.split(';').next().unwrap()).unwrap();
        std::io::Write::write_all(&mut http, b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        http.read_to_string(&mut page).unwrap();
        let label = format!("evener_nbd_read_bytes_total{{export=\"{}\"}} ", names[1]);
        assert!(page.contains(&label), "{page}");
        assert_eq!(server.end(Signal::TERM).0, Some(0));
    }
    // One image has the empty name, and any it is given beside that.
    let server = Server::start(
        &folder,
        "image serve disk.zst --nbd unix:socket --export one",
    );
    for name in ["", "one"] {
        run(&folder, &format!("nbdinfo {}", uri(&folder, name)));
    }
    drop(server);
    for (line, part) in [
        ("disk.zst other --export a", "1 name for 2 images"),
        ("disk.zst other --export a --export a", "two exports"),
        ("disk.zst ./disk.zst", "two exports"),
        ("disk.zst other --overlay o", "--overlay is of one image"),
    ] {
        let line = format!("image serve {line} --nbd unix:s");
        folder.line(&line).failed(2, &[part]);
    }
    folder
        .line("image serve disk.zst other --ublk")
        .failed(2, &["one image"]);
}

#[test]
fn it_ends_with_its_last_client_and_its_pid_file_too() {
    if !has(&["nbdcopy"]) {
        return;
    }
    let folder = folder();
    let line = "image serve disk.img --nbd unix:socket --exit-last --pid-file pid";
    let mut command = folder.evener(line.split_whitespace());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !folder.path("pid").exists() && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
    let pid = String::from_utf8(content(&folder, "pid")).unwrap();
    assert_eq!(pid, format!("{}\n", child.id()));
    // One that goes before it has chosen an export is none.
    drop(std::os::unix::net::UnixStream::connect(folder.path("socket")).unwrap());
    run(&folder, &format!("nbdcopy {} copy", uri(&folder, "")));
    assert_eq!(status_of(child.wait().unwrap()), Some(0));
    assert!(content(&folder, "copy") == content(&folder, "disk.img"));
    assert!(!folder.path("pid").exists() && !folder.path("socket").exists());
    let line = "image serve disk.img --nbd unix:socket --pid-file no/folder";
    folder.line(line).failed(1, &["no/folder"]);
    assert!(!folder.path("socket").exists());
}

#[test]
fn a_pid_file_is_of_one_server() {
    let folder = folder();
    let first = Server::start(&folder, "image serve disk.img --nbd unix:a --pid-file pid");
    let pid = content(&folder, "pid");
    let line = "image serve disk.img --nbd unix:b --pid-file pid --overlay changes";
    let id = String::from_utf8_lossy(&pid).trim().to_owned();
    folder.line(line).failed(1, &["pid: ", "still runs", &id]);
    assert!(content(&folder, "pid") == pid);
    assert!(!folder.path("b").exists() && !folder.path("changes").exists());
    // It is killed, and what it has left is replaced.
    drop(first);
    assert!(content(&folder, "pid") == pid);
    let second = Server::start(&folder, line);
    assert!(content(&folder, "pid") != pid, "{}", second.line);
    assert_eq!(second.end(Signal::TERM).0, Some(0));
    assert!(!folder.path("pid").exists());
    let line = "image serve disk.img --nbd unix:b --pid-file .";
    folder.line(line).failed(1, &["is not a file"]);
}

#[test]
fn an_abstract_socket_has_no_file() {
    if !has(&["qemu-img"]) {
        return;
    }
    let folder = folder();
    let name = format!("evener-test-{}", std::process::id());
    let line = format!("image serve disk.img --nbd unix:@{name}");
    let server = Server::start(&folder, &line);
    let names = folder.names().len();
    let options = format!("driver=nbd,server.type=unix,server.path={name},server.abstract=on");
    run(
        &folder,
        &format!("qemu-img convert --image-opts {options} -O raw copy"),
    );
    let plain = content(&folder, "disk.img");
    assert!(content(&folder, "copy")[..plain.len()] == plain);
    assert_eq!(folder.names().len(), names + 1);
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}

#[test]
fn a_socket_that_was_passed_is_served() {
    if !has(&["nbdcopy"]) {
        return;
    }
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    // nbdcopy starts the server between the brackets as systemd would.
    let serve = folder.evener("image serve disk.zst --nbd systemd".split_whitespace());
    let copied = Command::new("nbdcopy")
        .arg("--")
        .arg("[")
        .arg(serve.get_program())
        .args(serve.get_args())
        .args(["]", "copy"])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&copied.stderr);
    assert!(copied.status.success(), "{said}");
    assert!(content(&folder, "copy") == content(&folder, "disk.img"));
    let line = "image serve disk.zst --nbd systemd";
    folder.line(line).failed(1, &["no socket was passed"]);
}

#[test]
fn writes_into_a_snapshot_are_gone_at_the_end() {
    if !has(&["nbdcopy"]) {
        return;
    }
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    let (packed, plain) = (content(&folder, "disk.zst"), content(&folder, "disk.img"));
    folder.file("new", vec![0x55; plain.len()]);
    let names = folder.names();
    for _ in 0..2 {
        let line = "image serve disk.zst --nbd unix:socket --snapshot";
        let server = Server::start(&folder, line);
        assert!(server.line.contains("a temporary file"), "{}", server.line);
        let uri = uri(&folder, "");
        run(&folder, &format!("nbdcopy {uri} copy"));
        assert!(content(&folder, "copy") == plain);
        run(&folder, &format!("nbdcopy --flush new {uri}"));
        run(&folder, &format!("nbdcopy {uri} copy"));
        assert!(content(&folder, "copy") == content(&folder, "new"));
        assert_eq!(server.end(Signal::TERM).0, Some(0));
        fs::remove_file(folder.path("copy")).unwrap();
    }
    assert!(content(&folder, "disk.zst") == packed);
    assert_eq!(folder.names(), names);
    let line = "image serve disk.zst --nbd unix:s --snapshot --overlay o";
    folder.line(line).failed(2, &["--snapshot"]);
}

/// An image of 8 MiB with partitions that sfdisk made, and with bytes that differ everywhere between them.
fn partitioned(folder: &Folder, script: &str) -> Vec<u8> {
    let mut bytes = vec![0; 8 << 20];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
    }
    folder.file("parts", &bytes);
    folder.file("script", script);
    let done = Command::new(SFDISK)
        .args(["--quiet", "parts"])
        .stdin(fs::File::open(folder.path("script")).unwrap())
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    content(folder, "parts")
}

const SFDISK: &str = "/usr/sbin/sfdisk";

#[test]
fn a_partition_or_a_range_is_served_alone() {
    if !has(&["nbdcopy", "nbdinfo"]) || !Path::new(SFDISK).exists() {
        evener_testing::skip(format_args!("{SFDISK} is not installed"));
        return;
    }
    let folder = Folder::new();
    let gpt = "label: gpt\n2048,2048\n4096,1024\n";
    let mbr = "label: dos\n2048,2048\n4096,8000,5\n4200,1000\n5400,2000\n";
    let (mb, sector) = (1 << 20, 512);
    for (script, options, range) in [
        (gpt, "--partition 1", mb..2 * mb),
        (gpt, "--partition 2", 2 * mb..2 * mb + 1024 * sector),
        (mbr, "--partition 1", mb..2 * mb),
        (mbr, "--partition 5", 4200 * sector..5200 * sector),
        (mbr, "--partition 6", 5400 * sector..7400 * sector),
        (gpt, "--offset 1000 --length 70001", 1000..71_001),
        (gpt, "--offset 7M", 7 * mb..8 * mb),
        (gpt, "--length 5", 0..5),
    ] {
        let all = partitioned(&folder, script);
        folder
            .line("image pack parts parts.zst --format raw")
            .succeeded();
        let line = format!("image serve parts.zst --nbd unix:socket --snapshot {options}");
        let server = Server::start(&folder, &line);
        let uri = uri(&folder, "");
        run(&folder, &format!("nbdcopy {uri} copy"));
        assert!(content(&folder, "copy") == all[range.clone()], "{options}");
        let size = run(&folder, &format!("nbdinfo --size {uri}"));
        assert_eq!(size.trim(), range.len().to_string());
        // What is written stays in it.
        folder.file("new", vec![0x55; range.len()]);
        run(&folder, &format!("nbdcopy new {uri}"));
        run(&folder, &format!("nbdcopy {uri} copy"));
        assert!(
            content(&folder, "copy") == content(&folder, "new"),
            "{options}"
        );
        assert_eq!(server.end(Signal::TERM).0, Some(0));
        fs::remove_file(folder.path("parts")).unwrap();
        fs::remove_file(folder.path("parts.zst")).unwrap();
    }
    partitioned(&folder, gpt);
    for (options, part) in [
        ("--partition 3", "no partition 3"),
        ("--partition 4000000000", "no partition 4000000000"),
        ("--offset 8M", "are not in its 8388608 bytes"),
        ("--offset 1M --length 8M", "are not in its 8388608 bytes"),
        ("--length 0", "are not in its 8388608 bytes"),
    ] {
        let line = format!("image serve parts --nbd unix:socket {options}");
        folder.line(&line).failed(1, &["parts: ", part]);
    }
}
