//! Applications that are killed: their connections are reset, their memory comes back, and others go on.
//!
//! The application is this program, started again with a variable set.

use std::env;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evener_net::{Connection, Stack};

use crate::common::{Host, connected, eventually, hosts};

const SOCKET: &str = "EVENER_NET_TEST_SOCKET";
const PHASE: &str = "EVENER_NET_TEST_PHASE";
const PEER: &str = "EVENER_NET_TEST_PEER";

/// What the application does until it is killed.
#[test]
fn application() {
    let Ok(socket) = env::var(SOCKET) else {
        return;
    };
    let stack = Stack::attach(socket).unwrap();
    let peer = env::var(PEER).unwrap().parse().unwrap();
    match env::var(PHASE).unwrap().as_str() {
        "attached" => {}
        "listening" => std::mem::forget(stack.listen("10.0.0.1:80".parse().unwrap(), 5)),
        "connecting" => {
            let nowhere = "10.0.0.99:1".parse().unwrap();
            std::mem::forget(stack.start_connect(None, nowhere));
        }
        "writing" => {
            let mut connection = stack.connect(peer).unwrap();
            told();
            loop {
                connection.write_all(&[7; 10_000]).unwrap();
            }
        }
        "reading" => {
            let mut connection = stack.connect(peer).unwrap();
            told();
            let _ = connection.read_to_end(&mut Vec::new());
        }
        "closed" => {
            let mut connection = stack.connect(peer).unwrap();
            connection.write_all(&[9; 60_000]).unwrap();
            drop(connection);
            // Only the process's end is left to tell.
            std::mem::forget(stack);
            std::process::abort();
        }
        other => panic!("no phase {other}"),
    }
    told();
    std::thread::sleep(Duration::from_secs(60));
}

fn told() {
    println!("\nready");
    std::io::stdout().flush().unwrap();
}

fn start(host: &Host, phase: &str, peer: &str) -> Child {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["killed::application", "--exact", "--nocapture"])
        .env(SOCKET, &path)
        .env(PHASE, phase)
        .env(PEER, peer)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (socket, _) = listener.accept().unwrap();
    host.serve(socket);
    child
}

fn wait_ready(child: &mut Child) {
    let mut text = Vec::new();
    let mut byte = [0];
    let stdout = child.stdout.as_mut().unwrap();
    while !text.ends_with(b"ready\n") {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "the application failed");
        text.push(byte[0]);
    }
}

fn still_works((near, far): &mut (Connection, Connection)) {
    near.write_all(b"ping").unwrap();
    far.read_exact(&mut [0; 4]).unwrap();
}

#[test]
fn in_every_phase() {
    let hosts = hosts();
    let mut others = connected(&hosts);
    let server = hosts[1].attach();
    let listener = server.listen(hosts[1].at(0), 5).unwrap();
    let peer = listener.local_addr().unwrap().to_string();
    for phase in ["attached", "listening", "connecting", "writing", "reading"] {
        let mut child = start(&hosts[0], phase, &peer);
        wait_ready(&mut child);
        let far = matches!(phase, "writing" | "reading").then(|| listener.accept().unwrap());
        assert_eq!(hosts[0].commands.inspect(false).unwrap().applications, 2);
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(mut far) = far {
            let error = far.read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{phase}");
        }
        eventually("it is gone", || {
            hosts[0].commands.inspect(false).unwrap().applications == 1
        });
        eventually("its connections are gone", || hosts[0].flows() == 1);
        still_works(&mut others);
    }
}

#[test]
fn what_was_closed_before_is_sent_to_the_end() {
    let hosts = hosts();
    let server = hosts[1].attach();
    let listener = server.listen(hosts[1].at(0), 5).unwrap();
    let peer = listener.local_addr().unwrap().to_string();
    let mut child = start(&hosts[0], "closed", &peer);
    let mut all = Vec::new();
    let mut far = listener.accept().unwrap();
    child.wait().unwrap();
    far.read_to_end(&mut all).unwrap();
    assert!(all == vec![9; 60_000]);
    drop(far);
    eventually("it is gone", || {
        hosts[0].commands.inspect(false).unwrap().applications == 0
    });
}
