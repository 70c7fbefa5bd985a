//! Any bytes as an encrypted file, and real files that were changed: never a panic, never text that was not sealed at
//! its place.

#![no_main]
#![forbid(unsafe_code)]

use evener_crypt::bulk::{Bulk, Open, UNIT_ROWS};
use evener_crypt::chunked::{CHUNK, FileKey, HEADER, SALT, SEALED_CHUNK, Scheme, sealed_len};
use evener_crypt::keys::{PASSPHRASE_HEADER, PassphraseHeader};
use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{Part, Service, Simd, Structure};
use libfuzzer_sys::fuzz_target;

const KEY: [u8; 32] = [7; 32];

/// The input as numbers, then zeros for ever: so every input is a case.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0))
    }

    /// A place in something of `length` bytes: often near the border of a chunk.
    fn place(&mut self, length: usize) -> usize {
        let at = match self.next() % 4 {
            0 => (HEADER + self.next() * SEALED_CHUNK + self.next()).saturating_sub(16),
            1 => length.saturating_sub(self.next()),
            _ => self.next() << 16 | self.next() << 8 | self.next(),
        };
        at % (length + 1)
    }
}

fn text(length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i as u32).wrapping_mul(0x9E37_79B9).to_be_bytes()[0])
        .collect()
}

fn sealed(text: &[u8], salt: u8) -> Vec<u8> {
    let simd = Simd::detect();
    let (key, header) =
        FileKey::create(Scheme::Cobblestone256, &KEY, b"", &[salt; SALT], simd).expect("a key");
    let mut file = header.to_vec();
    file.resize(HEADER + sealed_len(text.len(), true), 0);
    key.seal(0, text, true, &mut file[HEADER..])
        .expect("short enough");
    file
}

/// What the service makes of a file, unit by unit as a stream does: its text, and whether it was whole.
fn opened(file: &[u8], structure: &'static Structure, grain: usize) -> (Vec<u8>, bool) {
    let Ok(key) = FileKey::open(Scheme::Cobblestone256, &KEY, b"", file, Simd::detect()) else {
        return (Vec::new(), false);
    };
    let service = Bulk::new(Open(key));
    let (mut input, output) = (service.input(), service.output());
    let mut text = Vec::new();
    let mut rest = &file[HEADER..];
    for unit in 0.. {
        let room = input.room();
        let (now, later) = rest.split_at(rest.len().min(room.len()));
        room[..now.len()].copy_from_slice(now);
        let last = now.len() < room.len();
        input.keep(now.len());
        (input.first, input.last, rest) = (unit * UNIT_ROWS as u64, last, later);
        for start in (0..UNIT_ROWS).step_by(grain) {
            let items = start as u32..UNIT_ROWS.min(start + grain) as u32;
            let part = Part {
                structure,
                pass: 0,
                items,
            };
            if let Err(message) = service.run(&part, &input, &output, &mut ()) {
                assert!(!message.contains('\n'), "{message}");
                assert!(service.first_error().take().is_some(), "{message}");
                return (text, false);
            }
        }
        text.extend_from_slice(&output.bytes()[..output.len()]);
        if last {
            break;
        }
    }
    (text, true)
}

fuzz_target!(|data: &[u8]| {
    match PassphraseHeader::parse(data) {
        Ok(header) => assert_eq!(header.to_bytes()[..], data[..PASSPHRASE_HEADER]),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
    let mut bytes = Bytes(data.iter());
    let text = text(match bytes.next() {
        // More than a unit.
        255 => UNIT_ROWS * CHUNK + bytes.next() * 100,
        n => (n % 4 * CHUNK + bytes.next() * 3).saturating_sub(bytes.next()),
    });
    // Two files of the same text under the same key: each is good as far as it is kept.
    let [real, other] = [1, 2].map(|salt| sealed(&text, salt));
    let mut file = real.clone();
    for _ in 0..bytes.next() % 4 {
        let (at, to) = (bytes.place(file.len()), bytes.place(file.len()));
        let (at, to) = (at.min(to), at.max(to));
        match bytes.next() % 8 {
            0 => file.truncate(to),
            1 => drop(file.drain(at..to)),
            2 => file.extend_from_within(at..to),
            3 => file[at..to].rotate_left((to - at).min(1)),
            4 => file.extend_from_slice(bytes.0.as_slice()),
            5 => {
                let to = to.min(other.len());
                file[at.min(to)..to].copy_from_slice(&other[at.min(to)..to]);
            }
            6 => file
                .splice(at.., bytes.0.as_slice().iter().copied())
                .for_each(drop),
            _ => {
                if let Some(byte) = file.get_mut(at) {
                    *byte ^= 1 << (bytes.next() % 8);
                }
            }
        }
    }
    let unaltered = file == real || file == other;
    let same = |whole: &[u8]| file.iter().zip(whole).take_while(|(a, b)| a == b).count();
    let good = match unaltered {
        true => text.len(),
        false => same(&real).max(same(&other)).saturating_sub(HEADER) / SEALED_CHUNK * CHUNK,
    };
    let grain = 1 + bytes.next() % UNIT_ROWS;
    for structure in [&SEQUENTIAL, &FARM] {
        let (got, whole) = opened(&file, structure, grain);
        assert_eq!(whole, unaltered);
        assert!(
            got.len() <= good && text.starts_with(&got),
            "{} of {good}",
            got.len()
        );
        assert!(!whole || got.len() == text.len());
    }
    let (got, whole) = opened(data, &FARM, UNIT_ROWS);
    assert!(got.is_empty() && !whole, "a forgery");
});
