//! Throughput of crates on one thread, in the lines of evener's `bulk_speed`: `WHAT CRATE BYTES GB/s`.
//!
//! Every crate encrypts in place where it can, which saves it a copy. Those that only open in place are given the
//! sealed chunk anew each time; that copy of 16 KiB counts, since evener's readers would need it.

use std::time::{Duration, Instant};

use aes::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use aes_gcm::{AeadInOut, KeyInit};
use aws_lc_rs::aead as lc;
use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use ring::aead as ri;

const STREAM: usize = 64 << 10;
const CHUNK: usize = 16 << 10;
const TIME: Duration = Duration::from_millis(180);
const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 12] = [3; 12];

fn report(what: &str, name: &str, bytes: usize, mut run: impl FnMut()) {
    run();
    let (start, mut calls) = (Instant::now(), 0);
    while start.elapsed() < TIME {
        (0..16).for_each(|_| run());
        calls += 16;
    }
    let rate = (calls * bytes) as f64 / start.elapsed().as_secs_f64() / 1e9;
    println!("{what} {name} {bytes} {rate:.2}");
}

fn main() {
    let mut stream = vec![0; STREAM];
    let mut rust = ctr::Ctr128BE::<aes::Aes256>::new(&KEY.into(), &[9; 16].into());
    report("ctr-in-place", "aes+ctr", STREAM, || {
        rust.seek(0u64);
        rust.apply_keystream(&mut stream);
    });
    let key = UnboundCipherKey::new(&AES_256, &KEY).expect("a key");
    let key = EncryptingKey::ctr(key).expect("counter mode");
    report("ctr-in-place", "aws-lc-rs", STREAM, || {
        let iv = EncryptionContext::Iv128((&[9; 16]).into());
        key.less_safe_encrypt(&mut stream, iv).expect("encrypts");
    });

    let rust = aes_gcm::Aes256Gcm::new(&KEY.into());
    let aws = lc::LessSafeKey::new(lc::UnboundKey::new(&lc::AES_256_GCM, &KEY).expect("a key"));
    let ring = ri::LessSafeKey::new(ri::UnboundKey::new(&ri::AES_256_GCM, &KEY).expect("a key"));
    let gravi = graviola::aead::AesGcm::new(&KEY);
    let lc_nonce = || lc::Nonce::assume_unique_for_key(NONCE);
    let ri_nonce = || ri::Nonce::assume_unique_for_key(NONCE);

    let mut text = vec![0; CHUNK];
    let mut tag = [0; 16];
    report("seal", "aes-gcm", CHUNK, || {
        let sealed = rust.encrypt_inout_detached(&NONCE.into(), b"", (&mut text[..]).into());
        sealed.expect("seals");
    });
    report("seal", "aws-lc-rs", CHUNK, || {
        let sealed = aws.seal_in_place_separate_tag(lc_nonce(), lc::Aad::empty(), &mut text);
        let _ = std::hint::black_box(sealed.expect("seals"));
    });
    report("seal", "ring", CHUNK, || {
        let sealed = ring.seal_in_place_separate_tag(ri_nonce(), ri::Aad::empty(), &mut text);
        let _ = std::hint::black_box(sealed.expect("seals"));
    });
    report("seal", "graviola", CHUNK, || {
        gravi.encrypt(&NONCE, b"", &mut text, &mut tag)
    });

    gravi.encrypt(&NONCE, b"", &mut text, &mut tag);
    let sealed = [&text[..], &tag].concat();
    let mut work = sealed.clone();
    report("open", "aes-gcm", CHUNK, || {
        work.copy_from_slice(&sealed);
        let buf = (&mut work[..CHUNK]).into();
        let opened = rust.decrypt_inout_detached(&NONCE.into(), b"", buf, &tag.into());
        opened.expect("opens");
    });
    report("open", "aws-lc-rs", CHUNK, || {
        work.copy_from_slice(&sealed);
        aws.open_in_place(lc_nonce(), lc::Aad::empty(), &mut work)
            .expect("opens");
    });
    report("open", "ring", CHUNK, || {
        work.copy_from_slice(&sealed);
        ring.open_in_place(ri_nonce(), ri::Aad::empty(), &mut work)
            .expect("opens");
    });
    report("open", "graviola", CHUNK, || {
        work.copy_from_slice(&sealed);
        gravi
            .decrypt(&NONCE, b"", &mut work[..CHUNK], &tag)
            .expect("opens");
    });
}
