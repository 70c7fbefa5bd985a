//! Encryption through the functions of C: the published vectors, openssl, and the command's own files.

#[allow(unsafe_code)]
mod calls;

use std::process::Command;
use std::thread;

use evener_c::{EVENER_CHUNK, EVENER_TAG, Secret, Status};
use evener_crypt::keys::Key;
use evener_crypt::session::{self, Options, new_key_file};
use evener_runtime::Runtime;
use evener_testing::Folder;

use calls::{Handle, key, last_error, passphrase, workers};

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Counter mode into memory of its own, and in place.
fn ctr(key: &[u8], counter: &[u8], at: u64, input: &[u8]) -> Vec<u8> {
    let (workers, key) = (workers(), (key, counter.try_into().unwrap()));
    let mut output = vec![0; input.len()];
    let status = calls::ctr(&workers, key, at, input, &mut output);
    assert_eq!(status, Status::Ok, "{}", last_error());
    let mut place = input.to_vec();
    let status = calls::ctr_in_place(&workers, key, at, &mut place);
    assert_eq!(status, Status::Ok, "{}", last_error());
    assert!(place == output);
    output
}

#[test]
fn counter_mode_is_that_of_sp_800_38a() {
    let text = hex(concat!(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    ));
    let counter = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    // F.5.1, F.5.3 and F.5.5.
    let cases = [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            concat!(
                "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff",
                "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
            ),
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            concat!(
                "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94",
                "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
            ),
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            concat!(
                "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5",
                "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
            ),
        ),
    ];
    for (key, sealed) in cases {
        let (key, sealed) = (hex(key), hex(sealed));
        assert_eq!(ctr(&key, &counter, 0, &text), sealed);
        assert_eq!(ctr(&key, &counter, 0, &sealed), text);
        // From the middle of a block on.
        assert_eq!(ctr(&key, &counter, 21, &text[21..]), sealed[21..]);
    }
}

