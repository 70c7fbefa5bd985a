//! Output does not depend on how it was computed.

use std::fs;

use evener_image::structures::{ALL, BATCHED};
use evener_runtime::Dispatch;

use crate::run::{Done, Folder};

const GRAPHS: [&str; 2] = ["undistort,rotate=6,crop=0.8", "blur,sobel,threshold=0.2"];

#[track_caller]
fn same_under(settings: &[(String, &str)]) {
    let folder = Folder::new();
    for graph in GRAPHS {
        let mut first: Option<Vec<u8>> = None;
        for (flags, cpu) in settings {
            let line = format!("filter {graph} -i testsrc:166x118:6:422 -o out.y4m {flags}");
            let mut command = folder.evener(line.split_whitespace());
            Done::of(command.env("EVENER_CPU", cpu)).succeeded();
            let bytes = fs::read(folder.path("out.y4m")).unwrap();
            let first = first.get_or_insert_with(|| bytes.clone());
            assert!(*first == bytes, "{graph} differs under {flags} {cpu}");
        }
    }
}

#[test]
fn every_plan_gives_the_same_bytes() {
    let mut settings = vec![("--plan auto".to_owned(), "")];
    for structure in ALL.into_iter().filter(|s| **s != BATCHED) {
        for dispatch in Dispatch::ALL {
            settings.push((format!("--plan {structure}/{dispatch}"), ""));
        }
        settings.push((format!("--plan {structure}/fifo/1 --workers 3"), ""));
        settings.push((format!("--plan {structure}/steal/1000 --workers 1"), ""));
    }
    assert_eq!(settings.len(), 1 + 6 * 5);
    same_under(&settings);
}

#[test]
fn batched_frames_give_the_same_bytes() {
    let folder = Folder::new();
    for depth in ["", "p10"] {
        let bytes = |plan: &str| {
            let source = format!("testsrc:166x118:21:420{depth}");
            let graph = "undistort,posterize=9,rotate=30,crop=0.8";
            let line = format!("filter {graph} -i {source} -o out.y4m --plan {plan}");
            folder.line(&line).succeeded();
            fs::read(folder.path("out.y4m")).unwrap()
        };
        let expected = bytes("sequential");
        for dispatch in Dispatch::ALL {
            assert!(bytes(&format!("batched/{dispatch}")) == expected, "{depth}");
        }
        assert!(bytes("batched/fifo/1 --workers 3") == expected, "{depth}");
    }
}

#[test]
fn every_processor_gives_the_same_bytes() {
    let levels = ["scalar", "sse2", "avx2", "avx512", "neon"];
    let native =
        |level: &&str| cfg!(target_arch = "aarch64") == (*level == "neon") || *level == "scalar";
    let plans = ["tiled", "sequential", "backward"];
    let settings: Vec<_> = levels
        .into_iter()
        .filter(native)
        .flat_map(|level| plans.map(|plan| (format!("--plan {plan}"), level)))
        .collect();
    assert!(settings.len() >= 6);
    same_under(&settings);
}

#[test]
fn placement_and_memory_change_nothing() {
    let mut settings: Vec<_> = ["none", "io-same", "io-diff", "module-diff"]
        .map(|affinity| (format!("--affinity {affinity}"), ""))
        .into();
    // The first of these looks, the second finds what the ones above left.
    settings.push(("--no-memory".into(), ""));
    settings.push((String::new(), ""));
    same_under(&settings);
}

#[test]
fn planes_are_what_was_asked_for() {
    let folder = Folder::new();
    let header = |planes: &str| {
        let line = format!("filter threshold=0.4 -i testsrc:64x48:2 -o - --planes {planes}");
        let out = folder.line(&line).succeeded().stdout.clone();
        let end = out.iter().position(|&b| b == b'\n').unwrap();
        (
            String::from_utf8(out[..end].to_vec()).unwrap(),
            out[end + 1..].to_vec(),
        )
    };
    let (auto, auto_frames) = header("auto");
    let (each, each_frames) = header("each");
    let (luma, luma_frames) = header("luma");
    assert!(
        auto.contains("C420") && each.contains("C420"),
        "{auto}, {each}"
    );
    assert!(luma.contains("Cmono"), "{luma}");
    let (y, frame) = (64 * 48, 6 + 64 * 48 * 3 / 2);
    // Grey chroma, thresholded chroma, no chroma; the same luma.
    assert!(auto_frames[6 + y..frame].iter().all(|&c| c == 128));
    assert!(each_frames[6 + y..frame].iter().any(|&c| c != 128));
    assert_eq!(luma_frames.len(), 2 * (6 + y));
    assert_eq!(luma_frames[..6 + y], auto_frames[..6 + y]);
    assert_eq!(luma_frames[..6 + y], each_frames[..6 + y]);
}

#[test]
fn all_the_formats_of_scenes_pass() {
    let folder = Folder::new();
    for format in ["420", "422", "444", "mono", "420p10", "422p10", "444p10"] {
        for graph in GRAPHS {
            let line = format!("filter {graph} -i testsrc:65x49:3:{format} -o null:");
            let done = folder.line(&line);
            assert!(
                done.succeeded().stderr.starts_with("3 frames"),
                "{}",
                done.stderr
            );
        }
    }
}
