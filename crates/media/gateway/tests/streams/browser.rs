//! Files as a browser plays them, while they come.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use evener_testing::Folder;

use crate::file::file;
use crate::origin::{capture, has_ffmpeg, make, units};

/// Plays the file four times as fast, and says how it went.
const PAGE: &str = "<!doctype html><video muted src=/file.mp4></video><script>
const video = document.querySelector('video');
const say = text => fetch('/said/' + text);
video.onended = () => say(['ended', video.videoWidth, video.getVideoPlaybackQuality().totalVideoFrames,
    video.webkitAudioDecodedByteCount > 0].join('/'));
video.onerror = () => say('error/' + encodeURIComponent(video.error.message));
video.playbackRate = 4;
video.play();
</script>";

struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn answer(stream: TcpStream, file: &[u8], said: &mpsc::Sender<String>) -> std::io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (kind, body) = match path.strip_prefix("/said/") {
        Some(text) => {
            let _ = said.send(text.to_owned());
            ("text/plain", &[][..])
        }
        None if path == "/file.mp4" => ("video/mp4", file),
        None => ("text/html", PAGE.as_bytes()),
    };
    // No length and no ranges: as a stream that has no end.
    let mut out = &stream;
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    )?;
    out.write_all(body)
}

/// What the browser says of a file; `None`, and why, if there is no browser.
fn play(file: Vec<u8>) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = format!("http://{}/", listener.local_addr().unwrap());
    let folder = Folder::new();
    let profile = format!("--user-data-dir={}", folder.root().to_str().unwrap());
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--autoplay-policy=no-user-gesture-required",
    ]);
    command
        .args([&profile, &page])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(browser) = command.spawn() else {
        evener_testing::skip("the program chromium is not installed");
        return None;
    };
    let _browser = Browser(browser);
    let (said, says) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser that has enough closes its connection.
            let (file, said) = (file.clone(), said.clone());
            thread::spawn(move || answer(stream, &file, &said));
        }
    });
    Some(says.recv_timeout(Duration::from_secs(60)).unwrap())
}

#[test]
fn a_browser_plays_h264_and_aac() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let source = make(
        &folder,
        "source.mkv",
        "-an -c:v libx264 -preset veryfast -g 50 -bf 3",
    );
    let sound = make(&folder, "sound.m4a", "-vn -c:a aac");
    let captured = [capture(&source, "0:v"), capture(&sound, "0:a")];
    let (video, video_track, _) = units(&captured[0].packets, &captured[0].format, 0);
    let (audio, audio_track, _) = units(&captured[1].packets, &captured[1].format, 1);
    let codecs = [video_track.codec(), audio_track.codec()];
    let Some(said) = play(file(&codecs, [video, audio].concat())) else {
        return;
    };
    let words: Vec<&str> = said.split('/').collect();
    let ["ended", "320", pictures, "true"] = words[..] else {
        panic!("{said}")
    };
    assert!(
        (140..=150).contains(&pictures.parse::<u32>().unwrap()),
        "{said}"
    );
}
