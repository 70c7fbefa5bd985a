//! An image that is written into an overlay, by a client that does what it is told.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;

use evener_block::overlay::{Base, Error, GRANULE, Overlay};
use evener_block::{Image, overlay};
use proptest::prelude::*;

use crate::client::{Client, Reply};
use crate::common::{Folder, packed, same};
use crate::server::{Server, image, packed_image};

const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const ZEROES: u16 = 6;
const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const FAST: u16 = 16;

fn server() -> (Server, Vec<u8>) {
    let (bytes, plain) = packed_image("zstd");
    let folder = Folder::in_memory();
    folder.file("image", &bytes);
    (Server::over(folder, 1 << 20), plain)
}

#[track_caller]
fn done(client: &mut Client) {
    assert_eq!(client.error(), 0);
}

#[test]
fn what_is_written_is_read_here_and_elsewhere_and_later() {
    let (server, mut plain) = server();
    let before = fs::read(server.folder().path("image")).unwrap();
    for structured in [false, true] {
        let mut one = Client::start(server.connect(), structured);
        let mut other = Client::start(server.connect(), false);
        // Within a granule, over several, all of some, the last bytes, more than a part of a payload.
        let end = plain.len() as u64;
        for (at, len) in [
            (100, 50),
            (4096, 4096),
            (8000, 10_000),
            (end - 10, 10),
            (end - 5000, 4000),
            (1 << 20, 1 << 20),
            (777, 700_000),
            (0, 1),
        ] {
            let byte = (at % 200) as u8 + u8::from(structured);
            one.write(if at % 2 == 0 { FUA } else { 0 }, 5, at, &vec![byte; len]);
            done(&mut one);
            plain[at as usize..][..len].fill(byte);
            same(
                &other.read(0, plain.len()),
                &plain,
                &format!("{len} at {at}"),
            );
        }
    }
    let overlay = fs::metadata(server.folder().path("overlay")).unwrap();
    assert!(
        overlay.blocks() * 512 < 3 << 20,
        "{} blocks",
        overlay.blocks()
    );
    let server = server.again(|folder| {
        assert!(fs::read(folder.path("image")).unwrap() == before);
    });
    let mut client = Client::start(server.connect(), false);
    same(&client.read(0, plain.len()), &plain, "again");
    let served = server.stop();
    assert_eq!((served.written, served.bytes), (0, plain.len() as u64));
}

#[test]
fn zeros_and_trims_take_no_room_and_are_told() {
    let (server, mut plain) = server();
    let mut client = Client::start(server.connect(), true);
    client.write(0, 1, 0, &vec![7; 2 << 20]);
    done(&mut client);
    plain[..2 << 20].fill(7);
    let room = |server: &Server| {
        fs::metadata(server.folder().path("overlay"))
            .unwrap()
            .blocks()
            * 512
    };
    let full = room(&server);
    for (flags, command, at, len) in [
        (0, ZEROES, 4096, 1 << 20),
        (FAST, ZEROES, (1 << 20) + 100, 200_000),
        (FUA, TRIM, (1 << 20) + 300_100, 200_000),
        (0, TRIM, 3000, 1000),
    ] {
        client.request(flags, command, 1, at, len);
        done(&mut client);
        let (mut from, mut to) = (at as usize, (at as usize) + len as usize);
        if command == TRIM {
            (from, to) = (from.next_multiple_of(4096), to / 4096 * 4096);
        }
        if from < to {
            plain[from..to].fill(0);
        }
    }
    assert!(
        room(&server) < full - (1 << 20),
        "{} of {full}",
        room(&server)
    );
    client.request(NO_HOLE, ZEROES, 1, 4096, 1 << 20);
    done(&mut client);
    assert!(room(&server) > full - (1 << 19));
    client.request(NO_HOLE | FAST, ZEROES, 1, 4096, 1 << 20);
    assert_eq!(client.error(), 95);
    let mut old = Client::start(server.connect(), false);
    same(&old.read(0, plain.len()), &plain, "zeros");
    // What is told to be a hole is one, and holes are told.
    client.request(0, ZEROES, 1, 1 << 19, 1 << 19);
    done(&mut client);
    plain[1 << 19..1 << 20].fill(0);
    client.request(0, 7, 1, 0, plain.len() as u32);
    let Reply::Chunk { kind: 5, data, .. } = client.reply() else {
        panic!("no status");
    };
    let (mut at, mut holes) = (0, Vec::new());
    for run in data[4..].as_chunks::<8>().0 {
        let number = u64::from_be_bytes(*run);
        let (len, flags) = ((number >> 32) as usize, number as u32);
        if flags == 3 {
            assert!(plain[at..at + len].iter().all(|b| *b == 0), "{len} at {at}");
            holes.push(at..at + len);
        }
        at += len;
    }
    assert_eq!(at, plain.len());
    assert!(holes.contains(&(1 << 19..1 << 20)), "{holes:?}");
    assert!(
        holes
            .iter()
            .any(|hole| hole.start > 1 << 20 && hole.end < (1 << 20) + 200_100),
        "{holes:?}"
    );
}

