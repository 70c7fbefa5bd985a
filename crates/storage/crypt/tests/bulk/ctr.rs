//! Counter mode: vectors, carries, seeking, and every variant against the crate `ctr`.

use ::ctr::Ctr128BE;
use aes::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use evener_crypt::ctr::{Ctr, Error};
use proptest::prelude::*;

use crate::vectors::{bytes, cavp, hex, levels};

/// The stream by the crate, added to `buf`.
fn reference(key: &[u8], iv: &[u8], offset: u64, buf: &mut [u8]) {
    fn run<C: KeyIvInit + StreamCipher + StreamCipherSeek>(
        key: &[u8],
        iv: &[u8],
        offset: u64,
        buf: &mut [u8],
    ) {
        let mut ctr = C::new_from_slices(key, iv).expect("lengths");
        ctr.seek(offset);
        ctr.apply_keystream(buf);
    }
    match key.len() {
        16 => run::<Ctr128BE<aes::Aes128>>(key, iv, offset, buf),
        24 => run::<Ctr128BE<aes::Aes192>>(key, iv, offset, buf),
        _ => run::<Ctr128BE<aes::Aes256>>(key, iv, offset, buf),
    }
}

/// `offset` and `length` at every level, in place and into another buffer, neither of them aligned.
fn check(key: &[u8], iv: &[u8], offset: u64, length: usize) {
    let input = bytes(length + 1, 5);
    let mut wanted = input.clone();
    reference(key, iv, offset, &mut wanted[1..]);
    for simd in levels() {
        let ctr = Ctr::new(key, iv, simd).unwrap();
        let mut buf = input.clone();
        ctr.apply(offset, &mut buf[1..]);
        assert!(buf == wanted, "{ctr:?}: {length} bytes at {offset}");
        let mut output = vec![0xaa; length + 5];
        ctr.apply_to(offset, &input[1..], &mut output[3..length + 3]);
        assert!(output[3..length + 3] == wanted[1..], "{ctr:?}: {length}");
        let around = [&output[..3], &output[length + 3..]].concat();
        assert_eq!(around, [0xaa; 5], "{ctr:?}: {length}");
    }
}

#[test]
fn sp_800_38a() {
    let plain = hex(concat!(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    ));
    let iv = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
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
    for simd in levels() {
        for (key, sealed) in cases {
            let ctr = Ctr::new(&hex(key), &iv, simd).unwrap();
            let mut buf = plain.clone();
            ctr.apply(0, &mut buf);
            assert_eq!(buf, hex(sealed), "{ctr:?}");
            ctr.apply(0, &mut buf);
            assert_eq!(buf, plain, "{ctr:?}");
        }
    }
}

#[test]
fn aesavs_as_the_first_block_of_a_stream() {
    let names = ["GFSbox", "KeySbox", "MMT"];
    let files = names
        .iter()
        .flat_map(|name| [128, 192, 256].map(|bits| format!("ECB{name}{bits}.rsp")));
    let more = ["ECBVarTxt256.rsp", "ECBVarKey256.rsp"].map(str::to_owned);
    let mut blocks = 0;
    for name in files.chain(more) {
        for case in cavp(&name) {
            let key = hex(&case["KEY"]);
            let (plain, sealed) = (hex(&case["PLAINTEXT"]), hex(&case["CIPHERTEXT"]));
            for (plain, sealed) in plain.chunks(16).zip(sealed.chunks(16)) {
                for simd in levels() {
                    let mut block = [0; 16];
                    Ctr::new(&key, plain, simd).unwrap().apply(0, &mut block);
                    assert_eq!(block, sealed, "{name} {case:?} {simd}");
                }
                blocks += 1;
            }
        }
    }
    assert!(blocks > 500, "{blocks}");
}

#[test]
fn every_length_at_every_level() {
    let key = bytes(32, 1);
    let iv = bytes(16, 2);
    for length in (0..1100).chain([4095, 4096, 4097, 16384, 65536, 65551]) {
        check(&key, &iv, 0, length);
    }
    for length in [0, 1, 15, 16, 17, 511, 512, 513, 3000] {
        check(&key[..16], &iv, 7, length);
        check(&key[..24], &iv, 7, length);
    }
}

#[test]
fn counters_carry_and_wrap() {
    let key = bytes(32, 3);
    let top = |bits: u32| ((1u128 << (bits - 1)) - 1) << 1 | 1;
    let starts = [32, 64, 96, 127].map(top).into_iter();
    for start in starts.chain([u128::MAX, 0x0123_4567_89ab_cdef_ffff_ffff_ffff_ffff]) {
        for before in [0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64] {
            let iv = start.wrapping_sub(before).to_be_bytes();
            for length in [16, 64, 512, 1040, 2048] {
                check(&key, &iv, 0, length);
                check(&key, &iv, 9, length);
            }
        }
    }
}

#[test]
fn offsets_far_into_a_stream() {
    let key = bytes(32, 4);
    let iv = [0xff; 16];
    let gib = 1u64 << 30;
    for offset in [4 * gib - 600, 4 * gib, 5 * gib + 3, 64 * gib - 1, 1 << 60] {
        check(&key, &iv, offset, 1500);
    }
    // The crate counts to 2^64 bytes; beyond the buffer nothing is asked of it.
    check(&key, &iv, u64::MAX - 4000, 1500);
}

#[test]
fn split_anywhere() {
    let (key, iv) = (bytes(32, 5), bytes(16, 6));
    let text = bytes(700, 7);
    for simd in levels() {
        let ctr = Ctr::new(&key, &iv, simd).unwrap();
        let mut whole = text.clone();
        ctr.apply(0, &mut whole);
        for step in 1..=64 {
            let mut parts = text.clone();
            for (i, part) in parts.chunks_mut(step).enumerate() {
                ctr.apply((i * step) as u64, part);
            }
            assert!(parts == whole, "{ctr:?}: every {step} bytes");
        }
    }
}

#[test]
fn lengths_that_cannot_be() {
    let simd = evener_runtime::Simd::detect();
    assert_eq!(
        Ctr::new(&[0; 31], &[0; 16], simd).unwrap_err(),
        Error::Key(31)
    );
    assert_eq!(
        Ctr::new(&[0; 32], &[0; 12], simd).unwrap_err(),
        Error::Iv(12)
    );
    let ctr = Ctr::new(&[0; 32], &[0; 16], simd).unwrap();
    assert!(!format!("{ctr:?}").contains('['), "no key is printed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_part_of_any_stream(
        key in prop_oneof![Just(16usize), Just(24), Just(32)],
        iv in any::<[u8; 16]>(),
        offset in 0u64..u64::MAX / 2,
        length in 0usize..5000,
    ) {
        check(&bytes(key, 8), &iv, offset, length);
    }
}
