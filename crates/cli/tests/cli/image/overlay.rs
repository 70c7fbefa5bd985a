//! `evener image serve --overlay`

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::serve::{Server, client, read};
use super::{folder, json};
use crate::run::Folder;
use crate::signals::is_ignored;

const SERVE: &str = "image serve disk.zst --nbd unix:socket --overlay changes";
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const FUA: u16 = 1;

/// A folder with an image, packed.
fn packed() -> Folder {
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    folder
}

fn ask(
    stream: &mut UnixStream,
    (flags, command): (u16, u16),
    cookie: u64,
    at: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let mut request = b"\x25\x60\x95\x13".to_vec();
    request.extend(flags.to_be_bytes());
    request.extend(command.to_be_bytes());
    request.extend(cookie.to_be_bytes());
    request.extend(at.to_be_bytes());
    request.extend((bytes.len() as u32).to_be_bytes());
    request.extend(bytes);
    stream.write_all(&request)
}

/// The next reply's cookie and error.
fn answer(stream: &mut UnixStream) -> io::Result<(u64, u32)> {
    let mut reply = [0; 16];
    stream.read_exact(&mut reply)?;
    let cookie = u64::from_be_bytes(*reply[8..].first_chunk().unwrap());
    Ok((
        cookie,
        u32::from_be_bytes(*reply[4..].first_chunk().unwrap()),
    ))
}

/// The error number of a write.
pub fn write(stream: &mut UnixStream, at: u64, bytes: &[u8]) -> u32 {
    ask(stream, (0, WRITE), 1, at, bytes).unwrap();
    answer(stream).unwrap().1
}

#[test]
fn what_cannot_be_an_overlay_is_said_in_a_line() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = packed();
    let server = Server::start(&folder, SERVE);
    let start = "disk.zst: 3 MiB at unix:socket; writes go to changes (0 bytes so far); ";
    assert!(server.line.starts_with(start), "{}", server.line);
    let (mut stream, _) = client(&folder);
    assert_eq!(write(&mut stream, 5000, &[7; 100]), 0);
    let second = SERVE.replace("socket", "other");
    let done = folder.line(&second);
    done.failed(1, &["changes: in use by another evener; end that one"]);
    let (_, said) = server.end(Signal::INT);
    assert!(
        said.contains("1 client, 1 requests, 100 bytes written"),
        "{said}"
    );
    folder.file("text", b"text");
    folder
        .line("image pack disk.img large.zst --block 128K")
        .succeeded();
    for (line, parts) in [
        (
            "disk.img --overlay disk.img",
            &["disk.img: is the image itself"][..],
        ),
        (
            "disk.zst --overlay text",
            &["text: is not an overlay; name another file"],
        ),
        ("disk.zst --overlay .", &[".: is not an overlay"]),
        ("disk.zst --overlay no/such", &["no/such", "No such file"]),
        (
            "large.zst --overlay changes",
            &[
                "changes: is an overlay of disk.zst, of 3146505 bytes, and not of large.zst as it is now; name that image",
            ],
        ),
        (
            "changes",
            &[
                "changes: this overlay image holds what was written over another",
                "--overlay",
            ],
        ),
    ] {
        folder
            .line(&format!("image serve {line} --nbd unix:s"))
            .failed(1, parts);
        assert!(!folder.path("s").exists());
    }
    let file = fs::File::options()
        .write(true)
        .open(folder.path("changes"))
        .unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    folder
        .line(SERVE)
        .failed(1, &["changes: damaged overlay: it is cut short"]);
}

