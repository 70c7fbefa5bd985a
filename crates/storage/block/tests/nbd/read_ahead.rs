//! What is decoded before it is asked for: for clients that read on, and for those that say what they will read.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, Reply};
use crate::common::same;
use crate::server::{Server, packed_image};

const READ: u16 = 0;
const CACHE: u16 = 5;
/// Bytes of a block of the image.
const BLOCK: usize = 16384;

fn read(client: &mut Client, at: usize, plain: &[u8]) {
    client.request(0, READ, at as u64, at as u64, BLOCK as u32);
    let cookie = at as u64;
    assert_eq!(client.reply(), Reply::Simple { error: 0, cookie });
    same(&client.take(BLOCK), &plain[at..at + BLOCK], "read");
}

#[test]
fn a_client_that_reads_on_finds_the_next_block_decoded() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 16 << 20);
    let mut client = Client::start(server.connect(), false);
    read(&mut client, 0, &plain);
    read(&mut client, BLOCK, &plain);
    let patience = Instant::now() + Duration::from_secs(60);
    while server.metric("readahead_blocks_total") == 0 {
        assert!(Instant::now() < patience, "nothing is read ahead");
        thread::sleep(Duration::from_millis(1));
    }
    let misses = server.metric("cache_misses_total");
    read(&mut client, 2 * BLOCK, &plain);
    assert_eq!(server.metric("cache_misses_total"), misses);
}

#[test]
fn nothing_is_read_ahead_of_a_client_that_reads_here_and_there() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 16 << 20);
    let mut client = Client::start(server.connect(), false);
    for block in [15, 3, 11, 7, 0, 18] {
        read(&mut client, block * BLOCK, &plain);
    }
    // A read ahead would be made before the next request is read.
    client.request(0, 3, 1, 0, 0);
    assert_eq!(client.error(), 0);
    assert_eq!(server.metric("readahead_blocks_total"), 0);
    assert_eq!(server.metric("cache_misses_total"), 6);
}

#[test]
fn what_a_client_asked_to_cache_it_reads_without_a_miss() {
    let (bytes, plain) = packed_image("zstd");
    let server = Server::of(&bytes, 16 << 20);
    let mut client = Client::start(server.connect(), false);
    client.request(0, CACHE, 9, 0, (20 * BLOCK) as u32);
    assert_eq!(client.error(), 0);
    let packed = plain[..20 * BLOCK].chunks(BLOCK);
    let packed = packed.filter(|block| block.iter().any(|&b| b != 0)).count() as u64;
    assert!(packed > 15, "{packed}");
    assert_eq!(server.metric("readahead_blocks_total"), packed);
    // Backwards, so that nothing is read ahead.
    for block in (0..20).rev() {
        read(&mut client, block * BLOCK, &plain);
    }
    assert_eq!(server.metric("cache_misses_total"), 0);
    assert_eq!(server.metric("cache_hits_total"), packed);
}
