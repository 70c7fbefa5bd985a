//! Origins that die, fall silent or say nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use evener_gateway::rtsp::Url;
use evener_gateway::session::config::Config;
use evener_testing::Folder;

use crate::gateway::{Response, ask, serve};
use crate::origin::{Film, Origin, coded, has_ffmpeg};

/// A pool of these origins, which is called `default`.
fn pool(origins: &[&Origin]) -> Config {
    let mut config = Config::default();
    for origin in origins {
        config.add_origin(Url::parse(&origin.url()).unwrap(), 1);
    }
    config
}

/// What a client gets within a time.
pub fn got(response: &mut Response, time: Duration) -> Vec<u8> {
    let end = Instant::now() + time;
    let mut bytes = Vec::new();
    while Instant::now() < end {
        let some = response.some();
        assert!(!some.is_empty(), "the response has ended");
        bytes.extend(some);
    }
    bytes
}

/// What the gateway knows of each origin: state, sessions and the last failure.
pub fn status(gateway: SocketAddr) -> Vec<(String, u64, String)> {
    let text = ask(gateway, "/status?format=json").text();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let origins = report["pools"][0]["origins"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    origins
        .map(|origin| {
            let sessions = origin["sessions"].as_u64().unwrap();
            (
                text(&origin["state"]),
                sessions,
                text(&origin["last_failure"]),
            )
        })
        .collect()
}

/// Waits until something is so.
fn until(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Plays a stream of two origins, lets the one that has it fail, and checks what the client got. Returns how long it got
/// nothing.
fn fails(fail: impl Fn(&Origin)) -> Option<Duration> {
    if !has_ffmpeg() {
        return None;
    }
    let folder = Folder::new();
    let films = [0, 90].map(|hue| Film::make(&folder, hue));
    let origins = films.each_ref().map(Origin::start);
    let mut longest = Duration::ZERO;
    serve(pool(&[&origins[0], &origins[1]]), |address| {
        let mut response = ask(address, "/pool/default/a/b?c=d").ok();
        let mut bytes = got(&mut response, Duration::from_secs(3));
        let has = origins
            .iter()
            .position(|origin| origin.playing() > 0)
            .unwrap();
        fail(&origins[has]);
        let failed = Instant::now();
        let end = failed + Duration::from_secs(4);
        let mut last = failed;
        while Instant::now() < end {
            bytes.extend(response.some());
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        assert_eq!(origins[1 - has].playing(), 1);
        let status = status(address);
        assert_eq!((status[has].1, status[1 - has].1), (0, 1), "{status:?}");
        assert_eq!(status[1 - has].0, "up");
        assert_ne!(status[has].2, "");
        let path = folder.file("got.ts", &bytes);
        let (pictures, said) = coded(&path);
        // All films have different pictures; a live one is joined at any of them.
        let shown = |film: usize| {
            let (all, _) = coded(&folder.path(["0.ts", "90.ts"][film]));
            pictures.iter().filter(|hash| all.contains(hash)).count()
        };
        let (before, after) = (shown(has), shown(1 - has));
        assert!(before > 60 && after > 60, "{before}, {after}: {said}");
        let films = ["0.ts", "90.ts"].map(|film| coded(&folder.path(film)).0);
        let other: Vec<usize> = (0..pictures.len())
            .filter(|&at| films.iter().all(|film| !film.contains(&pictures[at])))
            .collect();
        assert!(
            other.len() <= 2,
            "pictures {other:?} of {}: {said}",
            pictures.len()
        );
        assert!(said.lines().count() <= 8, "{said}");
    });
    println!("nothing for {} ms", longest.as_millis());
    Some(longest)
}

#[test]
fn a_stream_goes_on_when_its_origin_dies() {
    if let Some(gap) = fails(Origin::die) {
        // A key picture comes within 500 ms.
        assert!(gap < Duration::from_secs(1), "{gap:?}");
    }
}

#[test]
fn a_stream_goes_on_when_its_origin_falls_silent() {
    if let Some(gap) = fails(Origin::fall_silent) {
        assert!(gap < Duration::from_millis(1500), "{gap:?}");
    }
}

#[test]
fn an_origin_that_answers_nothing_is_passed_over() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let film = Film::make(&folder, 0);
    let (deaf, other) = (Origin::start(&film), Origin::start(&film));
    deaf.be_deaf();
    serve(pool(&[&deaf, &other]), |address| {
        // Of several streams, one is for the origin that is deaf.
        for number in 0..4 {
            let mut response = ask(address, &format!("/pool/default/{number}")).ok();
            assert!(got(&mut response, Duration::from_millis(300)).len() > 10_000);
        }
        until("it is down", || status(address)[0].0 == "down");
        let failure = &status(address)[0].2;
        // Of a probe, or of a session.
        let known = ["no answer within 1 s", "it does not play within 3 s"];
        assert!(
            known.iter().any(|known| failure.ends_with(known)),
            "{failure}"
        );
    });
}

#[test]
fn without_origins_clients_are_told_and_streams_end() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let film = Film::make(&folder, 0);
    let origins = [Origin::start(&film), Origin::start(&film)];
    serve(pool(&[&origins[0], &origins[1]]), |address| {
        let mut response = ask(address, "/pool/default/a");
        assert!(got(&mut response, Duration::from_secs(1)).len() > 10_000);
        origins.iter().for_each(Origin::die);
        let died = Instant::now();
        until("they are down", || {
            status(address).iter().all(|(state, ..)| state == "down")
        });
        let refused = ask(address, "/pool/default/b");
        assert_eq!(refused.status, 503);
        let text = refused.text();
        assert!(
            text.starts_with("pool 'default': no origin can be asked: rtsp://127.0.0.1:"),
            "{text}"
        );
        assert!(
            text.contains("Connection refused") && text.lines().count() == 1,
            "{text}"
        );
        assert_eq!(ask(address, "/pool/other/b").status, 404);
        response.rest();
        let lasted = died.elapsed();
        assert!((8..13).contains(&lasted.as_secs()), "{lasted:?}");
    });
}
