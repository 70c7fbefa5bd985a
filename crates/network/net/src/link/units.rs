//! Amounts as they are written in a command.

use std::str::FromStr;
use std::time::Duration;

/// A share: `1%`, `0.5%`, `0.01`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

/// Bits a second: `800k`, `100M`, `2.5G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// A time: `50us`, `5ms`, `1.5s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

/// Bytes: `3000`, `64K`, `1M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

/// A share of packets that are held back, and for how long: `1%`, `1%/3ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// How many.
    pub share: f64,
    /// How long, if it is said.
    pub time: Option<Duration>,
}

/// A number from 0 on, and the unit behind it.
fn split(text: &str) -> Option<(f64, &str)> {
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().ok()?;
    Some((number, unit))
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let share = match split(text) {
            Some((number, "%")) => Some(number / 100.0),
            Some((number, "")) => Some(number),
            _ => None,
        };
        share
            .filter(|share| (0.0..=1.0).contains(share))
            .map(Share)
            .ok_or_else(|| "not a share, as in 1% or 0.01".into())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let rate = match split(text) {
            Some((number, "")) => Some(number),
            Some((number, "k" | "K")) => Some(number * 1e3),
            Some((number, "M")) => Some(number * 1e6),
            Some((number, "G")) => Some(number * 1e9),
            _ => None,
        };
        rate.filter(|rate| (1.0..=1e12).contains(rate))
            .map(|rate| Rate(rate as u64))
            .ok_or_else(|| "not a number of bits a second, as in 100M or 1G".into())
    }
}

impl FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Wait, String> {
        let seconds = match split(text) {
            Some((number, "s")) => Some(number),
            Some((number, "ms")) => Some(number / 1e3),
            Some((number, "us" | "µs")) => Some(number / 1e6),
            _ => None,
        };
        seconds
            .filter(|seconds| (0.0..=3600.0).contains(seconds))
            .map(|seconds| Wait(Duration::from_nanos((seconds * 1e9).round() as u64)))
            .ok_or_else(|| "not a time up to an hour, as in 50us, 5ms or 1s".into())
    }
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let bytes = match split(text) {
            Some((number, "")) => Some(number),
            Some((number, "k" | "K")) => Some(number * 1024.0),
            Some((number, "M")) => Some(number * 1024.0 * 1024.0),
            _ => None,
        };
        bytes
            .filter(|bytes| (1.0..=1e12).contains(bytes))
            .map(|bytes| Bytes(bytes as usize))
            .ok_or_else(|| "not a number of bytes, as in 64K or 1M".into())
    }
}

impl FromStr for Held {
    type Err = String;

    fn from_str(text: &str) -> Result<Held, String> {
        let (share, time) = match text.split_once('/') {
            Some((share, time)) => (share, Some(time.parse::<Wait>()?.0)),
            None => (text, None),
        };
        let share = share.parse::<Share>()?.0;
        Ok(Held { share, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        assert_eq!("1%".parse(), Ok(Share(0.01)));
        assert_eq!("0.25".parse(), Ok(Share(0.25)));
        assert_eq!("100M".parse(), Ok(Rate(100_000_000)));
        assert_eq!("2.5G".parse(), Ok(Rate(2_500_000_000)));
        assert_eq!("5ms".parse(), Ok(Wait(Duration::from_millis(5))));
        assert_eq!("1.5s".parse(), Ok(Wait(Duration::from_millis(1500))));
        assert_eq!("50us".parse(), Ok(Wait(Duration::from_micros(50))));
        assert_eq!("64K".parse(), Ok(Bytes(65_536)));
        let time = Some(Duration::from_millis(3));
        assert_eq!("1%/3ms".parse(), Ok(Held { share: 0.01, time }));
        let time = None;
        assert_eq!("10%".parse(), Ok(Held { share: 0.1, time }));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "", "%", "101%", "-1%", "1.1", "x", "1 %", "1..2%", "nan", "inf",
        ] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        for text in ["", "0", "1T", "M", "-1M", "1Mbit", "9999999G"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        for text in ["", "5", "ms", "5 ms", "-1s", "2h", "3601s"] {
            assert!(text.parse::<Wait>().is_err(), "{text}");
        }
        for text in ["1%/", "/1ms", "1%/2", "2/1ms"] {
            assert!(text.parse::<Held>().is_err(), "{text}");
        }
        for text in ["", "0", "1G", "-1"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
