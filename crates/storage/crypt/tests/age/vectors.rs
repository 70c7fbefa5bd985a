//! The vectors of C2SP's CCTV, of all that evener supports.

use std::fs;
use std::path::Path;

use evener_crypt::age::armor::Decoder;
use evener_crypt::age::{
    self, FileKey, Header, HeaderError, Identity, NONCE, PayloadKey, SEALED_CHUNK,
};
use evener_crypt::bulk::Operation;
use evener_crypt::session::{Error, Opener, Options, Secret, decrypt};
use evener_testing::Folder;
use sha2::{Digest, Sha256};

use super::runtime;

/// A vector: what must happen, with what it is opened, and the file.
struct Vector {
    name: String,
    expect: String,
    payload: Option<String>,
    identities: Vec<Identity>,
    passphrases: Vec<String>,
    armored: bool,
    file: Vec<u8>,
}

fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/age");
    let mut all: Vec<Vector> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| vector(&entry.unwrap().path()))
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(all.len(), 124);
    all
}

fn vector(path: &Path) -> Vector {
    let bytes = fs::read(path).unwrap();
    let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap();
    let mut vector = Vector {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        expect: String::new(),
        payload: None,
        identities: Vec::new(),
        passphrases: Vec::new(),
        armored: false,
        file: bytes[end + 2..].to_vec(),
    };
    for line in str::from_utf8(&bytes[..end]).unwrap().lines() {
        let (key, value) = line.split_once(": ").unwrap();
        match key {
            "expect" => value.clone_into(&mut vector.expect),
            "payload" => vector.payload = Some(value.to_owned()),
            "identity" => vector.identities.push(Identity::parse(value).unwrap()),
            "passphrase" => vector.passphrases.push(value.to_owned()),
            "armored" => vector.armored = value == "yes",
            "compressed" => {
                assert_eq!(value, "zlib");
                vector.file = miniz_oxide::inflate::decompress_to_vec_zlib(&vector.file).unwrap();
            }
            "file key" | "comment" => {}
            other => panic!("{}: unknown key {other}", vector.name),
        }
    }
    vector
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the vectors call an error of a file that is armored, or not.
fn kind(error: &Error, armored: bool) -> &'static str {
    match error {
        Error::Age { cause, .. } => match cause {
            HeaderError::Mac => "HMAC failure",
            HeaderError::NoMatch(_)
            | HeaderError::WrongPassphrase
            | HeaderError::NeedsPassphrase
            | HeaderError::NeedsIdentity(_) => "no match",
            _ => "header failure",
        },
        Error::File(evener_files::Error::Damaged { .. }) => "armor failure",
        Error::Stream(error) => match error.cause::<evener_files::Error>() {
            Some(evener_files::Error::Damaged { .. }) => "armor failure",
            other => panic!("{other:?}"),
        },
        Error::Refused { .. } | Error::Size { .. } => "payload failure",
        // The beginning tells what a file is, so one that begins otherwise is no age file.
        Error::NotAge { .. } | Error::Foreign { .. } | Error::Passphrase { .. } => match armored {
            true => "armor failure",
            false => "header failure",
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_vector_ends_as_it_should() {
    let folder = Folder::new();
    let runtime = runtime();
    for vector in vectors() {
        let name = &vector.name;
        let file = folder.file("file", &vector.file);
        let back = folder.path("back");
        let secrets: Vec<Secret> = vector
            .passphrases
            .iter()
            .map(|text| Secret::passphrase(text.as_bytes().to_vec().into()).unwrap())
            .collect();
        let mut openers: Vec<Opener<'_>> = secrets.iter().map(Opener::from).collect();
        if openers.is_empty() || !vector.identities.is_empty() {
            openers.push(Opener::Identities(&vector.identities));
        }
        let mut ends = Vec::new();
        for opener in openers {
            let done = decrypt(file.as_ref(), back.as_ref(), opener, b"", None)
                .and_then(|session| session.run(&runtime, Options::default()));
            ends.push(match done {
                Ok(_) => {
                    let text = fs::read(&back).unwrap();
                    fs::remove_file(&back).unwrap();
                    assert_eq!(Some(digest(&text)), vector.payload, "{name}");
                    "success".to_owned()
                }
                Err(error) => {
                    assert!(!back.exists(), "{name}");
                    let text = error.to_string();
                    assert!(!text.contains('\n') && text.starts_with(&*file.to_string_lossy()));
                    kind(&error, vector.armored).to_owned()
                }
            });
        }
        let expected = vector.expect.as_str();
        assert!(
            ends.iter().any(|end| end == expected),
            "{name}: {ends:?}, not {expected}"
        );
        assert!(
            expected == "success" || !ends.contains(&"success".to_owned()),
            "{name}"
        );
    }
}

/// The file key of a header and what follows it.
fn unlocked(vector: &Vector, file: &[u8]) -> Option<(Header, FileKey, Vec<u8>)> {
    let mut rest = file.iter().copied();
    let header = Header::read(|| Ok::<_, HeaderError>(rest.next())).ok()?;
    let key = match vector.passphrases.first() {
        Some(text) => age::unwrap_passphrase(&header, text.as_bytes()),
        None => age::unwrap(&header, &vector.identities),
    };
    Some((header, key.ok()?, rest.collect()))
}

#[test]
fn headers_and_payloads_are_written_as_they_were_read() {
    let mut payloads = 0;
    for vector in vectors() {
        let name = &vector.name;
        let mut file = vector.file.clone();
        if vector.armored {
            let (mut decoder, mut at) = (Decoder::new(&[]), 0);
            let mut plain = vec![0; file.len()];
            let read = |room: &mut [u8], _| {
                let some = room.len().min(file.len() - at);
                room[..some].copy_from_slice(&file[at..at + some]);
                at += some;
                Ok(some)
            };
            let Ok(length) = decoder.fill(&mut plain, read) else {
                continue;
            };
            plain.truncate(length);
            file = plain;
        }
        let Some((header, key, rest)) = unlocked(&vector, &file) else {
            continue;
        };
        assert_eq!(header.to_bytes(), file[..file.len() - rest.len()], "{name}");
        assert_eq!(Header::new(header.stanzas.clone(), &key), header, "{name}");
        let Some((nonce, chunks)) = rest.split_first_chunk::<NONCE>() else {
            assert_ne!(vector.expect, "success", "{name}");
            continue;
        };
        let payload = PayloadKey::new(&key, nonce);
        let mut text = vec![0; age::Open::written(chunks.len(), true)];
        let opened = payload.open(0, chunks, true, &mut text);
        assert_eq!(opened.is_ok(), vector.expect == "success", "{name}");
        if opened.is_ok() {
            let mut again = vec![0; chunks.len()];
            payload.seal(0, &text, true, &mut again);
            assert!(again == chunks, "{name}");
            payloads += 1;
        }
        // A reader of a stream takes a chunk for the last if it opens as that, and then finds that more follows.
        let mut released = Vec::new();
        for (number, chunk) in chunks.chunks(SEALED_CHUNK).enumerate() {
            let mut room = vec![0; age::Open::written(chunk.len(), true)];
            let whole = chunk.len() == SEALED_CHUNK;
            let goes_on = whole && payload.open(number as u64, chunk, false, &mut room).is_ok();
            if !goes_on && payload.open(number as u64, chunk, true, &mut room).is_err() {
                break;
            }
            released.extend(room);
            if !goes_on {
                break;
            }
        }
        let all = text
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        assert!(released.starts_with(&text[..all]), "{name}");
        assert_eq!(Some(digest(&released)), vector.payload, "{name}");
    }
    assert!(payloads > 15, "{payloads}");
}
