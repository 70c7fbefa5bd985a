//! ffmpeg as a decoder.

use std::io::Write;
use std::process::{Command, Stdio};

/// What ffmpeg decodes without a word; nothing where it is not installed.
pub fn decode(stream: Vec<u8>, what: &str) -> Option<Vec<u8>> {
    let child = Command::new("ffmpeg")
        .args("-v warning -nostdin -threads 1 -err_detect explode -f h264 -i pipe:0".split(' '))
        .args("-f rawvideo -fps_mode passthrough pipe:1".split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        evener_testing::skip("the program ffmpeg is not installed");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&stream));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{what}");
    Some(output.stdout)
}