#[test]
fn info_tells_what_an_overlay_is() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = packed();
    let server = Server::start(&folder, SERVE);
    let (mut stream, _) = client(&folder);
    assert_eq!(write(&mut stream, 5000, &[7; 10_000]), 0);
    server.end(Signal::INT);
    let text = folder.line("image info changes").succeeded().text();
    for part in ["changes\n", "overlay", "disk.zst", "12 KiB"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let told = folder.line("image info --json changes");
    let told = json(&told.succeeded().stdout);
    assert_eq!(
        (&told["format"], &told["base"]),
        (&"overlay".into(), &"disk.zst".into())
    );
    assert_eq!(
        (&told["size"], &told["bytes"]),
        (&3_146_505.into(), &12_288.into())
    );
    // It begins where the last server ended.
    let server = Server::start(&folder, SERVE);
    assert!(
        server.line.contains("writes go to changes (12 KiB so far)"),
        "{}",
        server.line
    );
    let (mut stream, _) = client(&folder);
    assert_eq!(read(&mut stream, 5000, 10_000).unwrap(), [7; 10_000]);
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A client that has some of the image for itself, and knows what must be there.
struct Writer {
    place: Range<u64>,
    known: Vec<u8>,
    random: Random,
    /// What was asked for and not answered.
    asked: HashMap<u64, (usize, Vec<u8>)>,
    cookie: u64,
    answered: u64,
}

impl Writer {
    /// Writes here and there, some requests under way, until the server is gone.
    fn work(&mut self, mut stream: UnixStream) {
        while self.step(&mut stream).is_ok() {}
    }

    fn step(&mut self, stream: &mut UnixStream) -> io::Result<()> {
        while self.asked.len() < 4 {
            let len = 1 + self.random.below(9000) as usize;
            let at = self.random.below((self.known.len() - len) as u64) as usize;
            // Two under way in one place would come in any order.
            let meets =
                |(from, bytes): &(usize, Vec<u8>)| at < from + bytes.len() && *from < at + len;
            if self.asked.values().any(meets) {
                break;
            }
            self.cookie += 1;
            let bytes = vec![self.cookie as u8; len];
            let kind = match self.random.below(40) {
                0 => (FUA, WRITE),
                1 => {
                    self.asked.insert(self.cookie, (0, Vec::new()));
                    ask(stream, (0, FLUSH), self.cookie, 0, &[])?;
                    continue;
                }
                _ => (0, WRITE),
            };
            self.asked.insert(self.cookie, (at, bytes.clone()));
            ask(
                stream,
                kind,
                self.cookie,
                self.place.start + at as u64,
                &bytes,
            )?;
        }
        let (cookie, error) = answer(stream)?;
        assert_eq!(error, 0);
        let (at, bytes) = self.asked.remove(&cookie).unwrap();
        self.known[at..at + bytes.len()].copy_from_slice(&bytes);
        self.answered += 1;
        Ok(())
    }

    /// All that was answered is there, and of what was not any part.
    fn check(&mut self, stream: &mut UnixStream) {
        let now = read(stream, self.place.start, self.known.len() as u32).unwrap();
        let mut wanted = self.known.clone();
        for (at, bytes) in self.asked.values() {
            for at in *at..at + bytes.len() {
                if now[at] == bytes[0] {
                    wanted[at] = now[at];
                }
            }
        }
        let differs = now.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!(differs, None, "lost after {} answers", self.answered);
        self.known = now;
        self.asked.clear();
    }
}

/// What a server that is killed again and again loses: nothing that was answered.
fn killed_again_and_again(folder: &Folder, rounds: u64) {
    let plain = super::content(folder, "disk.img");
    let mut random = Random(1);
    // They meet within granules.
    let mut writers: Vec<Writer> = (0..3u64)
        .map(|number| {
            let place = number * 700_001..(number + 1) * 700_001;
            Writer {
                known: plain[place.start as usize..place.end as usize].to_vec(),
                place,
                random: Random(number),
                asked: HashMap::new(),
                cookie: 0,
                answered: 0,
            }
        })
        .collect();
    for round in 0..rounds {
        let server = Server::start(folder, SERVE);
        assert!(server.line.starts_with("disk.zst: "), "{}", server.line);
        let (mut stream, _) = client(folder);
        writers
            .iter_mut()
            .for_each(|writer| writer.check(&mut stream));
        let behind = read(&mut stream, 2_100_003, 1_000_000).unwrap();
        assert!(behind == plain[2_100_003..3_100_003], "round {round}");
        drop(stream);
        thread::scope(|scope| {
            for writer in &mut writers {
                let (stream, _) = client(folder);
                scope.spawn(|| writer.work(stream));
            }
            thread::sleep(Duration::from_millis(20 + random.below(150)));
            server.end(Signal::KILL);
        });
    }
    let answered: u64 = writers.iter().map(|writer| writer.answered).sum();
    assert!(answered > 10 * rounds, "{answered} answers are no load");
}

#[test]
fn a_server_that_is_killed_again_and_again_loses_nothing_that_was_answered() {
    killed_again_and_again(&packed(), 10);
}

#[test]
fn a_full_disk_is_an_error_of_the_write_and_of_nothing_else() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = packed();
    fs::create_dir(folder.path("small")).unwrap();
    let mount = "mount -t tmpfs -o size=1m none small";
    let alone = |line: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["-rm", "sh", "-c", line])
            .current_dir(folder.path(""));
        command
    };
    let works = alone(mount).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        evener_testing::skip("no file system can be mounted here");
        return;
    }
    let evener = env!("CARGO_BIN_EXE_evener");
    let serve = SERVE.replace("changes", "small/changes");
    let server = Server::of(alone(&format!("{mount} && exec {evener} {serve}")));
    let plain = super::content(&folder, "disk.img");
    let (mut stream, _) = client(&folder);
    let (mut full, mut written) = (0, Vec::new());
    for at in (0..2 << 20).step_by(10_000) {
        match write(&mut stream, at, &[7; 4000]) {
            0 => written.push(at as usize),
            28 => full += 1,
            error => panic!("error {error}"),
        }
    }
    assert!(
        full > 10 && written.len() > 10,
        "{full} of {}",
        full + written.len()
    );
    ask(&mut stream, (0, FLUSH), 1, 0, &[]).unwrap();
    assert_eq!(answer(&mut stream).unwrap().1, 0);
    let mut wanted = plain.clone();
    for at in &written {
        wanted[*at..*at + 4000].fill(7);
    }
    assert!(read(&mut stream, 0, wanted.len() as u32).unwrap() == wanted);
    // What is there can be written over still.
    assert_eq!(write(&mut stream, written[0] as u64, &[8; 4000]), 0);
    let (status, said) = server.end(Signal::INT);
    assert_eq!(status, Some(130), "{said}");
    let warnings = said
        .lines()
        .filter(|line| line.contains("small/changes: cannot be written: No space left"));
    assert!((1..=written.len()).contains(&warnings.count()), "{said}");
}

