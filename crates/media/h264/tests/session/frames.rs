//! Frames arrive as they are, or converted by definition.

use std::path::Path;

use evener_image::io::open_input;
use evener_image::{Frame, Timing};
use evener_testing::Folder;

use crate::{decoded, encode, encode_through, has_ffmpeg, probed};

/// The frames of an input, plane by plane, as numbers.
fn frames(input: &str) -> Vec<Vec<Vec<u32>>> {
    let mut input = open_input(input).unwrap();
    let mut frame = Frame::new(input.format());
    let wide = input.format().depth.bytes() == 2;
    let mut frames = Vec::new();
    while input.read(&mut frame).unwrap() {
        let plane = |p: usize| -> Vec<u32> {
            let bytes = frame.plane_bytes(p);
            match wide {
                true => bytes
                    .chunks(2)
                    .map(|b| u16::from_ne_bytes([b[0], b[1]]).into())
                    .collect(),
                false => bytes.iter().map(|&b| b.into()).collect(),
            }
        };
        frames.push((0..frame.format().planes()).map(plane).collect());
    }
    frames
}

/// A plane by definition: each sample the mean of those it stands for, in 8 bits. Beyond the last there is the last.
fn converted(
    plane: &[u32],
    (width, height): (usize, usize),
    (to_width, to_height): (usize, usize),
    (across, down): (usize, usize),
    bits: u32,
) -> Vec<u8> {
    let mut samples = Vec::new();
    for y in 0..to_height {
        for x in 0..to_width {
            let mut sum = 0;
            for dy in 0..down {
                for dx in 0..across {
                    let x = (x * across + dx).min(width - 1);
                    let y = (y * down + dy).min(height - 1);
                    sum += plane[y * width + x];
                }
            }
            let mean = f64::from(sum) / (across * down) as f64 / f64::from(1 << (bits - 8));
            samples.push((mean + 0.5).floor().min(255.0) as u8);
        }
    }
    samples
}

#[test]
fn every_format_and_size_is_converted_by_definition() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let out = folder.path("out.264");
    for (name, take, bits) in [
        ("420", (1, 1), 8),
        ("420p10", (1, 1), 10),
        ("422", (1, 2), 8),
        ("422p10", (1, 2), 10),
        ("444", (2, 2), 8),
        ("444p10", (2, 2), 10),
        ("mono", (0, 0), 8),
        ("mono10", (0, 0), 10),
    ] {
        for (w, h) in [
            (64usize, 48usize),
            (33, 21),
            (34, 16),
            (16, 35),
            (1, 1),
            (5, 2),
        ] {
            let input = format!("testsrc:{w}x{h}:3:{name}");
            encode(&input, &out).unwrap();
            let size = (w.div_ceil(2), h.div_ceil(2));
            let mut expected = Vec::new();
            for frame in frames(&input) {
                let luma = (2 * size.0, 2 * size.1);
                expected.extend(converted(&frame[0], (w, h), luma, (1, 1), bits));
                if take.0 == 0 {
                    expected.extend(vec![128; 2 * size.0 * size.1]);
                    continue;
                }
                let chroma = match name.get(..3) {
                    Some("444") => (w, h),
                    Some("422") => (size.0, h),
                    _ => size,
                };
                for plane in &frame[1..] {
                    expected.extend(converted(plane, chroma, size, take, bits));
                }
            }
            assert!(decoded(&out) == expected, "{input}");
        }
    }
}

#[test]
fn what_changes_is_told_in_one_line() {
    let notes = |input: &str| {
        let config = crate::config();
        let audio = evener_image::session::Audio::Copied;
        let session = evener_h264::session::Session::open(&config, None, input, "null:", audio);
        session.unwrap().notes().to_vec()
    };
    assert_eq!(notes("testsrc:64x48:1"), [""; 0]);
    assert_eq!(notes("testsrc:64x48:1:mono"), [""; 0]);
    assert_eq!(notes("testsrc:64x48:1:444"), ["4:4:4 becomes 4:2:0"]);
    assert_eq!(
        notes("testsrc:63x47:1:422p10"),
        [
            "4:2:2 becomes 4:2:0, 10 bits become 8, 63x47 becomes 64x48 by repeating the last column and row"
        ]
    );
}

#[test]
fn filters_run_first_in_the_same_stream() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let out = folder.path("out.264");
    for (graph, input) in [
        ("flip=v", "testsrc:64x48:4"),
        ("sobel", "testsrc:64x48:4"),
        ("crop=0.6,rotate=10", "testsrc:65x49:3:444p10"),
        ("blur", "testsrc:64x48:3:mono"),
    ] {
        let filtered = folder.path("filtered.y4m");
        let parsed = evener_image::graph::Graph::parse(graph).unwrap();
        let (planes, audio) = (
            evener_image::graph::Planes::Auto,
            evener_image::session::Audio::Copied,
        );
        evener_image::session::Session::open(&parsed, planes, input, &filtered, audio)
            .unwrap()
            .run(&crate::runtime(), Default::default())
            .unwrap();
        encode_through(Some(graph), input, &out).unwrap();
        let once = decoded(&out);
        encode(filtered.to_str().unwrap(), &out).unwrap();
        assert!(once == decoded(&out), "{graph}");
    }
}

#[test]
fn rate_aspect_range_and_siting_of_the_source_are_in_the_stream() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let frame = [b"FRAME\n".as_slice(), &[100; 64 * 48 * 3 / 2]].concat();
    let told = |tags: &str| {
        let header = format!("YUV4MPEG2 W64 H48 {tags}\n");
        let bytes = [header.as_bytes(), &frame, &frame].concat();
        let input = folder.file("in.y4m", bytes);
        let mut told = Vec::new();
        for name in ["out.264", "out.mp4"] {
            let out = folder.path(name);
            encode(input.to_str().unwrap(), &out).unwrap();
            let entries =
                "stream=sample_aspect_ratio,color_range,chroma_location,r_frame_rate,width,height";
            told.push(probed(&out, entries));
        }
        assert_eq!(told[0], told[1]);
        told.remove(0)
    };
    assert_eq!(
        told("F30000:1001 A128:117 C420mpeg2 XCOLORRANGE=LIMITED"),
        "width=64\nheight=48\nsample_aspect_ratio=128:117\ncolor_range=unknown\nchroma_location=left\n\
         r_frame_rate=30000/1001\n"
    );
    assert_eq!(
        told("F50:1 C420jpeg XCOLORRANGE=FULL"),
        "width=64\nheight=48\nsample_aspect_ratio=N/A\ncolor_range=pc\nchroma_location=center\nr_frame_rate=50/1\n"
    );
    assert_eq!(Timing::default().aspect, None);
}

#[test]
fn bytes_do_not_depend_on_workers() {
    let folder = Folder::new();
    let bytes = |workers: usize| {
        let out = folder.path("out.mp4");
        let config = crate::config();
        let graph = evener_image::graph::Graph::parse("rotate=5").unwrap();
        let audio = evener_image::session::Audio::Copied;
        let input = "testsrc:66x50:7:444";
        let session =
            evener_h264::session::Session::open(&config, Some(&graph), input, &out, audio).unwrap();
        let runtime = evener_runtime::Runtime::builder()
            .workers(workers)
            .memory(false)
            .build();
        session
            .run_with(
                &runtime.unwrap(),
                Default::default(),
                |config, parameters, preprocess| {
                    crate::Pcm::new(config, parameters, preprocess, crate::pcm::ALL)
                },
            )
            .unwrap();
        std::fs::read(Path::new(&out)).unwrap()
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(4));
}
