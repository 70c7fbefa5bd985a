//! The common parts of pointwise stages.

/// Makes `$stage` a pointwise [`Stage`](crate::stage::Stage) from the expression that maps one sample.
/// `|this, v| …` gives the value; it may read the fields of `this`. `|this| …` gives the
/// [`PointOp`](crate::kernels::pointwise::PointOp), if fusion knows it, and a second one the
/// [`Operation`](crate::device::Operation) of a device, if there is one that `PointOp` does not tell.
macro_rules! point_stage {
    ($stage:ty, $name:literal, $weight:literal, |$this:ident, $v:ident| $value:expr) => {
        point_stage!($stage, $name, $weight, |$this, $v| $value, |_this| {
            $crate::kernels::pointwise::PointOp::Other
        });
    };
    ($stage:ty, $name:literal, $weight:literal, |$this:ident, $v:ident| $value:expr,
     |$self:ident| $op:expr) => {
        point_stage!(
            $stage,
            $name,
            $weight,
            |$this, $v| $value,
            |$self| $op,
            |this| { $crate::device::Operation::of($crate::stage::Stage::point_op(this)) }
        );
    };
    ($stage:ty, $name:literal, $weight:literal, |$this:ident, $v:ident| $value:expr,
     |$self:ident| $op:expr, |$own:ident| $operation:expr) => {
        const _: () = {
            use $crate::for_each_level;
            use $crate::geometry::Rect;
            use $crate::row_view::RowView;
            use $crate::stage::{Point, RowContext, Stage};

            #[inline(always)]
            fn value($this: &$stage, $v: f32) -> f32 {
                $value
            }

            #[inline(always)]
            fn map_body(stage: &$stage, from: &[f32], to: &mut [f32]) {
                let n = to.len();
                let from = &from[..n];
                for i in 0..n {
                    to[i] = value(stage, from[i]);
                }
            }

            for_each_level! { pub fn map(stage: &$stage, from: &[f32], to: &mut [f32]) = map_body; }

            impl Point for $stage {
                fn map(&self, simd: evener_runtime::Simd, from: &[f32], to: &mut [f32]) {
                    map(simd, self, from, to);
                }
            }

            impl Stage for $stage {
                fn name(&self) -> &'static str {
                    $name
                }

                fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
                    taps.push((x, y));
                }

                fn offsets(&self) -> Option<Vec<(i32, i32)>> {
                    Some(vec![(0, 0)])
                }

                fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
                    value(self, samples[0])
                }

                fn combine_run(
                    &self,
                    simd: evener_runtime::Simd,
                    samples: &[f32],
                    out: &mut [f32],
                ) {
                    map(simd, self, samples, out);
                }

                fn source(&self, out: Rect) -> Rect {
                    out
                }

                fn row(
                    &self,
                    context: &mut RowContext<'_>,
                    input: &[RowView<'_>],
                    y: i32,
                    x0: i32,
                    out: &mut [f32],
                ) {
                    let from = (x0 - input[0].rect().x0) as usize;
                    map(
                        context.simd,
                        self,
                        &input[0].row(y)[from..from + out.len()],
                        out,
                    );
                }

                fn point(&self) -> Option<&dyn Point> {
                    Some(self)
                }

                fn point_op(&self) -> $crate::kernels::pointwise::PointOp {
                    let $self = self;
                    $op
                }

                fn device(&self) -> Option<$crate::device::DeviceStage> {
                    let $own = self;
                    $operation.map($crate::device::DeviceStage::Point)
                }

                fn weight(&self) -> f64 {
                    $weight
                }
            }
        };
    };
}

pub(super) use point_stage;
