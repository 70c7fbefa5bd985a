//! Sound of which each packet is a frame: G.711 (RFC 3551, section 4.5.14) and Opus (RFC 7587).

use super::{Codec, Depacketise, Format, TimestampedUnit};
use crate::media::Class;
use crate::rtp::Packet;

#[derive(Debug)]
pub struct Plain(Codec);

impl Plain {
    pub fn opus(_: &Format) -> Plain {
        // Its description always says two channels; each frame says how many it has.
        Plain(Codec::Opus(2))
    }

    pub fn a_law(format: &Format) -> Plain {
        Plain(Codec::ALaw(format.channels.max(1), format.clock_rate))
    }

    pub fn mu_law(format: &Format) -> Plain {
        Plain(Codec::MuLaw(format.channels.max(1), format.clock_rate))
    }
}

impl Depacketise for Plain {
    fn push(&mut self, packet: Packet, missing: bool, out: &mut Vec<TimestampedUnit>) {
        if packet.payload.is_empty() {
            return;
        }
        out.push(TimestampedUnit {
            timestamp: packet.timestamp,
            class: Class::Sound,
            damaged: missing,
            units: vec![packet.payload],
        });
    }

    fn codec(&self) -> Codec {
        self.0.clone()
    }
}
