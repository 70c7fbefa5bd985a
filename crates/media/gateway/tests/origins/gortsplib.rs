//! Another real server: gortsplib, the library under mediamtx. ffmpeg publishes to it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use evener_testing::Folder;

use super::film::{decoded, film};
use super::gateway::{Response, ask, gateway};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/origins/gortsplib");

struct Origin {
    child: Child,
    port: u16,
    _stdout: BufReader<ChildStdout>,
}

impl Origin {
    /// `None`, which is said aloud, where it cannot be built.
    fn start(folder: &Folder) -> Option<Origin> {
        let program = folder.path("origin");
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(PROGRAM)
            .output();
        if !built.is_ok_and(|output| output.status.success()) {
            evener_testing::skip("Go, or the module gortsplib, is not there");
            return None;
        }
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Some(Origin {
            child,
            port: line.trim().parse().unwrap(),
            _stdout: stdout,
        })
    }

    /// Sends the film to it once.
    fn publish(&self, film: &Path) -> Child {
        let to = format!("rtsp://127.0.0.1:{}/film", self.port);
        Command::new("ffmpeg")
            .args(["-v", "error", "-re", "-i"])
            .arg(film)
            .args(["-c", "copy", "-f", "rtsp", "-rtsp_transport", "tcp", &to])
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_published_is_what_clients_get() {
    let folder = Folder::new();
    let film = film(&folder);
    let (pictures, _) = decoded(&film, "0:v");
    let Some(origin) = Origin::start(&folder) else {
        return;
    };
    gateway(&["127.0.0.1"], |address| {
        let mut publisher = origin.publish(&film);
        let target = format!("/rtsp/127.0.0.1:{}/film?format=mp4", origin.port);
        let begun = Instant::now();
        let response: Response = loop {
            let response = ask(address, &target);
            if response.status != 404 {
                break response;
            }
            assert!(begun.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(response.status, 200, "{}", response.head);
        let path = folder.path("got.mp4");
        std::fs::write(&path, response.rest()).unwrap();
        publisher.wait().unwrap();
        let (got, said) = decoded(&path, "0:v");
        assert_eq!(said, "");
        // It began with a key picture: there is one each second.
        assert!(got.len() >= 50 && pictures.ends_with(&got), "{}", got.len());
        let (sound, _) = decoded(&path, "0:a");
        assert!(sound.len() > 80, "{}", sound.len());
    });
}
