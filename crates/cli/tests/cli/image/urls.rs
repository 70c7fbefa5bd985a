//! Images on servers, by the servers people use.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use rustix::process::Signal;

use super::serve::Server;
use super::tools::{Running, free_port, has, is_program, listens, nginx, run};
use super::{content, folder, image};
use crate::run::Folder;
use crate::signals::is_ignored;

/// A folder with the image, and what it is packed into.
fn packed() -> (Folder, Vec<u8>) {
    let folder = folder();
    folder.line("image pack disk.img wanted").succeeded();
    let wanted = content(&folder, "wanted");
    (folder, wanted)
}

#[track_caller]
fn is_packed_from(folder: &Folder, url: &str, wanted: &[u8]) {
    for plan in ["sequential", "farm"] {
        let line = format!("image pack {url} out --plan {plan}");
        folder.line(&line).succeeded();
        assert!(content(folder, "out") == wanted, "{line}");
        fs::remove_file(folder.path("out")).unwrap();
    }
}

#[test]
fn disks_of_nbd_servers_are_packed() {
    let folder = folder();
    // QEMU has whole sectors.
    folder.file("disk.img", &image()[..3 << 20]);
    folder.line("image pack disk.img wanted").succeeded();
    let wanted = content(&folder, "wanted");
    let socket = folder.path("socket");
    let at = socket.display();
    let mut tried = 0;
    for (program, line) in [
        (
            "qemu-nbd",
            format!("qemu-nbd -r -t -f raw -x x -k {at} disk.img"),
        ),
        (
            "qemu-nbd",
            format!("qemu-nbd -r -t -e 3 -f raw -x x -k {at} disk.img"),
        ),
        ("nbdkit", format!("nbdkit -f -r -U {at} file disk.img")),
        (
            "nbdkit",
            format!("nbdkit -f -r -U {at} --no-sr file disk.img"),
        ),
    ] {
        if !has(&[program]) {
            continue;
        }
        let running = Running::at(&folder, &socket, &line);
        is_packed_from(&folder, &format!("nbd+unix:///x?socket={at}"), &wanted);
        if program == "qemu-nbd" {
            let done = folder.line(&format!("image pack nbd+unix:///y?socket={at} out"));
            done.failed(1, &["no export has this name"]);
        }
        tried += 1;
        drop(running);
        let _ = fs::remove_file(&socket);
    }
    assert!(tried > 0 || !has(&["qemu-nbd"]));
    if is_ignored(Signal::INT) {
        return;
    }
    // A hole of a TiB is not read.
    let file = fs::File::create(folder.path("large")).unwrap();
    file.set_len(1 << 40).unwrap();
    let server = Server::start(&folder, "image serve large --nbd tcp:127.0.0.1:0");
    let place = server.line.split("nbdcopy '").nth(1).unwrap();
    let url = place.split('\'').next().unwrap().to_owned();
    let done = folder.line(&format!("image pack {url} out --codec none"));
    assert!(done.succeeded().stderr.contains("1 TiB"), "{}", done.stderr);
    // It is gone.
    server.end(Signal::INT);
    let done = folder.line(&format!("image pack {url} gone"));
    done.failed(1, &[&url, "Connection refused"]);
    assert!(!folder.path("gone").exists());
}

#[test]
fn an_image_behind_a_server_is_a_disk_whatever_it_holds() {
    if !has(&["qemu-img", "qemu-nbd"]) {
        return;
    }
    let folder = folder();
    run(
        &folder,
        "qemu-img convert -f raw -O qcow2 disk.img disk.qcow2",
    );
    let socket = folder.path("socket");
    let at = socket.display();
    let line = format!("qemu-nbd -r -t -f raw -k {at} disk.qcow2");
    let _running = Running::at(&folder, &socket, &line);
    let url = format!("nbd+unix:///?socket={at}");
    let done = folder.line(&format!("image unpack {url} -"));
    assert!(done.succeeded().stdout == content(&folder, "disk.qcow2"));
    let done = folder.line(&format!("image unpack {url} - --format qcow2"));
    let mut wanted = image();
    wanted.resize(wanted.len().next_multiple_of(512), 0);
    assert!(done.succeeded().stdout == wanted);
}

