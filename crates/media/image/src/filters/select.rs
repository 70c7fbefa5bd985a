//! `select`: the frames for which an expression is not 0.

use std::sync::Arc;

use super::{Arg, Entry, Filter, Role};
use crate::format::Video;
use crate::frame::{Frame, Samples};
use crate::graph::expression::{Expression, Names};
use crate::io::Error;
use crate::sequence::{Passing, Sequence, Shot, Upstream};

/// As in `setpts`.
const UNITS: f64 = 1e6;

const NAMES: Names = &[
    ("n", 0),
    ("t", 1),
    ("pts", 2),
    ("TB", 3),
    ("prev_t", 4),
    ("prev_pts", 5),
    ("selected_n", 6),
    ("prev_selected_n", 7),
    ("prev_selected_t", 8),
    ("prev_selected_pts", 9),
    ("start_t", 10),
    ("start_pts", 11),
    ("scene", SCENE),
];
const SCENE: usize = 12;

pub const ENTRY: Entry = Entry {
    name: "select",
    aliases: &[],
    about: "keep the frames for which an expression is not 0",
    args: &[Arg::length(
        "expr",
        Some("1"),
        "an expression of n, t, pts, TB, prev_t, prev_pts, selected_n, prev_selected_n, \
         prev_selected_t, prev_selected_pts, start_t, start_pts, scene",
    )
    .also(&["e"])],
    role: Role::EveryPlane,
    build: |args| {
        let keep = args.expression("expr", NAMES, &[])?;
        Ok(Box::new(Select { keep }))
    },
};

struct Select {
    keep: Expression,
}

impl Filter for Select {
    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }
}

impl Sequence for Select {
    fn start(&self, _: &[Video]) -> Box<dyn Passing> {
        Box::new(Selected {
            scene: self.keep.uses(SCENE).then(Scene::default),
            keep: self.keep.clone(),
            values: [f64::NAN; 13],
            n: 0,
            selected: 0,
        })
    }

    fn is_steady_after(&self, _: bool) -> bool {
        false
    }
}

struct Selected {
    keep: Expression,
    scene: Option<Scene>,
    values: [f64; 13],
    n: u64,
    selected: u64,
}

impl Passing for Selected {
    fn next(&mut self, upstream: &mut dyn Upstream) -> Result<Option<Shot>, Error> {
        while let Some(shot) = upstream.next(0)? {
            let v = &mut self.values;
            v[4] = v[1];
            v[5] = v[2];
            v[0] = self.n as f64;
            v[1] = shot.time;
            v[2] = shot.time * UNITS;
            v[3] = 1.0 / UNITS;
            v[6] = self.selected as f64;
            if self.n == 0 {
                v[10] = shot.time;
                v[11] = shot.time * UNITS;
            }
            if let Some(scene) = &mut self.scene {
                v[SCENE] = shot
                    .picture
                    .first_frame()
                    .map_or(0.0, |frame| scene.score(frame));
            }
            self.n += 1;
            if self.keep.value(v) != 0.0 {
                self.selected += 1;
                v[7] = v[0];
                v[8] = v[1];
                v[9] = v[2];
                return Ok(Some(shot));
            }
        }
        Ok(None)
    }
}

/// How much frames differ from those before them, as FFmpeg scores it: by the mean difference of luma, and by how much that
/// has changed.
#[derive(Default)]
struct Scene {
    before: Option<Arc<Frame>>,
    difference: f64,
}

impl Scene {
    fn score(&mut self, frame: &Arc<Frame>) -> f64 {
        let difference = self
            .before
            .as_ref()
            .map_or(0.0, |before| mean_difference(before, frame));
        let change = (difference - self.difference).abs();
        self.difference = difference;
        self.before = Some(frame.clone());
        (difference.min(change) / 100.0).clamp(0.0, 1.0)
    }
}

/// The mean difference of luma, in percent of the number of codes.
fn mean_difference(a: &Frame, b: &Frame) -> f64 {
    let (sum, count, codes) = match (a.plane(0), b.plane(0)) {
        (Samples::U8(a), Samples::U8(b)) => {
            let (a, b) = (a.read(), b.read());
            let pairs = a.chunks(4096).zip(b.chunks(4096));
            let sums = pairs.map(|(a, b)| {
                let each = a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b)));
                u64::from(each.sum::<u32>())
            });
            (sums.sum::<u64>(), a.len(), 256.0)
        }
        (Samples::U16(x), Samples::U16(y)) => {
            let (x, y) = (x.read(), y.read());
            let each = x
                .iter()
                .zip(y.iter())
                .map(|(a, b)| u64::from(a.abs_diff(*b)));
            let bits = a.format().depth.bits().unwrap_or(16);
            (each.sum(), x.len(), f64::from(1u32 << bits))
        }
        _ => return 0.0,
    };
    sum as f64 * 100.0 / count.max(1) as f64 / codes
}
