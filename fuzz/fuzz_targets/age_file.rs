//! Any bytes as an age file, its armor and its lists of keys, and a real file that was changed: never a panic, never text or a
//! key that was not written.

#![no_main]
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use evener_crypt::age::armor::{ArmorError, Decoder, Encoder};
use evener_crypt::age::{
    CHUNK, FileKey, Header, HeaderError, Identity, NONCE, Open, PayloadKey, SEALED_CHUNK, Stanza,
    identities, recipients, unwrap, work_factor,
};
use evener_crypt::bulk::Operation;
use libfuzzer_sys::fuzz_target;

/// Text of a file: more than two chunks.
const LENGTH: usize = 2 * CHUNK + 1000;

/// What all inputs have in common.
struct Fixed {
    identity: Identity,
    header: Vec<u8>,
    text: Vec<u8>,
    payload: Vec<u8>,
}

fn fixed() -> &'static Fixed {
    static FIXED: OnceLock<Fixed> = OnceLock::new();
    FIXED.get_or_init(|| {
        let identity = Identity::generate().expect("randomness");
        let key = FileKey::generate().expect("randomness");
        let grease = Stanza {
            args: vec!["grease".to_owned(), "!#$".to_owned()],
            body: vec![7; 100],
        };
        let stanza = identity.recipient().wrap(&key).expect("randomness");
        let text: Vec<u8> = (0..LENGTH).map(|i| (i * 31 + i / 251) as u8).collect();
        let mut payload = vec![0; LENGTH + 3 * 16];
        PayloadKey::new(&key, &[0; NONCE]).seal(0, &text, true, &mut payload);
        Fixed {
            header: Header::new(vec![grease, stanza], &key).to_bytes(),
            identity,
            text,
            payload,
        }
    })
}

/// A header of these bytes, and how many it has.
fn header(bytes: &[u8]) -> Result<(Header, usize), HeaderError> {
    let mut at = 0;
    let header = Header::read(|| {
        at += 1;
        Ok::<_, HeaderError>(bytes.get(at - 1).copied())
    })?;
    Ok((header, at))
}

/// What armor around text is taken off, `front` bytes of which were read before, in pieces of `piece`.
fn decoded(text: &[u8], front: usize, piece: usize) -> Result<Vec<u8>, ArmorError> {
    let mut decoder = Decoder::new(&text[..front.min(text.len())]);
    let (mut plain, mut room) = (Vec::new(), vec![0; piece]);
    loop {
        let got = decoder.fill(&mut room, |room, byte| {
            let rest = text.get(byte as usize..).unwrap_or_default();
            let some = rest.len().min(room.len());
            room[..some].copy_from_slice(&rest[..some]);
            Ok(some)
        })?;
        plain.extend_from_slice(&room[..got]);
        if got < piece {
            return Ok(plain);
        }
    }
}

/// What was changed of `real`: at a place that two bytes name, something that the third names.
fn changed(real: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = real.to_vec();
    for change in data.chunks_exact(4) {
        let place = usize::from(change[0]) << 8 | usize::from(change[1]);
        // Often near the border of a chunk.
        let at = match change[2] & 1 {
            0 => place % (bytes.len() + 1),
            _ => (place >> 8) * SEALED_CHUNK % (bytes.len() + 1),
        };
        let to = bytes.len().min(at + usize::from(change[3]));
        match change[2] >> 1 & 7 {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.extend_from_within(at..to),
            3 => bytes.insert(at, change[3]),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= change[3];
                }
            }
        }
    }
    bytes
}

fn any(data: &[u8]) {
    match header(data) {
        Ok((read, len)) => {
            assert_eq!(read.to_bytes(), data[..len]);
            let _ = work_factor(&read);
            let forged = unwrap(&read, std::slice::from_ref(&fixed().identity));
            assert!(forged.is_err(), "a forgery");
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
    let front = data.first().map_or(0, |&byte| usize::from(byte) % 40);
    let whole = decoded(data, 0, 1 << 16).ok();
    assert_eq!(decoded(data, front, 7).ok(), whole);
    if let Some(plain) = whole {
        let mut encoder = Encoder::default();
        let text = [encoder.update(&plain), encoder.finish()].concat();
        assert_eq!(decoded(&text, front, 48).ok(), Some(plain));
    }
    if let Err(error) = recipients(data) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    if let Err(error) = identities(data) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

fuzz_target!(|data: &[u8]| {
    any(data);
    let Fixed {
        identity,
        header: real,
        text,
        payload,
    } = fixed();
    let bytes = changed(real, data);
    if let Ok((read, len)) = header(&bytes) {
        let opened = unwrap(&read, std::slice::from_ref(identity));
        assert_eq!(opened.is_ok(), bytes[..len] == real[..]);
    }
    let (read, _) = header(real).expect("it is whole");
    let key = unwrap(&read, std::slice::from_ref(identity)).expect("it is the key");
    let file = changed(payload, data);
    let mut got = vec![0; Open::written(file.len(), true)];
    let open = Open(PayloadKey::new(&key, &[0; NONCE]));
    let opened = open.run(0, &file, true, &mut got);
    assert_eq!(opened.is_ok(), file == *payload);
    match opened {
        Ok(()) => assert!(got == *text),
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            // What came before the change is text, and the rest zeros.
            let same = file.iter().zip(payload).take_while(|(a, b)| a == b).count();
            let chunks = (0..=same / SEALED_CHUNK).map(|chunk| (chunk * CHUNK).min(got.len()));
            let is_end = |at: usize| got[..at] == text[..at] && got[at..].iter().all(|&b| b == 0);
            assert!(chunks.rev().any(is_end), "text that was not sealed");
        }
    }
});
