//! Numbers of frames and of bytes.

use std::fmt;

use evener_runtime::quantity::{Figures, Size, counted};

/// An amount of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Frames(u64),
    Bytes(u64),
}

impl Amount {
    /// `120 of 300 frames`; without `all` the same as `Display`.
    pub fn of(self, all: Option<Amount>) -> String {
        match (self, all) {
            // Some containers have a wrong number of frames.
            (Amount::Frames(done), Some(Amount::Frames(all))) if done <= all => {
                format!("{done} of {}", counted(all, "frames"))
            }
            (Amount::Bytes(_), Some(all)) => format!("{self} of {all}"),
            _ => self.to_string(),
        }
    }

    /// The number of frames or bytes.
    pub fn number(self) -> u64 {
        match self {
            Amount::Frames(n) | Amount::Bytes(n) => n,
        }
    }

    /// The rate of a stream of bits: `812 kbit/s`.
    pub fn bits_per_second(rate: f64) -> String {
        format!("{} kbit/s", Figures(rate / 1e3))
    }

    /// A rate in the unit of this amount.
    pub fn rate(self, per_second: f64) -> String {
        match self {
            Amount::Frames(_) => format!("{} fps", Figures(per_second)),
            Amount::Bytes(_) => format!("{}/s", Size(per_second.round() as u64)),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Amount::Frames(frames) => f.write_str(&counted(frames, "frames")),
            Amount::Bytes(bytes) => Size(bytes).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_say_how_much_of_what() {
        let (frames, bytes) = (Amount::Frames, |mib: u64| Amount::Bytes(mib << 20));
        for (text, expected) in [
            (frames(1).of(None), "1 frame"),
            (frames(120).of(Some(frames(300))), "120 of 300 frames"),
            (frames(301).of(Some(frames(300))), "301 frames"),
            (bytes(300).of(Some(bytes(1024))), "300 MiB of 1 GiB"),
            (bytes(300).of(None), "300 MiB"),
            (frames(1).rate(27.84), "27.8 fps"),
            (bytes(1).rate(526.0 * 1048576.0), "526 MiB/s"),
        ] {
            assert_eq!(text, expected);
        }
    }
}
