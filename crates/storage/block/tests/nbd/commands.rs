//! Every command, and every way to ask for what cannot be had.

use std::thread;

use crate::client::{Client, Reply};
use crate::common::{Folder, packed, same};
use crate::server::{Server, image, packed_image};

const READ: u16 = 0;

/// What a structured READ gives, holes filled.
fn read_chunks(client: &mut Client, flags: u16, offset: u64, length: u32) -> (Vec<u8>, u32) {
    client.request(flags, READ, offset ^ 5, offset, length);
    let mut bytes = vec![0xaa; length as usize];
    let (mut covered, mut chunks) = (0, 0);
    loop {
        let Reply::Chunk {
            done,
            kind,
            cookie,
            data,
        } = client.reply()
        else {
            panic!("a simple reply");
        };
        assert_eq!(cookie, offset ^ 5);
        let at = u64::from_be_bytes(*data.first_chunk().unwrap()) - offset;
        let room = &mut bytes[at as usize..];
        covered += match kind {
            1 => {
                room[..data.len() - 8].copy_from_slice(&data[8..]);
                data.len() - 8
            }
            2 => {
                let hole = u32::from_be_bytes(data[8..].try_into().unwrap()) as usize;
                room[..hole].fill(0);
                hole
            }
            kind => panic!("kind {kind}"),
        };
        chunks += 1;
        if done {
            assert_eq!(covered, length as usize);
            return (bytes, chunks);
        }
    }
}

#[test]
fn reads_at_random_places_give_what_was_packed() {
    for (codec, cache) in [
        ("zstd", 1 << 20),
        ("zstd", 0),
        ("zstd", 100_000),
        ("lz4", 1 << 20),
        ("lz4", 100_000),
        ("lz4", 0),
        ("none", 1 << 20),
    ] {
        let (bytes, plain) = packed_image(codec);
        let server = Server::of(&bytes, cache);
        let mut old = Client::start(server.connect(), false);
        let mut new = Client::start(server.connect(), true);
        let mut state = 7u64;
        for round in 0..200u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 20) % plain.len() as u64;
            let most = [1, 512, 4096, 100_000, 3 << 20][round as usize % 5];
            let len = most.min(plain.len() as u64 - at) as u32;
            let wanted = &plain[at as usize..][..len as usize];
            let (got, _) = read_chunks(&mut new, 0, at, len);
            same(&got, wanted, &format!("{codec}, {len} at {at}"));
            if len <= 1 << 20 {
                let (got, chunks) = read_chunks(&mut new, 4, at, len);
                same(&got, wanted, "DF");
                assert_eq!(chunks, 1);
            }
            old.request(0, READ, round, at, len);
            assert_eq!(
                old.reply(),
                Reply::Simple {
                    error: 0,
                    cookie: round
                }
            );
            same(&old.take(len as usize), wanted, "simple");
        }
        assert!(server.stop().requests >= 400);
    }
}

#[test]
fn pipelined_requests_of_several_clients_are_all_answered() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 200_000);
    thread::scope(|scope| {
        for number in 0..4u64 {
            let (server, plain) = (&server, &plain);
            scope.spawn(move || {
                let mut client = Client::start(server.connect(), false);
                let place = |i: u64| (i * 7919 + number * 333) * 4096 % (3 << 20);
                for i in 0..64 {
                    client.request(0, READ, i, place(i), 4096);
                }
                let mut seen = [false; 64];
                for _ in 0..64 {
                    let Reply::Simple { error: 0, cookie } = client.reply() else {
                        panic!("an error");
                    };
                    let at = place(cookie) as usize;
                    same(&client.take(4096), &plain[at..at + 4096], "pipelined");
                    assert!(!std::mem::replace(&mut seen[cookie as usize], true));
                }
            });
        }
    });
    let page = server.metrics();
    assert!(page.starts_with("HTTP/1.0 200 OK\r\n"), "{page}");
    for (request, status) in [
        ("GET /other", "404 Not Found"),
        ("POST /metrics", "405 Method Not Allowed"),
    ] {
        let answer = server.http(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.0 {status}\r\n")),
            "{answer}"
        );
    }
    assert!(
        page.contains("evener_nbd_requests_total{command=\"read\"} 256"),
        "{page}"
    );
    let served = server.stop();
    assert_eq!(
        (served.clients, served.requests, served.bytes),
        (4, 256, 256 * 4096)
    );
}

