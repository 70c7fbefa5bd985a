//! Every cipher of the product against vectors and implementations by others, at every SIMD level.

use evener_crypt::product::{Block, PASSES, Product};
use evener_runtime::Simd;
use idea::cipher::{BlockCipherEncrypt, KeyInit};

/// One pass of each cipher.
const IDEA: std::ops::Range<usize> = 0..1;
const SKIPJACK: std::ops::Range<usize> = 20..21;
const RAIDEN: std::ops::Range<usize> = 44..45;

fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N, "{text}");
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// Encrypts and decrypts a block among enough others that every kernel takes it, and by itself.
fn holds(key: &[u8; 16], passes: std::ops::Range<usize>, plain: Block, encrypted: Block) {
    let product = Product::new(key);
    for simd in Simd::levels() {
        for count in [1, 70] {
            let mut blocks = vec![plain; count];
            product.encrypt(simd, passes.clone(), &mut blocks);
            let context = format!("key {key:02x?} passes {passes:?} {simd} x {count}");
            assert_eq!(blocks, vec![encrypted; count], "{context}");
            product.decrypt(simd, passes.clone(), &mut blocks);
            assert_eq!(blocks, vec![plain; count], "{context}, backward");
        }
    }
}

/// Lines of words, without comments.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').collect())
}

#[test]
fn idea_gives_the_vectors_of_nessie() {
    let mut count = 0;
    for line in lines(include_str!("vectors/idea-nessie.txt")) {
        holds(&hex(line[0]), IDEA, hex(line[1]), hex(line[2]));
        count += 1;
    }
    assert_eq!(count, 900);
}

/// From Crypto++'s ideaval.dat; the first is that of Lai's thesis.
#[test]
fn idea_gives_the_vectors_of_its_author() {
    let key = hex("00010002000300040005000600070008");
    holds(&key, IDEA, hex("0000000100020003"), hex("11fbed2b01986de5"));
    holds(&key, IDEA, hex("0019324b647d96af"), hex("9f0a0ab6e10ced78"));
    let key = hex("9d4075c103bc322afb03e7be6ab30006");
    holds(&key, IDEA, hex("0808080808080808"), hex("f5db1ac45e5ef9f9"));
}

/// From the annex of the specification.
#[test]
fn skipjack_gives_the_published_vector() {
    let key = hex("00998877665544332211000000000000");
    holds(
        &key,
        SKIPJACK,
        hex("33221100ddccbbaa"),
        hex("2587cae27a12d300"),
    );
    // Only the first 80 bits of the key count.
    let key = hex("00998877665544332211ffffffffffff");
    holds(
        &key,
        SKIPJACK,
        hex("33221100ddccbbaa"),
        hex("2587cae27a12d300"),
    );
}

#[test]
fn raiden_gives_what_a_second_implementation_gives() {
    let mut count = 0;
    for line in lines(include_str!("vectors/raiden.txt")) {
        holds(&hex(line[0]), RAIDEN, hex(line[1]), hex(line[2]));
        holds(&hex(line[0]), 44..PASSES, hex(line[1]), hex(line[3]));
        count += 1;
    }
    assert!(count > 100);
}

/// Numbers that look random, the same in every run.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn skipjack_by_others(key: &[u8; 16], block: Block) -> Block {
    let key: [u8; 10] = *key.first_chunk().unwrap();
    let words: [u16; 4] =
        std::array::from_fn(|at| u16::from_be_bytes([block[2 * at], block[2 * at + 1]]));
    let mut words = words.into();
    skipjack_rs::Skipjack::new(key.into()).encrypt(&mut words);
    std::array::from_fn(|at| words[at / 2].to_be_bytes()[at % 2])
}

fn idea_by_others(key: &[u8; 16], block: Block) -> Block {
    let mut block = block.into();
    idea::Idea::new(key.into()).encrypt_block(&mut block);
    block.into()
}

#[test]
fn idea_and_skipjack_give_what_other_crates_give() {
    let mut next = numbers(1);
    for at in 0..2000u64 {
        let mut key = (u128::from(next()) << 64 | u128::from(next())).to_be_bytes();
        let mut plain = next().to_be_bytes();
        // Zeros are what IDEA treats apart: in words of the block, in subkeys.
        if at % 3 == 1 {
            plain[2 * (at as usize / 3 % 4)..][..2].fill(0);
        }
        if at % 5 == 1 {
            key[2 * (at as usize / 5 % 8)..][..2].fill(0);
        }
        holds(&key, IDEA, plain, idea_by_others(&key, plain));
        holds(&key, SKIPJACK, plain, skipjack_by_others(&key, plain));
    }
}

/// All passes before Raiden's, which others have no implementation of as a crate; its own twenty passes are in its
/// vectors.
#[test]
fn twenty_and_twenty_four_passes_are_the_ciphers_one_after_the_other() {
    let mut next = numbers(2);
    for _ in 0..50 {
        let key = (u128::from(next()) << 64 | u128::from(next())).to_be_bytes();
        let plain = next().to_be_bytes();
        let block = (0..20).fold(plain, |block, _| idea_by_others(&key, block));
        let block = (0..24).fold(block, |block, _| skipjack_by_others(&key, block));
        holds(&key, 0..44, plain, block);
    }
}