#[test]
fn what_cannot_be_written_is_refused_and_the_connection_lives() {
    let (server, plain) = server();
    let size = plain.len() as u64;
    let mut client = Client::start(server.connect(), false);
    for (flags, command, offset, length, error) in [
        (0, WRITE, size - 10, 100, 28),
        (0, WRITE, u64::MAX, 100, 28),
        (0, ZEROES, size, 4096, 28),
        (0, TRIM, size, 4096, 22),
        (0, WRITE, 0, 0, 22),
        (NO_HOLE, WRITE, 0, 100, 22),
        (FAST, TRIM, 0, 100, 22),
        (0, 99, 0, 100, 22),
        (FUA, FLUSH, 0, 0, 0),
        (0, FLUSH, 0, 0, 0),
    ] {
        client.request(flags, command, 3, offset, length);
        if command == WRITE {
            client.send(&vec![9; length as usize]);
        }
        assert_eq!(
            client.error(),
            error,
            "command {command} at {offset}, {length}"
        );
    }
    same(&client.read(0, plain.len()), &plain, "nothing was written");
    client.request(0, WRITE, 3, 0, u32::MAX);
    assert!(client.is_over());
}

#[test]
fn writers_that_go_in_the_middle_leave_nothing_by_halves() {
    let (server, mut plain) = server();
    for cut in [0, 1, 100, 4095, 4096, 100_000, 262_144, 300_000, 524_287] {
        let mut client = Client::start(server.connect(), false);
        client.request(0, WRITE, 1, 1000, 1 << 20);
        client.send(&vec![cut as u8; cut]);
        drop(client);
        let mut other = Client::start(server.connect(), false);
        let now = other.read(0, plain.len());
        let differs = |at: &usize| now[*at] != plain[*at];
        if let Some(last) = (0..now.len()).rev().find(differs) {
            assert!(last < 1000 + cut, "byte {last} after {cut}");
        }
        // What is there is the front of it, and ends where a granule does.
        let changed = (1000..1000 + cut)
            .take_while(|at| now[*at] == cut as u8)
            .count();
        assert_eq!(
            now[1000 + changed..],
            plain[1000 + changed..],
            "after {cut}"
        );
        plain = now;
    }
}

#[test]
fn several_clients_write_into_the_same_granules() {
    let (server, mut plain) = server();
    thread::scope(|scope| {
        for number in 0..4u8 {
            let server = &server;
            scope.spawn(move || {
                let mut client = Client::start(server.connect(), number % 2 == 0);
                // Every fourth run of 500 bytes, several requests under way.
                let places: Vec<u64> = (0..200)
                    .map(|i| i * 2000 + u64::from(number) * 500)
                    .collect();
                for (cookie, &at) in places.iter().enumerate() {
                    let flags = if cookie % 50 == 0 { FUA } else { 0 };
                    client.write(flags, cookie as u64, at, &[100 + number; 500]);
                }
                places.iter().for_each(|_| done(&mut client));
                client.request(0, FLUSH, 1, 0, 0);
                done(&mut client);
            });
        }
    });
    for (at, byte) in plain[..400_000].iter_mut().enumerate() {
        *byte = 100 + (at / 500 % 4) as u8;
    }
    let mut client = Client::start(server.connect(), false);
    same(&client.read(0, plain.len()), &plain, "four writers");
    let page = server.metrics();
    for line in [
        "evener_nbd_requests_total{command=\"write\"} 800",
        "evener_nbd_requests_total{command=\"flush\"} 4",
        "evener_nbd_written_bytes_total 400000",
        "evener_nbd_overlay_bytes 401408",
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "no {line} in\n{page}"
        );
    }
    assert_eq!(server.stop().written, 400_000);
}

#[test]
fn hundreds_of_writers_are_served() {
    let (server, _) = server();
    let count = 400;
    let mut clients: Vec<Client> = (0..count)
        .map(|_| Client::start(server.connect(), false))
        .collect();
    for (number, client) in (0..).zip(&mut clients) {
        client.write(0, 1, number * 4096, &[number as u8; 4096]);
    }
    clients.iter_mut().for_each(done);
    let mut other = Client::start(server.connect(), false);
    for number in 0..count {
        assert_eq!(other.read(number * 4096, 4096), [number as u8; 4096]);
    }
}

