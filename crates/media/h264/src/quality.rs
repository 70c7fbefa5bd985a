//! How close a reconstruction is to its source: squared differences, and structural similarity.

/// The samples of a plane.
#[derive(Clone, Copy)]
pub struct Plane<'a> {
    /// From the first sample on.
    pub samples: &'a [u8],
    /// From a row to the next.
    pub stride: usize,
    /// From a sample to the next in its row: 2 where two planes are interleaved.
    pub step: usize,
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl<'a> Plane<'a> {
    /// The same without the rows before `first`.
    fn from(self, first: usize) -> Plane<'a> {
        Plane {
            samples: &self.samples[first * self.stride..],
            height: self.height - first,
            ..self
        }
    }

    fn row(&self, y: usize) -> impl Iterator<Item = u8> + 'a {
        let row = &self.samples[y * self.stride..];
        row.iter().step_by(self.step).take(self.width).copied()
    }
}

/// The sum of squared differences of the samples of two planes of the same size.
pub fn ssd(a: Plane<'_>, b: Plane<'_>) -> u64 {
    let row = |y| -> u64 {
        let pairs = a.row(y).zip(b.row(y));
        // A row has at most 16,880 samples, so this fits.
        let sum: u32 = pairs.map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum();
        sum.into()
    };
    (0..a.height).map(row).sum()
}

/// Samples on a side of the windows of structural similarity.
pub const WINDOW: usize = 8;

/// Structural similarity as FFmpeg's filter `ssim` defines it: windows of 8x8 samples in steps of 4, all weighted alike.
///
/// A plane is divided in rows of windows, so that workers may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    columns: usize,
    /// Rows of windows.
    pub rows: usize,
}

/// Sums over some samples of two planes.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: i64,
    a: i64,
    b: i64,
    /// Of the squares of both.
    squares: i64,
    products: i64,
}

impl Windows {
    /// Those of planes of a size. Planes that are smaller than a window have none, so they have no similarity.
    pub fn of(width: usize, height: usize) -> Option<Windows> {
        let large = width >= WINDOW && height >= WINDOW;
        large.then(|| Windows {
            columns: width / 4 - 1,
            rows: height / 4 - 1,
        })
    }

    /// The sum of similarities of the windows of a row.
    pub fn row(&self, row: usize, a: Plane<'_>, b: Plane<'_>) -> f64 {
        let (a, b) = (a.from(4 * row), b.from(4 * row));
        let strip = |column| Sums::of(a, b, 4 * column);
        let mut before = strip(0);
        let next = |column: usize| {
            let strip = strip(column + 1);
            let window = std::mem::replace(&mut before, strip).and(strip);
            window.similarity()
        };
        (0..self.columns).map(next).sum()
    }

    /// The similarity of planes by the sums of their rows, which are added in order.
    pub fn mean(&self, rows: impl IntoIterator<Item = f64>) -> f64 {
        rows.into_iter().sum::<f64>() / (self.columns * self.rows) as f64
    }
}

impl Sums {
    /// Over four columns from `first` on, of the rows of a window.
    fn of(a: Plane<'_>, b: Plane<'_>, first: usize) -> Sums {
        let mut sums = Sums {
            count: 4 * WINDOW as i64,
            ..Sums::default()
        };
        for y in 0..WINDOW {
            let at = |plane: &Plane<'_>, x| plane.samples[y * plane.stride + x * plane.step];
            for x in first..first + 4 {
                let (a, b) = (i64::from(at(&a, x)), i64::from(at(&b, x)));
                sums.a += a;
                sums.b += b;
                sums.squares += a * a + b * b;
                sums.products += a * b;
            }
        }
        sums
    }

    fn and(self, other: Sums) -> Sums {
        Sums {
            count: self.count + other.count,
            a: self.a + other.a,
            b: self.b + other.b,
            squares: self.squares + other.squares,
            products: self.products + other.products,
        }
    }

    fn similarity(self) -> f64 {
        let count = self.count as f64;
        let constant = |k: f64, scale: f64| ((k * 255.0).powi(2) * scale + 0.5).floor();
        let c1 = constant(0.01, count);
        let c2 = constant(0.03, count * (count - 1.0));
        let variances = (self.squares * self.count - self.a * self.a - self.b * self.b) as f64;
        let covariance = (self.products * self.count - self.a * self.b) as f64;
        let (means, squares) = (self.a * self.b, self.a * self.a + self.b * self.b);
        (2.0 * means as f64 + c1) * (2.0 * covariance + c2)
            / ((squares as f64 + c1) * (variances + c2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(samples: &[u8], width: usize) -> Plane<'_> {
        Plane {
            samples,
            stride: width,
            step: 1,
            width,
            height: samples.len() / width,
        }
    }

    fn similarity(a: Plane<'_>, b: Plane<'_>) -> f64 {
        let windows = Windows::of(a.width, a.height).unwrap();
        windows.mean((0..windows.rows).map(|row| windows.row(row, a, b)))
    }

    #[test]
    fn differences_are_of_samples_of_their_plane_alone() {
        let (a, b) = ([1, 9, 2, 9, 9, 3, 9, 4, 9], [0, 7, 4, 7, 7, 3, 7, 7, 7]);
        let of = |samples| Plane {
            samples,
            stride: 5,
            step: 2,
            width: 2,
            height: 2,
        };
        assert_eq!(ssd(of(&a), of(&b)), 14);
        assert_eq!(ssd(plane(&[0; 9], 3), plane(&[255; 9], 3)), 9 * 65025);
    }

    #[test]
    fn the_same_is_1_and_the_inverse_is_below_0() {
        let ramp: Vec<u8> = (0..12 * 12).map(|i| (i * 37 % 251) as u8).collect();
        let inverse: Vec<u8> = ramp.iter().map(|v| 255 - v).collect();
        for width in [12, 9, 16] {
            assert_eq!(similarity(plane(&ramp, width), plane(&ramp, width)), 1.0);
            assert!(similarity(plane(&ramp, width), plane(&inverse, width)) < 0.0);
        }
    }

    #[test]
    fn planes_smaller_than_a_window_have_none() {
        assert_eq!(
            [Windows::of(7, 8), Windows::of(8, 7), Windows::of(1, 1)],
            [None; 3]
        );
        let one = Windows {
            columns: 1,
            rows: 1,
        };
        assert_eq!([Windows::of(8, 8), Windows::of(11, 9)], [Some(one); 2]);
    }
}