/// A program of others, which waits for no terminal and not for ever.
fn tool(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", program]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn works(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

fn unmount(mount: &Path) {
    let by = |program, flag| works(tool(program).arg(flag).arg(mount));
    assert!(by("fusermount3", "-uz") || by("umount", "-l"));
}

#[test]
fn a_file_system_is_whole_after_the_server_was_killed() {
    for (program, flag) in [
        ("nbdfuse", "--version"),
        ("mkfs.ext4", "-V"),
        ("e2fsck", "-V"),
        ("debugfs", "-V"),
    ] {
        if !works(tool(program).arg(flag)) {
            evener_testing::skip(format_args!("{program} does not work here"));
            return;
        }
    }
    let folder = folder();
    let disk = fs::File::create(folder.path("disk.img")).unwrap();
    disk.set_len(32 << 20).unwrap();
    folder.line("image pack disk.img disk.zst").succeeded();
    let mount = folder.path("mount");
    fs::create_dir(&mount).unwrap();
    let disk = mount.join("nbd");
    let socket = format!("nbd+unix:///?socket={}", folder.path("socket").display());
    let source = folder.file("source", super::image());
    for round in 0..4 {
        let server = Server::start(&folder, SERVE);
        let mut fuse = tool("nbdfuse").arg(&mount).arg(&socket).spawn().unwrap();
        while !disk.exists() {
            if fuse.try_wait().unwrap().is_some() {
                evener_testing::skip("nbdfuse cannot mount here");
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let whole = || works(tool("e2fsck").arg("-fn").arg(&disk));
        let write = format!("write {} file{round}", source.display());
        let changed = match round {
            0 => works(tool("mkfs.ext4").arg("-qF").arg(&disk)),
            // What the server before was killed with.
            _ => whole() && works(tool("debugfs").args(["-w", "-R", &write]).arg(&disk)) && whole(),
        };
        server.end(Signal::KILL);
        unmount(&mount);
        fuse.kill().unwrap();
        fuse.wait().unwrap();
        assert!(changed, "round {round}");
    }
}
