//! Files that were changed in any way are refused, and no text comes out that was not sealed at its place.

use evener_crypt::chunked::{
    CHUNK, ChunkError, HEADER, HeaderError, SALT, SEALED_CHUNK, Scheme, SizeError, Sizes,
};
use evener_crypt::keys::{Cost, PASSPHRASE_HEADER, PassphraseHeader};
use evener_runtime::Simd;

use crate::chunked::{Refused, opened_file, sealed_file};
use crate::vectors::bytes;

const KEY: [u8; 32] = [1; 32];

fn seal(text: &[u8], salt: u8) -> Vec<u8> {
    sealed_file(
        Scheme::Cobblestone256,
        &KEY,
        b"context",
        &[salt; SALT],
        text,
        Simd::detect(),
    )
}

/// Why the file is refused; the text that came out before must be the beginning of `text`.
fn refused(file: &[u8], text: &[u8]) -> Refused {
    let (before, result) = opened_file(
        Scheme::Cobblestone256,
        &KEY,
        b"context",
        file,
        Simd::detect(),
    );
    assert!(text.starts_with(&before), "other text came out");
    result.expect_err("a changed file was accepted")
}

#[test]
fn every_single_bit() {
    let text = bytes(CHUNK + 50, 1);
    let file = seal(&text, 9);
    let mut changed = file.clone();
    for bit in 0..8 * file.len() {
        let byte = bit / 8;
        changed[byte] ^= 1 << (bit % 8);
        let wanted = match byte.checked_sub(HEADER) {
            None => Refused::Header(HeaderError::Commitment),
            Some(at) => Refused::Chunk(ChunkError::Altered {
                chunk: (at / SEALED_CHUNK) as u64,
            }),
        };
        assert_eq!(refused(&changed, &text), wanted, "bit {bit}");
        changed[byte] = file[byte];
    }
}

#[test]
fn cut_at_every_byte() {
    let text = bytes(CHUNK + 50, 2);
    let file = seal(&text, 9);
    for length in 0..file.len() {
        let why = refused(&file[..length], &text);
        let chunk = (length.saturating_sub(HEADER) / SEALED_CHUNK) as u64;
        match Sizes::of_sealed(length as u64) {
            Err(SizeError::Header { .. }) => {
                assert_eq!(why, Refused::Header(HeaderError::Short { got: length }))
            }
            Err(_) => assert_eq!(
                why,
                Refused::Chunk(ChunkError::Truncated { chunk }),
                "{length}"
            ),
            Ok(_) => assert_eq!(
                why,
                Refused::Chunk(ChunkError::Altered { chunk }),
                "{length}"
            ),
        }
    }
}

#[test]
fn bytes_added() {
    for length in [0, 70, CHUNK - 1, CHUNK] {
        let text = bytes(length, 3);
        let mut file = seal(&text, 9);
        for added in 1..=2 * SEALED_CHUNK {
            file.push(added as u8);
            if added < 40 || added % 997 == 0 || file.len() % SEALED_CHUNK < 80 {
                refused(&file, &text);
            }
        }
    }
}

#[test]
fn chunks_moved() {
    let text = bytes(3 * CHUNK + 50, 4);
    let file = seal(&text, 9);
    let (header, chunks) = file.split_at(HEADER);
    let chunks: Vec<&[u8]> = chunks.chunks(SEALED_CHUNK).collect();
    let build = |order: &[usize]| {
        let chunks = order
            .iter()
            .map(|&i| chunks[i])
            .collect::<Vec<_>>()
            .concat();
        [header, &chunks].concat()
    };
    let altered = |chunk| Refused::Chunk(ChunkError::Altered { chunk });
    assert_eq!(refused(&build(&[1, 0, 2, 3]), &text), altered(0));
    assert_eq!(refused(&build(&[0, 2, 1, 3]), &text), altered(1));
    assert_eq!(refused(&build(&[0, 2, 3]), &text), altered(1));
    assert_eq!(refused(&build(&[0, 1, 3]), &text), altered(2));
    assert_eq!(refused(&build(&[0, 1, 1, 2, 3]), &text), altered(2));
    assert_eq!(refused(&build(&[0, 1, 2, 3, 3]), &text), altered(3));
    assert_eq!(refused(&build(&[3]), &text), altered(0));
    let cut = Refused::Chunk(ChunkError::Truncated { chunk: 3 });
    assert_eq!(refused(&build(&[0, 1, 2]), &text), cut);
}

