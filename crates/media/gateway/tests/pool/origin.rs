//! An origin that sends a transport stream as if it were live, until a test says otherwise.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use evener_testing::Folder;

const PLAYS: u8 = 0;
/// It answers, and sends no packets.
const SILENT: u8 = 1;
/// It takes connections, and answers nothing.
const DEAF: u8 = 2;
const DEAD: u8 = 3;

/// Bytes of the transport packets in a packet of RTP.
const PAYLOAD: usize = 7 * 188;

/// A stream and how long it takes.
#[derive(Clone)]
pub struct Film {
    bytes: Arc<Vec<u8>>,
    length: Duration,
}

/// A server of RTSP.
pub struct Origin {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    film: Film,
    mode: AtomicU8,
    begun: Instant,
    connections: Mutex<Vec<TcpStream>>,
    playing: AtomicUsize,
}

/// Whether ffmpeg is there; says so if not.
pub fn has_ffmpeg() -> bool {
    let has = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !has {
        evener_testing::skip("the program ffmpeg is not installed");
    }
    has
}

impl Film {
    /// Twenty seconds of moving pictures in a colour, with a key picture every half second, and a tone.
    pub fn make(folder: &Folder, hue: u32) -> Film {
        let path = folder.path(&format!("{hue}.ts"));
        let length = Duration::from_secs(20);
        let status = Command::new("ffmpeg")
            .args("-v error -f lavfi -i testsrc2=size=320x240:rate=25:duration=20 -f lavfi -i sine=duration=20".split(' '))
            .args(["-vf", &format!("hue=h={hue}")])
            .args("-c:v libx264 -preset ultrafast -g 12 -pix_fmt yuv420p -c:a aac -muxrate 2M -y".split(' '))
            .arg(&path)
            .stdin(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        let bytes = Arc::new(std::fs::read(path).unwrap());
        Film { bytes, length }
    }
}

/// A hash of each picture that ffmpeg decodes, and what it says.
pub fn decoded(path: &Path) -> (Vec<String>, String) {
    hashes(path, "-fps_mode passthrough")
}

/// A hash of each coded picture that ffmpeg finds, and what it says. Where a picture is cut its decoder changes whole ones
/// after it, even behind the next key picture, so that what it shows is no measure.
pub fn coded(path: &Path) -> (Vec<String>, String) {
    hashes(path, "-c copy")
}

fn hashes(path: &Path, options: &str) -> (Vec<String>, String) {
    let output = Command::new("ffmpeg")
        .args(["-v", "warning", "-i"])
        .arg(path)
        .args("-map 0:v".split(' '))
        .args(options.split(' '))
        .args("-f framemd5 -".split(' '))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Behind stream, times, duration and size.
    let hash = |line: &str| line.split(',').nth(5).unwrap().trim().to_owned();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    (
        lines.map(hash).collect(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

impl Origin {
    /// One that plays.
    pub fn start(film: &Film) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            film: film.clone(),
            mode: AtomicU8::new(PLAYS),
            begun: Instant::now(),
            connections: Mutex::default(),
            playing: AtomicUsize::new(0),
        });
        let shared = state.clone();
        thread::spawn(move || {
            while shared.mode.load(Ordering::SeqCst) != DEAD {
                match listener.accept() {
                    Ok((stream, _)) => {
                        stream.set_nonblocking(false).unwrap();
                        let mut connections = shared.connections.lock().unwrap();
                        connections.push(stream.try_clone().unwrap());
                        drop(connections);
                        let shared = shared.clone();
                        thread::spawn(move || shared.serve(&stream));
                    }
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
            }
        });
        Origin { address, state }
    }

    /// Its address for a pool.
    pub fn url(&self) -> String {
        format!("rtsp://{}/live", self.address)
    }

    /// Sessions that it plays.
    pub fn playing(&self) -> usize {
        self.state.playing.load(Ordering::SeqCst)
    }

    /// It goes on answering, and sends no packets.
    pub fn fall_silent(&self) {
        self.state.mode.store(SILENT, Ordering::SeqCst);
    }

    /// It answers nothing.
    pub fn be_deaf(&self) {
        self.state.mode.store(DEAF, Ordering::SeqCst);
    }

    /// It asks its clients to go on at another, and plays until they do.
    pub fn redirect_to(&self, other: &Origin) {
        let request = format!(
            "REDIRECT {} RTSP/1.0\r\nCSeq: 1\r\nLocation: {}\r\n\r\n",
            self.url(),
            other.url()
        );
        for mut connection in self.state.connections.lock().unwrap().iter() {
            // Those that are over do not matter.
            let _ = connection.write_all(request.as_bytes());
        }
    }

    /// It is gone, as a process that was killed: the system closes what it had.
    pub fn die(&self) {
        self.state.mode.store(DEAD, Ordering::SeqCst);
        for connection in self.state.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.die();
    }
}

impl State {
    fn mode(&self) -> u8 {
        self.mode.load(Ordering::SeqCst)
    }

    fn serve(self: &Arc<State>, stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines();
        while let Some(Ok(first)) = lines.next() {
            if first.starts_with('$') || !first.contains(" RTSP/1.0") {
                // Of reports, which have no lines.
                continue;
            }
            let mut headers = Vec::new();
            while let Some(Ok(line)) = lines.next()
                && !line.is_empty()
            {
                headers.push(line);
            }
            if self.mode() == DEAF {
                continue;
            }
            let header = |name: &str| {
                let line = headers.iter().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().trim()
            };
            let method = first.split(' ').next().unwrap();
            let interleaved = header("Transport:").contains("interleaved");
            let (status, more, body) = match method {
                "SETUP" if !interleaved => ("461 Unsupported Transport", String::new(), ""),
                "SETUP" => (
                    "200 OK",
                    format!("Session: 1\r\nTransport: {}\r\n", header("Transport:")),
                    "",
                ),
                "DESCRIBE" => (
                    "200 OK",
                    String::new(),
                    "v=0\r\nm=video 0 RTP/AVP 33\r\na=control:1\r\n",
                ),
                _ => ("200 OK", String::new(), ""),
            };
            let answer = format!(
                "RTSP/1.0 {status}\r\nCSeq: {}\r\n{more}Content-Length: {}\r\n\r\n{body}",
                header("CSeq:"),
                body.len()
            );
            if (&*stream).write_all(answer.as_bytes()).is_err() {
                return;
            }
            if method == "PLAY" {
                let (state, stream) = (self.clone(), stream.try_clone().unwrap());
                thread::spawn(move || state.play(&stream));
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// Sends what is due now, and so on.
    fn play(&self, mut stream: &TcpStream) {
        self.playing.fetch_add(1, Ordering::SeqCst);
        let Film { bytes, length } = &self.film;
        let packets: Vec<_> = bytes.chunks(PAYLOAD).collect();
        let interval = *length / packets.len() as u32;
        let first = self.begun.elapsed().as_nanos() / interval.as_nanos();
        for number in first.. {
            let due = self.begun + interval * number as u32;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if self.mode() == SILENT {
                continue;
            }
            let payload = packets[number as usize % packets.len()];
            let length = (12 + payload.len()) as u16;
            let mut frame = vec![b'$', 0];
            frame.extend(length.to_be_bytes());
            frame.extend([0x80, 33]);
            frame.extend((number as u16).to_be_bytes());
            frame.extend([0, 0, 0, 0, 0, 0, 0, 1]);
            frame.extend(payload);
            if stream.write_all(&frame).is_err() {
                break;
            }
        }
        self.playing.fetch_sub(1, Ordering::SeqCst);
    }
}
