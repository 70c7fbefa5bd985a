//! Sessions around an encoder that keeps samples as they are: inputs, outputs, conversions, what is told and measured.

mod containers;
mod ends;
mod frames;
mod measures;
mod mp4;
mod pcm;
mod references;

use std::path::Path;
use std::process::Command;

use evener_h264::config::{Config, Settings};
use evener_h264::session::{Error, Options, Outcome, Session};
use evener_image::graph::Graph;
use evener_image::session::Audio;
use evener_runtime::Runtime;

use pcm::Pcm;

/// Key frames every so many frames.
const KEYINT: u32 = 5;

fn config() -> Config {
    Config::new(&Settings {
        keyint: KEYINT,
        ..Settings::default()
    })
    .unwrap()
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).memory(false).build().unwrap()
}

/// Encodes without loss, through filters if there are any.
fn encode_through(graph: Option<&str>, input: &str, output: &Path) -> Result<Outcome, Error> {
    let graph = graph.map(|graph| Graph::parse(graph).unwrap());
    let session = Session::open(&config(), graph.as_ref(), input, output, Audio::Copied)?;
    session.run_with(
        &runtime(),
        Options::default(),
        |config, parameters, preprocess| Pcm::new(config, parameters, preprocess, pcm::ALL),
    )
}

fn encode(input: &str, output: &Path) -> Result<Outcome, Error> {
    encode_through(None, input, output)
}

/// Runs a program with arguments separated by white space, and returns its standard output.
#[track_caller]
fn run(program: &str, line: &str, files: &[&Path]) -> Vec<u8> {
    let mut command = Command::new(program);
    let mut files = files.iter();
    for word in line.split_whitespace() {
        match word {
            "{}" => command.arg(files.next().unwrap()),
            word => command.arg(word),
        };
    }
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}: {said}");
    assert!(
        said.is_empty() || program == "ffmpeg" && line.contains("-v info"),
        "{said}"
    );
    match line.contains("-v info") {
        true => done.stderr,
        false => done.stdout,
    }
}

/// All samples that ffmpeg decodes of a file, which has to be without any fault.
#[track_caller]
fn decoded(file: &Path) -> Vec<u8> {
    let line = "-v warning -err_detect explode -i {} -map 0:v -fps_mode passthrough -f rawvideo -";
    run("ffmpeg", line, &[file])
}

/// What ffprobe says of entries of a file, as `key=value` lines.
#[track_caller]
fn probed(file: &Path, entries: &str) -> String {
    let line = format!("-v error -select_streams v -of default=nw=1 -show_entries {entries} {{}}");
    String::from_utf8(run("ffprobe", &line, &[file])).unwrap()
}

/// Whether ffmpeg is installed; tests that need it pass without.
fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").output().is_ok()
}
