//! Planes of test samples, and stages evaluated by their definition.

use std::ops::Range;

use evener_image::Size;
use evener_image::geometry::Rect;
use evener_image::row_view::RowView;
use evener_image::stage::Stage;

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high - 1`.
    pub fn range(&mut self, low: i32, high: i32) -> i32 {
        low + (self.next() % (high - low) as u64) as i32
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}

/// Values where kernels go wrong first: ends, halves, levels of posterize, what gradients reach.
const EDGES: [f32; 12] = [
    0.0,
    1.0,
    0.5,
    0.25,
    0.125,
    1.0 / 255.0,
    254.0 / 255.0,
    -1.0,
    -4.0,
    5.656_854,
    f32::MIN_POSITIVE,
    0.500_000_06,
];

/// A whole plane.
pub struct Plane {
    pub size: Size,
    pub samples: Vec<f32>,
}

impl Plane {
    /// Values from 0 to 1, or mostly `EDGES`.
    pub fn random(size: Size, rng: &mut Rng, edges: bool) -> Plane {
        let mut sample = || {
            if edges && rng.range(0, 4) > 0 {
                EDGES[rng.range(0, 12) as usize]
            } else {
                rng.unit()
            }
        };
        let samples = (0..size.area()).map(|_| sample()).collect();
        Plane { size, samples }
    }

    /// A sample, the nearest one for positions outside.
    pub fn at(&self, x: i32, y: i32) -> f32 {
        let x = x.clamp(0, self.size.w as i32 - 1) as usize;
        let y = y.clamp(0, self.size.h as i32 - 1) as usize;
        self.samples[y * self.size.w as usize + x]
    }

    pub fn lines(&self) -> RowView<'_> {
        RowView::plane(&self.samples, self.size.w as usize, Rect::of(self.size))
    }
}

/// A ring that holds a window of a plane; whatever else lies in it is NaN.
pub struct Ring {
    samples: Vec<f32>,
    stride: usize,
    whole: bool,
    rect: Rect,
    first: i32,
}

impl Ring {
    /// Holds of `plane` the `columns` of each row of `needed`, with a random number of rows, margin and start, half of
    /// the time one after the other without a ring.
    pub fn random(
        plane: &Plane,
        needed: Rect,
        columns: impl Fn(i32) -> Range<i32>,
        rng: &mut Rng,
    ) -> Ring {
        let mut rect = needed;
        if !needed.is_empty() {
            let all = Rect::of(plane.size);
            let mut more = |most: i32| rng.range(0, 4).min(most);
            rect.x0 -= more(rect.x0);
            rect.y0 -= more(rect.y0);
            rect.x1 += more(all.x1 - rect.x1);
            rect.y1 += more(all.y1 - rect.y1);
        }
        let stride = rect.width() + rng.range(0, 5) as usize;
        let first = rng.range(0, rect.y0.max(0) + 1);
        let whole = rng.range(0, 2) == 0;
        let slots = if whole {
            (rect.y1 - first).max(1) as usize
        } else {
            rect.height().next_power_of_two() << rng.range(0, 2)
        };
        let mut samples = vec![f32::NAN; slots * stride];
        for y in rect.y0..rect.y1 {
            let start = (y - first) as usize % slots * stride;
            let columns = columns(y);
            for x in (rect.x0..rect.x1).filter(|x| clamped(&columns, plane.size.w).contains(x)) {
                samples[start + (x - rect.x0) as usize] = plane.at(x, y);
            }
        }
        Ring {
            samples,
            stride,
            whole,
            rect,
            first,
        }
    }

    pub fn lines(&self) -> RowView<'_> {
        let lines = if self.whole {
            RowView::block
        } else {
            RowView::ring
        };
        lines(&self.samples, self.stride, self.rect, self.first)
    }
}

/// Columns of a plane that a read of `columns` means: beyond an edge, that edge.
fn clamped(columns: &Range<i32>, width: u32) -> Range<i32> {
    let end = width as i32;
    columns.start.clamp(0, end - 1)..columns.end.clamp(1, end)
}

/// Output (x, y) by the definition: the samples at the taps, combined.
pub fn defined(stage: &dyn Stage, inputs: &[Plane], x: i32, y: i32) -> f32 {
    let mut taps = Vec::new();
    stage.taps(x, y, &mut taps);
    let samples: Vec<f32> = inputs
        .iter()
        .flat_map(|p| taps.iter().map(|&(x, y)| p.at(x, y)))
        .collect();
    stage.combine(x, y, &samples)
}

/// The whole output by the definition.
pub fn defined_plane(stage: &dyn Stage, inputs: &[Plane], size: Size) -> Plane {
    let samples = (0..size.h as i32)
        .flat_map(|y| (0..size.w as i32).map(move |x| (x, y)))
        .map(|(x, y)| defined(stage, inputs, x, y))
        .collect();
    Plane { size, samples }
}
