//! `evener net link`

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use evener_net::device::{Device, Wire};
use evener_net::memory::Shared;
use evener_net::packet::{Offload, Outgoing};
use rustix::process::Signal;

use crate::image::serve::Server;
use crate::run::Folder;
use crate::signals::is_ignored;

fn end(path: &Path) -> Wire {
    Wire::meet(path, 1500, true).unwrap()
}

/// Sends packets at one end, and returns how many came to the other within the time, and when the first did.
fn send(from: &mut Wire, to: &mut Wire, count: u32) -> (u32, Duration) {
    let start = Instant::now();
    for _ in 0..count {
        let packet = Outgoing {
            header: &[0; 100],
            payload: [Shared::EMPTY; 2],
            offload: Offload::default(),
        };
        assert!(from.send(packet).unwrap());
        from.flush().unwrap();
    }
    let (mut came, mut first) = (0, None);
    while start.elapsed() < Duration::from_secs(1) {
        came += to.receive(64, &mut |_, _| ()).unwrap() as u32;
        if came > 0 {
            first.get_or_insert(start.elapsed());
        }
    }
    (came, first.unwrap())
}

#[test]
fn a_link_delays_and_loses_packets() {
    if is_ignored(Signal::TERM) {
        return;
    }
    let folder = Folder::new();
    let (a, b) = (folder.path("a"), folder.path("b"));
    let mut command = folder.evener(["net", "link", "wire:a", "wire:b", "--delay", "20ms"]);
    command.args(["--loss", "50%", "--reorder", "10%/5ms"]);
    command.args(["--filter", "count out"]);
    let threads = std::thread::spawn(move || {
        let meet = |path: std::path::PathBuf| std::thread::spawn(move || end(&path));
        let (a, b) = (meet(a), meet(b));
        (a.join().unwrap(), b.join().unwrap())
    });
    let server = Server::of(command);
    assert_eq!(server.line, "link between wire:a and wire:b\n");
    let (mut near, mut far) = threads.join().unwrap();
    let (there, first) = send(&mut near, &mut far, 1000);
    assert!(first >= Duration::from_millis(20), "{first:?}");
    assert!((350..650).contains(&there), "{there}");
    let (back, _) = send(&mut far, &mut near, 1000);
    let (status, said) = server.end(Signal::TERM);
    assert_eq!(status, Some(0), "{said}");
    let line = format!("there: {there} forwarded, {} lost, ", 1000 - there);
    assert!(said.contains(&line), "{said}");
    let line = format!("filter packets: {back} of rule 1: count out");
    assert!(said.contains(&line), "{said}");
    let line = format!("back: {back} forwarded, {} lost, ", 1000 - back);
    assert!(
        said.contains(&line) && said.contains(" held back"),
        "{said}"
    );
}

#[test]
fn wrong_devices_and_amounts_are_told() {
    let folder = Folder::new();
    for (line, expected) in [
        (
            "net link tun:a tunnel:b",
            "no device 'tunnel'; there are tun:NAME",
        ),
        (
            "net link tun:a wire:b,addr=10.0.0.1/8",
            "wire has no option 'addr'",
        ),
        (
            "net link wire:a wire:b --loss 200%",
            "not a share, as in 1% or 0.01",
        ),
        ("net link wire:a wire:b --rate fast", "as in 100M or 1G"),
        ("net link wire:a wire:b --delay 5", "as in 50us, 5ms or 1s"),
        ("net link wire:a", "<B>"),
    ] {
        let done = folder.line(line);
        assert_eq!(done.status, Some(2), "{line}");
        assert!(done.stderr.contains(expected), "{line}: {}", done.stderr);
    }
    let done = folder.line("net link packet:no-such-one wire:b");
    assert_eq!(done.status, Some(1));
    assert!(
        done.stderr.contains("cannot open packet:no-such-one"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_wire_says_that_it_waits() {
    let folder = Folder::new();
    let mut command = folder.evener(["net", "link", "wire:a", "wire:b"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stderr = child.stderr.take().unwrap();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    assert_eq!(line, "waits for the other end at a\n");
    crate::signals::send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
