//! ChaCha20-Poly1305: vectors, and every level against the crate `ring`.

use evener_crypt::chacha20poly1305::ChaCha20Poly1305;
use evener_crypt::gcm::TAG;
use proptest::prelude::*;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use serde_json::Value;

use crate::vectors::{bytes, hex, levels, read};

/// The message at every level, both ways, as the crate has it, from and to addresses that are not aligned.
fn check(key: &[u8; 32], nonce: &[u8; 12], plain: &[u8]) {
    let mut wanted = plain.to_vec();
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).unwrap())
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(*nonce),
            Aad::empty(),
            &mut wanted,
        )
        .unwrap();
    for simd in levels() {
        let cipher = ChaCha20Poly1305::new(key, simd);
        let length = plain.len();
        let mut sealed = vec![0xaa; length + TAG + 2];
        cipher.seal(nonce, plain, &mut sealed[1..length + TAG + 1]);
        assert!(
            sealed[1..length + TAG + 1] == wanted,
            "{simd}: {length} bytes"
        );
        assert_eq!((sealed[0], sealed[length + TAG + 1]), (0xaa, 0xaa));
        let mut opened = vec![0xaa; length];
        assert!(cipher.open(nonce, &wanted, &mut opened).is_ok());
        assert!(opened == plain, "{simd}: {length} bytes");
    }
}

#[test]
fn every_length_at_every_level() {
    let (key, text) = (bytes(32, 1), bytes(65600, 2));
    let key = key.try_into().unwrap();
    let long = [4095, 4096, 4097, 5120, 65535, 65536, 65537, 65600];
    for length in (0..2100).chain(long) {
        check(&key, &[3; 12], &text[..length]);
    }
}

#[test]
fn texts_whose_sums_carry_far() {
    for byte in [0x00, 0x80, 0xff] {
        for key in [[0xff; 32], [0; 32], bytes(32, 5).try_into().unwrap()] {
            check(&key, &[0xff; 12], &[byte; 8192]);
        }
    }
}

#[test]
fn wycheproof() {
    let file: Value = serde_json::from_str(&read("chacha20_poly1305_test.json")).unwrap();
    let field = |case: &Value, name: &str| hex(case[name].as_str().unwrap());
    let mut tested = 0;
    for group in file["testGroups"].as_array().unwrap() {
        for case in group["tests"].as_array().unwrap() {
            let nonce: Result<[u8; 12], _> = field(case, "iv").try_into();
            let (Ok(nonce), true) = (nonce, field(case, "aad").is_empty()) else {
                continue;
            };
            assert_eq!(case["result"], "valid");
            let key = field(case, "key").try_into().unwrap();
            let plain = field(case, "msg");
            let sealed = [field(case, "ct"), field(case, "tag")].concat();
            for simd in levels() {
                let cipher = ChaCha20Poly1305::new(&key, simd);
                let mut opened = vec![0xaa; plain.len()];
                let result = cipher.open(&nonce, &sealed, &mut opened);
                assert!(result.is_ok() && opened == plain, "{case}");
                let mut made = vec![0; sealed.len()];
                cipher.seal(&nonce, &plain, &mut made);
                assert_eq!(made, sealed, "{case}");
                tested += 1;
            }
        }
    }
    assert!(tested >= 30, "{tested}");
}

#[test]
fn no_changed_bit_is_taken() {
    let text = bytes(1100, 7);
    for simd in levels() {
        let cipher = ChaCha20Poly1305::new(&[9; 32], simd);
        let mut sealed = vec![0; text.len() + TAG];
        cipher.seal(&[1; 12], &text, &mut sealed);
        let mut opened = vec![0; text.len()];
        for at in 0..sealed.len() {
            sealed[at] ^= 1 << (at % 8);
            assert!(cipher.open(&[1; 12], &sealed, &mut opened).is_err());
            assert!(opened.iter().all(|&byte| byte == 0));
            sealed[at] ^= 1 << (at % 8);
        }
        assert!(cipher.open(&[1; 12], &sealed, &mut opened).is_ok());
        assert!(cipher.open(&[2; 12], &sealed, &mut opened).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_message(key: [u8; 32], nonce: [u8; 12], len in 0..9000usize, byte: u8, noise: bool) {
        let text = if noise { bytes(len, u64::from(byte)) } else { vec![byte; len] };
        check(&key, &nonce, &text);
    }
}
