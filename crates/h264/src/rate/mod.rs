//! How pictures are coded: which are key pictures, and with which quantisation parameter.

use crate::config::{Config, Rate, Tools};
use crate::picture::Coding;
use crate::syntax::{SliceHeader, SliceKind};

/// By how much the parameter of a key picture is lower than that of others.
const KEY_QP: u8 = 3;

/// Decides it, picture by picture.
#[derive(Clone, Debug)]
pub struct Rates {
    qp: u8,
    keyint: u64,
}

impl Rates {
    /// As a configuration says.
    pub fn new(config: &Config) -> Rates {
        let qp = match config.rate {
            Rate::Qp(qp) => qp,
            Rate::Crf(crf) => crf.round() as u8,
            Rate::Bitrate(_) => 26,
        };
        Rates::constant(qp, config.keyint)
    }

    /// With a constant parameter, and a key picture each `keyint` pictures.
    pub fn constant(qp: u8, keyint: u32) -> Rates {
        Rates {
            qp,
            keyint: u64::from(keyint),
        }
    }

    /// How picture `number` is coded, after the one `before` it.
    pub fn plan(&mut self, _number: u64, before: Option<&Coding>, tools: &Tools) -> Coding {
        let since_key = match before {
            Some(before) if before.since_key + 1 < self.keyint => before.since_key + 1,
            _ => 0,
        };
        let header = match (before, since_key) {
            (_, 0) => SliceHeader {
                kind: SliceKind::I,
                // Key pictures that follow one another must differ in it.
                idr: Some(before.map_or(0, |b| b.keys.wrapping_add(1) as u16)),
                qp: self.qp.saturating_sub(KEY_QP),
                ..SliceHeader::default()
            },
            _ => SliceHeader {
                kind: SliceKind::P,
                idr: None,
                frame_num: since_key as u32,
                references: u64::from(tools.references).min(since_key) as u8,
                qp: self.qp,
                ..SliceHeader::default()
            },
        };
        Coding {
            header,
            since_key,
            keys: before.map_or(0, |b| b.keys + u64::from(since_key == 0)),
        }
    }

    /// Picture `number` has come out at so many bits.
    pub fn written(&mut self, _number: u64, _bits: u64) {}
}
