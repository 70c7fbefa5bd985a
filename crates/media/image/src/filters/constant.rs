//! A plane of one value, for stages that read what is known beforehand.

use std::sync::Arc;

use crate::geometry::Rect;
use crate::row_view::RowView;
use crate::stage::{RowContext, Stage};

/// The stage that gives `value` everywhere.
pub fn stage(value: f32) -> Arc<dyn Stage> {
    Arc::new(Constant(value))
}

#[derive(Debug)]
struct Constant(f32);

impl Stage for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn taps(&self, _: i32, _: i32, _: &mut Vec<(i32, i32)>) {}

    fn reads(&self) -> usize {
        0
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, _: i32, _: i32, _: &[f32]) -> f32 {
        self.0
    }

    fn source(&self, _: Rect) -> Rect {
        Rect::default()
    }

    fn row(&self, _: &mut RowContext<'_>, _: &[RowView<'_>], _: i32, _: i32, out: &mut [f32]) {
        out.fill(self.0);
    }

    fn weight(&self) -> f64 {
        1.0
    }
}
