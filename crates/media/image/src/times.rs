//! Times and rates as users write them.

use crate::format::Ratio;

/// Reads seconds, as `90`, `90.5`, `1:30` or `0:01:30.5`.
///
/// # Errors
/// It is no time.
pub fn seconds(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is not a time; give seconds, or as 1:30 or 0:01:30.5");
    let parts: Vec<&str> = text.split(':').collect();
    let plain = |part: &&str| part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if parts.len() > 3 || !parts.iter().all(plain) {
        return Err(wrong());
    }
    parts.iter().enumerate().try_fold(0.0, |sum, (at, part)| {
        let value: f64 = part.parse().map_err(|_| wrong())?;
        let minutes = at > 0 && value >= 60.0;
        let fraction = at + 1 < parts.len() && value.fract() != 0.0;
        match minutes || fraction {
            true => Err(wrong()),
            false => Ok(sum * 60.0 + value),
        }
    })
}

/// Reads a duration, which is a time, or seconds with a unit as FFmpeg has them: `1.5`, `200ms`, `2s`.
///
/// # Errors
/// It is none.
pub fn duration(text: &str) -> Result<f64, String> {
    for (unit, scale) in [("ms", 1e-3), ("us", 1e-6), ("s", 1.0)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(seconds(number)? * scale);
        }
    }
    seconds(text)
}

/// Reads frames a second, as `25`, `29.97` or `30000/1001`.
///
/// # Errors
/// It is no rate.
pub fn rate(text: &str) -> Result<Ratio, String> {
    let wrong =
        || format!("'{text}' is not a rate; give frames a second, as 25, 29.97 or 30000/1001");
    let whole = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0);
    if let Some((num, den)) = text.split_once('/') {
        let (num, den) = (whole(num).ok_or_else(wrong)?, whole(den).ok_or_else(wrong)?);
        return Ok(Ratio { num, den });
    }
    if let Some(num) = whole(text) {
        return Ok(Ratio { num, den: 1 });
    }
    // Rates of television are a whole number · 1000/1001.
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.001..=100_000.0).contains(&value) {
        return Err(wrong());
    }
    let near = (value * 1.001).round();
    let ntsc = near >= 1.0 && (near / 1.001 - value).abs() < 0.005;
    let num = |v: f64| v.round() as u32;
    Ok(match ntsc && value.fract() != 0.0 {
        true => Ratio {
            num: num(near * 1000.0),
            den: 1001,
        },
        false => Ratio {
            num: num(value * 1000.0),
            den: 1000,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_read() {
        for (text, value) in [
            ("90", 90.0),
            ("1:30", 90.0),
            ("0:01:30.5", 90.5),
            ("0.25", 0.25),
        ] {
            assert_eq!(seconds(text), Ok(value));
            assert_eq!(duration(text), Ok(value));
        }
        assert_eq!(duration("200ms"), Ok(0.2));
        assert_eq!(duration("2s"), Ok(2.0));
        for text in [
            "", "x", "-1", "1:60", "1.5:3", "1:2:3:4", "1e3", ":3", "inf",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
        for (text, num, den) in [
            ("25", 25, 1),
            ("29.97", 30000, 1001),
            ("23.976", 24000, 1001),
            ("30000/1001", 30000, 1001),
            ("12.5", 12500, 1000),
        ] {
            assert_eq!(rate(text), Ok(Ratio { num, den }), "{text}");
        }
        for text in ["", "0", "-3", "x", "1/0", "nan", "1e9"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
