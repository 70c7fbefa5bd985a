//! Recordings of packets, read block by block as draft-ietf-opsawg-pcapng has them, with nothing of what writes them.

use std::fs;
use std::path::Path;

/// A recording of one interface.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The type of the interface: 1 for Ethernet, 101 for IP.
    pub link: u16,
    /// In the order of the file.
    pub packets: Vec<Packet>,
}

/// A packet of a recording.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// The low bits of its flags: 1 for one that came, 2 for one that went out, 0 if the file does not say.
    pub direction: u32,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Reads a file.
///
/// # Panics
/// If it is not a recording whose times are in nanoseconds and whose packets are not cut.
pub fn read(path: &Path) -> Recording {
    let bytes = fs::read(path).expect("a recording");
    let mut recording = None;
    let mut rest = &bytes[..];
    let mut number = 0;
    while !rest.is_empty() {
        let (kind, len) = (word(rest, 0), word(rest, 4) as usize);
        assert!(
            len >= 12 && len.is_multiple_of(4) && len <= rest.len(),
            "block {number} has {len} bytes"
        );
        assert_eq!(
            word(rest, len - 4) as usize,
            len,
            "the length of block {number} is at both ends"
        );
        let body = &rest[8..len - 4];
        match (number, kind) {
            (0, 0x0a0d_0d0a) => {
                assert_eq!(word(body, 0), 0x1a2b_3c4d, "the order of bytes");
                assert_eq!((half(body, 4), half(body, 6)), (1, 0), "the version");
            }
            (1, 1) => {
                assert_eq!(word(body, 4), 0, "packets are not cut");
                let resolution = option(&body[8..], 9).expect("a resolution of times");
                assert_eq!(resolution, [9], "nanoseconds");
                recording = Some(Recording {
                    link: half(body, 0),
                    packets: Vec::new(),
                });
            }
            (2.., 6) => {
                let recording = recording.as_mut().expect("an interface");
                recording.packets.push(packet(body));
            }
            _ => panic!("block {number} is of kind {kind}"),
        }
        rest = &rest[len..];
        number += 1;
    }
    recording.expect("an interface")
}

fn packet(body: &[u8]) -> Packet {
    assert_eq!(word(body, 0), 0, "the interface");
    let (captured, len) = (word(body, 12) as usize, word(body, 16));
    assert_eq!(captured, len as usize, "it is not cut");
    let end = 20 + captured.next_multiple_of(4);
    assert!(
        body[20 + captured..end].iter().all(|&byte| byte == 0),
        "padding"
    );
    let flags = option(&body[end..], 2).map_or(0, |flags| word(&flags, 0));
    Packet {
        time: u64::from(word(body, 4)) << 32 | u64::from(word(body, 8)),
        direction: flags & 3,
        bytes: body[20..20 + captured].to_vec(),
    }
}

/// The value of an option.
fn option(mut options: &[u8], wanted: u16) -> Option<Vec<u8>> {
    while !options.is_empty() {
        let (code, len) = (half(options, 0), usize::from(half(options, 2)));
        if code == 0 {
            assert_eq!((len, options.len()), (0, 4), "the end of options");
            return None;
        }
        if code == wanted {
            return Some(options[4..4 + len].to_vec());
        }
        options = &options[4 + len.next_multiple_of(4)..];
    }
    None
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}
