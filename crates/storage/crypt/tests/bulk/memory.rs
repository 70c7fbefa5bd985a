//! Memory is encrypted as files are.

use std::fs;
use std::io::Cursor;

use evener_crypt::chunked::CHUNK;
use evener_crypt::keys::Key;
use evener_crypt::session::{Error, Memory, Options, Secret, decrypt, encrypt};
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;
use evener_testing::Folder;

use crate::service::MIB;
use crate::vectors::bytes;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).memory(false).build().unwrap()
}

fn sealed(text: &[u8], secret: &Secret, context: &[u8]) -> Vec<u8> {
    let len = text.len() as u64;
    let session = Memory::encrypt(Cursor::new(text.to_vec()), len, secret, context).unwrap();
    let mut out = Vec::new();
    let promised = session.bytes();
    session
        .run(&mut out, &runtime(), Options::default())
        .unwrap();
    assert_eq!(out.len() as u64, promised);
    out
}

fn opened(sealed: &[u8], secret: &Secret, context: &[u8]) -> Result<Vec<u8>, Error> {
    let len = sealed.len() as u64;
    let session = Memory::decrypt(Cursor::new(sealed.to_vec()), len, secret, context)?;
    let mut out = Vec::new();
    let promised = session.bytes();
    session.run(&mut out, &runtime(), Options::default())?;
    assert_eq!(out.len() as u64, promised);
    Ok(out)
}

#[test]
fn files_and_memory_open_one_another() {
    let folder = Folder::new();
    let [plain, file, back] = ["plain", "file", "back"].map(|name| folder.path(name));
    for length in [0, 1, CHUNK, MIB - 1, MIB, 2 * MIB + 77] {
        let text = bytes(length, 3);
        for secret in [
            Secret::Key(Key::generate().unwrap()),
            Secret::passphrase(b"words".to_vec().into()).unwrap(),
        ] {
            let there = sealed(&text, &secret, b"c");
            assert!(opened(&there, &secret, b"c").unwrap() == text);
            fs::write(&file, &there).unwrap();
            let session = decrypt(file.as_ref(), back.as_ref(), &secret, b"c", None).unwrap();
            session.run(&runtime(), Options::default()).unwrap();
            assert!(fs::read(&back).unwrap() == text, "{length}");
            fs::write(&plain, &text).unwrap();
            let session = encrypt(plain.as_ref(), file.as_ref(), &secret, b"").unwrap();
            session.run(&runtime(), Options::default()).unwrap();
            assert!(opened(&fs::read(&file).unwrap(), &secret, b"").unwrap() == text);
        }
    }
}

#[test]
fn what_was_altered_is_refused() {
    let secret = Secret::Key(Key::generate().unwrap());
    let there = sealed(&bytes(MIB + 9, 4), &secret, b"");
    let refused = |altered: &[u8]| opened(altered, &secret, b"").unwrap_err().to_string();
    for at in [5, 40, MIB / 2, there.len() - 1] {
        let mut altered = there.clone();
        altered[at] ^= 1;
        assert!(refused(&altered).starts_with("input: "), "{at}");
    }
    for len in [0, 10, MIB / 2, there.len() - 1] {
        assert!(refused(&there[..len]).starts_with("input: "), "{len}");
    }
    assert!(opened(&there, &secret, b"other").is_err());
}

#[test]
fn a_run_that_is_cancelled_says_so_and_a_writer_without_room_fails() {
    let secret = Secret::Key(Key::generate().unwrap());
    let text = bytes(3 * MIB, 5);
    let session = || {
        let len = text.len() as u64;
        Memory::encrypt(Cursor::new(text.clone()), len, &secret, b"").unwrap()
    };
    let cancel = CancelToken::new();
    cancel.cancel();
    let options = Options {
        cancel,
        ..Options::default()
    };
    let report = session().run(Vec::new(), &runtime(), options).unwrap();
    assert!(report.cancelled);
    let mut short = vec![0; MIB];
    let failed = session().run(&mut short[..], &runtime(), Options::default());
    assert!(matches!(failed, Err(Error::Stream(_))));
}
