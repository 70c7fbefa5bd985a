//! Pipelines with the element, and pads that are driven by hand.

use std::sync::Once;

use evener_image::frame::Frame;
use evener_image::graph::{Graph, Planes};
use evener_image::{Chroma, ColourRange, Depth, Format};
use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::{Dispatch, Plan, Runtime, Service};
use gst::prelude::*;
use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrame, VideoInfo};

fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        gst::init().unwrap();
        gstevener::plugin_register_static().unwrap();
    });
}

/// Bytes of the planes of a buffer, without padding.
fn planes(buffer: &gst::Buffer, info: &VideoInfo, format: &Format) -> Vec<Vec<u8>> {
    let frame = VideoFrame::from_buffer_readable(buffer.clone(), info).unwrap();
    let plane = |p: usize| {
        let size = format.plane_size(p);
        let (row, stride) = (
            size.w as usize * format.depth.bytes(),
            frame.plane_stride()[p] as usize,
        );
        let data = frame.plane_data(p as u32).unwrap();
        let rows = (0..size.h as usize).flat_map(|y| &data[y * stride..][..row]);
        rows.copied().collect()
    };
    (0..format.planes()).map(plane).collect()
}

/// What the definition of a graph gives.
fn expected(graph: &str, format: &Format, input: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let graph = Graph::parse(graph).unwrap();
    let service = graph.service(format, Planes::Auto).unwrap();
    let mut frame = Frame::new(format);
    for (p, plane) in input.iter().enumerate() {
        frame.plane_bytes_mut(p).copy_from_slice(plane);
    }
    let output = service.output();
    let plan = Plan {
        structure: &SEQUENTIAL,
        dispatch: Dispatch::Fifo,
        grain: 1000,
        workers: 1,
        devices: 0,
    };
    let runtime = Runtime::builder().workers(1).build().unwrap();
    runtime.execute(&service, &plan, &frame, &output).unwrap();
    let planes = 0..service.output_format().planes();
    planes.map(|p| output.plane_bytes(p).to_vec()).collect()
}

/// All buffers that a pipeline of frames gives before and after the element, with their times.
fn run(caps: &str, graph: &str, frames: u32) -> [Vec<(gst::Buffer, VideoInfo)>; 2] {
    begin();
    let text = format!(
        "videotestsrc pattern=ball num-buffers={frames} ! {caps} ! tee name=t \
         t. ! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0 ! appsink name=before sync=false \
         t. ! queue ! evenerfilter graph={graph} workers=2 ! appsink name=after sync=false"
    );
    let pipeline = gst::parse::launch(&text).unwrap();
    let pipeline = pipeline.downcast::<gst::Bin>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let pull = |name: &str| {
        let sink = pipeline.by_name(name).unwrap();
        let mut buffers = Vec::new();
        while let Some(sample) = sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[]) {
            let info = VideoInfo::from_caps(sample.caps().unwrap()).unwrap();
            buffers.push((sample.buffer_owned().unwrap(), info));
        }
        buffers
    };
    let both = [pull("before"), pull("after")];
    pipeline.set_state(gst::State::Null).unwrap();
    both
}

#[test]
fn results_are_those_of_the_definition_in_every_format() {
    for (name, chroma, depth) in [
        (VideoFormat::Gray8, Chroma::Mono, Depth::U8),
        (VideoFormat::I420, Chroma::C420, Depth::U8),
        (VideoFormat::Y42b, Chroma::C422, Depth::U8),
        (VideoFormat::Y444, Chroma::C444, Depth::U8),
        (VideoFormat::I42010le, Chroma::C420, Depth::U10),
        (VideoFormat::I42210le, Chroma::C422, Depth::U10),
        (VideoFormat::Y44410le, Chroma::C444, Depth::U10),
    ] {
        // Widths that GStreamer pads.
        for (graph, width, height) in [
            ("blur,sobel,threshold=0.25", 93, 61),
            ("rotate=30,crop=0.7", 321, 240),
        ] {
            let caps =
                format!("video/x-raw,format={name},width={width},height={height},framerate=25/1");
            let [before, after] = run(&caps, &format!("\"{graph}\""), 30);
            assert_eq!((before.len(), after.len()), (30, 30), "{caps}");
            for ((input, of_input), (output, of_output)) in before.iter().zip(&after) {
                assert_eq!(
                    (input.pts(), input.duration()),
                    (output.pts(), output.duration())
                );
                let range = match of_input.colorimetry().range() {
                    gst_video::VideoColorRange::Range0_255 => ColourRange::Full,
                    _ => ColourRange::Limited,
                };
                let format = Format {
                    width,
                    height,
                    chroma,
                    depth,
                    range,
                };
                let wanted = expected(graph, &format, &planes(input, of_input, &format));
                let written = Format {
                    width: of_output.width(),
                    height: of_output.height(),
                    ..format
                };
                assert!(
                    planes(output, of_output, &written) == wanted,
                    "{caps} {graph}"
                );
                assert_eq!(of_output.fps(), of_input.fps());
            }
        }
    }
}

