//! Graphs on streams: sessions from file to file, beside FFmpeg.

mod beside_ffmpeg;
mod moments;
mod pasted;

use std::path::Path;

use evener_image::Frame;
use evener_image::graph::{Graph, Parsed, Planes};
use evener_image::io::open_input;
use evener_image::session::{Files, Options, Session};
use evener_runtime::Runtime;
use evener_testing::Folder;

/// All bytes of each frame of a file.
fn frames(file: &Path) -> Vec<Vec<u8>> {
    let mut input = open_input(file).unwrap();
    let mut frame = Frame::new(input.format());
    let mut all = Vec::new();
    while input.read(&mut frame).unwrap() {
        let planes = 0..frame.format().planes();
        all.push(planes.flat_map(|p| frame.plane_bytes(p).to_vec()).collect());
    }
    all
}

/// Runs a graph from `inputs` to `output`.
fn run(text: &str, inputs: &[&Path], output: &Path) -> Result<(), String> {
    let others: Vec<_> = inputs[1..]
        .iter()
        .map(|file| file.as_os_str().to_owned())
        .collect();
    let parsed = Graph::parse_for(text, &others).map_err(|error| error.to_string())?;
    let Parsed {
        graph,
        others,
        rest,
        ..
    } = parsed;
    let files = Files {
        others,
        rest,
        ..Files::default()
    };
    let session = Session::open_with(&graph, Planes::Auto, inputs[0], output, &files);
    let session = session.map_err(|error| error.to_string())?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let done = session.run(&runtime, Options::default());
    done.map(|_| ()).map_err(|error| error.to_string())
}

/// A folder with two clips of FFmpeg's test pictures, of 64x48 and 20 frames; `None` without FFmpeg, which is said.
fn clips() -> Option<Folder> {
    let folder = Folder::new();
    for (name, scene) in [("a.y4m", "testsrc2"), ("b.y4m", "testsrc")] {
        let scene = format!("{scene}=size=64x48:rate=25:duration=0.8,format=yuv420p");
        let made = ffmpeg(&["-f", "lavfi", "-i", &scene], &folder.path(name))?;
        assert!(made.is_ok(), "{made:?}");
    }
    Some(folder)
}

/// Runs FFmpeg; `None` where it is not installed, which is said.
fn ffmpeg(arguments: &[&str], output: &Path) -> Option<Result<(), String>> {
    let done = std::process::Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments)
        .args(["-strict", "-1"])
        .arg(output)
        .output();
    let Ok(done) = done else {
        evener_testing::skip("the program ffmpeg is not installed");
        return None;
    };
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    Some(if done.status.success() {
        Ok(())
    } else {
        Err(said)
    })
}
