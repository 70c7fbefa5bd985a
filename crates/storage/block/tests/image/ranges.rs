//! Web servers that answer with other ranges than they are asked for.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use evener_block::session::SessionError;

use crate::common::{Folder, same, unpacked};

/// An answer: its status line and header lines, and its body.
pub type Answer = (String, Vec<u8>);

/// A web server for a test. `answer` is told the number of the request and which bytes are asked for.
pub fn server(answer: impl Fn(usize, Range<usize>) -> Answer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (answer, count) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
            thread::spawn(move || {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut reader = BufReader::new(stream);
                while let Some(range) = request(&mut reader) {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    let (head, body) = answer(number, range);
                    let length = body.len();
                    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n");
                    let stream = reader.get_mut();
                    let sent = stream.write_all(head.as_bytes());
                    if sent.and_then(|()| stream.write_all(&body)).is_err() {
                        break;
                    }
                }
            });
        }
    });
    format!("http://127.0.0.1:{port}/disk.img")
}

/// The range that is asked for.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Range<usize>> {
    let mut range = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            return range;
        }
        if let Some(bytes) = line.strip_prefix("range: bytes=") {
            let (first, last) = bytes.split_once('-').unwrap();
            range = Some(first.parse().unwrap()..last.parse::<usize>().unwrap() + 1);
        }
    }
}

/// What the server has: more than a piece, and no zeros.
fn disk() -> Vec<u8> {
    (0..(2u32 << 20) + 777)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
        .collect()
}

/// An answer that gives these bytes and says so.
pub fn part(disk: &[u8], given: Range<usize>) -> Answer {
    let (first, last, size) = (given.start, given.end - 1, disk.len());
    let head = format!("206 Partial Content\r\nContent-Range: bytes {first}-{last}/{size}");
    (head, disk[given].to_vec())
}

fn unpacked_from(
    answer: impl Fn(usize, Range<usize>) -> Answer + Send + Sync + 'static,
) -> Result<Vec<u8>, SessionError> {
    let folder = Folder::in_memory();
    let url = server(answer);
    let done = unpacked(&folder, url.as_ref(), "auto");
    assert_eq!(
        done.is_err(),
        folder.names().is_empty(),
        "nothing is left of a failure"
    );
    done
}

fn within(disk: &[u8], asked: Range<usize>) -> Range<usize> {
    asked.start..asked.end.min(disk.len())
}

#[test]
fn bytes_are_those_of_the_range_that_the_answer_names() {
    type Given = fn(usize, Range<usize>) -> Range<usize>;
    let ways: [(&str, Given); 5] = [
        ("as asked", |_, asked| asked),
        ("fewer", |_, asked| {
            asked.start..asked.end.min(asked.start + 300_001)
        }),
        ("from an earlier byte on", |_, asked| {
            asked.start.saturating_sub(70_000)..asked.end
        }),
        ("aligned, and more", |_, asked| {
            asked.start / 524_288 * 524_288..asked.end.next_multiple_of(524_288)
        }),
        ("shifted, and fewer", |number, asked| {
            asked.start.saturating_sub(1000 * number)..asked.end.min(asked.start + 200_000)
        }),
    ];
    for (what, way) in ways {
        let disk = disk();
        let served = disk.clone();
        let got = unpacked_from(move |number, asked| {
            let given = within(&served, way(number, asked));
            part(&served, given)
        });
        same(&got.unwrap(), &disk, what);
    }
}

#[test]
fn an_unknown_total_and_other_spellings_are_as_good() {
    let disk = disk();
    let served = disk.clone();
    let got = unpacked_from(move |number, asked| {
        let (head, body) = part(&served, within(&served, asked));
        let head = match number {
            0 => head.replace("bytes ", "Bytes "),
            _ => head.replace(&format!("/{}", served.len()), "/*"),
        };
        (head, body)
    });
    same(&got.unwrap(), &disk, "an unknown total");
}

#[test]
fn what_does_not_say_or_gives_other_bytes_is_refused() {
    type Spoil = fn(&[u8], Range<usize>) -> Answer;
    let spoils: [(&str, Spoil); 9] = [
        ("gives bytes 2097252 to", |disk, asked| {
            part(disk, asked.start + 100..asked.end)
        }),
        ("gives bytes 0 to 1", |disk, _| part(disk, 0..1)),
        ("which bytes of the file", |disk, asked| {
            ("206 Partial Content".to_owned(), disk[asked].to_vec())
        }),
        ("which bytes of the file", |disk, asked| {
            let (head, body) = part(disk, asked);
            (head.replace("bytes ", "lines "), body)
        }),
        ("which bytes of the file", |disk, asked| {
            let (head, body) = part(disk, asked);
            (format!("{head}\r\nContent-Range: bytes 5-6/7"), body)
        }),
        ("several ranges", |disk, asked| {
            let (head, body) = part(disk, asked);
            (
                format!("{head}\r\nContent-Type: multipart/byteranges; boundary=x"),
                body,
            )
        }),
        ("changed", |disk, asked| {
            let (head, body) = part(disk, asked);
            (
                head.replace(&format!("/{}", disk.len()), &format!("/{}", disk.len() + 1)),
                body,
            )
        }),
        ("ranges of the file no more", |disk, _| {
            ("200 OK".to_owned(), disk.to_vec())
        }),
        ("more bytes than it says", |disk, asked| {
            let (head, mut body) = part(disk, asked);
            body.push(7);
            (head, body)
        }),
    ];
    for (says, spoil) in spoils {
        let disk = disk();
        let got = unpacked_from(move |number, asked| {
            let asked = within(&disk, asked);
            match number {
                // The second piece, so that it is not the beginning of the file that is other.
                2.. => spoil(&disk, asked),
                _ => part(&disk, asked),
            }
        });
        let error = got.unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_server_that_spoils_its_first_answer_is_refused() {
    for (head, says) in [
        ("206 Partial Content", "which bytes of the file"),
        (
            "206 Partial Content\r\nContent-Range: bytes 0-0/*",
            "how long the file is",
        ),
        (
            "206 Partial Content\r\nContent-Range: bytes 0-0/x",
            "which bytes of the file",
        ),
        ("416 Range Not Satisfiable", "which bytes of the file"),
    ] {
        let error = unpacked_from(move |_, _| (head.to_owned(), vec![1])).unwrap_err();
        assert!(error.to_string().contains(says), "{head}: {error}");
    }
}

#[test]
fn a_connection_that_breaks_is_tried_again_where_it_ended() {
    let disk = disk();
    let served = disk.clone();
    let asked_for = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked_for);
    let got = unpacked_from(move |number, asked| {
        seen.lock().unwrap().push(asked.start);
        let asked = within(&served, asked);
        match number % 2 {
            0 => part(&served, asked.start..asked.end.min(asked.start + 400_000)),
            _ => ("500 Oh".to_owned(), Vec::new()),
        }
    });
    same(&got.unwrap(), &disk, "with failures between");
    assert!(asked_for.lock().unwrap().contains(&400_000));
}
