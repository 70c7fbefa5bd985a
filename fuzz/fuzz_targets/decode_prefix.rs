//! Any bytes as a packed block of a codec that decodes prefixes, and real blocks changed here and there: the prefix is
//! what the whole begins with, and nothing is written behind it.

#![no_main]
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use evener_block::Decoder;
use evener_block::codec::{Codec, LZ4, LZ4_BARE, ZSTD, ZSTD_BARE};
use libfuzzer_sys::fuzz_target;

/// Bytes of a block.
const BLOCK: usize = 32_768;
/// What lies behind a prefix.
const BEHIND: [u8; 64] = [0xa5; 64];

/// A block of each codec, packed, without what `LZ4` has behind it.
fn packed() -> &'static [(&'static Codec, Vec<u8>); 2] {
    static PACKED: OnceLock<[(&Codec, Vec<u8>); 2]> = OnceLock::new();
    PACKED.get_or_init(|| {
        let word = |i: u32| match i % 5 {
            0..3 => [b'a' + (i / 7 % 23) as u8; 4],
            _ => i.wrapping_mul(0x9e37_79b9).to_le_bytes(),
        };
        let plain: Vec<u8> = (0..BLOCK as u32 / 4).flat_map(word).collect();
        [(&ZSTD, &ZSTD_BARE, 0), (&LZ4, &LZ4_BARE, 8)].map(|(codec, bare, behind)| {
            let mut room = vec![0; 2 * BLOCK];
            let mut encoder =
                codec.encoder.expect("it encodes")(codec.levels.expect("levels").default);
            let len = encoder.encode(&plain, &mut room).expect("room");
            room.truncate(len - behind);
            (bare, room)
        })
    })
}

/// Whether some match of an LZ4 block is said to lie no byte back. The format forbids it; liblz4 lets it pass, and
/// fills the match with zeros or with what was there.
fn has_match_without_offset(block: &[u8]) -> bool {
    let mut bytes = block.iter().copied();
    let length = |nibble: u8, bytes: &mut dyn Iterator<Item = u8>| {
        let mut len = usize::from(nibble);
        while nibble == 15 {
            let more = bytes.next()?;
            len += usize::from(more);
            if more != 255 {
                break;
            }
        }
        Some(len)
    };
    let mut sequence = || {
        let token = bytes.next()?;
        let literals = length(token >> 4, &mut bytes)?;
        let offset = [bytes.nth(literals)?, bytes.next()?];
        length(token & 15, &mut bytes)?;
        Some(offset)
    };
    std::iter::from_fn(&mut sequence).any(|offset| offset == [0, 0])
}

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, low, high], edits)) = data.split_first_chunk() else {
        return;
    };
    let (codec, packed) = &packed()[usize::from(kind & 1)];
    let mut bytes = packed.clone();
    if kind & 2 != 0 {
        bytes = edits.to_vec();
    } else {
        for &[low, high, value] in edits.as_chunks::<3>().0 {
            let at = usize::from(low) | usize::from(high) << 8;
            let at = at % bytes.len();
            bytes[at] = value;
        }
    }
    let len = (usize::from(low) | usize::from(high) << 8) % (BLOCK + 100);
    let mut decoder = Decoder::new();
    let mut out = vec![0; len];
    out.extend(BEHIND);
    let prefix = decoder.decode_prefix(codec, &bytes, &mut out[..len]);
    assert_eq!(out[len..], BEHIND);
    let mut plain = vec![0; BLOCK];
    let whole = decoder.decode(codec, &bytes, &mut plain);
    let known = *codec != &LZ4_BARE || !has_match_without_offset(&bytes);
    if whole.is_ok() && prefix.is_ok() && known {
        assert!(
            len <= BLOCK && plain.starts_with(&out[..len]),
            "{} {len}",
            codec.name
        );
    }
    // Of zstd the prefix alone refuses windows larger than a block, and what follows a frame.
    if bytes == *packed || *codec == &LZ4_BARE {
        assert!(
            whole.is_err() || len > BLOCK || prefix.is_ok(),
            "{} {len}: {prefix:?}",
            codec.name
        );
    }
});
