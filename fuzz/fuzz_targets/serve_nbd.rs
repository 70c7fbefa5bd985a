//! Any bytes to an NBD server, in the negotiation and after it, and requests whose fields were chosen: no panic, the
//! connection ends when the client has nothing more to say, and what is read is what was packed.

#![no_main]

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use evener_block::codec::ZSTD;
use evener_block::session::{Options, PackOptions, ReadAhead, ServeOptions, pack, serve};
use evener_runtime::{CancelToken, Runtime};
use libfuzzer_sys::fuzz_target;

const SIZE: u64 = 100_000;
/// Bytes of a request, and of what describes one in the input.
const REQUEST: usize = 28;
const CHOICE: usize = 8;

struct Site {
    socket: PathBuf,
    plain: Vec<u8>,
}

/// A server for the whole of the process.
fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| {
        let path = |name: &str| std::env::temp_dir().join(format!("evener-fuzz-nbd-{name}-{}", std::process::id()));
        let (input, output, socket) = (path("in"), path("out"), path("socket"));
        let mut plain: Vec<u8> = (0..SIZE as u32).map(|i| (i / 64 % 251) as u8).collect();
        plain[8192..40_000].fill(0);
        fs::write(&input, &plain).expect("a file");
        let runtime = Runtime::builder().workers(2).memory(false).build().expect("threads");
        let options = PackOptions { codec: &ZSTD, block: 4096, ..PackOptions::default() };
        let session = pack(input.as_os_str(), output.as_os_str(), &options).expect("an image");
        session.run(&runtime, Options::default()).expect("room");
        let address = format!("unix:{}", socket.display()).parse().expect("an address");
        let options = ServeOptions { address, metrics: None, format: None, cache: 20_000, ahead: ReadAhead::Auto };
        let session = serve(output.as_os_str(), &options, CancelToken::new()).expect("a socket");
        fs::remove_file(input).expect("a file");
        fs::remove_file(output).expect("a file");
        thread::spawn(move || session.run(&runtime, None).expect("a server"));
        Site { socket, plain }
    })
}

/// Sends all of `bytes` and takes whatever comes until the server has ended the connection.
fn exchange(bytes: &[u8]) -> Vec<u8> {
    let stream = UnixStream::connect(&site().socket).expect("a server");
    stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a socket");
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
    bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
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
    let requests: Vec<_> = (0..).zip(choices.chunks_exact(CHOICE)).map(|(n, choice)| request(choice, n)).collect();
    let got = exchange(&[BEGIN, &requests.concat()].concat());
    let mut replies = &got[BEGUN..];
    let mut seen = vec![false; requests.len()];
    while !replies.is_empty() {
        assert_eq!(replies[..4], 0x6744_6698u32.to_be_bytes());
        let (error, cookie) = (number(&replies[4..8]), number(&replies[8..16]) as usize);
        replies = &replies[16..];
        assert!(!std::mem::replace(&mut seen[cookie], true), "{cookie} twice");
        let request = &requests[cookie];
        let (offset, length) = (number(&request[16..24]), number(&request[24..]));
        let reads = request[7] == 0;
        let fits = length > 0 && offset.checked_add(length).is_some_and(|end| end <= SIZE) && request[5] == 0;
        assert!(!reads || fits == (error == 0), "{request:?}: {error}");
        if reads && error == 0 {
            let (data, rest) = replies.split_at(length as usize);
            assert!(data == &site().plain[offset as usize..][..length as usize], "{request:?}");
            replies = rest;
        }
    }
    assert!(seen.iter().all(|&seen| seen), "no reply");
}

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, rest)) => drop(exchange(rest)),
        Some((1, rest)) => drop(exchange(&[BEGIN, rest].concat())),
        Some((2, rest)) => drop(exchange(&[b"\0\0\0\x03", rest].concat())),
        Some((_, rest)) => chosen(&rest[..rest.len().min(64 * CHOICE)]),
        None => {}
    }
});
