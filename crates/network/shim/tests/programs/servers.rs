//! Servers that fork: workers, daemons, a process for each connection.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::engine::{Network, has, wait_until, with_stack};
use crate::{Running, bytes, output, serve, wait_for};

/// The process whose number is in a file, and is ended with the test.
struct Daemon(String);

impl Daemon {
    fn of_file(path: &Path) -> Daemon {
        let read = || fs::read_to_string(path).unwrap_or_default();
        wait_until(|| read().ends_with('\n'));
        Daemon(read().trim().to_owned())
    }

    fn signal(&self, signal: &str) {
        signal_to(&self.0, signal);
    }

    fn workers(&self) -> Vec<String> {
        let path = format!("/proc/{0}/task/{0}/children", self.0);
        let children = fs::read_to_string(path).expect("its children");
        children.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.signal("-TERM");
    }
}

fn signal_to(process: &str, signal: &str) {
    let sent = Command::new("kill").args([signal, process]).status();
    assert!(sent.expect("kill").success(), "{signal} to {process}");
}

/// Fetches a file some times, at the same time, and compares.
fn fetch(network: &Network, url: &str, expected: &[u8], times: usize) {
    thread::scope(|scope| {
        for _ in 0..times {
            scope.spawn(|| {
                let got = output(network.plain("curl", &["-sS", url]));
                assert!(got == expected, "{url}: {} bytes", got.len());
            });
        }
    });
}

#[test]
fn nginx_has_workers_that_come_and_go() {
    with_stack("servers::nginx_has_workers_that_come_and_go", |network| {
        if !has("nginx") || !has("curl") {
            return;
        }
        let expected = bytes(3_000_000);
        network.folder().file("file", &expected);
        let folder = network.folder().root().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};\n"))
            .collect();
        let text = format!(
            "worker_processes 4;\nuser root;\npid {folder}/pid;\nerror_log {folder}/error;\n\
             events {{ worker_connections 64; }}\n\
             http {{ {temporary} access_log off; sendfile on;\n\
             server {{ listen 10.1.0.2:8080; root {folder}; }} }}\n"
        );
        let configuration = network.folder().file("nginx.conf", text);
        let configuration = configuration.to_str().expect("text");
        output(network.shimmed("nginx", &["-c", configuration]));
        let daemon = Daemon::of_file(&network.folder().path("pid"));
        let url = "http://10.1.0.2:8080/file";
        fetch(network, url, &expected, 4);
        for _ in 0..2 {
            let before = daemon.workers();
            signal_to(&before[0], "-KILL");
            wait_until(|| daemon.workers().len() == 4 && daemon.workers() != before);
            fetch(network, url, &expected, 4);
        }
        let before = daemon.workers();
        // Connections come while the workers are exchanged.
        daemon.signal("-HUP");
        fetch(network, url, &expected, 8);
        wait_until(|| {
            daemon
                .workers()
                .iter()
                .all(|worker| !before.contains(worker))
        });
        fetch(network, url, &expected, 4);
    });
}

#[test]
fn haproxy_has_a_master_and_a_worker() {
    with_stack("servers::haproxy_has_a_master_and_a_worker", |network| {
        if !has("haproxy") || !has("curl") {
            return;
        }
        let expected = bytes(3_000_000);
        let behind = serve(expected.clone());
        let text = format!(
            "global\n master-worker\n\
             defaults\n mode tcp\n timeout connect 5s\n timeout client 20s\n timeout server 20s\n\
             frontend one\n bind 10.1.0.2:8081\n default_backend all\n\
             frontend two\n mode http\n bind 10.1.0.2:8082\n default_backend web\n\
             backend all\n server s {behind}\n\
             backend web\n mode http\n server s {behind}\n"
        );
        let configuration = network.folder().file("haproxy.cfg", text);
        let configuration = configuration.to_str().expect("text");
        let pid = network.folder().path("pid");
        let arguments = ["-W", "-D", "-f", configuration, "-p"];
        let mut command = network.shimmed("haproxy", &arguments);
        command.arg(&pid);
        output(command);
        let daemon = Daemon::of_file(&pid);
        for round in 0..2 {
            for port in [8081, 8082] {
                let url = format!("http://10.1.0.2:{port}/file");
                fetch(network, &url, &expected, 3);
            }
            if round == 0 {
                let before = daemon.workers();
                daemon.signal("-USR2");
                wait_until(|| !daemon.workers().contains(&before[0]));
                // The new one may listen a moment later.
                wait_for("10.1.0.2:8082");
                thread::sleep(Duration::from_millis(200));
            }
        }
    });
}

#[test]
fn a_process_serves_each_connection() {
    with_stack("servers::a_process_serves_each_connection", |network| {
        if !has("python3") || !has("curl") {
            return;
        }
        let expected = bytes(3_000_000);
        network.folder().file("file", &expected);
        let text = "import http.server as h, socketserver as s\n\
             class Server(s.ForkingMixIn, h.HTTPServer): pass\n\
             Server(('10.1.0.2', 8083), h.SimpleHTTPRequestHandler).serve_forever()\n";
        let mut command = network.shimmed("python3", &["-c", text]);
        command.stderr(std::process::Stdio::null());
        let _server = Running::new(command);
        wait_for("10.1.0.2:8083");
        for _ in 0..3 {
            fetch(network, "http://10.1.0.2:8083/file", &expected, 4);
        }
    });
}
