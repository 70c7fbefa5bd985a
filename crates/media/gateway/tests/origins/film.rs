//! What origins play, and what ffmpeg decodes of what clients get.

use std::path::{Path, PathBuf};
use std::process::Command;

use evener_testing::Folder;

/// Four seconds of H.264 with B pictures and of AAC, by ffmpeg.
pub fn film(folder: &Folder) -> PathBuf {
    film_of(folder, "libx264 -preset superfast -g 25 -bf 2").expect("ffmpeg has libx264")
}

/// The same with another encoder. `None` if ffmpeg does not have it.
pub fn film_of(folder: &Folder, encoder: &str) -> Option<PathBuf> {
    let path = folder.path("film.mp4");
    let status = Command::new("ffmpeg")
        .args("-v error -f lavfi -i testsrc2=size=320x240:rate=25:duration=4 -f lavfi -i sine=duration=4".split(' '))
        .args(format!("-c:v {encoder} -pix_fmt yuv420p -c:a aac -ac 2").split(' '))
        .arg(&path)
        .status();
    status.unwrap().success().then_some(path)
}

/// A hash of each picture or each piece of sound that ffmpeg decodes, and what it has to say.
pub fn decoded(path: &Path, stream: &str) -> (Vec<String>, String) {
    let output = Command::new("ffmpeg")
        .args(["-v", "warning", "-threads", "1", "-i"])
        .arg(path)
        .args([
            "-map",
            stream,
            "-fps_mode",
            "passthrough",
            "-f",
            "framemd5",
            "-",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let hash = |line: &str| line.rsplit(',').next().unwrap().trim().to_owned();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    (
        lines.map(hash).collect(),
        String::from_utf8(output.stderr).unwrap(),
    )
}