#[test]
fn from_another_file() {
    let text = bytes(CHUNK + 50, 5);
    let (file, other) = (seal(&text, 9), seal(&bytes(CHUNK + 50, 6), 10));
    let mixed = [&other[..HEADER], &file[HEADER..]].concat();
    assert_eq!(
        refused(&mixed, &text),
        Refused::Chunk(ChunkError::Altered { chunk: 0 })
    );
    let second = HEADER + SEALED_CHUNK;
    let mixed = [&file[..second], &other[second..]].concat();
    assert_eq!(
        refused(&mixed, &text),
        Refused::Chunk(ChunkError::Altered { chunk: 1 })
    );
    let salt = [&other[..SALT], &file[SALT..]].concat();
    assert_eq!(
        refused(&salt, &text),
        Refused::Header(HeaderError::Commitment)
    );
}

#[test]
fn another_key_context_or_scheme() {
    let file = seal(b"text", 9);
    let open = |scheme, key: &[u8], context: &[u8]| {
        opened_file(scheme, key, context, &file, Simd::detect()).1
    };
    let commitment = Err(Refused::Header(HeaderError::Commitment));
    assert_eq!(open(Scheme::Cobblestone256, &KEY, b"context"), Ok(()));
    assert_eq!(
        open(Scheme::Cobblestone256, &[2; 32], b"context"),
        commitment
    );
    assert_eq!(open(Scheme::Cobblestone256, &KEY, b""), commitment);
    assert_eq!(
        open(Scheme::Cobblestone128, &KEY[..16], b"context"),
        commitment
    );
    let length = HeaderError::KeyLength {
        got: 16,
        wanted: 32,
    };
    assert_eq!(
        open(Scheme::Cobblestone256, &KEY[..16], b"context"),
        Err(Refused::Header(length))
    );
}

#[test]
fn a_passphrase_header_changed_in_any_bit() {
    let cost = Cost {
        memory: 64,
        passes: 1,
        lanes: 1,
    };
    let header = PassphraseHeader::generate(cost).unwrap();
    let key = header.key(b"correct").unwrap();
    let scheme = Scheme::Cobblestone256;
    let simd = Simd::detect();
    let context = header.context(b"mine");
    let file = sealed_file(scheme, key.bytes(), &context, &[9; SALT], b"text", simd);
    let opened = |header: &PassphraseHeader, user: &[u8], passphrase: &[u8]| {
        let key = header.key(passphrase).unwrap();
        opened_file(scheme, key.bytes(), &header.context(user), &file, simd).1
    };
    let commitment = Err(Refused::Header(HeaderError::Commitment));
    assert_eq!(opened(&header, b"mine", b"correct"), Ok(()));
    assert_eq!(opened(&header, b"mine", b"Correct"), commitment);
    assert_eq!(opened(&header, b"", b"correct"), commitment);
    let mut derived = 0;
    for bit in 0..8 * PASSPHRASE_HEADER {
        let mut bytes = header.to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // What asks for much is bounded elsewhere; here it would only take long.
        match PassphraseHeader::parse(&bytes) {
            Ok(header) if header.cost().memory * header.cost().passes <= 1 << 16 => {
                assert_eq!(
                    opened(&header, b"mine", b"correct"),
                    commitment,
                    "bit {bit}"
                );
                derived += 1;
            }
            Ok(_) | Err(_) => {}
        }
    }
    assert!(derived > 128, "{derived}");
}

#[test]
fn messages_are_one_line_that_says_where() {
    let messages = [
        HeaderError::Commitment.to_string(),
        HeaderError::Short { got: 3 }.to_string(),
        ChunkError::Altered { chunk: 2 }.to_string(),
        ChunkError::Truncated { chunk: 2 }.to_string(),
        SizeError::Impossible { size: 60 }.to_string(),
    ];
    for message in &messages {
        assert!(
            !message.contains('\n') && !message.contains("  "),
            "{message}"
        );
    }
    assert!(
        messages[2].contains("chunk 2, from byte 32856 on"),
        "{}",
        messages[2]
    );
}
