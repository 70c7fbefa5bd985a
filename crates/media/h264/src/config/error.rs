//! Options that cannot be.

/// Options that no stream can be made with. Every message is one line that says what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A quantisation parameter out of range.
    #[error("--qp {qp}: the range is 0 (best) to 51")]
    Qp {
        /// What was asked for.
        qp: u8,
    },
    /// A rate factor out of range.
    #[error("--crf {crf}: the range is 0 (best) to 51")]
    Crf {
        /// What was asked for.
        crf: f32,
    },
    /// A number of bits out of range.
    #[error("{option} {bits} bits: the range is 1k to 2G")]
    Bits {
        /// Which one.
        option: &'static str,
        /// What was asked for.
        bits: u64,
    },
    /// A number of bits without its unit.
    #[error(
        "'{given}' has no unit, which programs understand in two ways; write {given}k for kilobits, as x264 does, or {}k for \
         bits, as ffmpeg does",
        thousandth(given)
    )]
    NoUnit {
        /// The number, digits alone.
        given: String,
    },
    /// Text that is no number of bits.
    #[error("'{given}' is not a number of bits with a unit; write as 2500k or 2.5M")]
    NoBits {
        /// The text.
        given: String,
    },
    /// A highest rate without the buffer that it fills.
    #[error(
        "--maxrate needs --bufsize, the bits that the decoder's buffer holds; add it, as --bufsize 4M"
    )]
    NoBufsize,
    /// A buffer without the rate that fills it.
    #[error(
        "--bufsize needs --maxrate, the rate that fills the decoder's buffer; add it, as --maxrate 2M"
    )]
    NoMaxrate,
    /// A constant quantisation parameter cannot keep to a buffer.
    #[error("--qp keeps to no --maxrate; use --crf or --bitrate with it")]
    QpWithVbv,
    /// An average above the highest rate.
    #[error(
        "--bitrate {bitrate} is above --maxrate {maxrate} bits per second; raise the one or lower the other"
    )]
    AboveMaxrate {
        /// The average that was asked for.
        bitrate: u64,
        /// The highest rate.
        maxrate: u64,
    },
    /// No key frame.
    #[error("--keyint 0: a stream begins with a key frame; write 1 for key frames alone")]
    Keyint,
    /// A level that does not exist.
    #[error("'{given}' is not a level; the levels are {known}")]
    NoLevel {
        /// The text.
        given: String,
        /// All levels.
        known: String,
    },
}

/// A thousandth of a number of decimal digits.
fn thousandth(digits: &str) -> String {
    let digits = digits.trim_start_matches('0');
    let (whole, rest) = digits.split_at(digits.len().saturating_sub(3));
    let rest = format!("{rest:0>3}");
    let whole = if whole.is_empty() { "0" } else { whole };
    match rest.trim_end_matches('0') {
        "" => whole.to_owned(),
        rest => format!("{whole}.{rest}"),
    }
}
