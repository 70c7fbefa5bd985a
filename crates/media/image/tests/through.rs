//! Graphs between readers and writers of video, as the library's users join them.

use std::io::Cursor;

use evener_image::graph::{Graph, GraphError, Planes};
use evener_image::io::y4m;
use evener_image::structures::TILED;
use evener_runtime::stream::StreamError;
use evener_runtime::{Choice, Runtime};

const HEADER: &str = "YUV4MPEG2 W64 H48 F30000:1001 Ip A1:1 C420jpeg\n";

fn video(frames: usize) -> y4m::Reader<Cursor<Vec<u8>>> {
    let mut bytes = HEADER.as_bytes().to_vec();
    for n in 0..frames {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend((0..64 * 48 * 3 / 2).map(|i| (i * 7 + n) as u8));
    }
    y4m::Reader::new(Cursor::new(bytes), "video").unwrap()
}

fn header(writer: &y4m::Writer<Vec<u8>>) -> String {
    let line = writer.get_ref().split(|&b| b == b'\n').next().unwrap();
    String::from_utf8(line.to_vec()).unwrap()
}

#[test]
fn five_lines_filter_a_video_and_keep_what_its_header_says() {
    let rt = Runtime::new().unwrap();
    let graph = Graph::parse("undistort,rotate=6,crop=0.5").unwrap();
    let mut out = y4m::Writer::new(Vec::new(), "out");
    let report = rt.stream(video(5)).through(graph).into(&mut out).unwrap();
    assert_eq!((report.units, out.frames()), (5, 5));
    let header = header(&out);
    for tag in ["W32", "H24", "F30000:1001", "A1:1", "C420jpeg"] {
        assert!(header.split(' ').any(|t| t == tag), "no {tag} in {header}");
    }
}

#[test]
fn planes_are_chosen_before() {
    let rt = Runtime::new().unwrap();
    let graph = Graph::parse("blur").unwrap().on(Planes::Luma);
    let mut out = y4m::Writer::new(Vec::new(), "out");
    rt.stream(video(2)).through(graph).into(&mut out).unwrap();
    assert!(header(&out).contains("Cmono"), "{}", header(&out));
}

#[test]
fn a_graph_that_does_not_fit_says_so_in_its_own_type() {
    let rt = Runtime::new().unwrap();
    let graph = Graph::parse("crop=640:480:0:0").unwrap();
    let mut out = y4m::Writer::new(Vec::new(), "out");
    let error = rt
        .stream(video(2))
        .through(graph)
        .into(&mut out)
        .unwrap_err();
    assert!(matches!(error, StreamError::Bind { .. }), "{error}");
    let cause = error.cause::<GraphError>();
    assert!(
        matches!(cause, Some(GraphError::Impossible { .. })),
        "{error}"
    );
    assert!(out.get_ref().is_empty());
}

#[test]
fn services_are_told_apart_by_graph_format_and_planes() {
    let rt = Runtime::new().unwrap();
    let key = |graph: &str, planes| {
        let graph = Graph::parse(graph).unwrap().on(planes);
        let choice = Choice::Fixed {
            structure: TILED.to_string(),
            dispatch: None,
            grain: None,
        };
        let mut out = y4m::Writer::new(Vec::new(), "out");
        let stream = rt.stream(video(1)).through(graph).plan(choice);
        stream.into(&mut out).unwrap().service
    };
    let keys = [
        key("threshold", Planes::Auto),
        key("threshold", Planes::Each),
        key("threshold=0.4", Planes::Auto),
    ];
    assert_eq!(keys[0], key("threshold=t=0.5", Planes::Auto));
    assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
    assert!(keys.iter().all(|key| key.contains("64x48")), "{keys:?}");
}
