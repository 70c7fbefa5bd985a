//! Zstandard (RFC 8878). A block is a frame.

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::types::exact;
use super::{Codec, CodecError, Decode, Encode, Levels};
use crate::MAX_BLOCK;

const LEVELS: Levels = Levels {
    min: -7,
    max: 22,
    default: 3,
};

/// A frame with the checksum of its content.
pub static ZSTD: Codec = Codec {
    id: 1,
    name: "zstd",
    about: "Zstandard in its seekable format, which any zstd unpacks",
    levels: Some(LEVELS),
    checked: Some("XXH64"),
    bare: Some(&BARE),
    prefix: false,
    weight: 120.0,
    encoder: Some(|level| Box::new(Encoder::new(level))),
    decoder: || Box::new(Frame(Some(DCtx::create()))),
};

/// The same frames. The checksum is not compared.
pub static BARE: Codec = Codec {
    id: 13,
    name: "zstd-bare",
    about: "Zstandard without comparing its checksum",
    levels: None,
    checked: None,
    bare: None,
    prefix: true,
    weight: 120.0,
    encoder: None,
    decoder: || Box::new(Frame(bare())),
};

/// A frame. Bytes after it are ignored, as in the sectors of a qcow2 image.
pub static FIRST: Codec = Codec {
    id: 7,
    name: "zstd-first",
    about: "a frame of Zstandard and whatever follows",
    levels: None,
    checked: None,
    bare: None,
    prefix: false,
    weight: 120.0,
    encoder: None,
    decoder: || Box::new(First(Frame(Some(DCtx::create())))),
};

/// About how many packed bytes a zstd block has, so that a prefix of a frame can be decoded without the rest.
///
/// The zstd blocks of a frame share their tables, so the frame hardly grows, decoding takes little longer, and encoding
/// takes about a tenth longer. Decoding the first half of 64 KiB takes less than three quarters of the time of all.
/// Longer blocks save less. Blocks with tables of their own ([`CParameter::MaxBlockSize`]) take longer to decode.
const PIECE: u32 = 3000;

struct Encoder(CCtx<'static>);

impl Encoder {
    fn new(level: i32) -> Encoder {
        let mut context = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(level),
            // A seek table has the low 32 bits of this checksum.
            CParameter::ChecksumFlag(true),
            CParameter::TargetCBlockSize(PIECE),
        ] {
            // The library takes the nearest level that it has.
            let set = context.set_parameter(parameter);
            debug_assert!(set.is_ok());
        }
        Encoder(context)
    }
}

impl Encode for Encoder {
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        self.0.compress2(room, plain).ok()
    }
}

/// A context, if it could be set up.
struct Frame(Option<DCtx<'static>>);

impl Frame {
    fn context(&mut self) -> Result<&mut DCtx<'static>, CodecError> {
        let missing =
            CodecError::Unsupported("needs a limit of memory that this zstd does not have");
        self.0.as_mut().ok_or(missing)
    }
}

/// A context that compares no checksum, and allocates no more for a prefix than for a block. Without that limit a frame
/// could have any memory allocated, so there is none then.
fn bare() -> Option<DCtx<'static>> {
    let mut context = DCtx::create();
    for parameter in [
        DParameter::ForceIgnoreChecksum(true),
        DParameter::WindowLogMax(MAX_BLOCK.trailing_zeros()),
    ] {
        context.set_parameter(parameter).ok()?;
    }
    Some(context)
}

impl Decode for Frame {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let wanted = plain.len();
        let done = self.context()?.decompress(plain, packed);
        exact(done.map_err(failed)?, wanted)
    }

    fn decode_prefix(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let wanted = plain.len();
        let context = self.context()?;
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        let mut input = InBuffer::around(packed);
        let mut output = OutBuffer::around(plain);
        while output.pos() < wanted {
            let before = (input.pos(), output.pos());
            let left = context.decompress_stream(&mut output, &mut input);
            let ended = left.map_err(failed)? == 0 || (input.pos(), output.pos()) == before;
            if ended {
                break;
            }
        }
        exact(output.pos(), wanted)
    }
}

struct First(Frame);

impl Decode for First {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let found = zstd_safe::find_frame_compressed_size(packed);
        let frame = &packed[..found.map_err(|_| CodecError::Invalid)?];
        self.0.decode(frame, plain)
    }
}

/// `ZSTD_error_dstSize_tooSmall` of `zstd_errors.h`, negated as functions return it.
const NO_ROOM: usize = 70usize.wrapping_neg();

/// Likewise `ZSTD_error_dictionary_wrong`.
const NO_DICTIONARY: usize = 32usize.wrapping_neg();

