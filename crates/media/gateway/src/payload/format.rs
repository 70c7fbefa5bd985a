//! Which formats there are, and what a description says of them.

use base64::Engine;
use bytes::Bytes;

use super::Depacketise;
use super::aac::Aac;
use super::h264::H264;
use super::h265::H265;
use super::latm::Latm;
use super::pictures::Pictures;
use super::plain::Plain;

/// A format of a session description (RFC 8866, `rtpmap` and `fmtp`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The encoding's name, in any case: `H264`.
    pub encoding: String,
    /// Units of timestamps a second.
    pub clock_rate: u32,
    /// 1 if the description does not say.
    pub channels: u8,
    /// What follows the payload type in `fmtp`: `packetization-mode=1;sprop-parameter-sets=…`.
    pub parameters: String,
}

/// Why a format cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// There is no reader for it.
    #[error("the format {0} is not supported")]
    Encoding(String),
    /// A reader needs a parameter that is missing, or is not one that it knows.
    #[error("the parameter {1} of the format {0} is missing or not supported")]
    Parameter(&'static str, &'static str),
    /// Timestamps do not advance.
    #[error("a clock of {0} units a second")]
    ClockRate(u32),
}

type Open = fn(&Format) -> Result<Box<dyn Depacketise>, Unsupported>;

/// All formats of pictures and sound; `MP2T` has packets of its own, see [`super::mp2t`].
const FORMATS: [(&str, Open); 7] = [
    ("H264", |format| {
        Ok(Box::new(Pictures::new(
            H264,
            sets(format, &["sprop-parameter-sets"]),
        )))
    }),
    ("H265", |format| {
        let sets = sets(format, &["sprop-vps", "sprop-sps", "sprop-pps"]);
        Ok(Box::new(Pictures::new(H265::new(format)?, sets)))
    }),
    ("MPEG4-GENERIC", |format| Ok(Box::new(Aac::new(format)?))),
    ("MP4A-LATM", |format| Ok(Box::new(Latm::new(format)?))),
    ("OPUS", |format| Ok(Box::new(Plain::opus(format)))),
    ("PCMA", |format| Ok(Box::new(Plain::a_law(format)))),
    ("PCMU", |format| Ok(Box::new(Plain::mu_law(format)))),
];

impl Format {
    /// A parameter, with white space cut off. Names have no case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.split(';').find_map(|parameter| {
            let (of, value) = parameter.split_once('=')?;
            of.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Whether the payload is a transport stream.
    pub fn is_mp2t(&self) -> bool {
        self.encoding.eq_ignore_ascii_case("MP2T")
    }

    /// Whether there is a reader for it.
    pub fn is_known(&self) -> bool {
        self.is_mp2t() || self.open().is_ok()
    }

    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.parameter(name)?.parse().ok()
    }

    /// Bytes in hexadecimal, at most 256.
    pub(super) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let digits = self.parameter(name)?.as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() || pairs.len() > 256 {
            return None;
        }
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        pairs.iter().map(|pair| byte(pair)).collect()
    }

    pub(super) fn open(&self) -> Result<Box<dyn Depacketise>, Unsupported> {
        if self.clock_rate == 0 {
            return Err(Unsupported::ClockRate(0));
        }
        let known = |(name, _): &&(&str, Open)| name.eq_ignore_ascii_case(&self.encoding);
        match FORMATS.iter().find(known) {
            Some((_, open)) => open(self),
            None => Err(Unsupported::Encoding(self.encoding.clone())),
        }
    }
}

/// Parameter sets in base 64, separated by commas. Malformed ones are skipped: they come in the stream as well.
fn sets(format: &Format, names: &[&str]) -> Vec<Bytes> {
    let all = names.iter().filter_map(|name| format.parameter(name));
    let decode = |set: &str| {
        let engine = base64::engine::general_purpose::STANDARD;
        engine.decode(set.trim()).ok().map(Bytes::from)
    };
    all.flat_map(|sets| sets.split(','))
        .filter_map(decode)
        .collect()
}
