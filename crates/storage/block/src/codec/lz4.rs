//! LZ4 blocks, without a frame around them.

use lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};
use twox_hash::XxHash3_64;

use super::lz4_prefix::decode_prefix;
use super::types::exact;
use super::{Codec, CodecError, Decode, Encode, Levels};

/// From level 3 on, the encoder searches for the best matches.
const LEVELS: Levels = Levels {
    min: 1,
    max: 12,
    default: 1,
};

/// A block of LZ4, <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>, and XXH3 of its bytes, which is
/// compared before decoding.
pub static LZ4: Codec = Codec {
    id: 12,
    name: "lz4",
    about: "LZ4, the fastest to decode",
    levels: Some(LEVELS),
    checked: Some("XXH3"),
    bare: None,
    prefix: true,
    weight: 60.0,
    encoder: Some(|level| Box::new(Encoder { level })),
    decoder: || Box::new(Summed),
};

/// A block of LZ4 and nothing else.
pub static BARE: Codec = Codec {
    id: 2,
    name: "lz4-bare",
    about: "LZ4 without a checksum",
    levels: None,
    checked: None,
    bare: None,
    prefix: true,
    weight: 60.0,
    encoder: None,
    decoder: || Box::new(Bare),
};

/// Bytes of the checksum.
const SUM: usize = size_of::<u64>();

fn sum(packed: &[u8]) -> [u8; SUM] {
    XxHash3_64::oneshot(packed).to_le_bytes()
}

struct Encoder {
    level: i32,
}

impl Encode for Encoder {
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        let mode = match self.level {
            ..3 => CompressionMode::DEFAULT,
            level => CompressionMode::HIGHCOMPRESSION(level),
        };
        let most = room.len().checked_sub(SUM)?;
        let len = compress_to_buffer(plain, Some(mode), false, &mut room[..most]).ok()?;
        let sum = sum(&room[..len]);
        room[len..len + SUM].copy_from_slice(&sum);
        Some(len + SUM)
    }
}

struct Summed;

impl Decode for Summed {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        Bare.decode(without_sum(packed)?, plain)
    }

    fn decode_prefix(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        decode_prefix(without_sum(packed)?, plain)
    }
}

/// The block before its checksum, if the checksum is right.
fn without_sum(packed: &[u8]) -> Result<&[u8], CodecError> {
    match packed.split_last_chunk() {
        Some((packed, told)) if sum(packed) == *told => Ok(packed),
        _ => Err(CodecError::Invalid),
    }
}

struct Bare;

impl Decode for Bare {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let wanted = plain.len();
        let len = i32::try_from(wanted).map_err(|_| CodecError::TooLong)?;
        let done = decompress_to_buffer(packed, Some(len), plain);
        exact(done.map_err(|_| CodecError::Invalid)?, wanted)
    }

    fn decode_prefix(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        decode_prefix(packed, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that come again, and some that do not.
    fn plain() -> Vec<u8> {
        let word = |i: u32| match i % 7 {
            0..4 => [b'a' + (i % 5) as u8; 4],
            _ => i.wrapping_mul(0x9e37_79b9).to_le_bytes(),
        };
        (0..16_384).flat_map(word).collect()
    }

    #[test]
    fn another_implementation_reads_it_at_every_level() {
        let plain = plain();
        let mut room = vec![0; 2 * plain.len()];
        let mut lens = Vec::new();
        for level in LEVELS.min..=LEVELS.max {
            let len = Encoder { level }.encode(&plain, &mut room).unwrap();
            let read = lz4_flex::block::decompress(&room[..len - SUM], plain.len());
            assert!(read.unwrap() == plain, "{level}");
            lens.push(len);
        }
        assert!(lens[11] < lens[0], "{lens:?}");
        assert_eq!(Encoder { level: 1 }.encode(&plain, &mut room[..100]), None);
    }

    #[test]
    fn what_another_implementation_wrote_is_read() {
        let (plain, mut out) = (plain(), vec![0; 65_536]);
        let packed = lz4_flex::block::compress(&plain);
        Bare.decode(&packed, &mut out).unwrap();
        assert!(out == plain);
        let short = Bare.decode(&packed, &mut vec![0; 70_000]);
        assert_eq!(short, Err(CodecError::TooShort));
    }

    #[test]
    fn the_prefix_of_a_block_is_that_of_the_whole() {
        let plain = plain();
        let packed = lz4_flex::block::compress(&plain);
        for len in (0..200).chain((0..=plain.len()).rev().step_by(509)) {
            let mut out = vec![0xee; len + 16];
            decode_prefix(&packed, &mut out[..len]).unwrap();
            assert!(out[..len] == plain[..len], "{len}");
            assert_eq!(out[len..], [0xee; 16], "{len}");
        }
        let long = decode_prefix(&packed, &mut vec![0; plain.len() + 1]);
        assert_eq!(long, Err(CodecError::TooShort));
        assert!(decode_prefix(&packed[..packed.len() / 2], &mut vec![0; plain.len()]).is_err());
    }

    #[test]
    fn a_damaged_prefix_is_an_error_or_other_bytes() {
        let plain = &plain()[..3000];
        let mut packed = lz4_flex::block::compress(plain);
        let mut state = 1u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % packed.len();
            let before = std::mem::replace(&mut packed[at], state as u8);
            let len = (state >> 16) as usize % 4000;
            let mut out = vec![0xee; len + 16];
            let _ = decode_prefix(&packed, &mut out[..len]);
            assert_eq!(out[len..], [0xee; 16]);
            packed[at] = before;
        }
    }

    #[test]
    fn no_flipped_bit_is_missed() {
        let plain = &plain()[..2000];
        let mut room = vec![0; 4000];
        let len = Encoder { level: 1 }.encode(plain, &mut room).unwrap();
        let mut out = vec![0; plain.len()];
        for bit in 0..8 * len {
            room[bit / 8] ^= 1 << (bit % 8);
            let decoded = Summed.decode(&room[..len], &mut out);
            assert_eq!(decoded, Err(CodecError::Invalid), "{bit}");
            let decoded = Summed.decode_prefix(&room[..len], &mut out[..10]);
            assert_eq!(decoded, Err(CodecError::Invalid), "{bit}");
            room[bit / 8] ^= 1 << (bit % 8);
        }
        Summed.decode(&room[..len], &mut out).unwrap();
        assert!(out == plain);
        assert!(Summed.decode(&room[..SUM - 1], &mut out).is_err());
    }
}
