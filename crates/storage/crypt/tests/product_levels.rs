//! Every SIMD level against the scalar reference, every way of cutting the passes, chains.

use std::ops::Range;

use evener_crypt::product::{Block, PASSES, Product, Stream};
use evener_runtime::Simd;
use proptest::prelude::*;

/// Blocks of the widest register set that goes through the passes at once, and of a single register.
const SET: usize = 256;
const REGISTER: usize = 64;

fn keys() -> Vec<[u8; 16]> {
    let mut keys = vec![[0; 16], [0xff; 16], *b"0123456789abcdef"];
    // Subkeys that are 0 and whose reciprocal is 0.
    keys.extend((0..8).map(|word| {
        let mut key = *b"fedcba9876543210";
        key[2 * word..2 * word + 2].fill(0);
        key
    }));
    keys
}

/// Blocks whose words are often those at which carries, borrows and products turn.
fn blocks(count: usize, seed: u64) -> Vec<Block> {
    const EDGES: [u16; 8] = [0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff];
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    let mut block = || {
        let mut block = [0; 8];
        for word in block.as_chunks_mut::<2>().0 {
            let number = next();
            let edge = number & 3 != 0;
            let value = if edge {
                EDGES[(number >> 8) as usize % 8]
            } else {
                (number >> 8) as u16
            };
            *word = value.to_be_bytes();
        }
        block
    };
    (0..count).map(|_| block()).collect()
}

/// Where `got` first differs from `expected`.
fn same(got: &[Block], expected: &[Block], context: &dyn Fn() -> String) {
    if let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) {
        let (got, expected) = (got[at], expected[at]);
        panic!(
            "{}: block {at} is {got:02x?}, not {expected:02x?}",
            context()
        );
    }
    assert_eq!(got.len(), expected.len());
}

/// Both directions of a range at every level, against the reference.
fn levels_agree(key: &[u8; 16], passes: Range<usize>, input: &[Block]) {
    let product = Product::new(key);
    let (mut encrypted, mut decrypted) = (input.to_vec(), input.to_vec());
    product.encrypt(Simd::Scalar, passes.clone(), &mut encrypted);
    product.decrypt(Simd::Scalar, passes.clone(), &mut decrypted);
    for simd in Simd::levels() {
        let context = || {
            format!(
                "{simd}, key {key:02x?}, passes {passes:?}, {} blocks",
                input.len()
            )
        };
        let mut blocks = input.to_vec();
        product.encrypt(simd, passes.clone(), &mut blocks);
        same(&blocks, &encrypted, &|| format!("encrypt, {}", context()));
        product.decrypt(simd, passes.clone(), &mut blocks);
        same(&blocks, input, &|| format!("back, {}", context()));
        product.decrypt(simd, passes.clone(), &mut blocks);
        same(&blocks, &decrypted, &|| format!("decrypt, {}", context()));
    }
}

#[test]
fn every_number_of_blocks() {
    let key = *b"0123456789abcdef";
    for count in (0..=3 * REGISTER).chain([SET - 1, SET, SET + 1, 2 * SET + REGISTER + 7]) {
        levels_agree(&key, 18..47, &blocks(count, count as u64));
    }
}

#[test]
fn every_cipher_under_edge_keys() {
    for (at, key) in keys().iter().enumerate() {
        for passes in [0..1, 20..21, 44..45, 0..PASSES] {
            levels_agree(key, passes, &blocks(SET + 3 * REGISTER + 5, at as u64));
        }
    }
}