#[test]
fn a_bad_block_of_the_image_can_be_written_over() {
    let folder = Folder::in_memory();
    let mut bytes = packed(&folder, &image(), "zstd", 16384, "auto");
    bytes[1000] ^= 0x55;
    folder.file("image", &bytes);
    let server = Server::over(folder, 1 << 20);
    let mut client = Client::start(server.connect(), false);
    // A part of a granule needs the rest of it, which is not to be had.
    client.write(0, 1, 512, &[7; 512]);
    assert_eq!(client.error(), 5);
    client.write(0, 1, 0, &[7; 16384]);
    done(&mut client);
    assert_eq!(client.read(0, 16384), [7; 16384]);
}

/// What there is to say about opening an overlay of `image` in a folder.
fn refused(folder: &Folder, overlay: &str) -> Error {
    let image = Image::open(&folder.path("image")).unwrap();
    let base = Base::of(&image).unwrap();
    Overlay::open(&folder.path(overlay), &base).unwrap_err()
}

#[test]
fn overlays_that_do_not_fit_are_refused() {
    let folder = Folder::in_memory();
    let plain = image();
    folder.file("image", &plain);
    let open = |image: &str, overlay: &str| {
        let image = Image::open(&folder.path(image)).unwrap();
        Overlay::open(&folder.path(overlay), &Base::of(&image).unwrap())
    };
    let first = open("image", "o").unwrap();
    assert!(matches!(refused(&folder, "o"), Error::Locked { .. }));
    drop(first);
    // A copy of the image is as good, and its hash is as good as the image.
    folder.file("copy", &plain);
    open("copy", "o").unwrap();
    for (at, byte) in [(0, 1), (1 << 20, 2), (plain.len() - 1, 3)] {
        let mut other = plain.clone();
        other[at] ^= byte;
        folder.file("other", &other);
        let error = open("other", "o").unwrap_err();
        assert!(matches!(error, Error::Base { .. }), "{error}");
    }
    folder.file("other", &plain[1..]);
    assert!(matches!(
        open("other", "o").unwrap_err(),
        Error::Base { .. }
    ));
    assert!(matches!(refused(&folder, "image"), Error::Image { .. }));
    fs::hard_link(folder.path("image"), folder.path("link")).unwrap();
    assert!(matches!(refused(&folder, "link"), Error::Image { .. }));
    assert!(matches!(refused(&folder, "copy"), Error::Other { .. }));
    folder.file("empty", b"");
    assert!(matches!(refused(&folder, "empty"), Error::Other { .. }));
    assert!(matches!(refused(&folder, ""), Error::Other { .. }));
    let page = fs::read(folder.path("o")).unwrap();
    for len in [8, 11, 12, 4095, 4096, page.len() - 1] {
        folder.file("cut", &page[..len]);
        assert!(
            matches!(refused(&folder, "cut"), Error::Damaged { .. }),
            "{len}"
        );
    }
    let mut other = page.clone();
    other[40] ^= 1;
    folder.file("damaged", &other);
    assert!(matches!(refused(&folder, "damaged"), Error::Damaged { .. }));
    other[8] = 2;
    folder.file("newer", &other);
    let error = refused(&folder, "newer");
    assert!(
        matches!(error, Error::Version { version: 2, .. }),
        "{error}"
    );
    assert!(matches!(refused(&folder, "no/such"), Error::Create(_)));
}

#[test]
fn packed_again_in_another_way_an_image_is_the_same() {
    let folder = Folder::in_memory();
    let plain = image();
    for (name, codec, block) in [
        ("zstd", "zstd", 16384),
        ("lz4", "lz4", 16384),
        ("large", "lz4", 65536),
    ] {
        let bytes = packed(&folder, &plain, codec, block, "auto");
        folder.file(name, &bytes);
    }
    let base = |name: &str| Base::of(&Image::open(&folder.path(name)).unwrap()).unwrap();
    assert_eq!(base("zstd").identity, base("lz4").identity);
    assert_ne!(base("zstd").identity, base("large").identity);
}

#[test]
fn those_who_make_one_at_once_get_one() {
    let folder = Folder::in_memory();
    folder.file("image", image());
    let base = Base::of(&Image::open(&folder.path("image")).unwrap()).unwrap();
    for round in 0..20 {
        let path = folder.path(&format!("o{round}"));
        let got = thread::scope(|scope| {
            let open = || scope.spawn(|| Overlay::open(&path, &base));
            let all: Vec<_> = (0..4).map(|_| open()).collect();
            let all: Vec<_> = all
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            // No lock is released before all threads have tried to get it.
            all.into_iter()
                .filter(|overlay| match overlay {
                    Ok(_) => true,
                    Err(error) => {
                        assert!(matches!(error, Error::Locked { .. }), "{error}");
                        false
                    }
                })
                .count()
        });
        assert_eq!(got, 1);
    }
    let left = fs::read_dir(folder.path("")).unwrap();
    assert_eq!(left.count(), 21, "something was left");
}

