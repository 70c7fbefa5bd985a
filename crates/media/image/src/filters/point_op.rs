//! Fusion of pointwise stages: two become one that gives the same bits.

use std::sync::Arc;

use super::point::point_stage;
use crate::kernels::pointwise::PointOp;
use crate::stage::Stage;

/// 1 where v > t, else 0.
#[derive(Debug)]
struct Step(f32);

point_stage!(
    Step,
    "step",
    1.0,
    |this, v| if v > this.0 { 1.0 } else { 0.0 },
    |this| PointOp::Step(this.0)
);

/// The stage that gives 1 where v > t, else 0.
pub fn step(t: f32) -> Arc<dyn Stage> {
    Arc::new(Step(t))
}

/// One stage that gives the same as `first` and then `second`, if one is known.
pub fn join(first: &dyn Stage, second: &dyn Stage) -> Option<Arc<dyn Stage>> {
    let t = match (first.point_op(), second.point_op()) {
        (PointOp::Rising, PointOp::Step(u)) => {
            let above = |v: f32| first.combine(0, 0, &[v]) > u;
            (!above(f32::MIN)).then(|| last_not_above(above))?
        }
        (first, second) => match joined(first, second)? {
            PointOp::Step(t) => t,
            _ => return None,
        },
    };
    Some(step(t))
}

/// The operation that gives the same as `first` and then `second`, if there is one.
pub(super) fn joined(first: PointOp, second: PointOp) -> Option<PointOp> {
    match (first, second) {
        // What is kept is above t; 0 is not above u.
        (PointOp::Above(t), PointOp::Step(u)) if u >= 0.0 => Some(PointOp::Step(t.max(u))),
        _ => None,
    }
}

/// The largest number that is not `above`, or the least of all numbers if every one is. `above` holds for all numbers from
/// some number on.
pub(super) fn last_not_above(above: impl Fn(f32) -> bool) -> f32 {
    let (mut low, mut high) = (order(f32::MIN), order(f32::INFINITY));
    if !above(f32::INFINITY) {
        return f32::INFINITY;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if above(value(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    value(low)
}

/// The rank of a number among all numbers. Neighbours differ by 1, and so do -0 and 0.
fn order(v: f32) -> i64 {
    let bits = v.to_bits();
    let magnitude = i64::from(bits & 0x7fff_ffff);
    if v.is_sign_negative() {
        -magnitude - 1
    } else {
        magnitude
    }
}

fn value(order: i64) -> f32 {
    if order < 0 {
        f32::from_bits((-order - 1) as u32 | 0x8000_0000)
    } else {
        f32::from_bits(order as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Chroma, ColourRange, Depth, Format};
    use crate::graph::{Graph, Planes};

    fn stages(text: &str) -> Vec<Arc<dyn Stage>> {
        let format = Format {
            width: 4,
            height: 4,
            chroma: Chroma::Mono,
            depth: Depth::F32,
            range: ColourRange::Full,
        };
        let bound = Graph::parse(text)
            .unwrap()
            .bind(&format, Planes::Luma)
            .unwrap();
        bound.planes[0]
            .nodes
            .iter()
            .map(|n| n.stage.clone())
            .collect()
    }

    #[test]
    fn numbers_are_in_order() {
        let numbers = [
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            -0.0,
            0.0,
            1e-45,
            0.5,
            f32::MAX,
        ];
        for pair in numbers.windows(2) {
            assert!(order(pair[0]) < order(pair[1]), "{pair:?}");
        }
        assert!(
            numbers
                .iter()
                .all(|&v| value(order(v)).to_bits() == v.to_bits())
        );
    }

    #[test]
    fn joined_stages_give_the_same_bits() {
        for text in [
            "threshold=0.25,binary",
            "threshold=-0.5,binary",
            "posterize=8,binary",
            "posterize=7,threshold=0.3,binary",
            "posterize=2,threshold=3,binary",
        ] {
            let mut stages = stages(text);
            let chain = stages.clone();
            while stages.len() > 1 {
                let second = stages.pop().unwrap();
                let first = stages.pop().unwrap();
                stages.push(join(&*first, &*second).unwrap_or_else(|| panic!("{text}")));
            }
            let near = [
                0.0,
                0.25,
                0.3,
                0.5,
                1.0,
                3.0,
                2.0 / 7.0,
                3.0 / 7.0,
                1.0 / 8.0,
                1.0 / 6.0,
                -0.5,
            ];
            let values = near
                .iter()
                .flat_map(|v: &f32| [v.next_down(), *v, v.next_up(), -v])
                .chain((-2000..4000).map(|i| i as f32 / 1000.0))
                .chain([
                    f32::NAN,
                    f32::INFINITY,
                    f32::NEG_INFINITY,
                    f32::MAX,
                    f32::MIN,
                    -0.0,
                ]);
            for v in values {
                let expected = chain.iter().fold(v, |v, s| s.combine(0, 0, &[v]));
                let got = stages[0].combine(0, 0, &[v]);
                assert_eq!(got.to_bits(), expected.to_bits(), "{text} of {v}");
            }
        }
    }

    #[test]
    fn others_are_left_alone() {
        for text in [
            "binary,threshold",
            "threshold=0.5:keep=below,binary",
            "threshold,posterize",
        ] {
            let stages = stages(text);
            assert!(join(&*stages[0], &*stages[1]).is_none(), "{text}");
        }
    }
}
