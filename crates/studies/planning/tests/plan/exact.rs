//! The front beside that of all mappings, tried one after another.

use evener_planning::Plan;
use proptest::prelude::*;

use crate::planned;

/// A small machine: cycles by kind and stage, area, power and number by kind.
#[derive(Clone, Debug)]
struct Small {
    cycles: Vec<Vec<f64>>,
    prices: Vec<(u32, u32, usize)>,
    stages: usize,
}

impl Small {
    fn text(&self) -> String {
        let mut text = String::new();
        for (at, (cycles, (area, power, number))) in
            self.cycles.iter().zip(&self.prices).enumerate()
        {
            let cycles: Vec<String> = cycles.iter().map(|cycles| format!("{cycles}")).collect();
            text.push_str(&format!(
                "[[kind]]\nname = \"k{at}\"\nmhz = 1\ncycles = [{}]\narea = {area}\npower = {power}\nnumber = {number}\n",
                cycles.join(", ")
            ));
        }
        text
    }

    fn plan(&self) -> Plan {
        let steps: Vec<(&str, f64)> = (0..self.stages).map(|_| ("step", 1.0)).collect();
        planned(&self.text(), &steps).unwrap()
    }

    /// Gain, area and power of every mapping of the stages from `from` on, on elements that are left.
    fn all(
        &self,
        from: usize,
        left: &[usize],
        slowest: f64,
        price: (f64, f64),
        found: &mut Vec<[f64; 3]>,
    ) {
        if from == self.stages {
            let base: f64 = self.cycles[0].iter().sum();
            found.push([base / slowest, price.0, price.1]);
            return;
        }
        for end in from + 1..=self.stages {
            let mut counts = vec![0; left.len()];
            while let Some(at) = (0..counts.len()).find(|&at| counts[at] < left[at]) {
                counts[at] += 1;
                counts[..at].fill(0);
                let mut rate = 0.0;
                let (mut area, mut power) = price;
                for (kind, &count) in counts.iter().enumerate() {
                    let cycles: f64 = self.cycles[kind][from..end].iter().sum();
                    if count > 0 {
                        // A kind that cannot run the stages is never of use.
                        rate += count as f64 / cycles;
                        area += (count as u32 * self.prices[kind].0) as f64;
                        power += (count as u32 * self.prices[kind].1) as f64;
                    }
                }
                if rate > 0.0 {
                    let rest: Vec<usize> = left.iter().zip(&counts).map(|(l, c)| l - c).collect();
                    self.all(end, &rest, slowest.max(1.0 / rate), (area, power), found);
                }
            }
        }
    }

    fn front(&self) -> Vec<[f64; 3]> {
        let left: Vec<usize> = self.prices.iter().map(|price| price.2).collect();
        let mut all = Vec::new();
        self.all(0, &left, 0.0, (0.0, 0.0), &mut all);
        let preferable = |a: &[f64; 3], b: &[f64; 3]| {
            let no_worse = a[0] >= b[0] * (1.0 - 1e-9) && a[1] <= b[1] && a[2] <= b[2];
            no_worse && (a[0] > b[0] * (1.0 + 1e-9) || a[1] < b[1] || a[2] < b[2])
        };
        let mut front: Vec<[f64; 3]> = all
            .iter()
            .filter(|one| !all.iter().any(|other| preferable(other, one)))
            .copied()
            .collect();
        in_order(&mut front);
        front.dedup_by(|a, b| (a[0] - b[0]).abs() < 1e-9 * b[0] && a[1..] == b[1..]);
        front
    }
}

/// Sorts by gain, area and power; gains differ by what sums in another order do.
fn in_order(points: &mut [[f64; 3]]) {
    points.sort_by(|a, b| {
        let gain = |one: &[f64; 3]| (one[0] * 1e6).round();
        gain(a)
            .total_cmp(&gain(b))
            .then(a[1].total_cmp(&b[1]))
            .then(a[2].total_cmp(&b[2]))
    });
}

