//! Any bytes to an NBD server, in the negotiation and after it, and requests whose fields were chosen: no panic, the
//! connection ends when the client has nothing more to say, and what is read is what was packed. With an overlay what
//! is read is what was written, also by the next server.

#![no_main]
#![forbid(unsafe_code)]

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use evener_block::codec::ZSTD;
use evener_block::session::{
    ByteRange, OpenOptions, Options, PackOptions, ReadAhead, ServeOptions, Writes, pack, serve,
};
use evener_runtime::{CancelToken, Choice, Runtime};
use libfuzzer_sys::fuzz_target;

const SIZE: u64 = 100_000;
/// Bytes of a request, and of what describes one in the input.
const REQUEST: usize = 28;
const CHOICE: usize = 8;

struct Site {
    socket: PathBuf,
    image: PathBuf,
    plain: Vec<u8>,
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("evener-fuzz-nbd-{name}-{}", std::process::id()))
}

fn runtime() -> Runtime {
    Runtime::builder()
        .workers(2)
        .memory(false)
        .build()
        .expect("threads")
}

fn options(socket: &Path, writes: Writes) -> ServeOptions {
    let address = format!("unix:{}", socket.display())
        .parse()
        .expect("an address");
    ServeOptions {
        tls: None,
        address,
        exports: Vec::new(),
        range: ByteRange::default(),
        writes,
        pid_file: None,
        exit_last: false,
        metrics: None,
        hosts: Vec::new(),
        open: OpenOptions::default(),
        cache: 20_000,
        read_ahead: ReadAhead::Auto,
        plan: Choice::Auto,
    }
}

/// A server for the whole of the process.
fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| {
        let (input, output, socket) = (path("in"), path("out"), path("socket"));
        let mut plain: Vec<u8> = (0..SIZE as u32).map(|i| (i / 64 % 251) as u8).collect();
        plain[8192..40_000].fill(0);
        fs::write(&input, &plain).expect("a file");
        let runtime = runtime();
        let packing = PackOptions {
            codec: &ZSTD,
            block: 16_384,
            ..PackOptions::default()
        };
        let session = pack(input.as_os_str(), output.as_os_str(), &packing).expect("an image");
        session.run(&runtime, Options::default()).expect("room");
        let session = serve(
            &[output.clone().into()],
            &options(&socket, Writes::Refused),
            &runtime,
            CancelToken::new(),
        )
        .expect("a socket");
        fs::remove_file(input).expect("a file");
        thread::spawn(move || session.run(&runtime, None).expect("a server"));
        Site {
            socket,
            image: output,
            plain,
        }
    })
}

/// Sends all of `bytes` and takes whatever comes until the server has ended the connection.
fn exchange(bytes: &[u8]) -> Vec<u8> {
    let stream = UnixStream::connect(&site().socket).expect("a server");
    stream
        .set_read_timeout(Some(Duration::from_secs(15)))
        .expect("a socket");
    let mut got = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            // It may end the connection at any byte.
            let _ = (&stream).write_all(bytes);
            let _ = stream.shutdown(Shutdown::Write);
        });
        if let Err(error) = (&stream).read_to_end(&mut got) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    });
    got
}

/// The oldest way to begin, and what the server says to it.
const BEGIN: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0";
const BEGUN: usize = 18 + 10;

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// A request of chosen fields, whose cookie is its number.
fn request(choice: &[u8], cookie: u64) -> [u8; REQUEST] {
    let edges = [0, 1, 4095, 4096, SIZE - 1, SIZE, SIZE + 1, u64::MAX];
    let offset = edges[usize::from(choice[1] % 8)].wrapping_add(number(&choice[2..5]));
    let length = match choice[5] % 8 {
        0 => u32::MAX,
        1 => 32 << 20,
        _ => number(&choice[5..8]) as u32 % (2 * SIZE as u32),
    };
    // No WRITE, which what follows would belong to, and no DISC, which ends it.
    let command = [0, 0, 0, 0, 3, 4, 5, 6, 7, 99][usize::from(choice[0] & 0xf) % 10];
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(&0x2560_9513u32.to_be_bytes());
    bytes[5] = choice[0] >> 6;
    bytes[7] = command;
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..24].copy_from_slice(&offset.to_be_bytes());
    bytes[24..].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// Every request has one simple reply, and those that read have the bytes of the image.
fn chosen(choices: &[u8]) {
    let requests: Vec<_> = (0..)
        .zip(choices.chunks_exact(CHOICE))
        .map(|(n, choice)| request(choice, n))
        .collect();
    let got = exchange(&[BEGIN, &requests.concat()].concat());
    let mut replies = &got[BEGUN..];
    let mut seen = vec![false; requests.len()];
    while !replies.is_empty() {
        assert_eq!(replies[..4], 0x6744_6698u32.to_be_bytes());
        let (error, cookie) = (number(&replies[4..8]), number(&replies[8..16]) as usize);
        replies = &replies[16..];
        assert!(
            !std::mem::replace(&mut seen[cookie], true),
            "{cookie} twice"
        );
        let request = &requests[cookie];
        let (offset, length) = (number(&request[16..24]), number(&request[24..]));
        let reads = request[7] == 0;
        let fits = length > 0
            && offset.checked_add(length).is_some_and(|end| end <= SIZE)
            && request[5] == 0;
        assert!(!reads || fits == (error == 0), "{request:?}: {error}");
        if reads && error == 0 {
            let (data, rest) = replies.split_at(length as usize);
            assert!(
                data == &site().plain[offset as usize..][..length as usize],
                "{request:?}"
            );
            replies = rest;
        }
    }
    assert!(seen.iter().all(|&seen| seen), "no reply");
}

