//! A real server: gst-rtsp-server, as its users run it, from Python.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/gst.py");
/// The system's own, which the system's packages of GStreamer belong to.
const PYTHON: &str = "/usr/bin/python3";

/// A server that runs, ended on drop.
pub struct Server {
    child: Child,
    pub port: u16,
    /// Of the server that wants a password.
    pub digest: u16,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// `None`, which is said aloud, where there is no gst-rtsp-server with these elements. It has what `launch` makes, at
    /// these paths.
    pub fn start(elements: &[&str], launch: &[(&str, String)]) -> Option<Server> {
        let needs = format!(
            "import gi; gi.require_version('GstRtspServer', '1.0'); gi.require_version('GstRtsp', '1.0')\n\
             from gi.repository import Gst; Gst.init(None)\n\
             assert all(map(Gst.ElementFactory.find, {elements:?}))"
        );
        let found = Command::new(PYTHON).args(["-c", &needs]).output();
        if !found.is_ok_and(|output| output.status.success()) {
            evener_testing::skip(format_args!(
                "gst-rtsp-server with Python's gi and {elements:?} is not installed"
            ));
            return None;
        }
        let arguments = launch.iter().flat_map(|(path, launch)| [*path, launch]);
        let mut child = Command::new(PYTHON)
            .arg(SERVER)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let mut ports = line.split_whitespace().map(|port| port.parse().unwrap());
        Some(Server {
            child,
            port: ports.next().unwrap(),
            digest: ports.next().unwrap(),
            _stdout: stdout,
        })
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What makes packets of the pictures and the sound of a film in an MP4 file; `codec` is `h264` or `h265`.
pub fn pictures_and_sound(film: &Path, codec: &str) -> String {
    let film = film.display();
    format!(
        "( filesrc location={film} ! qtdemux name=d \
           d.video_0 ! queue ! {codec}parse ! rtp{codec}pay name=pay0 pt=96 \
           d.audio_0 ! queue ! aacparse ! rtpmp4gpay name=pay1 pt=97 )"
    )
}
