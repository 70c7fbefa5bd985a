//! A server under test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evener_block::overlay;
use evener_block::session::{
    ByteRange, OpenOptions, ReadAhead, ServeOptions, Served, SessionError, Writes, serve,
};
use evener_runtime::{CancelToken, Choice};

use crate::common::{Folder, packed, runtime, sample};

/// A server, stopped when this is dropped.
pub struct Server {
    folder: Option<Folder>,
    cancel: CancelToken,
    thread: Option<JoinHandle<Served>>,
}

impl Server {
    /// Serves a file of `bytes`, an image of any format.
    pub fn of(bytes: &[u8], cache: u64) -> Server {
        let folder = Folder::in_memory();
        folder.file("image", bytes);
        Server::at(folder, cache)
    }

    /// Serves the file `image` of a folder.
    pub fn at(folder: Folder, cache: u64) -> Server {
        Server::with(folder, cache, None)
    }

    /// Serves the file `image` of a folder, written into the file `overlay`.
    pub fn over(folder: Folder, cache: u64) -> Server {
        let overlay = folder.path("overlay");
        Server::with(folder, cache, Some(overlay))
    }

    fn with(folder: Folder, cache: u64, overlay: Option<PathBuf>) -> Server {
        let cancel = CancelToken::new();
        let options = ServeOptions {
            tls: None,
            address: format!("unix:{}", folder.path("socket").display())
                .parse()
                .unwrap(),
            exports: Vec::new(),
            range: ByteRange::Whole,
            writes: overlay.map_or(Writes::Refused, |path| Writes::Overlays(vec![path])),
            pid_file: None,
            exit_last: false,
            metrics: Some("tcp:127.0.0.1:0".parse().unwrap()),
            hosts: Vec::new(),
            open: OpenOptions::default(),
            cache,
            read_ahead: ReadAhead::Auto,
            plan: Choice::Auto,
        };
        let images = [folder.path("image").into_os_string()];
        let start = || serve(&images, &options, runtime(), cancel.clone());
        // A program that another test starts holds the old lock from its fork to its exec.
        let deadline = Instant::now() + Duration::from_secs(5);
        let session = loop {
            match start() {
                Err(SessionError::Overlay(overlay::Error::Locked { .. }))
                    if Instant::now() < deadline =>
                {
                    thread::sleep(Duration::from_millis(1));
                }
                started => break started.unwrap(),
            }
        };
        let metrics = session.metrics_address().unwrap().to_string();
        folder.file("metrics", metrics.as_bytes());
        let thread = Some(thread::spawn(move || session.run(runtime(), None).unwrap()));
        Server {
            folder: Some(folder),
            cancel,
            thread,
        }
    }

    pub fn folder(&self) -> &Folder {
        self.folder.as_ref().unwrap()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder().path("socket")
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket().display())
    }

    /// What it says of itself over HTTP.
    pub fn metrics(&self) -> String {
        self.http("GET /metrics")
    }

    /// What it answers to an HTTP request.
    pub fn http(&self, request: &str) -> String {
        let mut page = String::new();
        let address = std::fs::read_to_string(self.folder().path("metrics")).unwrap();
        let mut http = TcpStream::connect(address.trim_start_matches("tcp:")).unwrap();
        write!(http, "{request} HTTP/1.0\r\n\r\n").unwrap();
        http.read_to_string(&mut page).unwrap();
        page
    }

    /// One of these figures.
    pub fn metric(&self, name: &str) -> u64 {
        let page = self.metrics();
        let mut lines = page.lines();
        let line = lines.find_map(|line| line.strip_prefix(&format!("evener_nbd_{name} ")));
        line.and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {page}"))
    }

    /// A connection on which no side waits for ever.
    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream.set_write_timeout(patience).unwrap();
        stream
    }

    /// Stops it; it must end by itself.
    pub fn stop(mut self) -> Served {
        self.end().unwrap()
    }

    /// Stops it, and serves the same again, so that others can look at its files in between.
    pub fn again(mut self, look: impl FnOnce(&Folder)) -> Server {
        self.end();
        let folder = self.folder.take().unwrap();
        look(&folder);
        Server::over(folder, 1 << 20)
    }

    fn end(&mut self) -> Option<Served> {
        self.cancel.cancel();
        self.thread.take().map(|thread| thread.join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// An image with text, zeros and noise, and not a whole number of blocks long.
pub fn image() -> Vec<u8> {
    let mut bytes = vec![0; (3 << 20) + 777];
    for place in [0, 100_000, 1 << 20, (2 << 20) + 5000] {
        for copy in 0..6 {
            let at = place + copy * 41_472;
            bytes[at..at + 41_472].copy_from_slice(&sample());
            bytes[at + 77] = copy as u8;
        }
    }
    let end = bytes.len();
    bytes[end - 500..].fill(9);
    bytes
}

/// That image, packed, and as it is.
pub fn packed_image(codec: &str) -> (Vec<u8>, Vec<u8>) {
    let plain = image();
    let folder = Folder::in_memory();
    (packed(&folder, &plain, codec, 16384, "auto"), plain)
}
