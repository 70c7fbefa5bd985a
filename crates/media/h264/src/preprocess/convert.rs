//! Frames of any format as 8 bits, 4:2:0 and even sizes.

use std::ops::Range;

use evener_image::frame::Samples;
use evener_image::{Chroma, Depth, Format, Frame};

/// The code of grey chroma.
const GREY: u8 = 128;

/// How frames of a format become such of 8 bits, 4:2:0 and even sizes.
///
/// A sample is the mean of those it stands for, rounded once, halves up. Of odd sizes the last column or row is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    from: Format,
    to: Format,
}

impl Conversion {
    /// `None` if nothing is to be done.
    pub fn of(from: &Format) -> Option<Conversion> {
        let to = Format {
            width: from.width.next_multiple_of(2),
            height: from.height.next_multiple_of(2),
            chroma: Chroma::C420,
            depth: Depth::U8,
            range: from.range,
        };
        (to != *from).then_some(Conversion { from: *from, to })
    }

    /// The format of the results.
    pub fn output(&self) -> &Format {
        &self.to
    }

    /// What changes, as a part of a sentence about the frames; `None` if no more than grey chroma is added.
    pub fn note(&self) -> Option<String> {
        let mut changes = Vec::new();
        match self.from.chroma {
            Chroma::C422 => changes.push("4:2:2 becomes 4:2:0".to_owned()),
            Chroma::C444 => changes.push("4:4:4 becomes 4:2:0".to_owned()),
            Chroma::Rgb => {
                changes.push("red, green and blue are taken for luma and chroma".to_owned())
            }
            Chroma::Mono | Chroma::C420 => {}
        }
        if let Some(bits @ 9..) = self.from.depth.bits() {
            changes.push(format!("{bits} bits become 8"));
        }
        if (self.from.width, self.from.height) != (self.to.width, self.to.height) {
            changes.push(format!(
                "{}x{} becomes {}x{} by repeating the last {}",
                self.from.width,
                self.from.height,
                self.to.width,
                self.to.height,
                match (self.from.width % 2, self.from.height % 2) {
                    (1, 1) => "column and row",
                    (1, _) => "column",
                    _ => "row",
                }
            ));
        }
        (!changes.is_empty()).then(|| changes.join(", "))
    }

    /// Where chroma samples lie afterwards, if that changes: those of 4:4:4 are taken together in the middle.
    pub fn centres_chroma(&self) -> bool {
        self.from.chroma == Chroma::C444
    }

    /// Makes some rows of chroma, and twice as many of luma.
    pub fn rows(&self, rows: Range<usize>, from: &Frame, to: &Frame) {
        let luma = 2 * rows.start..2 * rows.end;
        self.plane(0, (1, 1), luma, from, to);
        if self.from.chroma == Chroma::Mono {
            for plane in [1, 2] {
                if let Samples::U8(samples) = to.plane(plane) {
                    samples.write(rows.clone()).fill(GREY);
                }
            }
            return;
        }
        let (across, down) = self.from.chroma.subsampling();
        let take = (2 / across as usize, 2 / down as usize);
        for plane in [1, 2] {
            self.plane(plane, take, rows.clone(), from, to);
        }
    }

    /// Makes rows of a plane, each sample from `take` of them across and down.
    fn plane(
        &self,
        plane: usize,
        take: (usize, usize),
        rows: Range<usize>,
        from: &Frame,
        to: &Frame,
    ) {
        let Samples::U8(target) = to.plane(plane) else {
            return;
        };
        let width = self.to.plane_size(plane).w as usize;
        let size = self.from.plane_size(plane);
        let size = (size.w as usize, size.h as usize);
        let mut target = target.write(rows.clone());
        let lines = target.chunks_mut(width).zip(rows);
        match from.plane(plane) {
            Samples::U8(samples) => {
                let samples = samples.read();
                lines.for_each(|(to, y)| mean(&samples, size, take, 0, y, to));
            }
            Samples::U16(samples) => {
                let samples = samples.read();
                lines.for_each(|(to, y)| mean(&samples, size, take, 2, y, to));
            }
            // No file has them.
            Samples::F32(_) => {}
        }
    }
}

/// Row `y` of means of `take` samples across and down, less `bits` bits.
fn mean<T: Copy + Into<u32>>(
    from: &[T],
    (width, height): (usize, usize),
    take: (usize, usize),
    bits: u32,
    y: usize,
    to: &mut [u8],
) {
    let row = |y: usize| {
        let y = y.min(height - 1);
        &from[y * width..(y + 1) * width]
    };
    let (upper, lower) = (row(y * take.1), row(y * take.1 + take.1 - 1));
    // A row that is taken once counts twice, so that the shift is the same.
    let shift = bits + 1 + take.0.ilog2();
    let half = (1 << shift) >> 1;
    let rounded = |sum: u32| ((sum + half) >> shift).min(255) as u8;
    if take.0 == 1 {
        let pairs = upper.iter().zip(lower);
        for (to, (&a, &b)) in to.iter_mut().zip(pairs) {
            *to = rounded(a.into() + b.into());
        }
    } else {
        let pairs = upper.chunks_exact(2).zip(lower.chunks_exact(2));
        for (to, (a, b)) in to.iter_mut().zip(pairs) {
            *to = rounded(a[0].into() + a[1].into() + b[0].into() + b[1].into());
        }
    }
    // The last sample of an odd width: by itself, or repeated.
    let done = width / take.0;
    for to in to.iter_mut().skip(done) {
        let last = upper[width - 1].into() + lower[width - 1].into();
        *to = rounded(last * take.0 as u32);
    }
}
