//! What is copied, launched and made on a device.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use evener_image::geometry::Rect;
use evener_image::graph::bind::{Bound, Planes};
use evener_image::graph::parse::Graph;
use evener_image::graph::plane::{PlaneGraph, Port};
use evener_image::pipelines::find;
use evener_image::stage::Stage;
use evener_image::{Chroma, ColourRange, Depth, Format};
use evener_runtime::Service;
use evener_runtime::device::{Buffer, Command, DeviceError, Lane};

use super::{LIMIT, random, service, used};

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    up: usize,
    down: usize,
    launches: Vec<&'static str>,
    units: u32,
}

/// A lane that computes nothing.
#[derive(Default)]
struct Recorder {
    buffers: Vec<usize>,
    runs: Arc<Mutex<Vec<Seen>>>,
    /// Whether its commands come in the order that [`Lane::run`] asks for.
    made: Arc<Mutex<Vec<usize>>>,
}

impl Lane for Recorder {
    fn buffer(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.buffers.push(bytes);
        self.made.lock().unwrap().push(bytes);
        Ok(Buffer {
            index: self.buffers.len() as u32 - 1,
            bytes,
        })
    }

    fn run(&mut self, commands: &mut [Command<'_>], _: Duration) -> Result<(), DeviceError> {
        let mut seen = Seen::default();
        for command in commands {
            match command {
                Command::Upload { to, at, from } => {
                    assert!(seen.down == 0 && seen.launches.is_empty());
                    assert!(at.checked_add(from.len()).unwrap() <= to.bytes);
                    seen.up += from.len();
                }
                Command::Launch(launch) => {
                    assert!(seen.down == 0);
                    seen.launches.push(launch.kernel);
                    seen.units += launch.units;
                }
                Command::Download { from, at, to } => {
                    assert!(at.checked_add(to.len()).unwrap() <= from.bytes);
                    seen.down += to.len();
                }
            }
        }
        self.runs.lock().unwrap().push(seen);
        Ok(())
    }
}

fn hd() -> Format {
    Format {
        width: 1920,
        height: 1080,
        chroma: Chroma::C420,
        depth: Depth::U8,
        range: ColourRange::Limited,
    }
}

/// What a run of `units` units is, and the buffers of the lane, the first of which has the parameters.
fn seen(text: &str, format: &Format, units: usize) -> (Seen, Vec<usize>) {
    let bound = Graph::parse(text)
        .unwrap()
        .bind(format, Planes::Auto)
        .unwrap();
    let service = service(&bound, text);
    let recorder = Recorder::default();
    let (runs, made) = (Arc::clone(&recorder.runs), Arc::clone(&recorder.made));
    let mut lane = service.device().unwrap().begin(Box::new(recorder)).unwrap();
    let inputs: Vec<_> = (0..units).map(|i| random(format, i as u32)).collect();
    let outputs: Vec<_> = inputs.iter().map(|_| used(&service, &bound)).collect();
    let (inputs, outputs): (Vec<_>, Vec<_>) = inputs.iter().zip(&outputs).unzip();
    lane.run(&inputs, &outputs, LIMIT).unwrap();
    let seen = runs.lock().unwrap().last().unwrap().clone();
    (seen, made.lock().unwrap().clone())
}

#[test]
fn graphs_become_few_launches() {
    for (name, launches) in [
        ("A", &["filters_blur", "filters_sobel"][..]),
        ("B", &["filters_radial", "filters_affine"].repeat(3)),
        ("C", &["filters_radial", "filters_affine"].repeat(3)),
        ("D", &["filters_copy"]),
        ("E", &["filters_affine"]),
        ("F", &["filters_affine"]),
        ("G", &["filters_affine"]),
    ] {
        let (seen, _) = seen(find(name).unwrap().text, &hd(), 1);
        assert_eq!(seen.launches, launches, "{name}");
        assert_eq!(seen.units, 1);
    }
    let (seen, _) = seen(
        "flip=h,crop=0.5,threshold,gaussian,flip=v,posterize,resize=100:100",
        &hd(),
        1,
    );
    assert_eq!(
        seen.launches,
        [
            "filters_smooth",
            "filters_smooth",
            "filters_shrink",
            "filters_shrink"
        ]
    );
}

#[test]
fn what_is_not_needed_is_not_copied() {
    let luma = 1920 * 1080;
    let frame = luma + luma / 2;
    let moved = |text: &str| {
        let (seen, _) = seen(text, &hd(), 1);
        (seen.up, seen.down)
    };
    assert_eq!(moved("blur"), (frame, frame));
    // Chroma is grey.
    assert_eq!(moved("sobel"), (luma, luma));
    // The rows of the crop, in whole width.
    let half = 960 * 540;
    assert_eq!(moved("crop=0.5"), (1920 * 540 * 3 / 2, half + half / 2));
    // What is beyond the edge of a crop is not read.
    assert_eq!(moved("crop=0.5,flip=v,blur").0, 1920 * 540 * 3 / 2);
    // A row more above and below, on each plane.
    assert_eq!(moved("blur,crop=0.5").0, 1920 * 542 + 2 * 960 * 272);
    // Nothing but fill.
    let corner = 16 * 16 * 3 / 2;
    assert_eq!(moved("blur,rotate=45,crop=16:16:0:0"), (0, corner));
}

#[test]
fn memory_is_made_once_a_lane() {
    let luma = 1920 * 1080;
    let (_, made) = seen("blur,sobel_x,gaussian", &hd(), 1);
    // Parameters, two planes of floats, one plane in and out; chroma is grey.
    assert_eq!(made[1..], [4 * luma, 4 * luma, luma, luma]);
    let (_, made) = seen("blur", &hd(), 1);
    assert_eq!(made.len(), 1 + 2 * 3);
}

#[test]
fn small_units_share_a_launch() {
    let small = Format {
        width: 352,
        height: 288,
        ..hd()
    };
    let most = |text: &str, format: &Format| {
        let bound = Graph::parse(text)
            .unwrap()
            .bind(format, Planes::Auto)
            .unwrap();
        service(&bound, text).device().unwrap().most_units()
    };
    assert_eq!(most("rotate=6", &hd()), 1);
    assert_eq!(most("rotate=6", &small), 6);
    assert_eq!(most("sobel", &small), 10);
    let tiny = Format {
        width: 8,
        height: 8,
        ..hd()
    };
    assert_eq!(most("sobel", &tiny), 16);
    let (seen, _) = seen("blur,sobel,threshold", &small, 5);
    assert_eq!(seen.launches, ["filters_blur", "filters_sobel"]);
    assert_eq!(seen.units, 5);
    assert_eq!((seen.up, seen.down), (5 * 352 * 288, 5 * 352 * 288));
}

#[test]
fn a_program_needs_the_arithmetic_of_its_graph() {
    let needs = |text: &str| {
        let bound = Graph::parse(text)
            .unwrap()
            .bind(&hd(), Planes::Auto)
            .unwrap();
        let needs = service(&bound, text).device().unwrap().program().needs;
        assert!(needs.integer && needs.float && needs.fma && needs.convert);
        (needs.divide, needs.sqrt)
    };
    assert_eq!(needs("undistort,rotate=6,gaussian"), (false, false));
    assert_eq!(needs("blur,sobel"), (false, true));
    assert_eq!(needs("posterize"), (true, false));
    assert_eq!(needs("sobel,posterize"), (true, true));
    // All three are one step.
    assert_eq!(needs("posterize,threshold,binary"), (false, false));
}

/// A stage that is for cores alone.
#[derive(Debug)]
struct OnCores;

impl Stage for OnCores {
    fn name(&self) -> &'static str {
        "on cores"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x, y));
    }

    fn combine(&self, _: i32, _: i32, samples: &[f32]) -> f32 {
        samples[0]
    }

    fn source(&self, out: Rect) -> Rect {
        out
    }

    fn weight(&self) -> f64 {
        1.0
    }
}

#[test]
fn graphs_with_other_stages_stay_on_cores() {
    let bound = Graph::parse("blur")
        .unwrap()
        .bind(&hd(), Planes::Luma)
        .unwrap();
    let with = |change: &dyn Fn(&mut PlaneGraph)| {
        let mut bound: Bound = bound.clone();
        change(&mut bound.planes[0]);
        service(&bound, "").device().is_some()
    };
    assert!(with(&|_| {}));
    let size = bound.planes[0].size;
    assert!(!with(&|graph| {
        graph.push(Arc::new(OnCores), &[Port::Stage(0)], size);
    }));
    // Two stages that read one.
    assert!(!with(&|graph| {
        let blur = graph.nodes[0].stage.clone();
        graph.push(blur.clone(), &[Port::Stage(0)], size);
        graph.push(blur, &[Port::Stage(0)], size);
    }));
    // Nothing to compute.
    assert!(!with(&|graph| graph.end(Port::Constant(0.5), graph.size)));
}
