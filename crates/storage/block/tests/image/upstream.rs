//! NBD servers that say how long requests may be, and answer in parts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Folder, same, unpacked};

/// How a server for a test answers.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// Bytes of blocks: at least, preferred, at most.
    sizes: Option<[u32; 3]>,
    structured: bool,
    /// It sends the first half of what is asked for twice, and not the second.
    repeats: bool,
    /// It tells an allocation that was not asked for, by which all is zero.
    other_context: bool,
}

/// The request for the allocation.
const BLOCK_STATUS: u8 = 7;

/// The requests that a server got: where each begins, and its length; 0 for the allocation.
type Asked = Arc<Mutex<Vec<(u64, u32)>>>;

/// Serves `disk` to one client.
fn server(disk: Vec<u8>, manner: Manner) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nbd://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            // The client goes when it has all.
            let _ = serve(&mut stream.unwrap(), &disk, manner, &told);
        }
    });
    (url, asked)
}

fn serve(
    stream: &mut TcpStream,
    disk: &[u8],
    manner: Manner,
    asked: &Asked,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    bytes(stream, 4)?;
    loop {
        let head = bytes(stream, 16)?;
        let (option, len) = (number(&head[8..12]), number(&head[12..]));
        let data = bytes(stream, len as usize)?;
        let mut reply = |kind: u32, data: &[u8]| {
            let numbers = [option as u32, kind, data.len() as u32].map(u32::to_be_bytes);
            let magic = 0x0003_e889_0455_65a9u64.to_be_bytes();
            stream.write_all(&[&magic[..], &numbers.concat(), data].concat())
        };
        match option {
            8 if manner.structured => reply(1, b"")?,
            10 if manner.other_context => {
                reply(4, b"\0\0\0\x07other:context")?;
                reply(1, b"")?;
            }
            10 => reply(1, b"")?,
            7 => {
                let export = [&[0, 0][..], &(disk.len() as u64).to_be_bytes(), &[0, 3]].concat();
                reply(3, &export)?;
                // It has to be asked for.
                let wanted = data.ends_with(&[0, 1, 0, 3]);
                if let Some(sizes) = manner.sizes {
                    assert!(wanted, "{data:?}");
                    reply(
                        3,
                        &[&[0, 3][..], &sizes.map(u32::to_be_bytes).concat()].concat(),
                    )?;
                }
                reply(1, b"")?;
                break;
            }
            _ => reply(0x8000_0001, b"")?,
        }
    }
    loop {
        let head = bytes(stream, 28)?;
        let (command, at, len) = (head[7], number(&head[16..24]), number(&head[24..]) as u32);
        if command != 0 {
            if command == BLOCK_STATUS {
                asked.lock().unwrap().push((at, 0));
            }
            continue;
        }
        asked.lock().unwrap().push((at, len));
        let [least, _, most] = manner.sizes.unwrap_or([1, 1, 32 << 20]);
        let fits = len <= most && at % u64::from(least) == 0 && len % least == 0;
        let cookie = &head[8..16];
        let data = &disk[at as usize..][..len as usize];
        if !manner.structured || !fits {
            let error = if fits { 0u32 } else { 22 };
            let head = [
                &0x6744_6698u32.to_be_bytes()[..],
                &error.to_be_bytes(),
                cookie,
            ]
            .concat();
            stream.write_all(&head)?;
            stream.write_all(if fits { data } else { &[] })?;
            continue;
        }
        let half = data.len() / 2;
        let (first, second) = ((at, &data[..half]), (at + half as u64, &data[half..]));
        let parts = match manner.repeats {
            true => [first, first],
            // Any order will do.
            false => [second, first],
        };
        for (is_last, (at, data)) in [false, true].into_iter().zip(parts) {
            let head = [
                &0x668e_33efu32.to_be_bytes()[..],
                &u16::from(is_last).to_be_bytes(),
                &1u16.to_be_bytes(),
                cookie,
                &(data.len() as u32 + 8).to_be_bytes(),
                &at.to_be_bytes(),
            ];
            stream.write_all(&head.concat())?;
            stream.write_all(data)?;
        }
    }
}

fn bytes(stream: &mut TcpStream, len: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn disk(len: u32) -> Vec<u8> {
    (0..len)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
        .collect()
}

#[test]
fn requests_are_as_long_as_a_server_takes_them() {
    let folder = Folder::in_memory();
    for structured in [false, true] {
        for (sizes, longest) in [
            (None, 256 << 10),
            (Some([1, 4096, 131_072]), 131_072),
            (Some([512, 4096, 512]), 512),
            (Some([4096, 4096, 100_000]), 98_304),
            (Some([65_536, 65_536, u32::MAX]), 256 << 10),
            (Some([1, 1 << 20, u32::MAX]), 1 << 20),
        ] {
            let manner = Manner {
                sizes,
                structured,
                ..Manner::default()
            };
            let disk = disk((1 << 20) + 65_536);
            let (url, asked) = server(disk.clone(), manner);
            let got = unpacked(&folder, url.as_ref(), "auto").unwrap();
            same(&got, &disk, &format!("{sizes:?}"));
            let asked = asked.lock().unwrap();
            let most = asked.iter().map(|&(_, len)| len).max();
            assert_eq!(most, Some(longest), "{sizes:?}");
        }
    }
}

#[test]
fn sizes_that_cannot_be_kept_to_are_refused_in_a_line() {
    let folder = Folder::in_memory();
    for (sizes, says) in [
        ([0, 4096, 4096], "no blocks have 0 bytes at least"),
        ([4096, 4096, 512], "512 at most"),
        (
            [1 << 20, 1 << 20, 1 << 20],
            "no requests of fewer than 1048576 bytes",
        ),
        ([512, 4096, 4096], "only requests for whole blocks of 512"),
    ] {
        let manner = Manner {
            sizes: Some(sizes),
            ..Manner::default()
        };
        let (url, _) = server(disk(100_000), manner);
        let error = unpacked(&folder, url.as_ref(), "auto")
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{sizes:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn the_same_bytes_twice_are_not_all_of_them() {
    let folder = Folder::in_memory();
    let manner = Manner {
        structured: true,
        repeats: true,
        ..Manner::default()
    };
    let (url, _) = server(disk(100_000), manner);
    let error = unpacked(&folder, url.as_ref(), "auto")
        .unwrap_err()
        .to_string();
    assert!(error.contains("the same bytes twice"), "{error}");
}

#[test]
fn another_context_is_not_taken_for_the_allocation() {
    let folder = Folder::in_memory();
    let manner = Manner {
        structured: true,
        other_context: true,
        ..Manner::default()
    };
    let disk = disk(100_000);
    let (url, asked) = server(disk.clone(), manner);
    same(
        &unpacked(&folder, url.as_ref(), "auto").unwrap(),
        &disk,
        "another context",
    );
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|&(_, len)| len > 0), "{asked:?}");
}
