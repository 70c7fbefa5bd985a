//! `setsar` and `setdar`: the shape of samples, which players stretch to. No sample changes.

use super::{Arg, Entry, Filter, Role};
use crate::format::{Ratio, Timing, Video};

pub const SETSAR: Entry = Entry {
    name: "setsar",
    aliases: &[],
    about: "declare the aspect of a sample",
    args: &[
        Arg::optional(
            "sar",
            "0",
            "width to height, as 1, 16/15 or 16:15; 0 for unknown",
        )
        .also(&["ratio", "r"]),
        MAX,
    ],
    role: Role::EveryPlane,
    build: |args| {
        let most = args.integer("max", 1..=u32::MAX)?;
        let ratio = args.parsed("sar", |text| ratio(text, most))?;
        Ok(Box::new(Aspect {
            ratio,
            of_frame: false,
        }))
    },
};

pub const SETDAR: Entry = Entry {
    name: "setdar",
    about: "declare the aspect of the frame as it is shown",
    args: &[
        Arg::optional(
            "dar",
            "0",
            "width to height, as 16/9 or 1.778; 0 for that of the samples",
        )
        .also(&["ratio", "r"]),
        MAX,
    ],
    build: |args| {
        let most = args.integer("max", 1..=u32::MAX)?;
        let ratio = args.parsed("dar", |text| ratio(text, most))?;
        Ok(Box::new(Aspect {
            ratio,
            of_frame: true,
        }))
    },
    ..SETSAR
};

const MAX: Arg = Arg::optional(
    "max",
    "100",
    "the largest numerator or denominator for a decimal number",
);

/// Reads an aspect; `None` for 0.
fn ratio(text: &str, most: u32) -> Result<Option<Ratio>, String> {
    let wrong = || "it must be an aspect, as 1, 16/9 or 1.778".to_owned();
    if let Some((num, den)) = text.split_once(['/', ':']) {
        let whole = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (num, den) = (whole(num)?, whole(den)?);
        return Ok((num > 0 && den > 0).then(|| Ratio { num, den }.reduced()));
    }
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.0..1e6).contains(&value) {
        return Err(wrong());
    }
    let near = (1..=most).map(|den| {
        let num = (value * f64::from(den))
            .round()
            .min(f64::from(most.max(value as u32 + 1)));
        (den, num, (num / f64::from(den) - value).abs())
    });
    let best = near.min_by(|a, b| a.2.total_cmp(&b.2));
    Ok(best.filter(|_| value > 0.0).map(|(den, num, _)| {
        let num = num as u32;
        Ratio { num, den }.reduced()
    }))
}

struct Aspect {
    ratio: Option<Ratio>,
    /// Whether it is that of the frame, and not of a sample.
    of_frame: bool,
}

impl Filter for Aspect {
    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let Video { format, timing } = inputs[0];
        let aspect = match (self.ratio, self.of_frame) {
            (Some(Ratio { num, den }), true) => {
                let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
                Ratio::of(product(num, format.height), product(den, format.width))
            }
            (ratio, false) => ratio,
            (None, true) => Some(Ratio { num: 1, den: 1 }),
        };
        Ok(Video {
            format,
            timing: Timing { aspect, ..timing },
        })
    }
}
