//! A process that is stopped and goes on, as by Ctrl-Z, while it waits for an engine. One test, as it stops its process.

use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use evener_net::application::handshake::{create, request_file, send_file};
use evener_net::application::layout::{Layout, Sizes};

#[test]
fn a_process_that_was_stopped_still_gets_its_memory() {
    let sizes = Sizes {
        connections: 64,
        send: 4096,
        receive: 8192,
    };
    let layout = Layout::new(sizes).unwrap();
    let (file, _region) = create(&layout).unwrap();
    let (engine, mut application) = UnixStream::pair().unwrap();
    // Of a socket with a timeout a call does not go on by itself after a stop (signal(7)).
    let timeout = Duration::from_secs(10);
    application.set_read_timeout(Some(timeout)).unwrap();
    let waits = thread::spawn(move || request_file(&mut application));
    thread::sleep(Duration::from_millis(100));
    let id = std::process::id();
    let script = format!("kill -STOP {id}; sleep 0.2; kill -CONT {id}");
    let stopped = Command::new("sh").args(["-c", &script]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    thread::sleep(Duration::from_millis(100));
    send_file(&engine, &file).unwrap();
    let got = waits.join().unwrap().unwrap();
    assert_eq!(Layout::of_file(&got).unwrap(), layout);
}
