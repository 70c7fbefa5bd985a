//! Clients that go, that do not listen, and that are too many.

use std::fs;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::client::{Client, Reply, request};
use crate::server::{Server, packed_image};

/// Reads a sector, and sees that it is the right one.
fn reads(client: &mut Client, plain: &[u8]) {
    let at = 1 << 20;
    client.request(0, 0, 77, at as u64, 512);
    assert_eq!(
        client.reply(),
        Reply::Simple {
            error: 0,
            cookie: 77
        }
    );
    assert_eq!(client.take(512), plain[at..at + 512]);
}

#[test]
fn clients_that_disconnect_at_any_moment_do_not_affect_others() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 100_000);
    let mut other = Client::start(server.connect(), false);
    // A READ of a MiB from the beginning on.
    let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
    request.extend([0; 20]);
    request.extend((1u32 << 20).to_be_bytes());
    // In the greeting, in an option, and after every byte of a request.
    drop(server.connect());
    Client::greet(server.connect(), 3).send(b"IHAVEOPT\0\0");
    for cut in 0..=request.len() {
        let mut client = Client::start(server.connect(), cut % 2 == 0);
        client.send(&request[..cut]);
        drop(client);
        reads(&mut other, &plain);
    }
    // In the middle of replies, and of what was to be written.
    for round in 0..8 {
        let mut client = Client::start(server.connect(), round % 2 == 0);
        for cookie in 0..20 {
            client.request(0, 0, cookie, 0, 3 << 20);
        }
        client.take(1000 * round);
        match round % 3 {
            0 => drop(client),
            1 => client.stream.shutdown(Shutdown::Both).unwrap(),
            _ => client.request(0, 1, 0, 0, 1 << 20),
        }
        reads(&mut other, &plain);
    }
    server.stop();
}

/// Bytes of memory that this process has.
fn memory() -> u64 {
    let fields = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = fields
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096u64
}

#[test]
fn clients_that_never_read_take_little_memory_and_no_time_of_others() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 1 << 20);
    let before = memory();
    let deaf: Vec<Client> = (0..8)
        .map(|number| {
            let mut client = Client::start(server.connect(), number % 2 == 0);
            // 600 MB for each if they were all kept.
            for cookie in 0..200 {
                client.request(0, 0, cookie, 0, 3 << 20);
            }
            client
        })
        .collect();
    let mut other = Client::start(server.connect(), false);
    for _ in 0..500 {
        reads(&mut other, &plain);
    }
    let more = memory().saturating_sub(before);
    assert!(more < 1 << 30, "{} MiB more", more >> 20);
    drop(deaf);
    reads(&mut other, &plain);
    server.stop();
}

#[test]
fn a_client_that_does_not_read_delays_no_block_for_others() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 8 << 20);
    let mut other = Client::start(server.connect(), false);
    other.read(0, 512);
    let block = 16_384;
    let cold: Vec<usize> = (block..plain.len() - block)
        .step_by(block)
        .filter(|&at| plain[at..at + 512].iter().any(|&byte| byte != 0))
        .collect();
    let deaf = |replies: u64, at: usize| {
        let mut client = Client::start(server.connect(), false);
        let mut all = Vec::new();
        for cookie in 0..replies {
            all.extend(request(0, 0, cookie, 0, 4096));
        }
        all.extend(request(0, 0, 999, at as u64, 512));
        client.send(&all);
        client
    };
    // This number of replies fills the socket.
    let first = deaf(5000, 0);
    std::thread::sleep(Duration::from_millis(200));
    let full = rustix::io::ioctl_fionread(&first.stream).unwrap() / 4112;
    // Those that wait to be sent do, for one client or the other, just before it wants its block.
    let number = cold.len() as u64;
    let clients = cold.iter().zip(full + 5 - number..);
    let deaf: Vec<Client> = clients.map(|(&at, replies)| deaf(replies, at)).collect();
    std::thread::sleep(Duration::from_millis(200));
    for at in cold {
        assert!(other.read(at as u64, 512) == plain[at..at + 512], "{at}");
    }
    drop(deaf);
    server.stop();
}

#[test]
fn a_thousand_connections_are_served() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 1 << 20);
    // Both ends of every connection are files of this process, of which it may have a limited number.
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let hard = files.and_then(|line| line.split_whitespace().nth(4)?.parse::<usize>().ok());
    let count = hard.map_or(1000, |hard| 1000.min(hard.saturating_sub(500) / 2));
    if count < 1000 {
        println!("only {count} connections: no more files can be opened");
    }
    let mut clients: Vec<Client> = Vec::new();
    for _ in 0..count {
        clients.push(Client::start(server.connect(), false));
    }
    for client in &mut clients {
        reads(client, &plain);
    }
    let served = server.stop();
    assert_eq!(served.clients, count as u64);
}

#[test]
fn connections_without_a_handshake_do_not_keep_clients_out() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 1 << 20);
    let idle: Vec<UnixStream> = (0..200).map(|_| server.connect()).collect();
    reads(&mut Client::start(server.connect(), false), &plain);
    drop(idle);
    server.stop();
}

#[test]
fn replies_to_requests_that_came_together_come_in_order_and_whole() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 8 << 20);
    for structured in [false, true] {
        let mut client = Client::start(server.connect(), structured);
        // All of it decoded, so that nothing overtakes.
        client.request(0, 5, 1, 0, plain.len() as u32);
        assert_eq!(client.error(), 0);
        let mut all = Vec::new();
        for cookie in 0..300u64 {
            let (offset, length) = (cookie * 1000, [16u32, 4096, 9000][cookie as usize % 3]);
            all.extend(0x2560_9513u32.to_be_bytes());
            all.extend([0; 4]);
            all.extend(cookie.to_be_bytes());
            all.extend(offset.to_be_bytes());
            all.extend(length.to_be_bytes());
        }
        client.send(&all);
        for wanted in 0..300u64 {
            let (offset, length) = (
                wanted as usize * 1000,
                [16, 4096, 9000][wanted as usize % 3],
            );
            let mut got = vec![0; length];
            if structured {
                let mut ended = false;
                while !ended {
                    let Reply::Chunk {
                        done,
                        kind,
                        cookie,
                        data,
                    } = client.reply()
                    else {
                        panic!("a simple reply");
                    };
                    assert_eq!(cookie, wanted);
                    ended = done;
                    let at = u64::from_be_bytes(*data.first_chunk().unwrap()) as usize - offset;
                    if kind == 1 {
                        got[at..at + data.len() - 8].copy_from_slice(&data[8..]);
                    }
                }
            } else {
                assert_eq!(
                    client.reply(),
                    Reply::Simple {
                        error: 0,
                        cookie: wanted
                    }
                );
                got = client.take(length);
            }
            assert_eq!(got, plain[offset..offset + length], "{wanted}");
        }
    }
    server.stop();
}
