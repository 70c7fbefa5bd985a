//! A process that is stopped and goes on, as by Ctrl-Z, while it waits for an engine. One test, as it stops its process.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use evener_net::handshake::{create, request_file, send_file};
use evener_net::layout::{Layout, Sizes};
use rustix::thread::gettid;

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
    let timeout = Duration::from_secs(60);
    application.set_read_timeout(Some(timeout)).unwrap();
    let (say, said) = mpsc::channel();
    let waits = thread::spawn(move || {
        say.send(gettid().as_raw_nonzero()).unwrap();
        request_file(&mut application)
    });
    let stat = format!("/proc/self/task/{}/stat", said.recv().unwrap());
    let until_it_sleeps = || {
        let end = Instant::now() + timeout;
        // The state follows the name, which is in parentheses (proc(5)).
        while !fs::read_to_string(&stat).unwrap().contains(") S ") {
            assert!(Instant::now() < end, "it does not wait");
            thread::yield_now();
        }
    };
    until_it_sleeps();
    let id = std::process::id();
    let script = format!("kill -STOP {id}; sleep 0.2; kill -CONT {id}");
    let stopped = Command::new("sh").args(["-c", &script]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    until_it_sleeps();
    send_file(&engine, &file).unwrap();
    let got = waits.join().unwrap().unwrap();
    assert_eq!(Layout::of_file(&got).unwrap(), layout);
}
