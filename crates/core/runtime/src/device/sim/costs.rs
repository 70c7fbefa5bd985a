use std::fmt;
use std::str::FromStr;

use crate::device::DeviceError;

/// The costs of a simulated device, and its failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Seconds from a call to its reply, without copies and kernels.
    pub latency_s: f64,
    /// Upload rate, in bytes per second.
    pub up: f64,
    /// Download rate, in bytes per second.
    pub down: f64,
    /// The speed-up of its kernels over a core.
    pub speed: f64,
    /// Seconds per unit, instead of `speed`.
    pub unit_s: Option<f64>,
    /// Memory in bytes.
    pub memory: usize,
    /// Number of copy engines. With one, copies in both directions wait for each other.
    pub engines: u32,
    /// Number of lanes that streams use.
    pub lanes: u32,
    /// The device is lost at this call, counted from 1.
    pub lost: Option<u64>,
    /// From this call on, one bit of each result is wrong.
    pub flip: Option<u64>,
    /// From this call on, the device does not reply.
    pub hang: Option<u64>,
    /// From this call on, the device is slower by this factor.
    pub drift: Option<(u64, f64)>,
}

impl Default for Costs {
    /// A device behind a PCIe 3 bus, ten times as fast as a core.
    fn default() -> Costs {
        Costs {
            latency_s: 20e-6,
            up: 12e9,
            down: 12e9,
            speed: 10.0,
            unit_s: None,
            memory: 8 << 30,
            engines: 2,
            lanes: 3,
            lost: None,
            flip: None,
            hang: None,
            drift: None,
        }
    }
}

/// What can be said of a device, for messages.
const KEYS: &str =
    "latency, up, down, speed, unit, memory, engines, lanes, lost, flip, hang, drift";

impl FromStr for Costs {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Costs, DeviceError> {
        let wrong = |why: String| DeviceError::Description {
            text: text.into(),
            why,
        };
        let list = match text.split_once(':') {
            None if text == "sim" => "",
            Some(("sim", list)) => list,
            _ => return Err(wrong("it begins with 'sim' or 'sim:'".into())),
        };
        let mut costs = Costs::default();
        for item in list.split(',').filter(|item| !item.is_empty()) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            costs.set(key, value).map_err(wrong)?;
        }
        Ok(costs)
    }
}

impl Costs {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let rate = || positive(key, value);
        let whole = |most: u64| {
            let number = value.parse().ok().filter(|n| (1..=most).contains(n));
            number.ok_or_else(|| format!("{key} is a number from 1 to {most}, not '{value}'"))
        };
        match key {
            "latency" => self.latency_s = seconds(key, value)?,
            "up" => self.up = rate()?,
            "down" => self.down = rate()?,
            "speed" => self.speed = rate()?,
            "unit" => self.unit_s = Some(seconds(key, value)?),
            "memory" => self.memory = rate()? as usize,
            "engines" => self.engines = whole(2)? as u32,
            "lanes" => self.lanes = whole(super::super::MOST_LANES as u64)? as u32,
            "lost" => self.lost = Some(whole(u64::MAX)?),
            "flip" => self.flip = Some(whole(u64::MAX)?),
            "hang" => self.hang = Some(whole(u64::MAX)?),
            "drift" => {
                let (at, slower) = value.split_once('x').unwrap_or((value, ""));
                let at = at.parse().map_err(|_| {
                    format!("drift is a call and how many times slower, as in 100x3, not '{value}'")
                })?;
                let slower = positive(key, slower).map_err(|_| {
                    format!("drift is a call and how many times slower, as in 100x3, not '{value}'")
                })?;
                self.drift = Some((at, slower));
            }
            _ => return Err(format!("'{key}' is none of {KEYS}")),
        }
        Ok(())
    }
}

/// A number above 0, perhaps with K, M or G for thousands, millions, billions.
fn positive(key: &str, value: &str) -> Result<f64, String> {
    let (number, times) = match value.chars().last() {
        Some('k' | 'K') => (&value[..value.len() - 1], 1e3),
        Some('M') => (&value[..value.len() - 1], 1e6),
        Some('G') => (&value[..value.len() - 1], 1e9),
        _ => (value, 1.0),
    };
    let number = number.parse::<f64>().ok().map(|number| number * times);
    let sound = number.filter(|number| (1e-6..=1e18).contains(number));
    sound
        .ok_or_else(|| format!("{key} is a number from 0.000001 to 1e18, as in 12G, not '{value}'"))
}

/// A time, with its unit.
fn seconds(key: &str, value: &str) -> Result<f64, String> {
    let at = value.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = value.split_at(at.unwrap_or(value.len()));
    let of_a_second = match unit {
        "ns" => Some(1e9),
        "us" => Some(1e6),
        "ms" => Some(1e3),
        "s" => Some(1.0),
        _ => None,
    };
    let number = number.parse::<f64>().ok().zip(of_a_second);
    let seconds = number.map(|(number, of_a_second)| number / of_a_second);
    let sound = seconds.filter(|seconds| (0.0..=3600.0).contains(seconds));
    sound.ok_or_else(|| format!("{key} is a time, as in 20us, 5ms or 1s, not '{value}'"))
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs away, ", self.latency_s * 1e6)?;
        match self.unit_s {
            Some(unit_s) => write!(f, "{} ms a unit", unit_s * 1e3),
            None => write!(f, "{} times a core", self.speed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_differs_from_the_default() {
        let costs: Costs = "sim:latency=5us,up=3.5G,unit=2ms,flip=7,drift=10x3"
            .parse()
            .unwrap();
        let expected = Costs {
            latency_s: 5e-6,
            up: 3.5e9,
            unit_s: Some(2e-3),
            flip: Some(7),
            drift: Some((10, 3.0)),
            ..Costs::default()
        };
        assert_eq!(costs, expected);
        assert_eq!("sim".parse::<Costs>().unwrap(), Costs::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let why = |text: &str| text.parse::<Costs>().unwrap_err().to_string();
        assert!(why("sim:speed=0").contains("speed is a number from"));
        assert!(why("sim:latency=20").contains("latency is a time"));
        assert!(why("sim:lag=20us").contains("'lag' is none of latency"));
        assert!(why("gpu").contains("begins with 'sim'"));
        assert!(why("sim:drift=3").contains("drift"));
        assert!(why("sim:lanes=1000").contains("from 1 to"));
    }
}