#[test]
fn every_range_of_passes() {
    let input = blocks(40, 3);
    for start in 0..=PASSES {
        for end in start..=PASSES {
            levels_agree(b"fedcba9876543210", start..end, &input);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_cut_of_the_passes_gives_the_same(
        key: [u8; 16],
        input in prop::collection::vec(any::<Block>(), 0..2 * SET),
        mut cuts in prop::collection::vec(0..=PASSES, 0..8),
    ) {
        let product = Product::new(&key);
        cuts.extend([0, PASSES]);
        cuts.sort_unstable();
        let mut whole = input.clone();
        product.encrypt(Simd::Scalar, 0..PASSES, &mut whole);
        for simd in Simd::levels() {
            let mut blocks = input.clone();
            for cut in cuts.windows(2) {
                product.encrypt(simd, cut[0]..cut[1], &mut blocks);
            }
            prop_assert_eq!(&blocks, &whole, "{} cut at {:?}", simd, &cuts);
            for cut in cuts.windows(2).rev() {
                product.decrypt(simd, cut[0]..cut[1], &mut blocks);
            }
            prop_assert_eq!(&blocks, &input, "{} cut at {:?}, backward", simd, &cuts);
        }
    }

    #[test]
    fn chains_are_those_of_one_block_after_the_other(
        key: [u8; 16],
        starts in prop::collection::vec((any::<Block>(), 0..20usize), 0..70),
        pause in 0..20usize,
        seed: u64,
    ) {
        let product = Product::new(&key);
        let inputs: Vec<Vec<Block>> =
            starts.iter().zip(seed..).map(|((_, length), seed)| blocks(*length, seed)).collect();
        let expected: Vec<Vec<Block>> = inputs.iter().zip(&starts).map(|(input, (start, _))| {
            let mut previous = u64::from_be_bytes(*start);
            input.iter().map(|block| {
                let mut block = [(u64::from_be_bytes(*block) ^ previous).to_be_bytes()];
                product.encrypt(Simd::Scalar, 0..PASSES, &mut block);
                previous = u64::from_be_bytes(block[0]);
                block[0]
            }).collect()
        }).collect();
        for simd in Simd::levels() {
            // In two parts, the second of which goes on where the first ended.
            let mut own = inputs.clone();
            let mut previous: Vec<Block> = starts.iter().map(|(start, _)| *start).collect();
            for second in [false, true] {
                let mut streams: Vec<Stream<'_>> = own.iter_mut().zip(&previous).map(|(all, &previous)| {
                    let cut = pause.min(all.len());
                    let (before, after) = all.split_at_mut(cut);
                    Stream { previous, blocks: if second { after } else { before } }
                }).collect();
                product.encrypt_chained(simd, &mut streams);
                previous = streams.iter().map(|stream| stream.previous).collect();
            }
            prop_assert_eq!(&own, &expected, "{}", simd);
            for ((blocks, (start, _)), input) in own.iter_mut().zip(&starts).zip(&inputs) {
                let mut stream = Stream { previous: *start, blocks };
                product.decrypt_chained(simd, &mut stream);
                prop_assert_eq!(&*blocks, input, "{}, backward", simd);
            }
        }
    }
}

/// More streams than go side by side, and a chain longer than what is decrypted at once.
#[test]
fn many_and_long_chains() {
    let product = Product::new(b"0123456789abcdef");
    let simd = Simd::detect();
    let input = blocks(SET + 40, 5);
    let mut all: Vec<Vec<Block>> = vec![input[..2].to_vec(); SET + 40];
    let mut streams: Vec<Stream<'_>> = all
        .iter_mut()
        .map(|blocks| Stream {
            previous: [1; 8],
            blocks,
        })
        .collect();
    product.encrypt_chained(simd, &mut streams);
    assert!(all.iter().all(|chain| *chain == all[0]) && all[0] != input[..2]);

    let mut long = input.clone();
    let stream = Stream {
        previous: [1; 8],
        blocks: &mut long,
    };
    product.encrypt_chained(simd, &mut [stream]);
    assert_eq!(long[..2], all[0]);
    product.decrypt_chained(
        simd,
        &mut Stream {
            previous: [1; 8],
            blocks: &mut long,
        },
    );
    assert_eq!(long, input);
}
