//! Zstandard (RFC 8878), a frame to a block.

use zstd_safe::{CCtx, CParameter, DCtx};

use super::{Codec, CodecError, Decode, Encode, Levels, exact};

const LEVELS: Levels = Levels {
    min: -7,
    max: 22,
    default: 3,
};

/// A frame to a block, with the checksum of its content, and nothing else.
pub static ZSTD: Codec = Codec {
    id: 1,
    name: "zstd",
    about: "Zstandard in its seekable format, which any zstd unpacks",
    levels: Some(LEVELS),
    checked: Some("XXH64"),
    front: None,
    weight: 120.0,
    encoder: Some(|level| Box::new(Encoder::new(level))),
    decoder: || {
        Box::new(Frame {
            first: false,
            context: DCtx::create(),
        })
    },
};

/// The first of what may be several frames, and what follows is left alone, as in the sectors of a qcow2 image.
pub static FIRST: Codec = Codec {
    id: 7,
    name: "zstd-first",
    about: "a frame of Zstandard and whatever follows",
    levels: None,
    checked: None,
    front: None,
    weight: 120.0,
    encoder: None,
    decoder: || {
        Box::new(Frame {
            first: true,
            context: DCtx::create(),
        })
    },
};

struct Encoder(CCtx<'static>);

impl Encoder {
    fn new(level: i32) -> Encoder {
        let mut context = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(level),
            // Its low 32 bits are those that a seek table wants.
            CParameter::ChecksumFlag(true),
        ] {
            // Levels beyond the library's are the nearest of its own.
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

struct Frame {
    first: bool,
    context: DCtx<'static>,
}

impl Decode for Frame {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let packed = match self.first {
            true => {
                let found = zstd_safe::find_frame_compressed_size(packed);
                &packed[..found.map_err(|_| CodecError::Invalid)?]
            }
            false => packed,
        };
        let wanted = plain.len();
        let done = self.context.decompress(plain, packed);
        exact(done.map_err(failed)?, wanted)
    }
}

/// `ZSTD_error_dstSize_tooSmall` of `zstd_errors.h`, negated as functions return it.
const NO_ROOM: usize = 70usize.wrapping_neg();

fn failed(code: usize) -> CodecError {
    match code {
        NO_ROOM => CodecError::TooLong,
        _ => CodecError::Invalid,
    }
}
