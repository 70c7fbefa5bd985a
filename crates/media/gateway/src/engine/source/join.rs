//! Access units of one session after those of another: the second begins with a key picture, and time goes on.

use std::time::{Duration, Instant};

use crate::payload::AccessUnit;

/// How long a key picture is waited for; then any unit begins.
const WAIT: Duration = Duration::from_secs(3);
/// How much later the first unit is than the last of the session before, at least: 40 ms, in units of 90 kHz.
const STEP: i64 = 3600;

/// Where the units of the session that plays are in time.
#[derive(Debug, Default)]
pub struct Join {
    /// Since when a key picture is waited for.
    waits: Option<Instant>,
    /// All units are later by this than their session says, so that none is before those of the session before.
    shift: i64,
    /// Units that would be decoded before this are left out.
    floor: Option<i64>,
    /// The latest times of decoding and of showing so far.
    latest: Option<(i64, i64)>,
}

impl Join {
    /// Another session begins.
    pub fn begin(&mut self, now: Instant) {
        self.waits = self.latest.map(|_| now);
    }

    /// The unit with its time for clients, and whether it is the first after those of another session. `None` if clients
    /// do not get it. `is_key` says whether a stream can begin with it.
    pub fn place(
        &mut self,
        mut unit: AccessUnit,
        is_key: impl Fn(&AccessUnit) -> bool,
        now: Instant,
    ) -> Option<(AccessUnit, bool)> {
        let mut is_first = false;
        if let Some(since) = self.waits {
            if !is_key(&unit) && now.saturating_duration_since(since) <= WAIT {
                return None;
            }
            let late = self
                .latest
                .map_or(0, |(dts, pts)| STEP + (dts - unit.dts).max(pts - unit.pts));
            self.shift = late.max(0);
            self.floor = Some(unit.dts + self.shift);
            self.waits = None;
            is_first = true;
        }
        unit.pts += self.shift;
        unit.dts += self.shift;
        if self.floor.is_some_and(|floor| unit.dts < floor) {
            return None;
        }
        let (dts, pts) = self.latest.unwrap_or((unit.dts, unit.pts));
        self.latest = Some((dts.max(unit.dts), pts.max(unit.pts)));
        Some((unit, is_first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Class;

    fn unit(track: usize, time: i64, class: Class) -> AccessUnit {
        AccessUnit {
            track,
            pts: time + 100,
            dts: time,
            class,
            damaged: false,
            units: Vec::new(),
        }
    }

    /// The times of decoding that clients get of these units, and which of them are the first.
    fn placed(join: &mut Join, units: &[AccessUnit], now: Instant) -> Vec<(i64, bool)> {
        let is_key = |unit: &AccessUnit| unit.class == Class::Key;
        (units.iter())
            .filter_map(|unit| join.place(unit.clone(), is_key, now))
            .map(|(unit, is_first)| {
                assert_eq!(unit.pts, unit.dts + 100);
                (unit.dts, is_first)
            })
            .collect()
    }

    #[test]
    fn the_first_session_goes_through_as_it_is() {
        let (mut join, now) = (Join::default(), Instant::now());
        join.begin(now);
        let units = [unit(0, 500, Class::Reference), unit(1, 400, Class::Sound)];
        assert_eq!(placed(&mut join, &units, now), [(500, false), (400, false)]);
    }

    #[test]
    fn the_next_begins_at_a_key_picture_and_time_does_not_go_back() {
        let (mut join, now) = (Join::default(), Instant::now());
        placed(&mut join, &[unit(0, 90_000, Class::Key)], now);
        join.begin(now);
        let units = [
            unit(0, 1000, Class::Reference),
            unit(1, 1100, Class::Sound),
            unit(0, 5000, Class::Key),
            unit(1, 4900, Class::Sound),
            unit(1, 5100, Class::Sound),
            unit(0, 9000, Class::Reference),
        ];
        let expected = [(93_600, true), (93_700, false), (97_600, false)];
        assert_eq!(placed(&mut join, &units, now), expected);
        // Pictures that come last may be shown before others.
        join.begin(now);
        let mut picture = unit(0, 0, Class::Key);
        picture.pts = 0;
        let placed_at = join.place(picture, |_| true, now).unwrap().0;
        assert_eq!(placed_at.pts, 97_700 + 3600);
        // Where the time of the next is later anyway, it is kept: what passed meanwhile has passed.
        join.begin(now);
        let later = [unit(0, 200_000, Class::Key)];
        assert_eq!(placed(&mut join, &later, now), [(200_000, true)]);
    }

    #[test]
    fn without_a_key_picture_it_begins_all_the_same() {
        let (mut join, now) = (Join::default(), Instant::now());
        placed(&mut join, &[unit(0, 0, Class::Key)], now);
        join.begin(now);
        let units = [unit(0, 90_000, Class::Reference)];
        assert_eq!(placed(&mut join, &units, now + WAIT), []);
        let late = now + WAIT * 2;
        assert_eq!(placed(&mut join, &units, late), [(90_000, true)]);
    }
}
