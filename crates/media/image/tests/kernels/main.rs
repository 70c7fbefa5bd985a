//! Every stage of every filter: each fast way to compute it gives the bits of its definition.
//!
//! Run with `--nocapture` for the time each takes.

mod planes;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use evener_image::filters;
use evener_image::filters::bwdif::{Bwdif, Field, Intra};
use evener_image::filters::fade::Fade;
use evener_image::format::Codes;
use evener_image::geometry::Rect;
use evener_image::graph::colour::Colour;
use evener_image::graph::plane::Node;
use evener_image::graph::{Graph, Planes};
use evener_image::kernels::STRIP;
use evener_image::kernels::pointwise::PointOp;
use evener_image::kernels::taps::{TapRun, blend_run};
use evener_image::stage::{Component, RowContext, Stage};
use evener_image::{Chroma, ColourRange, Depth, Format, Size};
use evener_runtime::Simd;
use planes::{Plane, Ring, Rng, defined, defined_plane};

/// Every filter, with arguments that take each of its paths.
const CASES: &[&str] = &[
    "blur",
    "gaussian=0.3",
    "gaussian",
    "gaussian=2.5",
    "gaussian=6",
    "sobel_x",
    "sobel_y",
    "sobel",
    "threshold",
    "threshold=0",
    "threshold=0.25:keep=below",
    "undistort",
    "undistort=k1=0.3:k2=-0.2",
    "undistort=k1=-1.5:k2=0.7",
    "undistort=k1=-1000:k2=1000",
    "undistort=k1=3e38:k2=-3e38",
    "crop",
    "crop=0.37",
    "crop=5:3:2:1",
    "crop=1:1:0:0",
    "rotate=0",
    "rotate=6",
    "rotate=30",
    "rotate=-60",
    "rotate=90",
    "rotate=180",
    "rotate=270",
    "rotate=1234.5",
    "resize=1:1",
    "resize=17:9",
    "resize=3:80",
    "resize=131:50",
    "resize=2:3",
    "resize=60:38",
    "posterize=2",
    "posterize",
    "posterize=255",
    "binary",
    "flip=h",
    "flip=v",
    "hflip",
    "vflip",
    "scale=31:-1",
    "scale=45:70",
    "scale=9:60:flags=lanczos",
    "scale=40:5:flags=area",
    "scale=80:3:flags=neighbor",
    "resize=50:30:bicubic+accurate_rnd",
    "gblur",
    "lenscorrection=0.3:0.8:-0.2:0.1",
    "transpose",
    "transpose=clock",
    "transpose=cclock",
    "transpose=clock_flip",
    "null",
    "rotate=30:white:1",
    "rotate=90:grow=1",
    "rotate=-200:0.25:1",
    "overlay=tests/fixtures/mark.pam:3:2",
    "overlay=tests/fixtures/mark.pam:W-w:-2",
    "pad",
    "pad=iw+7:ih+9:3:-1:gray",
    "pad=iw+70:ih:-1:0:blue",
    "eq",
    "eq=1.5:0.1:0.5:1.8",
    "eq=gamma=0.1",
    "unsharp",
    "unsharp=3:7:-1:5:3:2",
    "unsharp=23:23:5",
    "median",
    "median=planes=2",
    "denoise",
    "denoise=0.5",
    "deinterlace=keep=top",
    "deinterlace=keep=bottom",
    "boxblur",
    "boxblur=0:0:3:4",
    "boxblur='min(w,h)/2':3",
    "boxblur='min(w,h)/4':1:0",
    "avgblur",
    "avgblur=5:15:2",
    "avgblur=200",
    "negate",
    "negate=u+v",
    "lut",
    "lutyuv=y=negval:u='maxval+minval-val':v='clip(val*2-9,0,40000)'",
    "hue",
    "hue=s=-0.5:b=3",
    "eq=gamma_r=1.4:gamma_g=0.8:gamma_b=2:gamma_weight=0.6",
    "drawbox",
    "drawbox=5:-2:9:7:red@0.4:2",
    "drawbox=x=iw/3:y=ih/4:w=iw/3:color=white:t=fill",
    "vignette",
    "vignette=PI/2:w/3:-5:backward",
];

const SIZES: [(u32, u32); 13] = [
    (1, 1),
    (1, 7),
    (9, 1),
    (2, 2),
    (2, 40),
    (3, 5),
    (8, 8),
    (13, 11),
    (16, 3),
    (33, 21),
    (64, 4),
    (65, 17),
    (70, 40),
];

