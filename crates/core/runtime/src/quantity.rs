//! Readable sizes, times and numbers: exact if they are short, otherwise rounded to three figures.

use std::fmt;

/// Bytes: `10 bytes`, `64 KiB`, `1.02 GiB`. Rounded down, so that less than a MiB is never shown as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shift = self.0.checked_ilog2().unwrap_or(0) / 10 * 10;
        let Some(unit) = (shift / 10).checked_sub(1) else {
            return f.write_str(&counted(self.0, "bytes"));
        };
        let hundredths = ((u128::from(self.0) * 100) >> shift) as u64;
        let step = match hundredths {
            10_000.. => 100,
            1000.. => 10,
            _ => 1,
        };
        let down = (hundredths / step * step) as f64 / 100.0;
        write!(f, "{} {}", Figures(down), UNITS[unit as usize])
    }
}

/// Seconds: `40 ms`, `1.1 s`, `34 s`, `2 min 5 s`, `3 h 20 min`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0.max(0.0);
        let whole = s.round() as u64;
        match whole {
            _ if s < 0.0005 => f.write_str("0 s"),
            _ if s < 0.0995 => write!(f, "{:.0} ms", s * 1e3),
            _ if s < 9.95 => write!(f, "{} s", (s * 10.0).round() / 10.0),
            0..60 => write!(f, "{whole} s"),
            60..3600 => write!(f, "{} min {} s", whole / 60, whole % 60),
            _ => write!(f, "{} h {} min", whole / 3600, whole % 3600 / 60),
        }
    }
}

/// A number with three figures, or all figures before the decimal point: `1.5`, `27.8`, `1204`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Figures(pub f64);

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0.abs() {
            n if n >= 99.95 => return write!(f, "{:.0}", self.0),
            n if n >= 9.995 => 1,
            _ => 2,
        };
        let text = format!("{:.digits$}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A number with a noun in the plural or singular: `1 frame`, `2 frames`.
pub fn counted(n: u64, plural: &str) -> String {
    let name = match n {
        1 => plural.strip_suffix('s').unwrap_or(plural),
        _ => plural,
    };
    format!("{n} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_or_rounded_down() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (48 << 10, "48 KiB"),
            (1280 << 10, "1.25 MiB"),
            ((1 << 20) - 1, "1023 KiB"),
            ((1 << 20) + 1, "1 MiB"),
            (1000 << 20, "1000 MiB"),
            (3 << 29, "1.5 GiB"),
            (1_095_216_661, "1.02 GiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    #[test]
    fn times_read_well() {
        for (s, text) in [
            (0.0, "0 s"),
            (-1.0, "0 s"),
            (0.0004, "0 s"),
            (0.040, "40 ms"),
            (0.0996, "0.1 s"),
            (0.728, "0.7 s"),
            (3.96, "4 s"),
            (9.96, "10 s"),
            (59.4, "59 s"),
            (59.6, "1 min 0 s"),
            (125.0, "2 min 5 s"),
            (12_000.0, "3 h 20 min"),
        ] {
            assert_eq!(Seconds(s).to_string(), text);
        }
    }

    #[test]
    fn numbers_have_three_figures() {
        for (number, text) in [
            (0.0, "0"),
            (0.046, "0.05"),
            (1.5, "1.5"),
            (9.996, "10"),
            (27.84, "27.8"),
            (99.96, "100"),
            (278.4, "278"),
            (1204.4, "1204"),
        ] {
            assert_eq!(Figures(number).to_string(), text);
        }
        assert_eq!(counted(1, "frames"), "1 frame");
        assert_eq!(counted(0, "frames"), "0 frames");
    }
}
