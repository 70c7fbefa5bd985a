//! A real server: gst-rtsp-server.

use std::path::Path;
use std::thread;
use std::time::Duration;

use evener_testing::Folder;

use super::film::{decoded, film, film_of};
use super::gateway::{ask, gateway};
use super::gst::{Server, pictures_and_sound};

/// One that has what `launch` makes, at these paths.
fn start(launch: &[(&str, String)]) -> Option<Server> {
    let elements = [
        "rtph264pay",
        "rtpmp4gpay",
        "rtpmp2tpay",
        "qtdemux",
        "mulawenc",
        "aacparse",
    ];
    Server::start(&elements, launch)
}

#[test]
fn pictures_and_sound_are_those_of_the_origin() {
    let folder = Folder::new();
    let film = film(&folder);
    let (pictures, _) = decoded(&film, "0:v");
    let Some(origin) = start(&[("/film", pictures_and_sound(&film, "h264"))]) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        let response = ask(address, &format!("/rtsp/127.0.0.1:{}/film", origin.port)).ok();
        let path = folder.path("got.ts");
        std::fs::write(&path, response.rest()).unwrap();
        let (got, said) = decoded(&path, "0:v");
        assert_eq!(said, "");
        assert!(got == pictures, "{} of {}", got.len(), pictures.len());
        let (sound, _) = decoded(&path, "0:a");
        assert!(sound.len() > 160, "{}", sound.len());
    });
}

#[test]
fn pictures_of_h265_are_those_of_the_origin() {
    let folder = Folder::new();
    let encoder = "libx265 -preset ultrafast -g 25 -bf 2 -x265-params log-level=none -tag:v hvc1";
    let Some(film) = film_of(&folder, encoder) else {
        evener_testing::skip("ffmpeg has no libx265");
        return;
    };
    let (pictures, _) = decoded(&film, "0:v");
    assert_eq!(pictures.len(), 100);
    let elements = [
        "rtph265pay",
        "h265parse",
        "rtpmp4gpay",
        "qtdemux",
        "aacparse",
    ];
    let launch = [("/film", pictures_and_sound(&film, "h265"))];
    let Some(origin) = Server::start(&elements, &launch) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        for (target, name) in [("film", "got.ts"), ("film?format=mp4", "got.mp4")] {
            let response = ask(
                address,
                &format!("/rtsp/127.0.0.1:{}/{target}", origin.port),
            )
            .ok();
            let path = folder.path(name);
            std::fs::write(&path, response.rest()).unwrap();
            let (got, said) = decoded(&path, "0:v");
            assert_eq!(said, "", "{target}");
            assert!(
                got == pictures,
                "{target}: {} of {}",
                got.len(),
                pictures.len()
            );
            let (sound, _) = decoded(&path, "0:a");
            assert!(sound.len() > 160, "{target}: {}", sound.len());
        }
    });
}

/// What makes a transport stream of the film.
fn transport(film: &Path) -> String {
    let film = film.display();
    format!(
        "( filesrc location={film} ! qtdemux name=d  mpegtsmux name=m alignment=7 ! rtpmp2tpay name=pay0 \
           d.video_0 ! queue ! h264parse ! m.  d.audio_0 ! queue ! aacparse ! m. )"
    )
}

