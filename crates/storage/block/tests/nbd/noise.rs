//! Any bytes: the server neither panics nor hangs, and goes on serving others.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::LazyLock;
use std::thread;

use proptest::prelude::*;

use crate::client;
use crate::client::Client;
use crate::server::{Server, packed_image};

static SERVER: LazyLock<Server> = LazyLock::new(|| Server::of(&packed_image("zstd").0, 1 << 20));

/// Sends bytes, reads what comes until the server has had enough.
fn drain(client: Client, bytes: &[u8]) {
    let mut stream = client.stream;
    thread::scope(|scope| {
        let mut writer = &stream;
        scope.spawn(move || {
            // It may end the connection at any byte.
            let _ = writer.write_all(bytes);
            let _ = writer.shutdown(Shutdown::Write);
        });
        let mut sink = Vec::new();
        let ended = (&stream).take(256 << 20).read_to_end(&mut sink);
        if let Err(error) = ended {
            let kind = error.kind();
            assert_eq!(kind, std::io::ErrorKind::ConnectionReset, "{error}");
        }
    });
    stream.flush().unwrap();
}

fn alive() {
    let mut client = Client::start(SERVER.connect(), false);
    client.request(0, 0, 1, 0, 512);
    assert_eq!(client.error(), 0);
}

/// Requests that look like some, with numbers at the edges.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let offset = prop_oneof![0..4u64 << 20, Just(u64::MAX), Just(3 << 20), any::<u64>()];
    let length = prop_oneof![0..100_000u32, Just(u32::MAX), Just(32 << 20), any::<u32>()];
    (0..16u16, 0..10u16, any::<u64>(), offset, length).prop_map(
        |(flags, command, cookie, offset, length)| {
            client::request(flags, command, cookie, offset, length)
        },
    )
}

/// Options that look like some.
fn option() -> impl Strategy<Value = Vec<u8>> {
    let data = prop::collection::vec(prop_oneof![Just(0u8), 0..9u8, any::<u8>()], 0..40);
    (
        0..14u32,
        data,
        prop_oneof![9 => Just(0u32), 1 => any::<u32>()],
    )
        .prop_map(|(option, data, more)| {
            let mut bytes = b"IHAVEOPT".to_vec();
            bytes.extend(option.to_be_bytes());
            bytes.extend((data.len() as u32).wrapping_add(more).to_be_bytes());
            bytes.extend(data);
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn noise_in_the_negotiation(flags in 0..5u32, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drain(Client::greet(SERVER.connect(), flags), &bytes);
        alive();
    }

    #[test]
    fn odd_options(options in prop::collection::vec(option(), 0..12)) {
        drain(Client::greet(SERVER.connect(), 3), &options.concat());
        alive();
    }

    #[test]
    fn odd_requests(structured: bool, requests in prop::collection::vec(request(), 0..12), tail in prop::collection::vec(any::<u8>(), 0..40)) {
        let bytes = [requests.concat(), tail].concat();
        drain(Client::start(SERVER.connect(), structured), &bytes);
        alive();
    }
}