/// The element with both pads linked to a harness of `appsrc` and `appsink`.
fn driven(graph: &str) -> (gst::Pipeline, gst::Element, gst::Element) {
    begin();
    let text = format!(
        "appsrc name=in format=time ! evenerfilter name=f graph=\"{graph}\" ! appsink name=out sync=false"
    );
    let pipeline = gst::parse::launch(&text)
        .unwrap()
        .downcast::<gst::Pipeline>()
        .unwrap();
    let (from, to) = (
        pipeline.by_name("in").unwrap(),
        pipeline.by_name("out").unwrap(),
    );
    (pipeline, from, to)
}

fn info(width: u32, height: u32) -> VideoInfo {
    let builder = VideoInfo::builder(VideoFormat::Gray8, width, height);
    builder.fps(gst::Fraction::new(25, 1)).build().unwrap()
}

fn sample(info: &VideoInfo, number: u64) -> gst::Sample {
    let mut buffer = gst::Buffer::with_size(info.size()).unwrap();
    let changed = buffer.make_mut();
    changed.set_pts(gst::ClockTime::from_mseconds(40 * number));
    changed.map_writable().unwrap().fill(number as u8);
    gst::Sample::builder()
        .buffer(&buffer)
        .caps(&info.to_caps().unwrap())
        .build()
}

fn push(source: &gst::Element, sample: &gst::Sample) {
    let flow = source.emit_by_name::<gst::FlowReturn>("push-sample", &[sample]);
    assert_eq!(flow, gst::FlowReturn::Ok);
}

fn pull(sink: &gst::Element) -> Option<(u32, Option<gst::ClockTime>)> {
    let wait = gst::ClockTime::from_seconds(10);
    let sample =
        sink.emit_by_name::<Option<gst::Sample>>("try-pull-sample", &[&wait.nseconds()])?;
    let info = VideoInfo::from_caps(sample.caps().unwrap()).unwrap();
    Some((info.width(), sample.buffer().unwrap().pts()))
}

#[test]
fn another_size_begins_when_all_results_of_the_one_before_are_out() {
    let (pipeline, source, sink) = driven("blur");
    pipeline.set_state(gst::State::Playing).unwrap();
    for number in 0..60 {
        let width = 64 + 16 * (number / 20) as u32;
        push(&source, &sample(&info(width, 48), number));
    }
    let flow = source.emit_by_name::<gst::FlowReturn>("end-of-stream", &[]);
    assert_eq!(flow, gst::FlowReturn::Ok);
    for number in 0..60 {
        let width = 64 + 16 * (number / 20) as u32;
        let time = gst::ClockTime::from_mseconds(40 * number);
        assert_eq!(pull(&sink), Some((width, Some(time))), "{number}");
    }
    assert_eq!(pull(&sink), None);
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn a_seek_drops_what_is_under_way_and_frames_go_on() {
    begin();
    let text = "videotestsrc ! video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1 \
                ! evenerfilter graph=blur ! appsink name=out sync=false max-buffers=4";
    let pipeline = gst::parse::launch(text).unwrap();
    let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
    let sink = pipeline.by_name("out").unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    for round in 1..20 {
        for _ in 0..round {
            assert!(pull(&sink).is_some());
        }
        let to = gst::ClockTime::from_seconds(1000 * round);
        pipeline.seek_simple(gst::SeekFlags::FLUSH, to).unwrap();
        assert_eq!(pull(&sink), Some((64, Some(to))));
    }
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn a_pipeline_stops_at_any_time() {
    for pulls in 0..8 {
        let (pipeline, source, sink) = driven("blur");
        pipeline.set_state(gst::State::Playing).unwrap();
        for number in 0..30 {
            push(&source, &sample(&info(320, 240), number));
        }
        (0..pulls).for_each(|_| assert!(pull(&sink).is_some()));
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_graph_that_is_none_is_one_error() {
    let (pipeline, ..) = driven("blur,sobbel");
    assert!(pipeline.set_state(gst::State::Playing).is_err());
    let bus = pipeline.bus().unwrap();
    let error = bus.timed_pop_filtered(gst::ClockTime::SECOND, &[gst::MessageType::Error]);
    let error = format!("{:?}", error.unwrap());
    assert!(error.contains("did you mean `sobel`?"), "{error}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn the_latency_has_the_frames_in_work() {
    begin();
    let text = "videotestsrc is-live=true num-buffers=30 ! video/x-raw,width=64,height=48,framerate=50/1 \
                ! evenerfilter graph=blur workers=2 ! fakesink sync=true";
    let pipeline = gst::parse::launch(text).unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let end = [gst::MessageType::Eos, gst::MessageType::Error];
    // While it runs.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut query = gst::query::Latency::new();
    assert!(pipeline.query(&mut query));
    let (live, min, _) = query.result();
    assert!(live && min >= gst::ClockTime::from_mseconds(40), "{min}");
    let last = bus
        .timed_pop_filtered(gst::ClockTime::from_seconds(20), &end)
        .unwrap();
    assert_eq!(last.type_(), gst::MessageType::Eos);
    pipeline.set_state(gst::State::Null).unwrap();
}