#[test]
fn zeros_are_told_and_not_sent() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 1 << 20);
    let mut client = Client::start(server.connect(), true);
    let all = plain.len() as u32;
    let (_, chunks) = read_chunks(&mut client, 0, 0, all);
    assert!(chunks >= 6, "{chunks}");
    for flags in [0, 8] {
        let mut at = 0;
        while at < all {
            client.request(flags, 7, 1, at.into(), all - at);
            let Reply::Chunk {
                done: true,
                kind: 5,
                data,
                ..
            } = client.reply()
            else {
                panic!("no status");
            };
            assert_eq!(data[..4], 1u32.to_be_bytes());
            let (runs, rest) = data[4..].as_chunks::<8>();
            assert!(rest.is_empty() && (flags == 0 || runs.len() == 1));
            for run in runs {
                let number = u64::from_be_bytes(*run);
                let (len, flags) = ((number >> 32) as u32, number as u32);
                let part = &plain[at as usize..(at + len) as usize];
                assert_eq!(flags, if part.iter().all(|&b| b == 0) { 3 } else { 0 });
                at += len;
            }
        }
        assert_eq!(at, all);
    }
}

#[test]
fn what_cannot_be_is_refused_and_the_connection_lives() {
    let (bytes, plain) = packed_image("zstd");
    let size = plain.len() as u64;
    for structured in [false, true] {
        let server = Server::of(&bytes, 1 << 20);
        let mut client = Client::start(server.connect(), structured);
        let df = if structured { 75 } else { 22 };
        for (flags, command, offset, length, error) in [
            (0, 0, size, 1, 22),
            (0, 0, u64::MAX, u32::MAX, 22),
            (0, 0, 0, 0, 22),
            (0, 0, size - 1, 2, 22),
            (0, 0, 0, u32::MAX, 22),
            (1, 0, 0, 1, 22),
            (4, 0, 0, 2 << 20, df),
            (0, 3, 0, 0, 0),
            (0, 4, 0, 512, 1),
            (0, 6, 0, 512, 1),
            (1, 6, 0, 512, 1),
            (0, 5, 0, 1 << 20, 0),
            (0, 5, 0, size as u32, 0),
            (0, 5, size, 1, 22),
            (0, 7, size, 1, 22),
            (0, 7, 0, 0, 22),
            (0, 99, 0, 512, 22),
        ] {
            client.request(flags, command, 3, offset, length);
            assert_eq!(
                client.error(),
                error,
                "command {command} at {offset}, {length}"
            );
        }
        // Bytes that are not written have to be passed over.
        client.request(0, 1, 3, 0, 100_000);
        client.send(&vec![0x25; 100_000]);
        assert_eq!(client.error(), 1);
        client.request(0, 0, 3, 0, 1);
        assert!(!matches!(client.reply(), Reply::Simple { error: 1.., .. }));
        let mut client = Client::start(server.connect(), structured);
        client.request(0, 1, 3, 0, u32::MAX);
        assert!(client.is_over());
        let mut client = Client::start(server.connect(), structured);
        client.send(&[1; 28]);
        assert!(client.is_over());
        let mut client = Client::start(server.connect(), structured);
        client.request(0, 2, 3, 0, 0);
        assert!(client.is_over());
    }
    // Without the context there is no status.
    let server = Server::of(&bytes, 1 << 20);
    let mut client = Client::start(server.connect(), false);
    client.request(0, 7, 3, 0, 512);
    assert_eq!(client.error(), 22);
}

#[test]
fn bad_blocks_are_errors_and_the_others_are_served() {
    for codec in ["zstd", "lz4"] {
        let folder = Folder::in_memory();
        let plain = image();
        let mut bytes = packed(&folder, &plain, codec, 16384, "auto");
        bytes[1000] ^= 0x55;
        let server = Server::of(&bytes, 1 << 20);
        for structured in [false, true] {
            let mut client = Client::start(server.connect(), structured);
            for _ in 0..2 {
                client.request(0, 0, 3, 512, 512);
                assert_eq!(client.error(), 5, "{codec}");
            }
            client.request(0, 0, 3, 1 << 20, 512);
            assert!(!matches!(client.reply(), Reply::Simple { error: 1.., .. }));
        }
    }
}

#[test]
fn a_client_that_does_not_read_does_not_hold_up_the_end() {
    let (bytes, _) = packed_image("zstd");
    let server = Server::of(&bytes, 1 << 20);
    let mut client = Client::start(server.connect(), true);
    for i in 0..200 {
        client.request(0, 0, i, 0, 3 << 20);
    }
    thread::sleep(std::time::Duration::from_millis(50));
    let socket = server.socket();
    server.stop();
    assert!(!socket.exists());
}
