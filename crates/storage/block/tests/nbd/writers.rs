//! Clients people use, writing.

use std::fs;

use crate::client::Client;
use crate::common::{Folder, has, same};
use crate::interop::{run, run_ok};
use crate::server::{Server, packed_image};

/// A server of an image of whole granules, and its bytes.
fn server() -> (Server, Vec<u8>) {
    let (_, mut plain) = packed_image("zstd");
    plain.resize(4 << 20, 0);
    let folder = Folder::in_memory();
    let bytes = crate::common::packed(&folder, &plain, "zstd", 16384, "auto");
    folder.file("image", &bytes);
    (Server::over(folder, 1 << 20), plain)
}

/// All of it, as the next server of it gives it.
fn content(server: Server, len: usize) -> Vec<u8> {
    let server = server.again(|_| ());
    Client::start(server.connect(), false).read(0, len)
}

#[test]
fn libnbd_writes_it() {
    if !has("nbdinfo") || !has("nbdcopy") {
        return;
    }
    let (server, plain) = server();
    let told = run(&server, "nbdinfo --json URI");
    for part in [
        "\"is_read_only\": false",
        "\"can_multi_conn\": true",
        "\"can_flush\": true",
        "\"can_fua\": true",
        "\"can_trim\": true",
        "\"can_zero\": true",
        "\"can_fast_zero\": true",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    let mut other = plain.clone();
    other.rotate_left(70_000);
    other[3 << 20..].fill(0);
    server.folder().file("other", &other);
    for flags in ["", "--allocated", "--request-size=8192", "--connections=4"] {
        run(&server, &format!("nbdcopy --flush {flags} other URI"));
        run(&server, "nbdcopy URI back");
        let back = fs::read(server.folder().path("back")).unwrap();
        same(&back, &other, flags);
    }
    same(&content(server, other.len()), &other, "after a new start");
}

#[test]
fn qemu_io_writes_patterns() {
    if !has("qemu-io") {
        return;
    }
    let (server, mut plain) = server();
    run(
        &server,
        concat!(
            "qemu-io -f raw URI -c write\u{a0}-P\u{a0}0x11\u{a0}1000\u{a0}5000 -c write\u{a0}-f\u{a0}-P\u{a0}0x22\u{a0}1M\u{a0}64k ",
            "-c write\u{a0}-z\u{a0}-u\u{a0}65536\u{a0}128k -c write\u{a0}-z\u{a0}300000\u{a0}9000 -c discard\u{a0}2M\u{a0}64k ",
            "-c aio_write\u{a0}-P\u{a0}0x33\u{a0}3M\u{a0}100k -c aio_flush -c flush ",
            "-c read\u{a0}-P\u{a0}0x11\u{a0}1000\u{a0}5000 -c read\u{a0}-P\u{a0}0x22\u{a0}1M\u{a0}64k -c read\u{a0}-P\u{a0}0\u{a0}65536\u{a0}128k"
        ),
    );
    plain[1000..6000].fill(0x11);
    plain[1 << 20..][..64 << 10].fill(0x22);
    plain[65536..][..128 << 10].fill(0);
    plain[300_000..][..9000].fill(0);
    plain[2 << 20..][..64 << 10].fill(0);
    plain[3 << 20..][..100 << 10].fill(0x33);
    same(&content(server, plain.len()), &plain, "qemu-io");
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !has("fio") || !run_ok("fio --enghelp=nbd") {
        evener_testing::skip("fio has no nbd engine");
        return;
    }
    for sizes in ["bsrange=512-16k --blockalign=512", "bs=4k", "bs=128k"] {
        let (server, _) = server();
        let job = format!(
            "fio --name=w --ioengine=nbd --rw=randwrite --{sizes} --iodepth=16 --size=4M --verify=crc32c --fsync=64 --uri=URI"
        );
        run(&server, &job);
        let server = server.again(|_| ());
        run(&server, &format!("{job} --verify_only"));
    }
}
