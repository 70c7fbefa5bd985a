//! Options, right and wrong.

use crate::client::*;
use crate::server::{Server, packed_image};

const UNSUP: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;
const TOO_BIG: u32 = 0x8000_0009;

fn server() -> Server {
    Server::of(&packed_image("zstd").0, 1 << 20)
}

#[test]
fn the_oldest_way_to_begin_works_with_and_without_zeroes() {
    let server = server();
    for (flags, zeroes) in [(3, 0), (1, 124)] {
        let mut client = Client::greet(server.connect(), flags);
        client.option(1, b"");
        assert_eq!(client.number(8), (3 << 20) + 777);
        // Without structured replies there is no DF.
        assert_eq!(client.number(2), 0b101_0000_0111);
        assert_eq!(client.take(zeroes), vec![0; zeroes]);
        client.request(0, 0, 7, 0, 1);
        assert_eq!(
            client.reply(),
            Reply::Simple {
                error: 0,
                cookie: 7
            }
        );
        client.take(1);
    }
    let mut client = Client::greet(server.connect(), 3);
    client.option(1, b"other");
    assert!(client.is_over());
}

#[test]
fn options_are_answered_in_any_order() {
    let server = server();
    let mut client = Client::greet(server.connect(), 3);
    client.option(3, b"");
    assert_eq!(client.option_reply(3), (2, vec![0; 4]));
    assert_eq!(client.option_reply(3), (ACK, vec![]));
    for (option, data, kind) in [
        (3, b"data".to_vec(), INVALID),
        (5, vec![], UNSUP),
        (11, vec![], UNSUP),
        (999, vec![1; 100], UNSUP),
        (999, vec![1; 70_000], TOO_BIG),
        (6, vec![0; 5], INVALID),
        (6, vec![0xff; 6], INVALID),
        (6, b"\0\0\0\x01x\0\0".to_vec(), UNKNOWN),
        (6, b"\0\0\0\0\0\x01".to_vec(), INVALID),
        // Contexts need structured replies.
        (SET_META, meta(b"", &[b"base:allocation"]), INVALID),
        (STRUCTURED, b"x".to_vec(), INVALID),
        (STRUCTURED, vec![], ACK),
        (9, meta(b"x", &[]), UNKNOWN),
        (9, vec![0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], INVALID),
        (SET_META, meta(b"", &[b"base:", b"qemu:x"]), ACK),
    ] {
        client.option(option, &data);
        assert_eq!(client.option_reply(option).0, kind, "{option} {data:?}");
    }
    for queries in [&[][..], &[b"base:".as_slice()], &[b"base:allocation"]] {
        client.option(9, &meta(b"", queries));
        assert_eq!(
            client.option_reply(9),
            (4, b"\0\0\0\0base:allocation".to_vec())
        );
        assert_eq!(client.option_reply(9), (ACK, vec![]));
    }
    client.option(6, b"\0\0\0\0\0\x01\0\x03");
    let (kind, export) = client.option_reply(6);
    assert_eq!(
        (kind, &export[..2], &export[10..]),
        (3, &[0; 2][..], &[5, 0x87][..])
    );
    let (kind, told) = client.option_reply(6);
    assert_eq!(kind, 3);
    assert_eq!(told, [0, 3, 0, 0, 0, 1, 0, 0, 0x40, 0, 2, 0, 0, 0]);
    assert_eq!(client.option_reply(6).0, ACK);
    client.option(2, b"");
    assert_eq!(client.option_reply(2).0, ACK);
    assert!(client.is_over());
}

#[test]
fn what_no_client_sends_ends_the_connection() {
    let server = server();
    let mut client = Client::greet(server.connect(), 0x10);
    assert!(client.is_over());
    let mut client = Client::greet(server.connect(), 3);
    client.send(&[7; 16]);
    assert!(client.is_over());
    let mut client = Client::greet(server.connect(), 3);
    client.send(b"IHAVEOPT\0\0\0\x07\xff\xff\xff\xff");
    assert!(client.is_over());
    // Other clients are not affected.
    Client::start(server.connect(), true);
}