fn small() -> impl Strategy<Value = Small> {
    let sizes = (1_usize..=4, 1_usize..=3);
    sizes.prop_flat_map(|(stages, kinds)| {
        let able = prop::collection::vec(prop::collection::vec((1_u32..8, 0_u8..8), stages), kinds);
        let prices = prop::collection::vec((1_u32..6, 1_u32..6, 1_usize..=3), kinds);
        (able, prices).prop_map(move |(able, prices)| {
            let mut cycles: Vec<Vec<f64>> = able
                .iter()
                .map(|stages| {
                    let one = |&(cycles, able): &(u32, u8)| {
                        if able == 0 {
                            f64::INFINITY
                        } else {
                            f64::from(cycles)
                        }
                    };
                    stages.iter().map(one).collect()
                })
                .collect();
            // Gains are relative to the first kind.
            cycles[0] = able[0]
                .iter()
                .map(|&(cycles, _)| f64::from(cycles))
                .collect();
            Small {
                cycles,
                prices,
                stages,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_front_is_that_of_all_mappings(small in small()) {
        let plan = small.plan();
        prop_assert!(plan.reduced.is_none());
        let expected = small.front();
        let mut found: Vec<[f64; 3]> = plan.front.iter().map(|one| [one.gain, one.area, one.power]).collect();
        in_order(&mut found);
        prop_assert_eq!(found.len(), expected.len(), "{:?} {:?}", found, expected);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found[0] - expected[0]).abs() < 1e-9 * expected[0], "{:?} {:?}", found, expected);
            prop_assert_eq!(&found[1..], &expected[1..]);
        }
        // What a mapping is said to give is what its text, read again, gives.
        let mut text = small.text();
        for (at, one) in plan.front.iter().enumerate() {
            text.push_str(&format!("[[mapping]]\nname = \"m{at}\"\nruns = \"{}\"\n", one.text));
        }
        let steps: Vec<(&str, f64)> = (0..small.stages).map(|_| ("step", 1.0)).collect();
        if plan.front.len() <= 100 {
            let again = planned(&text, &steps).unwrap();
            for (one, given) in plan.front.iter().zip(&again.given) {
                prop_assert!(given.on_front, "{}", given.text);
                prop_assert_eq!((one.gain, one.area, one.power), (given.gain, given.area, given.power));
            }
        }
    }
}

/// Sixty-four stages, and kinds with many elements.
fn large(numbers: &[u32]) -> Plan {
    let mut text = String::new();
    for (at, number) in numbers.iter().enumerate() {
        let speed = at + 1;
        text.push_str(&format!(
            "[[kind]]\nname = \"k{at}\"\nspeed = {speed}\narea = {}\npower = {}\nnumber = {number}\n",
            speed * speed,
            8 - speed,
        ));
    }
    planned(&text, &crate::passes()).unwrap()
}

#[test]
fn a_large_problem_is_made_smaller_and_says_so() {
    let plan = large(&[40, 30, 20, 3]);
    let reduced = plan.reduced.as_ref().unwrap();
    assert!(reduced.contains("'k0' is taken by"), "{reduced}");
    let again = large(&[40, 30, 20, 3]);
    let texts = |plan: &Plan| {
        plan.front
            .iter()
            .map(|one| one.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&plan), texts(&again));
    for pair in plan.front.windows(2) {
        assert!(pair[0].gain <= pair[1].gain);
        assert!(
            pair[0].area < pair[1].area
                || pair[0].power < pair[1].power
                || pair[0].gain == pair[1].gain
        );
    }
    assert!(evener_planning::text(&plan).contains("There are too many mappings"));
}

#[test]
fn many_elements_of_few_kinds_with_one_stage_are_exact() {
    let text = "[[kind]]\nname = \"a\"\narea = 1\npower = 1\nnumber = 1000\n\
                [[kind]]\nname = \"b\"\nspeed = 3\narea = 2\npower = 4\nnumber = 1000\n";
    let plan = planned(text, &[("search", 1.0)]).unwrap();
    assert!(plan.reduced.is_none());
    let fastest = plan.front.last().unwrap();
    assert_eq!(fastest.text, "all on 1000 a + 1000 b");
    assert!((fastest.gain - 4000.0).abs() < 1e-6);
    assert!(plan.front.len() <= 1000 && plan.left_out > 1000);
}
