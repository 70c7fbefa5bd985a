//! A real server that is killed: gst-rtsp-server, with pictures and sound that the gateway makes a transport stream of.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use evener_gateway::rtsp::Url;
use evener_gateway::session::config::Config;
use evener_testing::Folder;

use crate::failing::{got, status};
use crate::gateway::{ask, serve};
use crate::gst::{Server, pictures_and_sound};
use crate::origin::{decoded, has_ffmpeg};

/// One that plays the film from its beginning to each client.
fn start(film: &Path) -> Option<Server> {
    let elements = ["rtph264pay", "rtpmp4gpay", "qtdemux", "aacparse"];
    Server::start(&elements, &[("/film", pictures_and_sound(film, "h264"))])
}

fn film(folder: &Folder, hue: u32) -> PathBuf {
    let path = folder.path(&format!("{hue}.mp4"));
    let status = Command::new("ffmpeg")
        .args("-v error -f lavfi -i testsrc2=size=320x240:rate=25:duration=12 -f lavfi -i sine=duration=12".split(' '))
        .args(["-vf", &format!("hue=h={hue}")])
        .args("-c:v libx264 -preset superfast -g 25 -bf 2 -pix_fmt yuv420p -c:a aac -ac 2".split(' '))
        .arg(&path)
        .status();
    assert!(status.unwrap().success());
    path
}

#[test]
fn pictures_and_sound_go_on_when_the_server_is_killed() {
    goes_on("film", "got.ts");
}

#[test]
fn a_file_goes_on_when_the_server_is_killed() {
    goes_on("film?format=mp4", "got.mp4");
}

fn goes_on(target: &str, name: &str) {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let films = [0, 90].map(|hue| film(&folder, hue));
    let (Some(first), Some(second)) = (start(&films[0]), start(&films[1])) else {
        return;
    };
    let mut origins = [first, second];
    let mut config = Config::default();
    for origin in &origins {
        let url = format!("rtsp://127.0.0.1:{}", origin.port);
        config.add_origin(Url::parse(&url).unwrap(), 1);
    }
    serve(config, |address| {
        let mut response = ask(address, &format!("/pool/default/{target}")).ok();
        let mut bytes = got(&mut response, Duration::from_secs(3));
        let has = status(address)
            .iter()
            .position(|origin| origin.1 == 1)
            .unwrap();
        origins[has].kill();
        let killed = Instant::now();
        let before = bytes.len();
        // What was on its way has come within a moment.
        while killed.elapsed() < Duration::from_millis(20) {
            bytes.extend(response.some());
        }
        let gap = killed.elapsed();
        bytes.extend(got(&mut response, Duration::from_secs(3)));
        println!(
            "pictures after {} ms; {before} bytes before",
            gap.as_millis()
        );
        let path = folder.file(name, &bytes);
        let (pictures, said) = decoded(&path);
        assert_eq!(said, "");
        let (firsts, seconds) = (decoded(&films[has]).0, decoded(&films[1 - has]).0);
        let whole = pictures
            .iter()
            .zip(&firsts)
            .take_while(|(one, other)| one == other)
            .count();
        let rest = pictures
            .iter()
            .position(|hash| *hash == seconds[0])
            .unwrap();
        // What the first had begun and did not end is not shown, or as it was.
        assert!(
            whole >= 60 && rest - whole <= 2,
            "{whole}, {rest} of {}",
            pictures.len()
        );
        // A machine that is busy elsewhere may make the client late, which then goes without some.
        let mut left = seconds.iter();
        let after = &pictures[rest..];
        assert!(after.iter().all(|one| left.any(|other| one == other)));
        assert!(after.len() >= 50, "{}", after.len());
        assert!(gap < Duration::from_secs(1), "{gap:?}");
    });
}