fn failed(code: usize) -> CodecError {
    match code {
        NO_ROOM => CodecError::TooLong,
        NO_DICTIONARY => CodecError::Unsupported("needs a dictionary of its own"),
        _ => CodecError::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a few letters, and some that do not come again.
    fn plain() -> Vec<u8> {
        let word = |i: u32| match i % 5 {
            0..3 => [b'a' + (i / 7 % 23) as u8; 4],
            _ => i.wrapping_mul(0x9e37_79b9).to_le_bytes(),
        };
        (0..16_384).flat_map(word).collect()
    }

    fn packed(level: i32, plain: &[u8]) -> Vec<u8> {
        let mut room = vec![0; 2 * plain.len() + 1000];
        let len = Encoder::new(level).encode(plain, &mut room).unwrap();
        room.truncate(len);
        room
    }

    #[test]
    fn the_prefix_of_a_frame_is_that_of_the_whole() {
        let plain = plain();
        for level in LEVELS.min..=LEVELS.max {
            let packed = packed(level, &plain);
            let mut frame = Frame(bare());
            for len in (0..9).chain((0..=plain.len()).rev().step_by(4111)) {
                let mut out = vec![0xee; len + 16];
                frame.decode_prefix(&packed, &mut out[..len]).unwrap();
                assert!(out[..len] == plain[..len], "{level} {len}");
                assert_eq!(out[len..], [0xee; 16], "{level} {len}");
            }
            // A frame of which only a prefix was decoded does not disturb the next one.
            let mut out = vec![0; plain.len()];
            frame.decode(&packed, &mut out).unwrap();
            assert!(out == plain, "{level}");
            let long = frame.decode_prefix(&packed, &mut vec![0; plain.len() + 1]);
            assert_eq!(long, Err(CodecError::TooShort), "{level}");
        }
    }

    #[test]
    fn a_prefix_needs_only_the_prefix_of_the_packed_bytes() {
        let plain = plain();
        let packed = packed(3, &plain);
        assert!(packed.len() > 5 * PIECE as usize, "{}", packed.len());
        let mut out = vec![0; 4096];
        let mut frame = Frame(bare());
        let prefix = &packed[..2 * PIECE as usize];
        frame.decode_prefix(prefix, &mut out).unwrap();
        assert!(out == plain[..4096]);
        let mut out = vec![0; plain.len()];
        assert_eq!(
            frame.decode_prefix(prefix, &mut out),
            Err(CodecError::TooShort),
            "it is cut"
        );
    }

    #[test]
    fn only_the_bare_codec_passes_over_the_checksum() {
        let plain = plain();
        let mut packed = packed(3, &plain);
        let mut out = vec![0; plain.len()];
        *packed.last_mut().unwrap() ^= 1;
        let checked = (ZSTD.decoder)().decode(&packed, &mut out);
        assert_eq!(checked, Err(CodecError::Invalid));
        (BARE.decoder)().decode(&packed, &mut out).unwrap();
        assert!(out == plain);
    }

    #[test]
    fn a_window_larger_than_any_block_takes_no_memory() {
        // A frame that does not say how much is in it, and a block of four bytes as they are, the last.
        let frame = |window_log: u8| {
            let window = (window_log - 10) << 3;
            [0x28, 0xb5, 0x2f, 0xfd, 0, window, 0x21, 0, 0, 1, 2, 3, 4]
        };
        let mut out = [0; 3];
        let mut prefix = |log| Frame(bare()).decode_prefix(&frame(log), &mut out);
        assert_eq!(prefix(22), Ok(()));
        assert_eq!(prefix(23), Err(CodecError::Invalid));
    }

    #[test]
    fn without_its_limit_nothing_is_decoded() {
        let packed = packed(3, b"text");
        let mut frame = Frame(None);
        for done in [
            frame.decode(&packed, &mut [0; 4]),
            frame.decode_prefix(&packed, &mut [0; 4]),
        ] {
            assert!(matches!(done, Err(CodecError::Unsupported(_))), "{done:?}");
        }
    }

    #[test]
    fn a_damaged_prefix_is_an_error_or_other_bytes() {
        let plain = &plain()[..20_000];
        let mut packed = packed(3, plain);
        let mut frame = Frame(bare());
        let mut state = 1u32;
        for _ in 0..5000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = match state & 1 {
                0 => (state >> 8) as usize % packed.len(),
                _ => (state >> 8) as usize % 40,
            };
            let before = std::mem::replace(&mut packed[at], (state >> 3) as u8);
            let len = (state >> 16) as usize % 24_000;
            let mut out = vec![0xee; len + 16];
            let _ = frame.decode_prefix(&packed, &mut out[..len]);
            assert_eq!(out[len..], [0xee; 16]);
            packed[at] = before;
        }
        let mut out = vec![0; 100];
        frame.decode_prefix(&packed, &mut out).unwrap();
        assert!(out == plain[..100]);
    }
}
