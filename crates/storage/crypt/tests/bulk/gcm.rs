//! GCM: vectors, and every variant against the crate `aes-gcm`.

use aes_gcm::{AeadInOut, Aes128Gcm, Aes256Gcm, KeyInit};
use evener_crypt::gcm::{AuthenticationError, Gcm, TAG};
use proptest::prelude::*;
use serde_json::Value;

use crate::vectors::{bytes, cavp, hex, levels, read};

fn seal(gcm: &Gcm, nonce: &[u8; 12], aad: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut sealed = vec![0xaa; plain.len() + TAG];
    gcm.seal(nonce, aad, plain, &mut sealed);
    sealed
}

fn open(
    gcm: &Gcm,
    nonce: &[u8; 12],
    aad: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, AuthenticationError> {
    let mut plain = vec![0xaa; sealed.len() - TAG];
    let opened = gcm.open(nonce, aad, sealed, &mut plain);
    if opened.is_err() {
        assert!(plain.iter().all(|&byte| byte == 0), "forged text came out");
    }
    opened.map(|()| plain)
}

/// The message at every level, both ways, as the crate has it, from and to addresses that are not aligned.
fn check(key: &[u8], nonce: &[u8; 12], aad: &[u8], plain: &[u8]) {
    let mut wanted = plain.to_vec();
    let buf = (&mut wanted[..]).into();
    let tag = match key.len() {
        16 => Aes128Gcm::new_from_slice(key)
            .unwrap()
            .encrypt_inout_detached(nonce.into(), aad, buf),
        _ => Aes256Gcm::new_from_slice(key)
            .unwrap()
            .encrypt_inout_detached(nonce.into(), aad, buf),
    };
    wanted.extend(tag.unwrap());
    for simd in levels() {
        let gcm = Gcm::new(key, simd);
        let length = plain.len();
        let mut sealed = vec![0xaa; length + TAG + 2];
        gcm.seal(nonce, aad, plain, &mut sealed[1..length + TAG + 1]);
        assert!(
            sealed[1..length + TAG + 1] == wanted,
            "{gcm:?}: {length} bytes, {} beside them",
            aad.len()
        );
        assert_eq!((sealed[0], sealed[length + TAG + 1]), (0xaa, 0xaa));
        let opened = open(&gcm, nonce, aad, &sealed[1..length + TAG + 1]);
        assert!(opened.as_deref() == Ok(plain), "{gcm:?}: {length} bytes");
    }
}

#[test]
fn every_length_at_every_level() {
    let (key, text) = (bytes(32, 1), bytes(16400, 2));
    for length in (0..1300).chain([2047, 2048, 2049, 16383, 16384, 16385, 16400]) {
        check(&key, &[3; 12], b"", &text[..length]);
    }
    for length in 0..600 {
        check(
            &key[..16],
            &[4; 12],
            &text[..length],
            &text[length..length + 77],
        );
    }
}

#[test]
fn cavp_samples() {
    for bits in [128, 256] {
        let mut tested = 0;
        for case in cavp(&format!("gcmEncryptExtIV{bits}-first4.rsp")) {
            let nonce = hex(&case["IV"]).try_into().unwrap();
            let sealed = [hex(&case["CT"]), hex(&case["TAG"])].concat();
            for simd in levels() {
                let gcm = Gcm::new(&hex(&case["KEY"]), simd);
                let aad = hex(&case["AAD"]);
                assert_eq!(
                    seal(&gcm, &nonce, &aad, &hex(&case["PT"])),
                    sealed,
                    "{case:?}"
                );
                assert_eq!(open(&gcm, &nonce, &aad, &sealed), Ok(hex(&case["PT"])));
            }
            tested += 1;
        }
        assert_eq!(tested, 100);
    }
}

#[test]
fn wycheproof() {
    let file: Value = serde_json::from_str(&read("aes_gcm_test.json")).unwrap();
    let mut tested = [0, 0];
    for group in file["testGroups"].as_array().unwrap() {
        // Other lengths of nonces and keys are not offered.
        if group["ivSize"] != 96 || group["tagSize"] != 128 || group["keySize"] == 192 {
            continue;
        }
        for case in group["tests"].as_array().unwrap() {
            let field = |name: &str| hex(case[name].as_str().unwrap());
            let nonce = field("iv").try_into().unwrap();
            let sealed = [field("ct"), field("tag")].concat();
            let valid = case["result"] == "valid";
            for simd in levels() {
                let gcm = Gcm::new(&field("key"), simd);
                let opened = open(&gcm, &nonce, &field("aad"), &sealed);
                assert_eq!(opened.is_ok(), valid, "{case}");
                if valid {
                    assert_eq!(opened, Ok(field("msg")), "{case}");
                    assert_eq!(seal(&gcm, &nonce, &field("aad"), &field("msg")), sealed);
                }
            }
            tested[usize::from(valid)] += 1;
        }
    }
    assert_eq!(tested, [54, 79]);
}

#[test]
fn every_changed_bit_is_noticed() {
    let plain = bytes(600, 9);
    for simd in levels() {
        let gcm = Gcm::new(&[7; 32], simd);
        let sealed = seal(&gcm, &[1; 12], b"beside", &plain);
        for bit in 0..8 * sealed.len() {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                open(&gcm, &[1; 12], b"beside", &changed),
                Err(AuthenticationError)
            );
        }
        assert_eq!(
            open(&gcm, &[2; 12], b"beside", &sealed),
            Err(AuthenticationError)
        );
        assert_eq!(
            open(&gcm, &[1; 12], b"beside!", &sealed),
            Err(AuthenticationError)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_message(
        long in any::<bool>(),
        nonce in any::<[u8; 12]>(),
        aad in prop::collection::vec(any::<u8>(), 0..100),
        plain in prop::collection::vec(any::<u8>(), 0..5000),
    ) {
        check(&bytes(if long { 32 } else { 16 }, 8), &nonce, &aad, &plain);
    }
}
