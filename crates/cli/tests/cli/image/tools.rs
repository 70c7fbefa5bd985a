//! Programs of others.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::Folder;

/// Whether programs are there; otherwise a note is printed.
pub fn has(programs: &[&str]) -> bool {
    programs
        .iter()
        .all(|program| is_program(program, "--version"))
}

/// Whether a program is there that does nothing when it is given `flag`; otherwise a note is printed.
pub fn is_program(program: &str, flag: &str) -> bool {
    let found = Command::new(program)
        .arg(flag)
        .stdin(Stdio::null())
        .output()
        .is_ok();
    if !found {
        evener_testing::skip(format_args!("{program} is not installed"));
    }
    found
}

/// What another program writes to its standard output.
#[track_caller]
pub fn run(folder: &Folder, line: &str) -> String {
    let mut words = line.split_whitespace();
    let done = Command::new(words.next().unwrap())
        .args(words)
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}: {said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A server of another program, which ends with the test.
pub struct Running(Child);

impl Running {
    /// Starts it in the folder, and waits until `is_there`.
    #[track_caller]
    pub fn start(folder: &Folder, line: &str, is_there: impl Fn() -> bool) -> Running {
        let mut words = line.split_whitespace();
        let child = Command::new(words.next().unwrap())
            .args(words)
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        let since = Instant::now();
        while !is_there() {
            let ended = running.0.try_wait().unwrap();
            assert!(ended.is_none(), "{line}: {ended:?}");
            assert!(since.elapsed() < Duration::from_secs(20), "{line}");
            thread::sleep(Duration::from_millis(20));
        }
        running
    }

    /// Starts it, and waits for the socket that it makes.
    #[track_caller]
    pub fn at(folder: &Folder, socket: &Path, line: &str) -> Running {
        Running::start(folder, line, || socket.exists())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of this machine that is free.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Whether something listens at a port of this machine.
pub fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// A web server of the files in the folder, which has ranges. `listen` is in its configuration.
pub fn nginx(folder: &Folder, listen: &str, port: u16) -> Running {
    let root = folder.path("").display().to_string();
    folder.file(
        "nginx.conf",
        format!(
            "daemon off; master_process off; pid nginx.pid; error_log nginx.log;
            events {{}}
            http {{
                access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c;
                uwsgi_temp_path d; scgi_temp_path e;
                server {{ {listen} root {root}; }}
            }}"
        ),
    );
    let line = format!("nginx -p {root} -c nginx.conf -e nginx.log");
    Running::start(folder, &line, || listens(port))
}