#[test]
fn files_of_web_servers_are_packed_verified_and_served() {
    if !is_program("nginx", "-v") || !has(&["gzip", "xz"]) {
        return;
    }
    let (folder, wanted) = packed();
    run(&folder, "gzip -k disk.img");
    run(&folder, "xz -k0 disk.img");
    let port = free_port();
    let running = nginx(&folder, &format!("listen 127.0.0.1:{port};"), port);
    let url = format!("http://127.0.0.1:{port}");
    for name in ["disk.img", "wanted", "disk.img.gz", "disk.img.xz"] {
        is_packed_from(&folder, &format!("{url}/{name}"), &wanted);
    }
    folder
        .line(&format!("image verify {url}/wanted"))
        .succeeded();
    let done = folder.line(&format!("image pack {url}/missing out"));
    done.failed(1, &["missing", "404"]);
    if !is_ignored(Signal::INT) && has(&["nbdcopy"]) {
        let socket = folder.path("socket");
        let line = format!("image serve {url}/wanted --nbd unix:socket");
        let server = Server::start(&folder, &line);
        let copy = format!("nbdcopy nbd+unix:///?socket={} copy", socket.display());
        run(&folder, &copy);
        assert!(content(&folder, "copy") == image());
        server.end(Signal::INT);
    }
    drop(running);
    let done = folder.line(&format!("image pack {url}/disk.img out"));
    done.failed(1, &["Connection refused"]);
    assert!(!folder.path("out").exists());
}

#[test]
fn a_web_server_without_ranges_gives_a_stream() {
    if !has(&["python3", "zstd"]) {
        return;
    }
    let (folder, wanted) = packed();
    run(&folder, "zstd -q disk.img -o disk.zst");
    let port = free_port();
    let line = format!("python3 -m http.server {port} --bind 127.0.0.1");
    let _running = Running::start(&folder, &line, || listens(port));
    let url = format!("http://127.0.0.1:{port}");
    for name in ["disk.img", "disk.zst"] {
        is_packed_from(&folder, &format!("{url}/{name}"), &wanted);
    }
    for line in ["info", "verify"] {
        let done = folder.line(&format!("image {line} {url}/disk.img"));
        done.failed(1, &["no ranges", "http.server", "download it first"]);
    }
    folder.file("disk.qcow2", b"QFI\xfb\0\0\0\x03");
    let done = folder.line(&format!("image pack {url}/disk.qcow2 out"));
    done.failed(1, &["qcow2", "no ranges", "download it first"]);
}

/// A web server that begins an answer and dies.
fn dies(head: &'static str, body: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![7; body]);
    });
    format!("http://127.0.0.1:{port}/disk.img")
}

#[test]
fn a_server_that_dies_leaves_nothing() {
    let folder = folder();
    for (head, body, parts) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n",
            3_000_000,
            &["cannot read at byte 3000000"][..],
        ),
        (
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/9000000\r\nContent-Length: 1\r\n\r\n",
            1,
            &["cannot be read at byte 0"],
        ),
        ("nonsense\r\n\r\n", 0, &["disk.img"]),
        (
            "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
            0,
            &["answered 500"],
        ),
    ] {
        let url = dies(head, body);
        let done = folder.line(&format!("image pack {url} out"));
        done.failed(1, &[&[&url[..]], parts].concat());
        assert_eq!(folder.names(), ["disk.img"]);
    }
    let long = format!("nbd+unix:///?socket=/{}", "a".repeat(107));
    for (url, parts) in [
        ("ftp://a/b", &["ftp://", "http://"][..]),
        ("nbd://", &["nbd://HOST:PORT/EXPORT"]),
        (
            "nbds://a/?tls-certificate=b",
            &["'tls-certificate' is not known", "tls-certificates=DIR"],
        ),
        ("nbd://a/?socket=b", &["nbd://HOST:PORT/EXPORT"]),
        (
            "nbd+unix:///?sock=b",
            &["'sock' is not known", "socket=PATH"],
        ),
        ("nbd://a/?tls-certificates=b", &["nbds://"]),
        ("nbd+unix:///x", &["socket=PATH"]),
        ("nbd+unix:///?socket=none", &["No such file"]),
        (&long[..], &["107 bytes"]),
        ("s3://x/y", &["s3:// is not read", "http://"]),
        ("nbd:unix:/run/s", &["QEMU", "nbd+unix:///?socket=/run/s"]),
        (
            "nbd:host:9:exportname=x",
            &["QEMU", "write it as nbd://host:9/x"],
        ),
    ] {
        let done = folder.line(&format!("image pack {url} out"));
        done.failed(1, &[&[url], parts].concat());
    }
}

