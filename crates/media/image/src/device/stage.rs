//! What a device does for a stage.

use crate::geometry::Rect;
use crate::kernels::pointwise::PointOp;

/// What a device does for a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceStage {
    /// Maps each sample by itself: done as the kernel before it stores, or the one after it loads.
    Point(Operation),
    /// Moves samples: done by addressing.
    View(View),
    /// Kernels, one after the other. All but the last give a plane of the size of the stage's input.
    Kernels(Vec<Kernel>),
}

impl DeviceStage {
    /// A stage that is one kernel.
    pub fn kernel(name: &'static str, parameters: Vec<u32>) -> DeviceStage {
        DeviceStage::Kernels(vec![Kernel::new(name, parameters)])
    }
}

/// A kernel of `filters.c`.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name there.
    pub name: &'static str,
    /// What it reads at `FILTERS_OWN`. Floats are given by their bits.
    pub parameters: Vec<u32>,
    /// Whether it takes square roots.
    pub sqrt: bool,
}

impl Kernel {
    /// A kernel that takes no roots.
    pub fn new(name: &'static str, parameters: Vec<u32>) -> Kernel {
        Kernel {
            name,
            parameters,
            sqrt: false,
        }
    }
}

/// A function of one sample: a case of `filters_operate` in `filters.c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// v where v > t, else 0.
    Above(f32),
    /// v where v < t, else 0.
    Below(f32),
    /// 1 where v > t, else 0.
    Step(f32),
    /// So many levels.
    Posterize(f32),
}

impl Operation {
    /// That of a pointwise stage, as far as fusion knows it.
    pub fn of(op: PointOp) -> Option<Operation> {
        match op {
            PointOp::Above(t) => Some(Operation::Above(t)),
            PointOp::Step(t) => Some(Operation::Step(t)),
            PointOp::Rising | PointOp::Other => None,
        }
    }

    /// Its number in `filters.c`, and its parameter.
    pub(super) fn words(self) -> [u32; 2] {
        let (number, parameter) = match self {
            Operation::Above(t) => (0, t),
            Operation::Below(t) => (1, t),
            Operation::Step(t) => (2, t),
            Operation::Posterize(levels) => (3, levels),
        };
        [number, parameter.to_bits()]
    }

    /// Whether it divides.
    pub(super) fn divides(self) -> bool {
        matches!(self, Operation::Posterize(_))
    }
}

/// Output (x, y) is input (x.0 + x.1 · x, y.0 + y.1 · y). The factors are 1 or -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Of columns.
    pub x: (i32, i32),
    /// Of rows.
    pub y: (i32, i32),
}

impl View {
    /// The input itself.
    pub const SAME: View = View {
        x: (0, 1),
        y: (0, 1),
    };

    /// The view through `self` of what is seen through `before`.
    #[must_use]
    pub(super) fn after(self, before: View) -> View {
        let axis = |a: (i32, i32), b: (i32, i32)| (b.0 + b.1 * a.0, b.1 * a.1);
        View {
            x: axis(self.x, before.x),
            y: axis(self.y, before.y),
        }
    }

    /// The input of the outputs in `out`.
    pub(super) fn source(&self, out: Rect) -> Rect {
        let axis = |(at, step): (i32, i32), low: i32, end: i32| {
            let ends = [at + step * low, at + step * (end - 1)];
            (ends[0].min(ends[1]), ends[0].max(ends[1]) + 1)
        };
        let (x0, x1) = axis(self.x, out.x0, out.x1);
        let (y0, y1) = axis(self.y, out.y0, out.y1);
        Rect { x0, y0, x1, y1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_follow_each_other() {
        // A plane of 10 columns, mirrored, without its first two columns, mirrored again.
        let mirror = |width: i32| View {
            x: (width - 1, -1),
            ..View::SAME
        };
        let crop = View {
            x: (2, 1),
            y: (3, 1),
        };
        let all = mirror(5).after(crop.after(mirror(10)));
        let out = Rect {
            x0: 0,
            y0: 0,
            x1: 5,
            y1: 2,
        };
        // Column 0 of the result is column 4 of the crop, 6 of the mirrored plane and 3 of the plane.
        assert_eq!(all.x, (3, 1));
        assert_eq!(
            all.source(out),
            Rect {
                x0: 3,
                y0: 3,
                x1: 8,
                y1: 5
            }
        );
        assert_eq!(mirror(10).source(out).x0..mirror(10).source(out).x1, 5..10);
        assert_eq!(View::SAME.after(crop), crop);
    }
}
