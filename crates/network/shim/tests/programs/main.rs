//! Programs that were never told of the stack, with the kernel at the other end.

mod engine;
mod servers;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use engine::{Network, has, wait_until, with_stack};

/// The address of the stack.
const INSIDE: &str = "10.1.0.2";

/// Bytes in which a place that is wrong shows.
fn bytes(len: u32) -> Vec<u8> {
    (0..len)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .take(len as usize)
        .collect()
}

/// A program that is ended when the test is.
struct Running(Child);

impl Running {
    fn new(mut command: Command) -> Running {
        Running(command.stdout(Stdio::null()).spawn().expect("a program"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // `timeout` passes SIGTERM on.
        let id = self.0.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.0.wait();
    }
}

fn output(mut command: Command) -> Vec<u8> {
    let output = command.output().expect("a program");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    output.stdout
}

/// Waits until connections to a port are taken.
fn wait_for(address: &str) {
    wait_until(|| TcpStream::connect(address).is_ok());
}

/// A server of the kernel's that answers a request of HTTP with some bytes, as often as it is asked by the stack.
fn serve(body: Vec<u8>) -> String {
    let listener = TcpListener::bind("10.1.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            // A client of the kernel's gets no answer.
            let peer = stream.peer_addr().expect("an address");
            assert_eq!(peer.ip().to_string(), INSIDE, "the client of the test");
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).expect("a request");
                request.push(byte[0]);
            }
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).expect("a head");
            stream.write_all(&body).expect("a body");
        }
    });
    address
}

#[test]
fn clients_fetch_from_the_kernel() {
    with_stack("clients_fetch_from_the_kernel", |network| {
        let expected = bytes(5_000_000);
        let url = format!("http://{}/", serve(expected.clone()));
        let python = "import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1]).read())";
        for (program, arguments) in [
            ("curl", &["-sS", &url][..]),
            ("wget", &["-q", "-O", "-", &url]),
            ("python3", &["-c", python, &url]),
        ] {
            if has(program) {
                let got = output(network.shimmed(program, arguments));
                assert!(got == expected, "{program}: {} bytes", got.len());
            }
        }
    });
}

#[test]
fn a_server_is_fetched_from_by_the_kernel() {
    with_stack("a_server_is_fetched_from_by_the_kernel", |network| {
        if !has("python3") || !has("curl") {
            return;
        }
        let expected = bytes(5_000_000);
        network.folder().file("file", &expected);
        for (port, bind) in [("8001", Some("10.1.0.2")), ("8002", None)] {
            let mut arguments = vec!["-m", "http.server", port];
            arguments.extend(bind.iter().flat_map(|address| ["--bind", address]));
            let mut command = network.shimmed("python3", &arguments);
            command.env("EVENER_SHIM_LISTEN", if bind.is_some() { "0" } else { "1" });
            let server = Running::new(command);
            wait_for(&format!("10.1.0.2:{port}"));
            let url = format!("http://10.1.0.2:{port}/file");
            for _ in 0..3 {
                let got = output(network.plain("curl", &["-sS", &url]));
                assert!(got == expected, "{} bytes", got.len());
            }
            drop(server);
        }
    });
}

#[test]
fn a_server_at_all_addresses_serves_those_of_the_kernel_too() {
    with_stack(
        "a_server_at_all_addresses_serves_those_of_the_kernel_too",
        |network| {
            if !has("python3") || !has("ip") {
                return;
            }
            output(network.plain("ip", &["link", "set", "lo", "up"]));
            for (port, how) in ["accept", "poll", "select", "epoll", "early", "fork"]
                .iter()
                .enumerate()
            {
                let port = 8101 + port as u16;
                let text = include_str!("everywhere.py");
                let arguments = ["-c", text, &port.to_string(), how];
                let mut command = network.shimmed("python3", &arguments);
                command.env("EVENER_SHIM_LISTEN", "1");
                let _server = Running::new(command);
                let addresses = [INSIDE, "10.1.0.1", "127.0.0.1"];
                // It listens in the kernel first, and then in the stack.
                wait_for(&format!("127.0.0.1:{port}"));
                wait_for(&format!("{INSIDE}:{port}"));
                for round in 0..12 {
                    let address = addresses[round % addresses.len()];
                    let mut stream = TcpStream::connect((address, port)).expect("a connection");
                    let mut answer = String::new();
                    let read = stream.read_to_string(&mut answer);
                    read.unwrap_or_else(|error| panic!("{how}, {address}: {error}"));
                    assert_eq!(answer, address, "{how}");
                }
            }
        },
    );
}

