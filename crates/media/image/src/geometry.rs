//! Rectangles of samples.

use crate::format::Size;

/// Half-open rectangle of sample positions; may reach outside a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rect {
    /// First column.
    pub x0: i32,
    /// First row.
    pub y0: i32,
    /// Column after the last.
    pub x1: i32,
    /// Row after the last.
    pub y1: i32,
}

impl Rect {
    /// The whole of a plane.
    #[inline]
    pub fn of(size: Size) -> Rect {
        Rect {
            x0: 0,
            y0: 0,
            x1: size.w as i32,
            y1: size.h as i32,
        }
    }

    /// No samples.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.x0 >= self.x1 || self.y0 >= self.y1
    }

    /// Columns, 0 when empty.
    #[inline]
    pub fn width(&self) -> usize {
        (self.x1 - self.x0).max(0) as usize
    }

    /// Rows, 0 when empty.
    #[inline]
    pub fn height(&self) -> usize {
        (self.y1 - self.y0).max(0) as usize
    }

    /// Moved by (dx, dy).
    pub fn shift(&self, dx: i32, dy: i32) -> Rect {
        Rect {
            x0: self.x0 + dx,
            y0: self.y0 + dy,
            x1: self.x1 + dx,
            y1: self.y1 + dy,
        }
    }

    /// Grown by `dx` columns and `dy` rows on either side.
    #[inline]
    pub fn grow(&self, dx: i32, dy: i32) -> Rect {
        Rect {
            x0: self.x0 - dx,
            y0: self.y0 - dy,
            x1: self.x1 + dx,
            y1: self.y1 + dy,
        }
    }

    /// The smallest rectangle holding both; an empty one counts for nothing.
    #[inline]
    pub fn union(&self, other: &Rect) -> Rect {
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        Rect {
            x0: self.x0.min(other.x0),
            y0: self.y0.min(other.y0),
            x1: self.x1.max(other.x1),
            y1: self.y1.max(other.y1),
        }
    }

    /// What both have.
    pub fn intersect(&self, other: &Rect) -> Rect {
        Rect {
            x0: self.x0.max(other.x0),
            y0: self.y0.max(other.y0),
            x1: self.x1.min(other.x1),
            y1: self.y1.min(other.y1),
        }
    }

    /// The samples of a plane that this reads when reads beyond an edge repeat the edge sample.
    pub fn clamp_to(&self, size: Size) -> Rect {
        if self.is_empty() || size.area() == 0 {
            return Rect::default();
        }
        let (w, h) = (size.w as i32, size.h as i32);
        Rect {
            x0: self.x0.clamp(0, w - 1),
            y0: self.y0.clamp(0, h - 1),
            x1: self.x1.clamp(1, w),
            y1: self.y1.clamp(1, h),
        }
    }
}