#[test]
fn nothing_is_written_to_a_server() {
    let folder = folder();
    for (url, part) in [
        ("nbd://localhost/", "nbdcopy - URL"),
        ("nbds+unix:///x?socket=y", "nbdcopy - URL"),
        ("nbd:unix:socket", "nbdcopy - URL"),
        ("https://example.org/disk.img", "upload"),
    ] {
        for verb in ["pack", "unpack"] {
            let done = folder.line(&format!("image {verb} disk.img {url}"));
            done.failed(1, &[url, "an output is a file", part]);
        }
    }
}

/// An NBD server that says `bytes` whatever it is asked.
fn says(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        let _ = stream.write_all(&bytes);
        // It is there until the client goes.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    format!("nbd://127.0.0.1:{port}")
}

/// A reply to an option.
fn reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut reply = 0x0003_e889_0455_65a9u64.to_be_bytes().to_vec();
    for number in [option, kind, data.len() as u32] {
        reply.extend(number.to_be_bytes());
    }
    [&reply[..], data].concat()
}

/// The negotiation up to the first request of a client, of a server with structured replies or without.
fn agreed(structured: bool, size: u64) -> Vec<u8> {
    let export = [&[0, 0][..], &size.to_be_bytes(), &[0, 3]].concat();
    let first = match structured {
        true => [
            reply(8, 1, b""),
            reply(10, 4, b"\0\0\0\x07base:allocation"),
            reply(10, 1, b""),
        ]
        .concat(),
        false => reply(8, 0x8000_0001, b""),
    };
    let rest = [first, reply(7, 3, &export), reply(7, 1, b"")].concat();
    [&b"NBDMAGICIHAVEOPT\0\x03"[..], &rest].concat()
}

/// A part of a structured reply, the last of it.
fn part(kind: u16, cookie: u64, data: &[u8]) -> Vec<u8> {
    let mut part = 0x668e_33efu32.to_be_bytes().to_vec();
    part.extend(1u16.to_be_bytes());
    part.extend(kind.to_be_bytes());
    part.extend(cookie.to_be_bytes());
    part.extend((data.len() as u32).to_be_bytes());
    [&part[..], data].concat()
}

#[test]
fn a_server_that_breaks_the_protocol_is_told_of_in_a_line() {
    let folder = folder();
    let simple = |error: u8, cookie: u8| {
        let head = [
            0x67, 0x44, 0x66, 0x98, 0, 0, 0, error, 0, 0, 0, 0, 0, 0, 0, cookie,
        ];
        [&agreed(false, 1000)[..], &head].concat()
    };
    let structured = |parts: &[Vec<u8>]| [agreed(true, 1000), parts.concat()].concat();
    // All of it has data.
    let status = part(5, 1, &[0, 0, 0, 7, 0, 0, 3, 0xe8, 0, 0, 0, 0]);
    let at = |at: u64, data: &[u8]| [&at.to_be_bytes()[..], data].concat();
    let long = [
        &b"NBDMAGICIHAVEOPT\0\x03"[..],
        &reply(8, 1, b"")[..16],
        &[0xff; 4],
    ]
    .concat();
    for (bytes, said) in [
        (
            b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n".to_vec(),
            "no NBD server",
        ),
        (b"NBDMAGICIHAVEOPT\0\0".to_vec(), "old style"),
        (long, "too long"),
        (agreed(false, u64::MAX), "no image is as large"),
        (simple(0, 9), "a reply to no request"),
        (simple(5, 1), "Input/output error"),
        (
            [&simple(0, 1)[..], &[7; 500]].concat(),
            "cannot be read at byte 0",
        ),
        (
            structured(&[status.clone(), part(1, 2, &at(5000, &[7; 1000]))]),
            "not asked for",
        ),
        (
            structured(&[status.clone(), part(1, 2, &at(0, &[7; 999]))]),
            "fewer bytes",
        ),
        (
            structured(&[status.clone(), part(2, 2, &at(u64::MAX, &[0, 0, 1, 0]))]),
            "not asked for",
        ),
        (structured(&[status, part(77, 2, b"")]), "not asked for"),
    ] {
        let url = says(bytes);
        let done = folder.line(&format!("image pack {url} out"));
        done.failed(1, &[&url, said]);
        assert_eq!(folder.names(), ["disk.img"], "{said}");
    }
}