#[test]
fn a_listener_at_an_address_comes_before_one_at_all() {
    with_stack(
        "a_listener_at_an_address_comes_before_one_at_all",
        |network| {
            if !has("python3") || !has("ip") {
                return;
            }
            output(network.plain("ip", &["link", "set", "lo", "up"]));
            let server = |how| {
                let arguments = ["-c", include_str!("everywhere.py"), "8200", how];
                let mut command = network.shimmed("python3", &arguments);
                command.env("EVENER_SHIM_LISTEN", "1");
                Running::new(command)
            };
            let answer = |address| {
                let mut answer = String::new();
                let mut stream = TcpStream::connect((address, 8200)).ok()?;
                stream.read_to_string(&mut answer).ok()?;
                Some(answer)
            };
            let _all = server("accept");
            wait_until(|| answer(INSIDE).as_deref() == Some(INSIDE));
            let one = server("one");
            wait_until(|| answer(INSIDE).as_deref() == Some("one"));
            assert_eq!(answer("127.0.0.1").as_deref(), Some("127.0.0.1"));
            drop(one);
            wait_until(|| answer(INSIDE).as_deref() == Some(INSIDE));
        },
    );
}

/// Runs a program in python, whose assertions are the test's.
fn python(network: &Network, text: &str, address: &str) -> String {
    let (host, port) = address.split_once(':').expect("a port");
    let command = network.shimmed("python3", &["-c", text, host, port]);
    String::from_utf8(output(command)).expect("text")
}

/// A server of the kernel's that sends back what it gets.
fn echo() -> String {
    let listener = TcpListener::bind("10.1.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            thread::spawn(move || {
                let mut from = stream.try_clone().expect("the same");
                let _ = std::io::copy(&mut from, &mut stream);
            });
        }
    });
    address
}

macro_rules! scripts {
    ($($name:ident: $text:literal,)+) => {$(
        #[test]
        fn $name() {
            with_stack(stringify!($name), |network| {
                if has("python3") {
                    python(network, include_str!($text), &echo());
                }
            });
        }
    )+};
}

scripts! {
    calls_mean_what_they_do_in_the_kernel: "calls.py",
    options_are_of_one_socket: "options.py",
    waiting_is_fair_and_exact: "readiness.py",
    processes_end_and_fork_in_order: "ends.py",
    datagrams_pass: "datagrams.py",
    children_have_what_their_parents_have: "fork.py",
    threads_go_on_while_one_forks: "threads.py",
}

#[test]
fn servers_are_told_once_that_the_stack_is_gone() {
    with_stack("servers_are_told_once_that_the_stack_is_gone", |network| {
        if !has("python3") {
            return;
        }
        let servers: Vec<_> = ["accept", "poll", "epoll", "udp"]
            .into_iter()
            .map(|how| {
                let mut command = network.shimmed("python3", &["-c", include_str!("gone.py"), how]);
                let mut child = command.stdout(Stdio::piped()).spawn().expect("a program");
                let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
                let mut lines = lines.map(|line| line.expect("a line"));
                assert_eq!(lines.next().as_deref(), Some("ready"));
                (how, lines, Running(child))
            })
            .collect();
        network.end_stack();
        for (how, lines, _running) in servers {
            let error = match how {
                "udp" => "ECONNRESET",
                _ => "ENETDOWN",
            };
            assert_eq!(lines.collect::<Vec<_>>(), [error, "quiet"], "{how}");
        }
    });
}
