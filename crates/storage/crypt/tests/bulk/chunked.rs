//! Chunked encryption: Wycheproof's vectors, sizes, ranges, and any division of the work.

use evener_crypt::chunked::{
    CHUNK, ChunkError, FileKey, HEADER, HeaderError, MAX_CHUNKS, SALT, SEALED_CHUNK, Scheme,
    SizeError, Sizes, plain_len, sealed_len,
};
use evener_runtime::Simd;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha512};

use crate::vectors::{bytes, hex, levels, read};

/// A file with `text`, sealed in one call.
pub fn sealed_file(
    scheme: Scheme,
    key: &[u8],
    context: &[u8],
    salt: &[u8; SALT],
    text: &[u8],
    simd: Simd,
) -> Vec<u8> {
    let (key, header) = FileKey::create(scheme, key, context, salt, simd).unwrap();
    let mut file = header.to_vec();
    file.resize(HEADER + sealed_len(text.len(), true), 0);
    key.seal(0, text, true, &mut file[HEADER..]).unwrap();
    file
}

/// What is in a file: all of it, or why not. With it all text before the failure.
pub fn opened_file(
    scheme: Scheme,
    key: &[u8],
    context: &[u8],
    file: &[u8],
    simd: Simd,
) -> (Vec<u8>, Result<(), Refused>) {
    let key = match FileKey::open(scheme, key, context, file, simd) {
        Ok(key) => key,
        Err(error) => return (Vec::new(), Err(Refused::Header(error))),
    };
    let chunks = &file[HEADER..];
    let mut text = vec![0xaa; plain_len(chunks.len())];
    let result = key.open_chunks(0, chunks, true, &mut text);
    if let Err(error) = result {
        let chunk = match error {
            ChunkError::Altered { chunk } | ChunkError::Truncated { chunk } => chunk,
            _ => panic!("{error}"),
        };
        let genuine = text.len().min(chunk as usize * CHUNK);
        assert!(
            text[genuine..].iter().all(|&byte| byte == 0),
            "text that is not genuine"
        );
        text.truncate(genuine);
        return (text, Err(Refused::Chunk(error)));
    }
    assert_eq!(
        Sizes::of_sealed(file.len() as u64).unwrap().plain(),
        text.len() as u64
    );
    (text, Ok(()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Header(HeaderError),
    Chunk(ChunkError),
}

fn wycheproof(name: &str, scheme: Scheme) {
    let file: Value = serde_json::from_str(&read(name)).unwrap();
    let mut tested = [0, 0];
    for case in file["testGroups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|g| g["tests"].as_array().unwrap())
    {
        let field = |name: &str| hex(case[name].as_str().unwrap());
        let comment = &case["comment"];
        let flag = |flag: &str| case["flags"].as_array().unwrap().iter().any(|f| f == flag);
        let sealed = miniz_oxide::inflate::decompress_to_vec_zlib(&field("ct")).unwrap();
        let (key, context) = (field("key"), field("ctx"));
        let valid = case["result"] == "valid";
        tested[usize::from(valid)] += 1;
        for simd in levels() {
            let (text, result) = opened_file(scheme, &key, &context, &sealed, simd);
            assert_eq!(result.is_ok(), valid, "{comment}: {result:?}");
            let at_header = matches!(result, Err(Refused::Header(_)));
            assert_eq!(at_header, flag("HeaderFailure"), "{comment}: {result:?}");
            if valid || flag("PartialPlaintext") {
                assert_eq!(
                    text.len() as u64,
                    case["msgLength"].as_u64().unwrap(),
                    "{comment}: {result:?}"
                );
                assert_eq!(
                    Sha512::digest(&text).to_vec(),
                    field("msgSha512"),
                    "{comment}"
                );
            }
            if valid {
                let salt = sealed.first_chunk().unwrap();
                let again = sealed_file(scheme, &key, &context, salt, &text, simd);
                assert!(again == sealed, "{comment}");
            }
        }
    }
    assert_eq!(tested, [25, 10]);
}

#[test]
fn wycheproof_cobblestone_128() {
    wycheproof(
        "c2sp_chunked_encryption_aes_128_gcm_test.json",
        Scheme::Cobblestone128,
    );
}

#[test]
fn wycheproof_cobblestone_256() {
    wycheproof(
        "c2sp_chunked_encryption_aes_256_gcm_test.json",
        Scheme::Cobblestone256,
    );
}

#[test]
fn sizes_there_and_back() {
    let chunk = CHUNK as u64;
    for plain in (0..100).chain([
        chunk - 1,
        chunk,
        chunk + 1,
        7 * chunk,
        7 * chunk + 5,
        5 << 30,
    ]) {
        let sizes = Sizes::of_plain(plain).unwrap();
        assert_eq!(Sizes::of_sealed(sizes.sealed()), Ok(sizes));
        assert_eq!(sizes.place(sizes.chunks() - 1).end, sizes.sealed());
        assert_eq!(
            sizes.sealed(),
            HEADER as u64 + plain + 16 * (plain / chunk + 1)
        );
    }
    let most = MAX_CHUNKS * chunk - 1;
    let largest = Sizes::of_plain(most).unwrap();
    assert_eq!(largest.chunks(), MAX_CHUNKS);
    assert_eq!(Sizes::of_sealed(largest.sealed()), Ok(largest));
    assert_eq!(
        Sizes::of_plain(most + 1),
        Err(SizeError::TooLong {
            most: MAX_CHUNKS * CHUNK as u64
        })
    );
    for size in [largest.sealed() + 1, largest.sealed() + 17, u64::MAX] {
        assert!(Sizes::of_sealed(size).is_err(), "{size}");
    }
}

#[test]
fn sizes_no_file_has() {
    for size in 0..56 {
        assert_eq!(
            Sizes::of_sealed(size),
            Err(SizeError::Header {
                size,
                header: HEADER as u64
            })
        );
    }
    for chunks in [0u64, 1, 5, MAX_CHUNKS - 1] {
        let whole = HEADER as u64 + chunks * SEALED_CHUNK as u64;
        for size in whole..whole + 16 {
            assert_eq!(Sizes::of_sealed(size), Err(SizeError::Impossible { size }));
        }
        assert_eq!(
            Sizes::of_sealed(whole + 16).unwrap().plain(),
            chunks * CHUNK as u64
        );
    }
}

#[test]
fn chunks_beyond_the_format_are_refused() {
    let simd = Simd::detect();
    let (key, _) =
        FileKey::create(Scheme::Cobblestone256, &[1; 32], b"", &[2; SALT], simd).unwrap();
    let mut sealed = vec![0; SEALED_CHUNK + 20];
    assert!(
        key.seal(MAX_CHUNKS - 1, &[0; 4], true, &mut sealed[..20])
            .is_ok()
    );
    let mut text = [0; 4];
    assert_eq!(
        key.open_chunks(MAX_CHUNKS - 1, &sealed[..20], true, &mut text),
        Ok(())
    );
    for first in [MAX_CHUNKS, u64::MAX] {
        assert_eq!(
            key.seal(first, &[0; 4], true, &mut sealed[..20]),
            Err(SizeError::TooLong {
                most: MAX_CHUNKS * CHUNK as u64
            })
        );
        let opened = key.open_chunks(first, &sealed[..20], true, &mut text);
        assert_eq!(opened, Err(ChunkError::Extra { chunk: first }));
    }
    assert_eq!(
        key.seal(MAX_CHUNKS - 1, &[0; CHUNK + 4], true, &mut sealed),
        Err(SizeError::TooLong {
            most: MAX_CHUNKS * CHUNK as u64
        })
    );
}

#[test]
fn ranges_that_cannot_be() {
    let sizes = Sizes::of_plain(2 * CHUNK as u64).unwrap();
    assert_eq!(
        sizes.needed(5, 4),
        Err(SizeError::Backward { from: 5, to: 4 })
    );
    let plain = sizes.plain();
    assert_eq!(
        sizes.needed(0, plain + 1),
        Err(SizeError::Beyond {
            from: 0,
            to: plain + 1,
            plain
        })
    );
    let end = sizes.needed(plain, plain).unwrap();
    assert_eq!((end.chunks, end.last, end.take), (2..3, true, 0));
    let chunk = sizes.needed(CHUNK as u64, 2 * CHUNK as u64).unwrap();
    assert_eq!((chunk.chunks, chunk.last, chunk.skip), (1..2, false, 0));
}

#[test]
fn several_threads_use_one_key() {
    let text = bytes(40 * CHUNK + 99, 1);
    let (key, header) = FileKey::create(
        Scheme::Cobblestone256,
        &[1; 32],
        b"",
        &[2; SALT],
        Simd::detect(),
    )
    .unwrap();
    let mut file = vec![0; sealed_len(text.len(), true)];
    std::thread::scope(|scope| {
        let jobs = text
            .chunks(4 * CHUNK)
            .zip(file.chunks_mut(4 * SEALED_CHUNK));
        for (i, (text, sealed)) in jobs.enumerate() {
            let key = &key;
            let last = text.len() < 4 * CHUNK;
            scope.spawn(move || key.seal(4 * i as u64, text, last, sealed).unwrap());
        }
    });
    let file = [&header[..], &file].concat();
    let (opened, result) =
        opened_file(Scheme::Cobblestone256, &[1; 32], b"", &file, Simd::detect());
    assert_eq!(result, Ok(()));
    assert!(opened == text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_range_of_any_file(length in 0usize..6 * CHUNK, a in any::<u32>(), b in any::<u32>()) {
        let text = bytes(length, 3);
        let simd = Simd::detect();
        let file = sealed_file(Scheme::Cobblestone256, &[1; 32], b"c", &[2; SALT], &text, simd);
        let [from, to] = { let mut ends = [a, b].map(|x| u64::from(x) % (length as u64 + 1)); ends.sort(); ends };
        let sizes = Sizes::of_sealed(file.len() as u64).unwrap();
        let needed = sizes.needed(from, to).unwrap();
        let key = FileKey::open(Scheme::Cobblestone256, &[1; 32], b"c", &file, simd).unwrap();
        let sealed = &file[needed.sealed.start as usize..needed.sealed.end as usize];
        let mut opened = vec![0; plain_len(sealed.len())];
        key.open_chunks(needed.chunks.start, sealed, needed.last, &mut opened).unwrap();
        let taken = &opened[needed.skip..][..needed.take as usize];
        prop_assert!(taken == &text[from as usize..to as usize]);
        prop_assert!(needed.skip < CHUNK);
    }

    #[test]
    fn any_division_gives_the_same_file(
        length in 0usize..9 * CHUNK,
        run in 1usize..6,
        level in any::<prop::sample::Index>(),
    ) {
        let text = bytes(length, 4);
        let levels = levels();
        let simd = *level.get(&levels);
        let whole = sealed_file(Scheme::Cobblestone256, &[1; 32], b"", &[2; SALT], &text, levels[0]);
        let (key, header) = FileKey::create(Scheme::Cobblestone256, &[1; 32], b"", &[2; SALT], simd).unwrap();
        let mut file = header.to_vec();
        let (mut first, mut rest) = (0, &text[..]);
        loop {
            let last = rest.len() < run * CHUNK;
            let (part, after) = rest.split_at(rest.len().min(run * CHUNK));
            let mut sealed = vec![0; sealed_len(part.len(), last)];
            key.seal(first, part, last, &mut sealed).unwrap();
            file.extend(sealed);
            (first, rest) = (first + run as u64, after);
            if last {
                break;
            }
        }
        prop_assert!(file == whole);
    }
}
