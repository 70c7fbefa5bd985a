//! AAC in RTP (RFC 3640, mode AAC-hbr).

use bytes::{Buf, Bytes, BytesMut};

use super::{Codec, Depacketise, Format, TimestampedUnit, Unsupported};
use crate::media::Class;
use crate::rtp::Packet;

/// An `AudioSpecificConfig` (ISO/IEC 14496-3, clause 1.6.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioConfig {
    /// As it is written.
    pub bytes: Bytes,
    /// Of the core coder, in samples a second.
    pub rate: u32,
    /// `channelConfiguration`: the number of channels up to 6; 7 is eight; 0 is said elsewhere.
    pub channels: u8,
    /// The audio object type of the core coder: 2 is AAC-LC.
    pub object: u8,
    /// Samples a frame.
    pub samples: u32,
}

/// Table 1.18.
const RATES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000,
    7350,
];

impl AudioConfig {
    /// Reads a configuration of AAC; `None` if it is malformed or of another coding.
    pub fn parse(bytes: &[u8]) -> Option<AudioConfig> {
        let mut bits = Plain { bytes, at: 0 };
        let mut object = bits.number(5)?;
        let mut rate = rate(&mut bits)?;
        let channels = bits.number(4)? as u8;
        if matches!(object, 5 | 29) {
            // Spectral band replication: the rate that follows is that of what is heard.
            let heard = self::rate(&mut bits)?;
            object = bits.number(5)?;
            rate = rate.min(heard);
        }
        if !(1..=4).contains(&object) || channels > 7 {
            return None;
        }
        let samples = if bits.number(1)? == 1 { 960 } else { 1024 };
        Some(AudioConfig {
            bytes: Bytes::copy_from_slice(bytes),
            rate,
            channels,
            object: object as u8,
            samples,
        })
    }

    /// The place of the rate in table 1.18; `None` for other rates.
    pub fn rate_index(&self) -> Option<u8> {
        RATES
            .iter()
            .position(|&rate| rate == self.rate)
            .map(|at| at as u8)
    }

    /// How many channels are heard; 2 if that is said elsewhere.
    pub fn channel_count(&self) -> u16 {
        match self.channels {
            0 => 2,
            7 => 8,
            count => count.into(),
        }
    }
}

fn rate(bits: &mut Plain) -> Option<u32> {
    match bits.number(4)? {
        15 => bits.number(24).filter(|&rate| rate > 0),
        index => RATES.get(index as usize).copied(),
    }
}

/// Bits without bytes against emulation.
pub struct Plain<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl Plain<'_> {
    pub fn number(&mut self, count: u32) -> Option<u32> {
        let mut number = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            number = number << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(number)
    }
}

/// A frame of AAC is at most 6144 bits a channel; 8 channels.
const MAX_FRAME: usize = 8 * 6144 / 8;

#[derive(Debug)]
pub struct Aac {
    config: AudioConfig,
    size_bits: u32,
    index_bits: u32,
    delta_bits: u32,
    /// Units of timestamps a frame.
    duration: u32,
    /// A frame of which more is to come, its length, and its timestamp.
    fragment: Option<(BytesMut, usize, u32)>,
    lost: bool,
}

impl Aac {
    pub fn new(format: &Format) -> Result<Aac, Unsupported> {
        let parameter = |name| Unsupported::Parameter("MPEG4-GENERIC", name);
        let mode = format.parameter("mode").unwrap_or("");
        if !mode.eq_ignore_ascii_case("AAC-hbr") && !mode.eq_ignore_ascii_case("AAC-lbr") {
            return Err(parameter("mode"));
        }
        let others = [
            "CTSDeltaLength",
            "DTSDeltaLength",
            "streamStateIndication",
            "auxiliaryDataSizeLength",
        ];
        for name in others {
            if format.number(name).unwrap_or(0) != 0 {
                return Err(parameter(name));
            }
        }
        let config = format
            .bytes("config")
            .and_then(|bytes| AudioConfig::parse(&bytes));
        let config = config.ok_or(parameter("config"))?;
        let bits = |name| format.number(name).filter(|bits| *bits <= 16).unwrap_or(0);
        let size_bits = bits("sizelength");
        if size_bits == 0 {
            return Err(parameter("sizelength"));
        }
        Ok(Aac {
            duration: duration(&config, format.clock_rate),
            config,
            size_bits,
            index_bits: bits("indexlength"),
            delta_bits: bits("indexdeltalength"),
            fragment: None,
            lost: false,
        })
    }

    /// Lengths of the frames, and where they begin.
    fn headers(&self, payload: &[u8]) -> Option<(Vec<usize>, usize)> {
        let [high, low, ..] = *payload else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let begin = 2 + length.div_ceil(8);
        let mut bits = Plain {
            bytes: payload.get(2..begin)?,
            at: 0,
        };
        let mut lengths = Vec::new();
        while bits.at < length {
            lengths.push(bits.number(self.size_bits)? as usize);
            // Interleaved frames are not put in order: the index is taken to be 0.
            bits.number(if lengths.len() == 1 {
                self.index_bits
            } else {
                self.delta_bits
            })?;
        }
        Some((lengths, begin))
    }

    fn frame(&mut self, timestamp: u32, bytes: Bytes, out: &mut Vec<TimestampedUnit>) {
        out.push(TimestampedUnit {
            timestamp,
            class: Class::Sound,
            damaged: std::mem::take(&mut self.lost),
            units: vec![bytes],
        });
    }
}

/// Units of timestamps a frame.
pub fn duration(config: &AudioConfig, clock_rate: u32) -> u32 {
    (u64::from(config.samples) * u64::from(clock_rate) / u64::from(config.rate)) as u32
}

impl Depacketise for Aac {
    fn push(&mut self, packet: Packet, missing: bool, out: &mut Vec<TimestampedUnit>) {
        if missing {
            self.lost = true;
            self.fragment = None;
        }
        let Some((lengths, begin)) = self.headers(&packet.payload) else {
            self.lost = true;
            return;
        };
        let mut payload = packet.payload;
        payload.advance(begin);
        if let [length] = lengths[..]
            && length > payload.len()
        {
            // A piece of a frame: all pieces have its length.
            let same = |fragment: &(BytesMut, usize, u32)| {
                fragment.1 == length && fragment.2 == packet.timestamp
            };
            let fragment = self.fragment.take().filter(same);
            let (mut bytes, ..) = fragment.unwrap_or((BytesMut::new(), 0, 0));
            bytes.extend_from_slice(&payload);
            if bytes.len() > MAX_FRAME
                || bytes.len() > length
                || (packet.marker && bytes.len() < length)
            {
                self.lost = true;
            } else if bytes.len() == length {
                self.frame(packet.timestamp, bytes.freeze(), out);
            } else {
                self.fragment = Some((bytes, length, packet.timestamp));
            }
            return;
        }
        let mut timestamp = packet.timestamp;
        for length in lengths {
            if length == 0 || length > payload.len() {
                self.lost = true;
                return;
            }
            self.frame(timestamp, payload.split_to(length), out);
            timestamp = timestamp.wrapping_add(self.duration);
        }
    }

    fn codec(&self) -> Codec {
        Codec::Aac(self.config.clone())
    }
}
