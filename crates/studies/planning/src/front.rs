//! The front: choices to which no other is preferable.

use std::collections::BTreeMap;

/// A choice of elements with what it costs and gives. All numbers are positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Which one.
    pub choice: usize,
    /// More is better.
    pub gain: f64,
    /// Less is better.
    pub area: f64,
    /// Less is better.
    pub power: f64,
}

/// A number without the last bits, in which sums in another order differ.
fn coarse(value: f64) -> u64 {
    const LOST: u32 = 12;
    // Positive numbers are in the order of their bits.
    (value.to_bits() + (1 << (LOST - 1))) >> LOST
}

/// The points to which no other is preferable: none has at least the gain, no more area and no more power, and differs.
/// Of equal ones the first stays. The result is in the order of gain.
pub fn front(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by_key(|point| {
        let gain = std::cmp::Reverse(coarse(point.gain));
        (coarse(point.area), coarse(point.power), gain, point.choice)
    });
    // Those so far have no more area. By power, the gain that it takes to be better; more power stands with more gain.
    let mut steps: BTreeMap<u64, u64> = BTreeMap::new();
    points.retain(|point| {
        let (power, gain) = (coarse(point.power), coarse(point.gain));
        let best = steps.range(..=power).next_back();
        if best.is_some_and(|(_, &best)| best >= gain) {
            return false;
        }
        let worse: Vec<u64> = steps
            .range(power..)
            .take_while(|(_, other)| **other <= gain)
            .map(|(&power, _)| power)
            .collect();
        for power in worse {
            steps.remove(&power);
        }
        steps.insert(power, gain);
        true
    });
    points.sort_by(|a, b| a.gain.total_cmp(&b.gain).then(a.area.total_cmp(&b.area)));
    points
}

/// A part of a front, in all at most so many or the best alone: the best by gain, by gain per area and by gain per power,
/// and of each stretch of gain the one that gains most per area and power together.
pub fn thinned(front: &[Point], most: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (front.first(), front.last()) else {
        return Vec::new();
    };
    if front.len() <= most {
        return front.to_vec();
    }
    let best = |of: fn(&Point) -> f64| {
        let all = front.iter().enumerate();
        // Of equal ones the first.
        let best = all.rev().max_by(|a, b| of(a.1).total_cmp(&of(b.1)));
        best.map_or(0, |(at, _)| at)
    };
    let mut kept = vec![
        best(|p| p.gain),
        best(|p| p.gain / p.area),
        best(|p| p.gain / p.power),
    ];
    kept.sort_unstable();
    kept.dedup();
    let stretches = most.saturating_sub(kept.len());
    let whole = (last.gain / first.gain).ln().max(f64::MIN_POSITIVE);
    let worth = |at: usize| front[at].gain / front[at].area * (front[at].gain / front[at].power);
    let mut best_of: Vec<Option<usize>> = vec![None; stretches];
    for (at, point) in front.iter().enumerate().filter(|_| stretches > 0) {
        let stretch = (point.gain / first.gain).ln() / whole * stretches as f64;
        let best = &mut best_of[(stretch as usize).min(stretches - 1)];
        if best.is_none_or(|best| worth(at) > worth(best)) {
            *best = Some(at);
        }
    }
    kept.extend(best_of.into_iter().flatten());
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|at| front[at]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(choice: usize, [gain, area, power]: [u8; 3]) -> Point {
        Point {
            choice,
            gain: f64::from(gain) + 1.0,
            area: f64::from(area) * 0.1 + 1.0,
            power: f64::from(power) + 0.5,
        }
    }

    fn preferable(a: &Point, b: &Point) -> bool {
        let no_worse = a.gain >= b.gain && a.area <= b.area && a.power <= b.power;
        let equal = (a.gain, a.area, a.power) == (b.gain, b.area, b.power);
        no_worse && (!equal || a.choice < b.choice)
    }

    proptest! {
        #[test]
        fn what_stays_is_what_no_other_is_preferable_to(
            numbers in prop::collection::vec(prop::array::uniform3(0_u8..6), 0..60)
        ) {
            let all: Vec<Point> = numbers.into_iter().enumerate().map(|(i, n)| point(i, n)).collect();
            let mut expected: Vec<usize> = all
                .iter()
                .filter(|p| !all.iter().any(|other| preferable(other, p)))
                .map(|p| p.choice)
                .collect();
            expected.sort_unstable();
            let mut found: Vec<usize> = front(all).iter().map(|p| p.choice).collect();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_short_front_keeps_the_best() {
        let all: Vec<Point> = (0..100_u8)
            .map(|i| Point {
                choice: usize::from(i),
                gain: f64::from(i) + 1.0,
                area: 1.0 + (f64::from(i) - 30.0).abs() * f64::from(i),
                power: 1.0 + (f64::from(i) - 60.0).abs() * f64::from(i),
            })
            .collect();
        let few: Vec<usize> = thinned(&all, 10).iter().map(|p| p.choice).collect();
        assert!(few.len() <= 10 && few.len() >= 6, "{few:?}");
        assert!([30, 60, 99].iter().all(|at| few.contains(at)), "{few:?}");
        assert_eq!(thinned(&all, 200).len(), 100);
        assert_eq!(thinned(&all, 1).len(), 3);
    }
}