/// A stage to test, and where it comes from.
struct Subject {
    stage: Arc<dyn Stage>,
    input: Size,
    size: Size,
    text: String,
}

/// Operations that stages may fuse, among them one whose value everything is above.
const OPS: [PointOp; 4] = [
    PointOp::Above(0.25),
    PointOp::Above(-0.5),
    PointOp::Step(0.5),
    PointOp::Step(0.0),
];

fn of_op(op: PointOp, v: f32) -> f32 {
    match op {
        PointOp::Above(t) if v > t => v,
        PointOp::Step(t) if v > t => 1.0,
        _ => 0.0,
    }
}

/// What a stage becomes fused with an operation, and whether the operation comes first.
fn fused(stage: &dyn Stage) -> Vec<(Arc<dyn Stage>, PointOp, bool)> {
    let after = OPS.map(|op| stage.fuse_after(op).map(|s| (s, op, false)));
    let before = OPS.map(|op| stage.fuse_before(op).map(|s| (s, op, true)));
    after.into_iter().chain(before).flatten().collect()
}

/// The stages of a graph on a luma plane with fill 0 and a chroma plane with fill 0.5, and what they fuse into.
/// None where the filter cannot work on that size.
fn subjects(text: &str, size: Size) -> Vec<Subject> {
    let format = Format {
        width: size.w,
        height: size.h,
        chroma: Chroma::C444,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    let bound = match Graph::parse(text).unwrap().bind(&format, Planes::Auto) {
        Ok(bound) => bound,
        Err(error) => {
            let may = text.starts_with("crop") || text.starts_with("boxblur");
            assert!(may, "{text} on {size}: {error}");
            return Vec::new();
        }
    };
    let subject = |node: &Node, stage: &Arc<dyn Stage>, what: &str| Subject {
        stage: stage.clone(),
        input: node.input_size,
        size: node.size,
        text: format!("{text} on {size}, {what}{}", stage.name()),
    };
    let nodes = bound.planes[..2].iter().flat_map(|plane| &plane.nodes);
    nodes
        .flat_map(|node| {
            let own = (node.stage.clone(), "stage ");
            let plain = [Some(own), node.stage.fuse_inputs().map(|f| (f, "fused "))];
            let plain: Vec<_> = plain.into_iter().flatten().collect();
            let fused = plain.iter().flat_map(|(stage, _)| fused(&**stage));
            let fused: Vec<_> = fused.map(|(t, _, _)| (t, "fused ")).collect();
            let all = plain.into_iter().chain(fused);
            all.map(|(stage, what)| subject(node, &stage, what))
        })
        .collect()
}

fn all_subjects() -> impl Iterator<Item = Subject> {
    let sizes = || SIZES.iter().map(|&(w, h)| Size { w, h });
    CASES
        .iter()
        .flat_map(move |text| sizes().flat_map(move |size| subjects(text, size)))
        .chain(sizes().flat_map(unlisted))
}

/// Stages that no graph has by itself: those that read several frames or change with time.
fn unlisted(size: Size) -> Vec<Subject> {
    let plane = |depth| evener_image::stage::Plane {
        size,
        luma: size,
        subsampling: (1, 1),
        chroma_subsampling: (1, 1),
        component: Component::Luma,
        fill: 0.0,
        codes: Codes {
            depth,
            range: ColourRange::Limited,
            chroma: false,
        },
        aspect: 1.0,
    };
    let fade = Fade {
        out: true,
        start_frame: 0,
        frames: 8,
        start: 0.0,
        duration: 0.0,
        colour: Colour::parse("yellow").unwrap(),
    };
    let mut stages = vec![fade.stage(&plane(Depth::U8), fade.factor(3, 0.1)).unwrap()];
    for (top, second) in [(false, false), (false, true), (true, false), (true, true)] {
        let field = Field { top, second };
        stages.push(Bwdif::shared(&plane(Depth::F32), field));
        stages.push(Bwdif::shared(&plane(Depth::U8), field));
        stages.push(Intra::shared(&plane(Depth::U8), field));
    }
    let subject = |stage: Arc<dyn Stage>| Subject {
        text: format!("{stage:?} on {size}"),
        input: size,
        size,
        stage,
    };
    stages.into_iter().map(subject).collect()
}

fn inputs(subject: &Subject, rng: &mut Rng, edges: bool) -> Vec<Plane> {
    (0..subject.stage.inputs())
        .map(|_| Plane::random(subject.input, rng, edges))
        .collect()
}

#[track_caller]
fn assert_same(expected: &[f32], got: &[f32], context: impl Fn() -> String) {
    assert_eq!(expected.len(), got.len());
    let clash = expected
        .iter()
        .zip(got)
        .position(|(e, g)| e.to_bits() != g.to_bits());
    if let Some(i) = clash {
        panic!(
            "{}: output {i} is {:?}, defined as {:?}",
            context(),
            got[i],
            expected[i]
        );
    }
}

/// Filters that pass on frames, or whose stages are those of others or have pieces.
const WITHOUT_STAGES: &[&str] = &[
    "movie",
    "deinterlace",
    "bwdif",
    "yadif",
    "fade",
    "fps",
    "setpts",
    "trim",
    "select",
    "framestep",
    "reverse",
    "loop",
    "tpad",
    "tile",
    "format",
    "setsar",
    "setdar",
    "setfield",
    "settb",
    "fifo",
    "split",
    "hstack",
    "vstack",
    "xstack",
    "concat",
];

#[test]
fn every_filter_has_a_case() {
    for entry in filters::all() {
        if WITHOUT_STAGES.contains(&entry.name) {
            continue;
        }
        let named = |text: &&&str| text.split('=').next() == Some(entry.name);
        assert!(
            CASES.iter().find(named).is_some(),
            "{} has no case",
            entry.name
        );
    }
}

#[test]
fn rows_are_as_defined() {
    let mut rng = Rng(1);
    let mut rows = 0;
    for subject in all_subjects() {
        for edges in [false, true] {
            let inputs = inputs(&subject, &mut rng, edges);
            let whole = defined_plane(&*subject.stage, &inputs, subject.size);
            for simd in Simd::levels() {
                for _ in 0..4 {
                    check_segment(&subject, &inputs, &whole, simd, &mut rng);
                    rows += 1;
                }
            }
        }
    }
    assert!(rows > 4000, "only {rows} rows were compared");
}

/// One random segment of a row, from whole planes and from rings.
fn check_segment(subject: &Subject, inputs: &[Plane], whole: &Plane, simd: Simd, rng: &mut Rng) {
    let (w, h) = (subject.size.w as i32, subject.size.h as i32);
    let whole_row = rng.range(0, 3) == 0;
    let y = rng.range(0, h);
    let x0 = if whole_row { 0 } else { rng.range(0, w) };
    let x1 = if whole_row {
        w
    } else {
        rng.range(x0 + 1, w + 1)
    };
    let count = rng.range(1, STRIP as i32 + 1).min(h - y);
    let rect = Rect {
        x0,
        y0: y,
        x1,
        y1: y + count,
    };
    let needed = subject.stage.source(rect).clamp_to(subject.input);
    let columns = |row: i32| subject.stage.source_columns(rect, row..row + 1);
    let rings: Vec<Ring> = inputs
        .iter()
        .map(|p| Ring::random(p, needed, columns, rng))
        .collect();
    let planes = inputs.iter().map(Plane::lines).collect::<Vec<_>>();
    let rings = rings.iter().map(Ring::lines).collect::<Vec<_>>();
    for (kind, lines) in [("plane", planes), ("ring", rings)] {
        let mut rows = vec![vec![f32::NAN; (x1 - x0) as usize]; count as usize];
        let mut out: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
        let mut temp = vec![f32::NAN; rng.range(0, 200) as usize];
        let mut context = RowContext {
            simd,
            temp: &mut temp,
        };
        subject.stage.rows(&mut context, &lines, y, x0, &mut out);
        for (row, y) in rows.iter().zip(y..) {
            let start = (y * w) as usize;
            let expected = &whole.samples[start + x0 as usize..start + x1 as usize];
            assert_same(expected, row, || {
                let held = lines[0].rect();
                format!(
                    "{}, {simd}, row {y} from {x0} to {x1}, {kind} {held:?}",
                    subject.text
                )
            });
        }
    }
}

#[test]
fn combine_run_is_combine() {
    let mut rng = Rng(2);
    for subject in all_subjects() {
        let Some(offsets) = subject.stage.offsets() else {
            continue;
        };
        let inputs = inputs(&subject, &mut rng, true);
        let y = rng.range(0, subject.size.h as i32);
        let x0 = rng.range(0, subject.size.w as i32);
        let n = subject.size.w as i32 - x0;
        let mut taps = Vec::new();
        subject.stage.taps(x0, y, &mut taps);
        let moved: Vec<_> = offsets.iter().map(|(dx, dy)| (x0 + dx, y + dy)).collect();
        assert_eq!(taps, moved, "{}", subject.text);
        // Tap after tap, each for all outputs of the run.
        let xs = || x0..x0 + n;
        let mut samples = Vec::new();
        for input in &inputs {
            for (dx, dy) in &offsets {
                samples.extend(xs().map(|x| input.at(x + dx, y + dy)));
            }
        }
        let expected: Vec<f32> = xs()
            .map(|x| defined(&*subject.stage, &inputs, x, y))
            .collect();
        for simd in Simd::levels() {
            let mut out = vec![f32::NAN; n as usize];
            subject.stage.combine_run(simd, &samples, &mut out);
            assert_same(&expected, &out, || {
                format!("{}, {simd}, row {y} from {x0}", subject.text)
            });
        }
    }
}

#[test]
fn resampled_runs_have_the_taps_and_the_value_of_each_output() {
    let mut rng = Rng(7);
    let mut runs = 0;
    for subject in all_subjects() {
        let Some(resample) = subject.stage.resample() else {
            continue;
        };
        let inputs = inputs(&subject, &mut rng, false);
        let n = rng.range(1, 80) as usize;
        let mut anywhere = |end: u32| (0..n).map(|_| rng.range(0, end as i32)).collect();
        let xs: Vec<i32> = anywhere(subject.size.w);
        let ys: Vec<i32> = anywhere(subject.size.h);
        for simd in Simd::levels() {
            let mut run = TapRun::default();
            resample.taps_run(simd, &xs, &ys, &mut run);
            let place = |i: usize, dx, dy| (run.x[i] + dx, run.y[i] + dy);
            let offsets = [(0, 0), (1, 0), (0, 1), (1, 1)];
            let mut samples = Vec::new();
            for (dx, dy) in offsets {
                samples.extend((0..n).map(|i| {
                    let (x, y) = place(i, dx, dy);
                    inputs[0].at(x, y)
                }));
            }
            let mut blended = vec![f32::NAN; n];
            blend_run(simd, &samples, &run.fx, &run.fy, &mut blended);
            for i in 0..n {
                let context = || format!("{}, {simd}, output {}, {}", subject.text, xs[i], ys[i]);
                let mut taps = Vec::new();
                subject.stage.taps(xs[i], ys[i], &mut taps);
                let some = offsets.map(|(dx, dy)| place(i, dx, dy)).to_vec();
                let expected_taps = if run.x[i] < 0 { Vec::new() } else { some };
                assert_eq!(taps, expected_taps, "{}", context());
                let got = if run.x[i] < 0 {
                    resample.fill()
                } else {
                    blended[i]
                };
                assert_same(
                    &[defined(&*subject.stage, &inputs, xs[i], ys[i])],
                    &[got],
                    context,
                );
            }
            runs += 1;
        }
    }
    assert!(runs > 0);
}

#[test]
fn points_map_and_apply_as_defined() {
    let mut rng = Rng(3);
    let mut points = 0;
    for subject in all_subjects() {
        let Some(point) = subject.stage.point() else {
            continue;
        };
        points += 1;
        for simd in Simd::levels() {
            let inputs = inputs(&subject, &mut rng, true);
            let whole = defined_plane(&*subject.stage, &inputs, subject.size);
            let mut mapped = vec![f32::NAN; whole.samples.len()];
            point.map(simd, &inputs[0].samples, &mut mapped);
            assert_same(&whole.samples, &mapped, || {
                format!("{}, {simd}, map", subject.text)
            });
            let mut applied = inputs[0].samples.clone();
            point.apply(simd, &mut applied);
            assert_same(&whole.samples, &applied, || {
                format!("{}, {simd}, apply", subject.text)
            });
        }
    }
    assert!(points > 0);
}

#[test]
fn translations_are_copies() {
    let mut rng = Rng(4);
    for subject in all_subjects() {
        let Some((dx, dy)) = subject.stage.translation() else {
            continue;
        };
        let inputs = inputs(&subject, &mut rng, false);
        for y in 0..subject.size.h as i32 {
            for x in 0..subject.size.w as i32 {
                let got = defined(&*subject.stage, &inputs, x, y);
                assert_eq!(
                    got,
                    inputs[0].at(x + dx, y + dy),
                    "{} at {x}, {y}",
                    subject.text
                );
            }
        }
    }
}

#[test]
fn a_fused_stage_is_the_stages_it_replaces() {
    let mut rng = Rng(5);
    for (w, h) in SIZES {
        let size = Size { w, h };
        let format = Format {
            width: w,
            height: h,
            chroma: Chroma::Mono,
            depth: Depth::F32,
            range: ColourRange::Full,
        };
        let bound = Graph::parse("sobel")
            .unwrap()
            .bind(&format, Planes::Auto)
            .unwrap();
        let nodes = &bound.planes[0].nodes;
        let [x, y, magnitude] = [0, 1, 2].map(|i| nodes[i].stage.clone());
        let source = [Plane::random(size, &mut rng, true)];
        let gradients = [x, y].map(|stage| defined_plane(&*stage, &source, size));
        let expected = defined_plane(&*magnitude, &gradients, size);
        let fused = magnitude.fuse_inputs().expect("sobel has a fused stage");
        let got = defined_plane(&*fused, &source, size);
        assert_same(&expected.samples, &got.samples, || {
            format!("fused sobel on {size}")
        });
    }
}

#[test]
fn a_fused_stage_is_the_two_stages_it_replaces() {
    let mut rng = Rng(7);
    let mut compared = (0, 0);
    for subject in all_subjects() {
        let inputs = inputs(&subject, &mut rng, true);
        for (stage, op, first) in fused(&*subject.stage) {
            let mapped = |plane: &Plane| Plane {
                size: plane.size,
                samples: plane.samples.iter().map(|&v| of_op(op, v)).collect(),
            };
            let plane =
                |stage: &dyn Stage, inputs: &[Plane]| defined_plane(stage, inputs, subject.size);
            let expected = if first {
                let fused: Vec<Plane> = inputs.iter().map(mapped).collect();
                plane(&*subject.stage, &fused)
            } else {
                mapped(&plane(&*subject.stage, &inputs))
            };
            let got = plane(&*stage, &inputs);
            assert_same(&expected.samples, &got.samples, || {
                format!("{} with {op:?}, before: {first}", subject.text)
            });
            *(if first {
                &mut compared.0
            } else {
                &mut compared.1
            }) += 1;
        }
    }
    assert!(compared.0 > 100 && compared.1 > 100, "{compared:?}");
}

/// Prints the time per sample of every kernel beside that of its definition.
#[test]
fn timings() {
    let size = Size { w: 640, h: 8 };
    let mut rng = Rng(6);
    for text in CASES {
        let mut seen = Vec::new();
        let of_text = match *text {
            "null" => unlisted(size),
            _ => subjects(text, size),
        };
        for subject in of_text {
            if seen.contains(&subject.stage.name()) {
                continue;
            }
            seen.push(subject.stage.name());
            let inputs = inputs(&subject, &mut rng, false);
            let lines: Vec<_> = inputs.iter().map(Plane::lines).collect();
            let (w, h) = (subject.size.w as usize, subject.size.h as i32);
            let samples = w.min(16);
            let definition = nanoseconds(samples, || {
                for x in 0..samples as i32 {
                    black_box(defined(&*subject.stage, &inputs, x, h / 2));
                }
            });
            let mut line = format!("{:40} definition {definition:9.2}", subject.text);
            for simd in Simd::levels() {
                let (mut temp, mut out) = (Vec::new(), vec![0.0; w]);
                let row = nanoseconds(w, || {
                    let mut context = RowContext {
                        simd,
                        temp: &mut temp,
                    };
                    subject.stage.row(&mut context, &lines, h / 2, 0, &mut out);
                    black_box(&out);
                });
                line += &format!("  {simd} {row:7.2}");
            }
            println!("{line}  ns/sample");
        }
    }
}

/// The shortest of some runs, per sample.
fn nanoseconds(samples: usize, mut run: impl FnMut()) -> f64 {
    let one = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e9
    };
    (0..8).map(one).fold(f64::INFINITY, f64::min) / samples as f64
}