#[test]
fn counter_mode_is_that_of_openssl() {
    if Command::new("openssl").arg("version").output().is_err() {
        evener_testing::skip("there is no openssl");
        return;
    }
    let folder = Folder::new();
    let text = noise((5 << 20) + 13);
    let file = folder.file("text", &text);
    // The counter overflows its last eight bytes on the way.
    let counter = hex("00112233445566fffffffffffffffff0");
    for bits in [128, 192, 256] {
        let key = noise(bits / 8);
        let output = Command::new("openssl")
            .args(["enc", &format!("-aes-{bits}-ctr"), "-K", &to_hex(&key)])
            .args(["-iv", &to_hex(&counter), "-in"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success());
        assert!(ctr(&key, &counter, 0, &text) == output.stdout, "{bits}");
        let at = (3 << 20) + 7;
        let rest = ctr(&key, &counter, at as u64, &text[at..]);
        assert!(rest == output.stdout[at..], "{bits}");
    }
}

fn encrypt(secret: &Handle<Secret>, context: &str, text: &[u8]) -> Vec<u8> {
    let mut sealed = vec![0; calls::encrypted_size(secret, text.len()).unwrap()];
    let status = calls::encrypt(&workers(), (secret, context.as_bytes()), text, &mut sealed);
    assert_eq!(status, Status::Ok, "{}", last_error());
    sealed
}

fn decrypt(secret: &Handle<Secret>, context: &str, sealed: &[u8]) -> Result<Vec<u8>, Status> {
    let mut text = vec![0xaa; calls::decrypted_size(secret, sealed.len())?];
    let status = calls::decrypt(&workers(), (secret, context.as_bytes()), sealed, &mut text);
    if status != Status::Ok {
        let untouched = text.iter().all(|&byte| byte == 0xaa);
        assert!(untouched || text.iter().all(|&byte| byte == 0));
        return Err(status);
    }
    Ok(text)
}

#[test]
fn files_of_the_command_are_read_and_written() {
    let folder = Folder::new();
    let (file, back) = (folder.path("file"), folder.path("back"));
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let words = b"some words".to_vec();
    for (secret, theirs) in [
        (key(&[7; 32]), session::Secret::Key(Key::of_bytes(&[7; 32]))),
        (
            passphrase("some words"),
            session::Secret::passphrase(words.into()).unwrap(),
        ),
    ] {
        for len in [0, 1, EVENER_CHUNK, (3 << 20) + 5] {
            let text = noise(len);
            std::fs::write(&file, encrypt(&secret, "context", &text)).unwrap();
            let session =
                session::decrypt(file.as_ref(), back.as_ref(), &theirs, b"context", None).unwrap();
            session.run(&runtime, Options::default()).unwrap();
            assert!(std::fs::read(&back).unwrap() == text, "{len}");
            let session =
                session::encrypt(back.as_ref(), file.as_ref(), &theirs, b"other").unwrap();
            session.run(&runtime, Options::default()).unwrap();
            let sealed = std::fs::read(&file).unwrap();
            assert!(decrypt(&secret, "other", &sealed) == Ok(text), "{len}");
        }
    }
}

#[test]
fn what_was_altered_is_refused() {
    let secret = key(&[1; 32]);
    let sealed = encrypt(&secret, "", &noise((2 << 20) + 77));
    assert_eq!(decrypt(&key(&[2; 32]), "", &sealed), Err(Status::Refused));
    assert_eq!(decrypt(&secret, "c", &sealed), Err(Status::Refused));
    assert_eq!(
        decrypt(&passphrase("words"), "", &sealed),
        Err(Status::Refused)
    );
    for at in [3, 40, 60, 1 << 20, sealed.len() - 1] {
        let mut altered = sealed.clone();
        altered[at] ^= 0x80;
        assert_eq!(decrypt(&secret, "", &altered), Err(Status::Refused), "{at}");
    }
    for len in [0, 20, 56 + EVENER_CHUNK, 1 << 20, sealed.len() - 1] {
        assert_eq!(
            decrypt(&secret, "", &sealed[..len]),
            Err(Status::Refused),
            "{len}"
        );
    }
}

#[test]
fn chunks_are_those_of_the_whole() {
    const WHOLE: usize = EVENER_CHUNK + EVENER_TAG;
    for (secret, header_len) in [(key(&[5; 32]), 56), (passphrase("p"), 92)] {
        assert_eq!(calls::header_size(&secret), header_len);
        let text = noise(3 * EVENER_CHUNK + 100);
        let mut file = vec![0; header_len + text.len() + 4 * EVENER_TAG];
        let (header, chunks) = file.split_at_mut(header_len);
        let key = calls::new_file_key(&secret, header);
        // The last two first, then the others one by one.
        for (first, end) in [(2, 4), (0, 1), (1, 2)] {
            let text = &text[first * EVENER_CHUNK..text.len().min(end * EVENER_CHUNK)];
            let len = text.len() + (end - first) * EVENER_TAG;
            let sealed = &mut chunks[first * WHOLE..][..len];
            let status = calls::seal(&key, first as u64, end == 4, text, sealed);
            assert_eq!(status, Status::Ok, "{}", last_error());
        }
        assert!(decrypt(&secret, "", &file) == Ok(text.clone()));

        let (header, chunks) = file.split_at(header_len);
        let key = calls::open_file_key(&secret, header);
        let two = &chunks[WHOLE..3 * WHOLE];
        let mut opened = vec![1; 2 * EVENER_CHUNK];
        assert_eq!(calls::open(&key, 1, false, two, &mut opened), Status::Ok);
        assert!(opened == text[EVENER_CHUNK..3 * EVENER_CHUNK]);
        // In another place, as the end of the file, and where no file has chunks.
        let status = calls::open(&key, 0, false, two, &mut opened);
        assert_eq!(status, Status::Refused);
        assert!(opened.iter().all(|&byte| byte == 0));
        let status = calls::open(&key, 1, true, two, &mut opened);
        assert_eq!(status, Status::Refused);
        assert!(last_error().contains("was cut"), "{}", last_error());
        for first in [1 << 38, u64::MAX] {
            let status = calls::open(&key, first, false, two, &mut opened);
            assert_eq!(status, Status::Invalid);
        }
        let mut rest = [0; 100];
        let status = calls::open(&key, 3, true, &chunks[3 * WHOLE..], &mut rest);
        assert_eq!(status, Status::Ok);
        assert_eq!(rest, text[3 * EVENER_CHUNK..]);
        // Half a chunk that is not the last, and a place of another size.
        for (last, room) in [(false, 100), (true, 99)] {
            let mut room = vec![0; room];
            let status = calls::open(&key, 3, last, &chunks[3 * WHOLE..], &mut room);
            assert_eq!(status, Status::Invalid);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_written() {
    for (status, said, wanted) in calls::misuse() {
        assert!(matches!(status, Status::Invalid | Status::Failed));
        assert!(said.contains(wanted), "{said}, not {wanted}");
    }
    let secret = key(&[3; 32]);
    assert_eq!(
        calls::encrypted_size(&secret, usize::MAX),
        Err(Status::Invalid)
    );
    assert_eq!(calls::try_passphrase("").0, Status::Invalid);
    assert!(last_error().contains("empty"), "{}", last_error());
    assert_eq!(calls::try_load("/nowhere/key").0, Status::Failed);
    assert!(last_error().contains("/nowhere/key"), "{}", last_error());
    assert_eq!(calls::file_key(&secret, &mut [0; 92]).0, Status::Invalid);
    let said = last_error();
    assert!(said.contains("92 bytes, with this secret 56"), "{said}");
}

#[test]
fn threads_share_workers_and_secrets() {
    let (workers, secret) = (&workers(), &key(&[3; 32]));
    thread::scope(|scope| {
        for more in 0..3 {
            scope.spawn(move || {
                let text = noise((1 << 20) + more);
                let mut sealed = vec![0; calls::encrypted_size(secret, text.len()).unwrap()];
                let mut back = vec![0; text.len()];
                for _ in 0..5 {
                    let status = calls::encrypt(workers, (secret, b""), &text, &mut sealed);
                    assert_eq!(status, Status::Ok, "{}", last_error());
                    let status = calls::decrypt(workers, (secret, b""), &sealed, &mut back);
                    assert_eq!(status, Status::Ok, "{}", last_error());
                    assert!(back == text);
                }
            });
        }
    });
}

#[test]
fn a_key_file_is_loaded() {
    let folder = Folder::new();
    let path = folder.path("key");
    new_key_file(&path).unwrap();
    let sealed = encrypt(&calls::load(path.to_str().unwrap()), "", b"text");
    let (theirs, _) = session::key_file(&path, "".as_ref()).unwrap();
    let (file, back) = (folder.file("sealed", &sealed), folder.path("back"));
    let session = session::decrypt(file.as_ref(), back.as_ref(), &theirs, b"", None).unwrap();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    session.run(&runtime, Options::default()).unwrap();
    assert_eq!(std::fs::read(back).unwrap(), b"text");
}