#[test]
fn transport_streams_and_files_have_all_pictures_too() {
    let folder = Folder::new();
    let film = film(&folder);
    let (pictures, _) = decoded(&film, "0:v");
    let launch = [
        ("/film", pictures_and_sound(&film, "h264")),
        ("/transport", transport(&film)),
    ];
    let Some(origin) = start(&launch) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        for (target, name, kind) in [
            ("transport", "got.ts", "video/mp2t"),
            ("film?format=mp4", "got.mp4", "video/mp4"),
        ] {
            let response = ask(
                address,
                &format!("/rtsp/127.0.0.1:{}/{target}", origin.port),
            );
            let has = |line: &str| response.head.contains(line);
            assert!(
                has(&format!("Content-Type: {kind}\r\n")),
                "{}",
                response.head
            );
            let path = folder.path(name);
            std::fs::write(&path, response.rest()).unwrap();
            let (got, said) = decoded(&path, "0:v");
            assert_eq!(said, "", "{target}");
            assert!(
                got == pictures,
                "{target}: {} of {}",
                got.len(),
                pictures.len()
            );
            let (sound, _) = decoded(&path, "0:a");
            assert!(sound.len() > 160, "{target}: {}", sound.len());
        }
        let response = ask(
            address,
            &format!("/rtsp/127.0.0.1:{}/transport?format=mp4", origin.port),
        );
        assert_eq!(response.status, 406);
        assert!(response.text().contains("as it is"));
    });
}

#[test]
fn sound_that_no_transport_stream_has_is_in_files() {
    let Some(origin) = start(&[]) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        for path in [
            format!("127.0.0.1:{}/live", origin.port),
            format!("127.0.0.1:{}/tcp", origin.port),
            format!("me:secret@127.0.0.1:{}/digest", origin.digest),
        ] {
            let response = ask(address, &format!("/rtsp/{path}"));
            assert_eq!(response.status, 406, "{path}");
            assert!(response.text().contains("?format=mp4"), "{path}");
            let response = ask(address, &format!("/rtsp/{path}?format=mp4"));
            assert_eq!(response.status, 200, "{path}");
            let folder = Folder::new();
            let file = folder.path("sound.mp4");
            std::fs::write(&file, response.for_some(Duration::from_secs(2))).unwrap();
            let (sound, _) = decoded(&file, "0:a:1");
            assert!(sound.len() > 60, "{path}: {}", sound.len());
        }
        let wrong = ask(
            address,
            &format!("/rtsp/me:wrong@127.0.0.1:{}/digest", origin.digest),
        );
        assert_eq!(wrong.status, 502);
        assert!(wrong.text().contains("refuses the user and the password"));
        let nowhere = ask(address, &format!("/rtsp/127.0.0.1:{}/nothing", origin.port));
        assert_eq!(nowhere.status, 404);
        assert!(
            nowhere
                .text()
                .contains("/nothing: DESCRIBE was answered with 404")
        );
    });
}

#[test]
fn a_response_ends_with_its_origin() {
    let Some(mut origin) = start(&[]) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        let response = ask(
            address,
            &format!("/rtsp/127.0.0.1:{}/live?format=mp4", origin.port),
        );
        assert_eq!(response.status, 200);
        origin.kill();
        assert!(!response.rest().is_empty());
        let target = format!("/rtsp/127.0.0.1:{}/live?format=mp4", origin.port);
        let gone = ask(address, &target);
        assert_eq!(gone.status, 502);
        let text = gone.text();
        assert!(text.contains("cannot connect"), "{text}");
    });
}

#[test]
fn a_recording_begins_where_the_client_asks() {
    let folder = Folder::new();
    let film = film(&folder);
    let (pictures, _) = decoded(&film, "0:v");
    let Some(origin) = start(&[("/film", pictures_and_sound(&film, "h264"))]) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        let target = format!("/rtsp/127.0.0.1:{}/film?start=", origin.port);
        // Both at once: each has a place of its own. A client that does not read for two seconds would lose pictures.
        let clients = [("0", 0), ("2.2", 50)].map(|(start, first)| {
            let response = ask(address, &format!("{target}{start}"));
            (thread::spawn(|| response.rest()), first)
        });
        for (client, first) in clients {
            let path = folder.path("got.ts");
            std::fs::write(&path, client.join().unwrap()).unwrap();
            let (got, said) = decoded(&path, "0:v");
            assert_eq!(said, "");
            assert!(got == pictures[first..], "{} after {first}", got.len());
        }
        let response = ask(address, &format!("{target}soon"));
        assert_eq!(response.status, 400);
    });
}
