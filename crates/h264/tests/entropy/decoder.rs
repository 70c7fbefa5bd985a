//! ffmpeg decodes what is written.

use std::io::Write;
use std::process::{Command, Stdio};

use evener_h264::syntax::{Entropy, Profile};

use crate::common::rng::Rng;
use crate::stream::{self, stream};

/// Whether the test can run; says so where it cannot.
pub fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        eprintln!("skipped: the program ffmpeg is not installed");
    }
    found
}

/// Decodes a stream with one thread; what is printed about errors, and the pictures' samples.
fn decode(stream: &[u8]) -> (String, Vec<u8>) {
    let mut child = Command::new("ffmpeg")
        .args("-v warning -nostdin -threads 1 -err_detect explode -f h264 -i pipe:0".split(' '))
        .args("-f rawvideo -fps_mode passthrough pipe:1".split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stream = stream.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&stream));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    (
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.stdout,
    )
}

#[test]
fn ffmpeg_decodes_random_pictures_in_cavlc() {
    if !has_ffmpeg() {
        return;
    }
    let mut rng = Rng::new(2);
    for round in 0..30 {
        let profile = [Profile::ConstrainedBaseline, Profile::Main, Profile::High][round % 3];
        let size = (16 * rng.within(1, 10) as u32, 16 * rng.within(1, 8) as u32);
        let references = 1 + (round % 4) as u8;
        let parameters = stream::parameters(profile, Entropy::Cavlc, size, references);
        let (stream, pictures) = stream(&mut rng, &parameters, 16);
        let (messages, samples) = decode(&stream);
        assert_eq!(messages, "", "round {round}");
        let picture = (size.0 * size.1 * 3 / 2) as usize;
        assert_eq!(samples.len(), picture * pictures.len(), "round {round}");
    }
}
