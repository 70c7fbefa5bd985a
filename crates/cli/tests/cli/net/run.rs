//! `evener net run`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::process::{Child, Stdio};
use std::time::Duration;

use evener_net::Stack;
use evener_net::tcp::congestion::Algorithm;
use rustix::process::Signal;

use crate::run::{Folder, status_of};
use crate::signals::send;

#[test]
fn what_cannot_run_is_said_in_a_line() {
    let folder = Folder::new();
    let congestion_controls = Algorithm::TABLE.map(|(name, _)| name);
    for (line, parts) in [
        ("net run", &["--device"][..]),
        (
            "net run --device tunnel:t --address 10.0.0.1/8",
            &["no device 'tunnel'", "wire:PATH"],
        ),
        (
            "net run --device tun:t --address 10.0.0.1",
            &["10.1.0.2/24"],
        ),
        (
            "net run --device tun:t --address 10.0.0.1/8 --congestion none",
            &congestion_controls[..],
        ),
        (
            "net run --device tun:t --address 10.0.0.1/8 --metrics 9100",
            &["a host and a port"],
        ),
        ("net run --status --device tun:t", &["--status"]),
        (
            "net run --device tun:t,addr=10.0.0.1/8 --address 10.0.0.1/8",
            &["10.0.0.1/8: it is the kernel's"],
        ),
        (
            "net run --device tun:t --address 10.0.0.1/8 --gateway 11.0.0.1",
            &["11.0.0.1: the gateway is in no network"],
        ),
        (
            "net run --device tun:t --address 10.0.0.1/8 --core 900",
            &["CPU 900", "--core"],
        ),
        (
            "net run --device tun:t,queue=0 --address 10.0.0.1/8",
            &["queue=0: a number of packets from 1"],
        ),
        (
            "net run --device seal:1.1.1.1:1,local=1.1.1.1:1,key=k --address 10.0.0.1/8",
            &["local=1.1.1.1:1: another address"],
        ),
        (
            "net run --device tun:t --address 10.0.0.1/8 --filter drop;tpc",
            &["rules:1:6: 'tpc' is not an action; there are pass, drop, count, mirror"],
        ),
    ] {
        folder.line(line).failed(2, parts);
    }
    for (line, parts) in [
        (
            "net run --status --socket s",
            &["s: no stack answers there"][..],
        ),
        (
            "net run --device tun:t --address 10.0.0.1/8 --socket no/s",
            &["cannot listen on unix:no/s"],
        ),
    ] {
        folder.line(line).failed(1, parts);
    }
    assert_eq!(folder.names(), Vec::<String>::new());
}

/// Starts a stack and the other end of its wire.
fn start(folder: &Folder, more: &str) -> [Child; 2] {
    ["a 10.0.0.1/24", "b 10.0.0.2/24"].map(|end| {
        let (socket, address) = end.split_once(' ').unwrap();
        let line = format!("net run --device wire:w --address {address} --socket {socket} {more}");
        let mut command = folder.evener(line.split_whitespace());
        command.stderr(Stdio::piped()).spawn().unwrap()
    })
}

fn first_line(child: &mut Child) -> (String, impl FnOnce() -> String + use<>) {
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let rest = move || {
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        rest
    };
    (line, rest)
}

#[test]
fn a_stack_that_waits_for_its_peer_ends_at_the_first_signal() {
    let folder = Folder::new();
    for (command, signal, status) in [
        (
            "run --address 10.0.0.1/24 --socket a --device wire:w",
            Signal::TERM,
            0,
        ),
        (
            "run --address 10.0.0.1/24 --socket a --device wire:w",
            Signal::INT,
            130,
        ),
        ("link wire:w wire:v", Signal::INT, 130),
    ] {
        let mut command = folder.evener(["net"].into_iter().chain(command.split(' ')));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        while !folder.names().contains(&"w".to_owned()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        send(&child, signal);
        assert_eq!(status_of(child.wait().unwrap()), Some(status));
        assert_eq!(folder.names(), Vec::<String>::new());
    }
}

#[test]
fn ends_of_a_tunnel_with_different_keys_say_so_once() {
    let folder = Folder::new();
    let sockets = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let [left, right] = sockets.map(|socket| socket.local_addr().unwrap());
    let ends = [("a", left, right), ("b", right, left)].map(|(name, local, peer)| {
        folder.line(&format!("keygen -o {name}.key")).succeeded();
        let line = format!(
            "net run --device seal:{peer},local={local},key={name}.key --address 10.0.0.1/24 --socket {name}"
        );
        let mut command = folder.evener(line.split_whitespace());
        (command.stderr(Stdio::piped()).spawn().unwrap(), peer)
    });
    for (mut child, peer) in ends {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = [String::new(), String::new()];
        for line in &mut lines {
            stderr.read_line(line).unwrap();
        }
        let expected =
            format!("{peer} has a different key, or is not a tunnel: both ends need the same");
        assert!(lines[1].contains(&expected), "{lines:?}");
        // Several messages come in this time.
        std::thread::sleep(Duration::from_millis(600));
        send(&child, Signal::TERM);
        assert_eq!(status_of(child.wait().unwrap()), Some(0));
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("another key"), "{rest}");
    }
}

#[test]
fn two_stacks_talk_over_a_wire_until_they_are_told_to_end() {
    let folder = Folder::new();
    for (signal, status) in [(Signal::TERM, Some(0)), (Signal::INT, Some(130))] {
        let mut children = start(&folder, "--congestion bbr --spin 20");
        let [(a, a_rest), (b, b_rest)] = children.each_mut().map(first_line);
        assert!(
            a.starts_with("10.0.0.1 on wire:w; applications at unix:a"),
            "{a}"
        );
        assert!(b.starts_with("10.0.0.2 on wire:w"), "{b}");
        let near = Stack::attach(folder.path("a")).unwrap();
        let far = Stack::attach(folder.path("b")).unwrap();
        let listener = far.listen("10.0.0.2:7".parse().unwrap(), 5).unwrap();
        let mut client = near.connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap();
        client.write_all(b"across").unwrap();
        let mut bytes = [0; 6];
        server.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"across");
        let status_text = folder.line("net run --status --socket a");
        let text = status_text.succeeded().text();
        assert!(text.contains("1 application, 1 connection\n"), "{text}");
        assert!(text.contains("10.0.0.2:7: Established"), "{text}");
        send(&children[0], signal);
        assert_eq!(status_of(children[0].wait().unwrap()), status);
        assert!(a_rest().contains("1 connection, "));
        // A wire without its other end is none.
        assert_eq!(status_of(children[1].wait().unwrap()), Some(1));
        assert!(b_rest().contains("wire:w: "));
        assert!(client.read(&mut bytes).is_err());
        let left = folder.names();
        assert!(
            !left.iter().any(|name| name == "a" || name == "b"),
            "{left:?}"
        );
    }
}