#[test]
fn what_is_in_an_overlay_can_be_told_while_it_is_served() {
    let (server, _) = server();
    let mut client = Client::start(server.connect(), false);
    client.write(0, 1, 5000, &[7; 10_000]);
    done(&mut client);
    let summary = overlay::OverlaySummary::of(&server.folder().path("overlay")).unwrap();
    assert_eq!(summary.bytes, 3 * GRANULE);
    assert_eq!(summary.size, image().len() as u64);
    assert!(summary.image.ends_with("/image"), "{}", summary.image);
}

/// Zeros where the file has a hole, as on a disk that lost power: what the second map does not know is not believed.
#[test]
fn another_boot_believes_only_what_was_flushed() {
    let (server, mut plain) = server();
    let mut client = Client::start(server.connect(), false);
    client.write(FUA, 1, 0, &[7; 4096]);
    done(&mut client);
    plain[..4096].fill(7);
    client.write(0, 1, 1 << 20, &[8; 4096]);
    done(&mut client);
    // The server did not get to its end: the file as it is now, after a start of the machine.
    let folder = Folder::in_memory();
    for name in ["image", "overlay"] {
        fs::copy(server.folder().path(name), folder.path(name)).unwrap();
    }
    let same_boot = Folder::in_memory();
    for name in ["image", "overlay"] {
        fs::copy(server.folder().path(name), same_boot.path(name)).unwrap();
    }
    let file = fs::File::options()
        .write(true)
        .open(folder.path("overlay"))
        .unwrap();
    file.write_all_at(&[1; 16], 4096).unwrap();
    let after = Server::over(folder, 0);
    let mut client = Client::start(after.connect(), false);
    same(&client.read(0, plain.len()), &plain, "after a power cut");
    plain[1 << 20..][..4096].fill(8);
    let after = Server::over(same_boot, 0);
    let mut client = Client::start(after.connect(), false);
    same(&client.read(0, plain.len()), &plain, "after a kill");
}

fn change() -> impl Strategy<Value = (u16, u16, u64, u32)> {
    let size = image().len() as u64;
    let at = prop_oneof![0..size, (0..size / 4096).prop_map(|g| g * 4096)];
    let len = prop_oneof![1..9000u32, Just(4096), 1..600_000u32];
    let command = prop_oneof![3 => Just(WRITE), 1 => Just(ZEROES), 1 => Just(TRIM), 1 => Just(0)];
    (0..3u16, command, at, len)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn changes_of_any_kind_give_what_they_should(
        rounds in prop::collection::vec(prop::collection::vec(change(), 1..25), 1..4),
        cache in prop_oneof![Just(0u64), Just(1 << 20)],
        codec in prop_oneof![Just("zstd"), Just("none"), Just("raw")],
    ) {
        let mut plain = image();
        let folder = Folder::in_memory();
        let bytes = match codec {
            "raw" => plain.clone(),
            codec => packed(&folder, &plain, codec, 16384, "auto"),
        };
        folder.file("image", &bytes);
        let mut server = Server::over(folder, cache);
        let mut byte = 0u8;
        for round in rounds {
            let mut client = Client::start(server.connect(), false);
            for (flags, command, at, len) in round {
                let len = len.min((plain.len() as u64 - at) as u32);
                let (mut from, mut to) = (at as usize, at as usize + len as usize);
                byte = byte.wrapping_add(1);
                match command {
                    WRITE => {
                        client.write(flags & FUA, 1, at, &vec![byte; len as usize]);
                        plain[from..to].fill(byte);
                    }
                    0 => {
                        prop_assert!(client.read(at, len as usize) == plain[from..to]);
                        continue;
                    }
                    _ => {
                        let flags = if command == TRIM { flags & FUA } else { flags };
                        client.request(flags, command, 1, at, len);
                        if command == TRIM {
                            from = from.next_multiple_of(4096);
                            to = if to == plain.len() { to } else { to / 4096 * 4096 };
                        }
                        plain[from.min(to)..to].fill(0);
                    }
                }
                prop_assert_eq!(client.error(), 0);
            }
            same(&client.read(0, plain.len()), &plain, codec);
            server = server.again(|_| ());
        }
        let mut client = Client::start(server.connect(), false);
        same(&client.read(0, plain.len()), &plain, codec);
    }
}
