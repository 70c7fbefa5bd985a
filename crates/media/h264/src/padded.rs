//! Planes with a border that repeats the outermost samples, written row after row.

use evener_runtime::buffer::GrowingRows;

/// A plane of bytes and the border around it.
pub struct Padded {
    rows: GrowingRows<u8>,
    shape: Shape,
}

/// The size of a [`Padded`] plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a row without its border.
    pub width: usize,
    /// Rows without the border.
    pub height: usize,
    /// Bytes from a row to the next.
    pub stride: usize,
    /// Bytes of border on the left, and at least so many on the right.
    pub pad: usize,
    /// Rows of border above and below.
    pub pad_rows: usize,
    /// Bytes that make a sample of the border: 2 where two planes are interleaved.
    pub sample: usize,
}

/// The samples of a plane with its border, all of them, wherever they lie.
#[derive(Clone, Copy)]
pub struct Plane<'a> {
    /// Rows of the border above, of the plane, and of the border below.
    pub samples: &'a [u8],
    /// Its size.
    pub shape: Shape,
}

impl Shape {
    /// Bytes of a plane with its border.
    pub fn bytes(&self) -> usize {
        self.stride * (self.height + 2 * self.pad_rows)
    }

    /// The byte at `x`, `y` of the plane, where negative ones are in the border.
    #[inline]
    pub fn at(&self, x: i32, y: i32) -> usize {
        let (x, y) = (x + self.pad as i32, y + self.pad_rows as i32);
        debug_assert!(x >= 0 && y >= 0);
        y as usize * self.stride + x as usize
    }
}

impl Padded {
    /// A plane that nothing is known of.
    pub fn new(shape: Shape) -> Padded {
        assert!(shape.stride >= shape.width + 2 * shape.pad && shape.width >= shape.sample);
        Padded {
            rows: GrowingRows::zeroed(shape.stride, shape.height + 2 * shape.pad_rows),
            shape,
        }
    }

    /// Its size.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Forgets all rows.
    pub fn reset(&mut self) {
        self.rows.reset();
    }

    /// All rows so far, with those of the border.
    #[inline]
    pub fn read(&self) -> &[u8] {
        self.rows.read()
    }

    /// Rows so far, with those of the border.
    #[inline]
    pub fn published(&self) -> usize {
        self.rows.published()
    }

    /// The byte at `x`, `y` of the plane, where negative ones are in the border.
    #[inline]
    pub fn at(&self, x: i32, y: i32) -> usize {
        self.shape.at(x, y)
    }

    /// What is known of it.
    #[inline]
    pub fn plane(&self) -> Plane<'_> {
        Plane {
            samples: self.read(),
            shape: self.shape,
        }
    }

    /// Appends the next `count` rows of the plane. `fill` is called for each, with its number among them.
    ///
    /// The border above goes before the first row, and that below after the last one.
    pub fn append(&self, count: usize, mut fill: impl FnMut(usize, &mut [u8])) {
        let Shape {
            width,
            height,
            stride,
            pad,
            pad_rows,
            sample,
        } = self.shape;
        let before = self.rows.published();
        let first = before == 0;
        let done = if first { 0 } else { before - pad_rows };
        let last = done + count == height;
        assert!(done + count <= height, "row {} of {height}", done + count);
        let above = if first { pad_rows } else { 0 };
        let below = if last { pad_rows } else { 0 };
        let mut rows = self.rows.append(above + count + below);
        for i in 0..count {
            let row = &mut rows[(above + i) * stride..(above + i + 1) * stride];
            fill(i, &mut row[pad..pad + width]);
            let (left, rest) = row.split_at_mut(pad);
            let (inner, right) = rest.split_at_mut(width);
            repeat(left, &inner[..sample]);
            repeat(right, &inner[width - sample..]);
        }
        for i in 0..above {
            rows.copy_within(above * stride..(above + 1) * stride, i * stride);
        }
        let end = (above + count) * stride;
        for i in 0..below {
            rows.copy_within(end - stride..end, end + i * stride);
        }
    }
}

/// Fills `border` with copies of `sample`.
fn repeat(border: &mut [u8], sample: &[u8]) {
    match sample {
        &[value] => border.fill(value),
        _ => {
            for to in border.chunks_mut(sample.len()) {
                to.copy_from_slice(&sample[..to.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_repeats_what_is_beside_it() {
        let shape = Shape {
            width: 6,
            height: 5,
            stride: 12,
            pad: 2,
            pad_rows: 3,
            sample: 2,
        };
        let plane = Padded::new(shape);
        let mut next = 0u8;
        for count in [2, 3] {
            plane.append(count, |_, row| {
                for value in row {
                    *value = next;
                    next += 1;
                }
            });
        }
        assert_eq!(plane.published(), 11);
        let bytes = plane.read();
        for y in -3..8 {
            for x in (-2..10).step_by(2) {
                let (cx, cy) = (x.clamp(0, 4), y.clamp(0, 4));
                let expected = (cy * 6 + cx) as u8;
                let at = plane.at(x, y);
                assert_eq!(bytes[at..at + 2], [expected, expected + 1], "{x}, {y}");
            }
        }
    }
}
