//! A stack as `evener net run` runs it, in a network namespace that the test makes: connections to its own addresses, to
//! networks behind a gateway, and its end.

use std::fs;
use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use evener_net::layout::Sizes;
use evener_net::session::{DEFAULT_SPIN, RunOptions, run};
use evener_net::tcp::congestion::Algorithm;
use evener_net::{Connection, Stack};
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;
use evener_testing::namespace;

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `body` beside a stack at 10.1.0.2, with the kernel at 10.1.0.1.
fn with_stack(device: &str, gateway: Option<&str>, body: impl FnOnce(&Stack, &dyn Fn())) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let cancel = CancelToken::new();
    let options = RunOptions {
        device: Arc::new(format!("{device},addr=10.1.0.1/24").parse().unwrap()),
        addresses: vec!["10.1.0.2/24".parse().unwrap()],
        gateways: gateway.into_iter().map(|ip| ip.parse().unwrap()).collect(),
        core: None,
        socket: socket.clone(),
        congestion: Algorithm::Cubic,
        metrics: None,
        hosts: Vec::new(),
        spin: DEFAULT_SPIN,
        pcap: None,
        filter: None,
        sizes: Sizes::default(),
    };
    let session = run(options, cancel.clone()).unwrap();
    let engine = thread::spawn(move || {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        session.run(&runtime).unwrap();
    });
    let until = Instant::now() + PATIENCE;
    while TcpListener::bind("10.1.0.1:0").is_err() {
        assert!(Instant::now() < until, "the kernel has no address");
        thread::sleep(Duration::from_millis(10));
    }
    let stack = Stack::attach(Path::new(&socket)).unwrap();
    body(&stack, &|| cancel.cancel());
    cancel.cancel();
    engine.join().unwrap();
}

fn echo(mut connection: Connection) {
    loop {
        let data = connection.fill_buf().unwrap().to_vec();
        if data.is_empty() {
            return;
        }
        connection.write_all(&data).unwrap();
        connection.consume(data.len());
    }
}

fn own_addresses(device: &str) {
    with_stack(device, None, |stack, _| {
        let at: SocketAddr = "10.1.0.2:7".parse().unwrap();
        let refused = stack.connect(at).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);

        let listener = stack.listen(at, 8).unwrap();
        let server = thread::spawn(move || echo(listener.accept().unwrap()));
        let mut client = stack.connect(at).unwrap();
        client.set_read_timeout(Some(PATIENCE));
        let bytes: Vec<u8> = (0..20_000_000_u32).map(|n| (n / 3) as u8).collect();
        let mut back = vec![0; bytes.len()];
        let (receive, send) = client.halves();
        thread::scope(|scope| {
            scope.spawn(|| send.write_all(&bytes).unwrap());
            receive.read_exact(&mut back).unwrap();
        });
        assert!(back == bytes);
        drop(client);
        server.join().unwrap();

        let mut far = stack.bind_udp(at).unwrap();
        let mut near = stack.bind_udp("10.1.0.2:0".parse().unwrap()).unwrap();
        near.set_read_timeout(Some(PATIENCE));
        far.set_read_timeout(Some(PATIENCE));
        let mut buffer = vec![0; 1 << 16];
        for len in [0, 1, 1400, 5000, 65_000] {
            near.send_to(&bytes[..len], at).unwrap();
            let (got, from) = far.recv_from(&mut buffer).unwrap();
            assert!(buffer[..got] == bytes[..len], "{len}");
            far.send_to(&buffer[..got], from).unwrap();
            assert_eq!(near.recv_from(&mut buffer).unwrap(), (len, at));
        }
    });
}

#[test]
fn applications_of_a_stack_reach_each_other_over_tun() {
    let name = "applications_of_a_stack_reach_each_other_over_tun";
    namespace::run(name, || own_addresses("tun:t0"));
}

#[test]
fn applications_of_a_stack_reach_each_other_over_tap() {
    let name = "applications_of_a_stack_reach_each_other_over_tap";
    namespace::run(name, || own_addresses("tap:t0,offload=off"));
}

#[test]
fn networks_behind_a_gateway_are_reached() {
    namespace::run("networks_behind_a_gateway_are_reached", || {
        // The kernel answers for addresses of the interface alone.
        fs::write("/proc/sys/net/ipv4/conf/all/arp_ignore", "1").unwrap();
        let far = ["address", "add", "10.9.0.1/32", "dev", "lo"];
        assert!(Command::new("ip").args(far).status().unwrap().success());
        with_stack("tap:t0", Some("10.1.0.1"), |stack, _| {
            let listener = TcpListener::bind("10.9.0.1:0").unwrap();
            let client = stack.connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, peer) = listener.accept().unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
            let echo = thread::spawn(move || echo(client));
            server.write_all(b"over the router").unwrap();
            let mut back = [0; 15];
            server.read_exact(&mut back).unwrap();
            assert_eq!(&back, b"over the router");
            drop(server);
            echo.join().unwrap();
        });
    });
}

#[test]
fn peers_of_a_stack_that_ends_get_a_reset() {
    namespace::run("peers_of_a_stack_that_ends_get_a_reset", || {
        with_stack("tun:t0", None, |stack, end| {
            let listener = stack.listen("10.1.0.2:7".parse().unwrap(), 64).unwrap();
            let connections: Vec<(TcpStream, Connection)> = (0..50)
                .map(|_| {
                    let client = TcpStream::connect("10.1.0.2:7").unwrap();
                    client.set_read_timeout(Some(PATIENCE)).unwrap();
                    (client, listener.accept().unwrap())
                })
                .collect();
            end();
            for (mut client, _server) in connections {
                let error = client.read(&mut [0]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
        });
    });
}
