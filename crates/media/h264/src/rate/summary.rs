//! What has become of the rates that were asked for.

use crate::config::{Config, Rate, Vbv};

/// A rate is missed if the stream has so many times as much.
const MISSED: f64 = 1.05;

/// The sizes of a stream's pictures, beside what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Pictures.
    pub pictures: u64,
    /// Their bits.
    pub bits: u64,
    /// How long a picture lasts, in seconds.
    pub duration: f64,
    /// Pictures whose bits are not all in the decoder's buffer when it needs them.
    pub late: u64,
    /// Pictures that have the coarsest quantisation there is.
    pub coarsest: u64,
    rate: Rate,
    vbv: Option<Vbv>,
}

impl Summary {
    pub(super) fn new(config: &Config, duration: f64) -> Summary {
        Summary {
            pictures: 0,
            bits: 0,
            duration,
            late: 0,
            coarsest: 0,
            rate: config.rate,
            vbv: config.vbv,
        }
    }

    pub(super) fn add(&mut self, bits: u64, in_time: bool, coarsest: bool) {
        self.pictures += 1;
        self.bits += bits;
        self.late += u64::from(!in_time);
        self.coarsest += u64::from(coarsest);
    }

    /// Bits per second on average.
    pub fn bit_rate(&self) -> f64 {
        self.bits as f64 / (self.pictures.max(1) as f64 * self.duration)
    }

    /// What was asked for and is not kept: a line each, with what helps.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let found = self.bit_rate();
        if let Rate::Bitrate(asked) = self.rate
            && self.coarsest > 0
            && found > MISSED * asked as f64
        {
            notes.push(format!(
                "the stream has {:.0} kbit/s, not {:.0}: {} of {} pictures have the coarsest quantisation there is; a smaller \
                 size or picture rate needs fewer bits",
                found / 1e3,
                asked as f64 / 1e3,
                self.coarsest,
                self.pictures
            ));
        }
        if let Some(vbv) = self.vbv
            && self.late > 0
        {
            notes.push(format!(
                "{} of {} pictures come too late in a buffer of {:.0} kbit that fills at {:.0} kbit/s; a larger --bufsize \
                 or --maxrate makes room for them",
                self.late,
                self.pictures,
                vbv.bufsize as f64 / 1e3,
                vbv.maxrate as f64 / 1e3
            ));
        }
        notes
    }
}
