//! The clients people use, where they are installed.

use std::process::{Command, Stdio};
use std::thread;

use crate::common::{Folder, has, packed, same};
use crate::server::{Server, packed_image};

#[track_caller]
pub fn run(server: &Server, line: &str) -> String {
    let line = line.replace("URI", &server.uri());
    // A space that does not end a word is a space of the command.
    let mut words = line
        .split_ascii_whitespace()
        .map(|word| word.replace('\u{a0}', " "));
    let done = Command::new(words.next().unwrap())
        .args(words)
        .current_dir(server.folder().path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

fn server() -> (Server, Vec<u8>) {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 1 << 20);
    server.folder().file("plain", &plain);
    (server, plain)
}

#[test]
fn libnbd_reads_it() {
    if !has("nbdinfo") || !has("nbdcopy") {
        return;
    }
    let (server, plain) = server();
    let told = run(&server, "nbdinfo --json URI");
    for part in [
        "\"export-size\": 3146505",
        "\"is_read_only\": true",
        "\"can_multi_conn\": true",
        "\"can_df\": true",
        "base:allocation",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    assert!(run(&server, "nbdinfo --list URI").contains("export=\"\""));
    assert!(run(&server, "nbdinfo --map --totals URI").contains("hole,zero"));
    for flags in [
        "",
        "--no-extents",
        "--connections=1 --requests=1",
        "--request-size=4096",
    ] {
        run(&server, &format!("nbdcopy {flags} URI copy"));
        same(
            &std::fs::read(server.folder().path("copy")).unwrap(),
            &plain,
            flags,
        );
    }
    // Two at once.
    thread::scope(|scope| {
        for name in ["one", "two"] {
            let (server, plain) = (&server, &plain);
            scope.spawn(move || {
                run(server, &format!("nbdcopy URI {name}"));
                same(
                    &std::fs::read(server.folder().path(name)).unwrap(),
                    plain,
                    name,
                );
            });
        }
    });
}

#[test]
fn qemu_reads_it() {
    if !has("qemu-img") {
        return;
    }
    let (server, plain) = server();
    run(&server, "qemu-img convert -f raw -O raw URI copy");
    let copy = std::fs::read(server.folder().path("copy")).unwrap();
    // It rounds up to whole sectors.
    same(&copy[..plain.len()], &plain, "qemu-img convert");
    run(&server, "qemu-img info -f raw URI");
    let whole = vec![7; 1 << 20];
    let folder = Folder::in_memory();
    let bytes = packed(&folder, &whole, "zstd", 65536, "auto");
    let server = Server::of(&bytes, 1 << 20);
    server.folder().file("plain", &whole);
    run(&server, "qemu-img compare -f raw -F raw URI plain");
}

#[test]
fn fio_reads_it() {
    if !has("fio") || !run_ok("fio --enghelp=nbd") {
        evener_testing::skip("fio has no nbd engine");
        return;
    }
    let (server, _) = server();
    let job =
        "--name=r --ioengine=nbd --rw=randread --bs=4k --iodepth=16 --number_ios=500 --size=3M";
    let told = run(
        &server,
        &format!("fio {job} --uri=URI --output-format=terse"),
    );
    assert!(!told.is_empty());
}

#[test]
fn a_file_system_of_nbdfuse_has_it() {
    if !has("nbdfuse") || !has("fusermount3") {
        return;
    }
    if !std::path::Path::new("/dev/fuse").exists() {
        evener_testing::skip("there is no /dev/fuse");
        return;
    }
    let (server, plain) = server();
    let mount = server.folder().path("mount");
    std::fs::create_dir(&mount).unwrap();
    let mut fuse = Command::new("nbdfuse")
        .arg(&mount)
        .arg(server.uri())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = mount.join("nbd");
    while !file.exists() {
        if let Some(status) = fuse.try_wait().unwrap() {
            evener_testing::skip(format_args!("nbdfuse cannot mount here: {status}"));
            return;
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let read = std::fs::read(&file);
    let unmount = |flag| Command::new("fusermount3").arg(flag).arg(&mount).status();
    // A program that examines every new mount may still use it.
    if !unmount("-u").unwrap().success() {
        unmount("-uz").unwrap();
    }
    fuse.wait().unwrap();
    same(&read.unwrap(), &plain, "nbdfuse");
}

pub fn run_ok(line: &str) -> bool {
    // A space that does not end a word is a space of the command.
    let mut words = line
        .split_ascii_whitespace()
        .map(|word| word.replace('\u{a0}', " "));
    let done = Command::new(words.next().unwrap()).args(words).output();
    done.is_ok_and(|done| done.status.success())
}

#[test]
fn a_server_that_died_is_started_again_at_the_same_place() {
    let (bytes, _) = packed_image("zstd");
    let folder = Folder::in_memory();
    folder.file("image", &bytes);
    // A killed server leaves a socket without a listener.
    drop(std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap());
    assert!(folder.path("socket").exists());
    let server = Server::at(folder, 1 << 20);
    crate::client::Client::start(server.connect(), true);
}