/// A server of the image with an overlay, as long as `during` takes.
fn over(during: impl FnOnce(&mut UnixStream)) {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let socket = path("over");
    let cancel = CancelToken::new();
    let options = options(&socket, Writes::Overlays(vec![path("overlay")]));
    let runtime = RUNTIME.get_or_init(runtime);
    let images = [site().image.clone().into()];
    let session = serve(&images, &options, runtime, cancel.clone()).expect("an overlay");
    thread::scope(|scope| {
        scope.spawn(|| session.run(runtime, None).expect("a server"));
        // Also if what follows panics.
        let _end = End(cancel);
        let mut stream = UnixStream::connect(&socket).expect("a server");
        stream
            .set_read_timeout(Some(Duration::from_secs(15)))
            .expect("a socket");
        stream.write_all(BEGIN).expect("a server");
        stream.read_exact(&mut [0; BEGUN]).expect("a greeting");
        during(&mut stream);
    });
}

struct End(CancelToken);

impl Drop for End {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The error of a request, and what it read.
fn ask(stream: &mut UnixStream, request: &[u8; REQUEST], payload: &[u8]) -> (u64, Vec<u8>) {
    stream.write_all(request).expect("a server");
    stream.write_all(payload).expect("a server");
    let mut head = [0; 16];
    stream.read_exact(&mut head).expect("a reply");
    assert_eq!(head[..4], 0x6744_6698u32.to_be_bytes());
    let error = number(&head[4..8]);
    let reads = request[7] == 0 && error == 0;
    let mut bytes = vec![
        0;
        if reads {
            number(&request[24..]) as usize
        } else {
            0
        }
    ];
    stream.read_exact(&mut bytes).expect("what was asked for");
    (error, bytes)
}

/// What is written is what is read, here and by the next server.
fn written(choices: &[u8]) {
    let mut model = site().plain.clone();
    let _ = fs::remove_file(path("overlay"));
    over(|stream| {
        for (cookie, choice) in (1..).zip(choices.chunks_exact(CHOICE)) {
            let mut request = request(choice, cookie);
            let command = [0, 1, 1, 1, 1, 3, 4, 6][usize::from(choice[0] & 7)];
            let flags = (choice[0] >> 3) & 0x13;
            let length = (number(&choice[5..8]) % (SIZE / 2)) as u32;
            request[5] = flags;
            request[7] = command;
            request[24..].copy_from_slice(&length.to_be_bytes());
            let payload = vec![cookie as u8; if command == 1 { length as usize } else { 0 }];
            let (error, bytes) = ask(stream, &request, &payload);
            let offset = number(&request[16..24]);
            let end = offset.checked_add(length.into());
            let fits = length > 0 && end.is_some_and(|end| end <= SIZE);
            // NO_HOLE and FAST_ZERO are for WRITE_ZEROES.
            let known = flags & 0x12 == 0 || command == 6;
            let slow = command == 6 && flags & 0x12 == 0x12 && error == 95;
            assert!(
                slow || (error == 0) == (known && (fits || command == 3)),
                "{request:?}: {error}"
            );
            if error != 0 || command == 3 {
                continue;
            }
            let (from, to) = (offset as usize, offset as usize + length as usize);
            match command {
                0 => assert!(bytes == model[from..to], "{request:?}"),
                4 => {
                    let first = from.next_multiple_of(4096);
                    let last = if to as u64 == SIZE {
                        to
                    } else {
                        to / 4096 * 4096
                    };
                    if first < last {
                        model[first..last].fill(0);
                    }
                }
                _ => model[from..to].fill(if command == 1 { cookie as u8 } else { 0 }),
            }
        }
    });
    over(|stream| {
        let mut all = request(&[0; CHOICE], 0);
        all[16..24].fill(0);
        all[24..].copy_from_slice(&(SIZE as u32).to_be_bytes());
        let (error, bytes) = ask(stream, &all, &[]);
        assert!(error == 0 && bytes == model, "after a new start: {error}");
    });
}

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, rest)) => drop(exchange(rest)),
        Some((1, rest)) => drop(exchange(&[BEGIN, rest].concat())),
        Some((2, rest)) => drop(exchange(&[b"\0\0\0\x03", rest].concat())),
        Some((3, rest)) => written(&rest[..rest.len().min(64 * CHOICE)]),
        Some((_, rest)) => chosen(&rest[..rest.len().min(64 * CHOICE)]),
        None => {}
    }
});
