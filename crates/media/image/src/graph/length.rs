//! Lengths and positions in samples, which are known when the size of frames is.

use std::fmt;

use super::expression::Expression;
use crate::sequence::Moment;
use crate::stage::Plane;

/// The largest side and the largest position.
const MOST: i64 = 65536;

/// What a length may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// A side: from 1 on.
    Side,
    /// A side, or -N: such that the aspect stays, rounded to a multiple of N.
    SideOrAspect,
    /// Columns or rows from the corner on: from 0 on.
    Inside,
    /// Columns or rows from the corner on, which may be negative.
    Anywhere,
}

impl Range {
    fn least(self) -> i64 {
        match self {
            Range::Side => 1,
            Range::Inside => 0,
            Range::SideOrAspect => -64,
            Range::Anywhere => -MOST,
        }
    }

    /// Whether a number, cut off, is in it.
    pub fn holds(self, number: f64) -> bool {
        let whole = number.trunc();
        let zero = self == Range::SideOrAspect && whole == 0.0;
        !zero && whole >= self.least() as f64 && whole <= MOST as f64
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::SideOrAspect => write!(
                f,
                "a whole number from 1 to {MOST}, or -1 to keep the aspect, -2 for an even one"
            ),
            _ => write!(f, "a whole number from {} to {MOST}", self.least()),
        }
    }
}

/// A length or a position.
#[derive(Clone, Debug)]
pub struct Length {
    pub(super) name: &'static str,
    /// As it was given, for messages.
    pub(super) text: String,
    pub(super) expression: Expression,
    pub(super) range: Range,
}

impl Length {
    /// The number of samples, a fraction cut off. `values` are those of the names that it may use.
    ///
    /// # Errors
    /// It is not in its range; the error says so in one line.
    pub fn samples(&self, values: &[f64]) -> Result<i64, String> {
        self.checked(self.expression.value(values))
    }

    /// [`Length::samples`] of a length that is not negative.
    ///
    /// # Errors
    /// As there.
    pub fn unsigned(&self, values: &[f64]) -> Result<u32, String> {
        Ok(u32::try_from(self.samples(values)?).unwrap_or(0))
    }

    /// Whether it changes with the number or the time of a frame, the names with values `n` and `t`.
    pub fn moves(&self, n: usize, t: usize) -> bool {
        self.expression.uses(n) || self.expression.uses(t)
    }

    /// The same at a moment.
    #[must_use]
    pub fn at(&self, (n, t): (usize, usize), moment: &Moment) -> Length {
        let expression = self.expression.with(n, moment.n as f64);
        Length {
            expression: expression.with(t, moment.t),
            text: self.text.clone(),
            ..*self
        }
    }

    /// The nearest number of samples, the even one of two, of a length that is not negative.
    ///
    /// # Errors
    /// As [`Length::samples`].
    pub fn nearest(&self, values: &[f64]) -> Result<u32, String> {
        let samples = self.checked(self.expression.value(values).round_ties_even())?;
        Ok(u32::try_from(samples).unwrap_or(0))
    }

    /// The value, whatever it is.
    pub fn value(&self, values: &[f64]) -> f64 {
        self.expression.value(values)
    }

    fn checked(&self, value: f64) -> Result<i64, String> {
        if self.range.holds(value) {
            return Ok(value as i64);
        }
        let (name, text) = (self.name, &self.text);
        Err(format!(
            "`{name}` = {text} is {value}; it must be {}",
            self.range
        ))
    }
}

/// The values of names of sizes. Those of the output are not known yet, and the moment is the first frame.
pub fn input(plane: &Plane) -> [f64; 11] {
    let [w, h] = [plane.luma.w, plane.luma.h].map(f64::from);
    let (x, y) = plane.chroma_subsampling;
    let (a, [x, y]) = (w / h, [x, y].map(f64::from));
    let none = f64::NAN;
    [
        w,
        h,
        a,
        x,
        y,
        none,
        none,
        0.0,
        0.0,
        plane.aspect,
        a * plane.aspect,
    ]
}

/// The same, for an output of `w` by `h` luma samples.
pub fn input_and_output(plane: &Plane, (w, h): (u32, u32)) -> [f64; 11] {
    let mut values = input(plane);
    (values[5], values[6]) = (f64::from(w), f64::from(h));
    values
}

/// The same, while only the height of the output is known.
pub fn input_and_height(plane: &Plane, height: &Length) -> [f64; 11] {
    let mut values = input(plane);
    values[6] = height.value(&values);
    values
}

/// The same, while only the width of the output is known.
pub fn input_and_width(plane: &Plane, w: u32) -> [f64; 11] {
    let mut values = input(plane);
    values[5] = f64::from(w);
    values
}
