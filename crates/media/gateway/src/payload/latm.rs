//! AAC in RTP as LATM (RFC 6416, section 6), with its configuration in the description (`cpresent=0`).

use bytes::{Buf, Bytes, BytesMut};

use super::aac::{AudioConfig, Plain, duration};
use super::{Codec, Depacketise, Format, TimestampedUnit, Unsupported};
use crate::media::Class;
use crate::rtp::Packet;

/// An element of at most 64 frames of 8 channels.
const MAX_BYTES: usize = 64 * 6144;

#[derive(Debug)]
pub struct Latm {
    config: AudioConfig,
    /// Frames an element.
    frames: usize,
    duration: u32,
    element: BytesMut,
    lost: bool,
}

impl Latm {
    pub fn new(format: &Format) -> Result<Latm, Unsupported> {
        let parameter = |name| Unsupported::Parameter("MP4A-LATM", name);
        if format.number("cpresent") != Some(0) {
            return Err(parameter("cpresent"));
        }
        let bytes = format.bytes("config").ok_or(parameter("config"))?;
        let (config, frames) = stream_mux(&bytes).ok_or(parameter("config"))?;
        Ok(Latm {
            duration: duration(&config, format.clock_rate),
            config,
            frames,
            element: BytesMut::new(),
            lost: false,
        })
    }

    /// Takes apart a whole element (ISO/IEC 14496-3, clause 1.7.3): each frame after its length.
    fn take(&mut self, mut element: Bytes, mut timestamp: u32, out: &mut Vec<TimestampedUnit>) {
        for _ in 0..self.frames {
            let mut length = 0;
            while let Some(&byte) = element.first() {
                element.advance(1);
                length += usize::from(byte);
                if byte < 255 {
                    break;
                }
            }
            if length == 0 || length > element.len() {
                self.lost = true;
                return;
            }
            out.push(TimestampedUnit {
                timestamp,
                class: Class::Sound,
                damaged: std::mem::take(&mut self.lost),
                units: vec![element.split_to(length)],
            });
            timestamp = timestamp.wrapping_add(self.duration);
        }
    }
}

/// A `StreamMuxConfig` (clause 1.7.3.2) of one program with one layer; and frames an element.
fn stream_mux(bytes: &[u8]) -> Option<(AudioConfig, usize)> {
    let mut bits = Plain { bytes, at: 0 };
    // Version 0; all streams have the same framing.
    if bits.number(2)? != 0b01 {
        return None;
    }
    let frames = bits.number(6)? as usize + 1;
    // One program, one layer.
    if bits.number(7)? != 0 {
        return None;
    }
    let mut config = Vec::new();
    while let Some(byte) = bits.number(8) {
        config.push(byte as u8);
    }
    // What follows the configuration in these bytes is read by no decoder: it has an end of its own.
    let length = match config.first()? >> 3 {
        5 | 29 => 4,
        _ => 2,
    };
    config.truncate(length);
    Some((AudioConfig::parse(&config)?, frames))
}

impl Depacketise for Latm {
    fn push(&mut self, packet: Packet, missing: bool, out: &mut Vec<TimestampedUnit>) {
        if missing {
            self.lost = true;
            self.element.clear();
        }
        if packet.marker && self.element.is_empty() {
            return self.take(packet.payload, packet.timestamp, out);
        }
        if self.element.len() + packet.payload.len() > MAX_BYTES {
            self.lost = true;
            self.element.clear();
            return;
        }
        self.element.extend_from_slice(&packet.payload);
        if packet.marker {
            let element = std::mem::take(&mut self.element).freeze();
            self.take(element, packet.timestamp, out);
        }
    }

    fn codec(&self) -> Codec {
        Codec::Aac(self.config.clone())
    }
}
