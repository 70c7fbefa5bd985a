//! A program that is linked statically, with the kernel at the other end of the stack.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use evener_net::layout::Sizes;
use evener_net::session::{DEFAULT_SPIN, ExecError, Program, RunOptions, run};
use evener_net::supervise::{Ending, available, is_static};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;
use evener_testing::namespace;
use rustix::net::sockopt;

/// A stack, and the program.
struct Network {
    folder: tempfile::TempDir,
    program: PathBuf,
    /// Ends the stack.
    cancel: CancelToken,
}

/// The program, or why there can be none here.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    available().map_err(|error| format!("no notifications of seccomp: {error}"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/supervised/program.c");
    let program = folder.join("program");
    let output = Command::new("cc")
        .args(["-static", "-pthread", "-O1", "-o"])
        .args([&program, &source])
        .output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err("there is no cc".into()),
        output => output.unwrap(),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Ok(program)
}

/// Runs the test of this name again, in a process with new namespaces where a stack runs. Says aloud that it is skipped
/// where that or the program cannot be.
fn with_stack(name: &str, body: impl FnOnce(&Network)) {
    namespace::run(name, || {
        let folder = tempfile::tempdir().unwrap();
        let program = match compile(folder.path()) {
            Ok(program) => program,
            Err(reason) => return evener_testing::skip(reason),
        };
        assert!(is_static(program.as_os_str()));
        let lo = ["link", "set", "lo", "up"];
        assert!(Command::new("ip").args(lo).status().unwrap().success());
        let options = RunOptions {
            device: Arc::new("tun:t0,addr=10.1.0.1/24".parse().unwrap()),
            addresses: vec!["10.1.0.2/24".parse().unwrap()],
            gateways: Vec::new(),
            core: None,
            socket: folder.path().join("socket"),
            congestion: Algorithm::Cubic,
            metrics: None,
            hosts: Vec::new(),
            spin: DEFAULT_SPIN,
            pcap: None,
            filter: None,
            sizes: Sizes::default(),
        };
        let cancel = CancelToken::new();
        let session = run(options, cancel.clone()).unwrap();
        let engine = thread::spawn(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            session.run(&runtime).unwrap();
        });
        // The kernel has its address a moment later.
        wait_until(|| TcpListener::bind("10.1.0.1:0").is_ok());
        let network = Network {
            folder,
            program,
            cancel,
        };
        body(&network);
        network.cancel.cancel();
        engine.join().unwrap();
    });
}

fn wait_until(mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < end, "waited for too long");
        thread::sleep(Duration::from_millis(10));
    }
}

impl Network {
    /// Runs a program, which `timeout` ends if it hangs.
    fn run(&self, command: &[&str], listen: bool) -> Result<Ending, ExecError> {
        Program {
            command: command.iter().map(OsString::from).collect(),
            socket: self.folder.path().join("socket"),
            to: Vec::new(),
            listen,
            supervise: true,
            library: &[],
        }
        .run()
    }

    fn start(&self, arguments: &[&str]) -> Ending {
        let mut command = vec!["timeout", "-k", "1", "60", self.program.to_str().unwrap()];
        command.extend(arguments);
        self.run(&command, false).unwrap()
    }
}

/// A server of the kernel's that sends back what it gets, until that ends.
fn echo() -> String {
    serve(|mut stream| {
        let mut from = stream.try_clone().unwrap();
        if std::io::copy(&mut from, &mut stream).is_ok() {
            let _ = stream.shutdown(Shutdown::Write);
        }
    })
}

/// A server of the kernel's. Returns its port.
fn serve(handle: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("10.1.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || handle(stream));
        }
    });
    port.to_string()
}

#[test]
fn calls_mean_what_they_do_in_the_kernel() {
    with_stack("calls_mean_what_they_do_in_the_kernel", |network| {
        let port = echo();
        let ending = network.start(&["calls", "10.1.0.1", &port]);
        assert_eq!(ending, Ending::Exit(0));
        let ending = network.start(&["bulk", "10.1.0.1", &port, "20000000"]);
        assert_eq!(ending, Ending::Exit(0));
    });
}

#[test]
fn a_reset_is_told() {
    with_stack("a_reset_is_told", |network| {
        let port = serve(|stream| {
            // The program waits in `read` by then.
            thread::sleep(Duration::from_millis(100));
            sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        });
        let ending = network.start(&["reset", "10.1.0.1", &port]);
        assert_eq!(ending, Ending::Exit(0));
    });
}

#[test]
fn the_end_of_the_stack_is_a_reset() {
    with_stack("the_end_of_the_stack_is_a_reset", |network| {
        let listener = TcpListener::bind("10.1.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let cancel = network.cancel.clone();
        let peer = thread::spawn(move || {
            let stream = listener.accept().unwrap();
            thread::sleep(Duration::from_millis(100));
            cancel.cancel();
            stream
        });
        let ending = network.start(&["reset", "10.1.0.1", &port]);
        assert_eq!(ending, Ending::Exit(0));
        peer.join().unwrap();
    });
}

#[test]
fn nonsense_disturbs_no_other_process() {
    with_stack("nonsense_disturbs_no_other_process", |network| {
        let ending = network.start(&["hostile", "10.1.0.1", &echo(), "3000"]);
        assert_eq!(ending, Ending::Exit(0));
    });
}

#[test]
fn connections_are_accepted() {
    with_stack("connections_are_accepted", |network| {
        let clients = thread::spawn(|| {
            let connect = || TcpStream::connect("10.1.0.2:7002");
            wait_until(|| connect().is_ok());
            let streams: Vec<TcpStream> = (1..12).map(|_| connect().unwrap()).collect();
            for (n, mut stream) in (0..).zip(streams) {
                let bytes = vec![n; 300_000];
                let mut sender = stream.try_clone().unwrap();
                let sent = bytes.clone();
                let sends = thread::spawn(move || {
                    sender.write_all(&sent).unwrap();
                    sender.shutdown(Shutdown::Write).unwrap();
                });
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                sends.join().unwrap();
                assert!(got == bytes, "{} bytes", got.len());
            }
        });
        let ending = network.start(&["serve", "10.1.0.2", "7002", "12"]);
        assert_eq!(ending, Ending::Exit(0));
        clients.join().unwrap();
    });
}

#[test]
fn a_server_without_an_address_listens_at_the_stacks() {
    let name = "a_server_without_an_address_listens_at_the_stacks";
    with_stack(name, |network| {
        let client = thread::spawn(|| {
            wait_until(|| TcpStream::connect("10.1.0.2:7003").is_ok());
        });
        let program = network.program.to_str().unwrap();
        let command = ["timeout", "60", program, "serve", "0.0.0.0", "7003", "1"];
        assert_eq!(network.run(&command, true).unwrap(), Ending::Exit(0));
        client.join().unwrap();
    });
}

#[test]
fn a_program_ends_as_it_ends() {
    with_stack("a_program_ends_as_it_ends", |network| {
        let port = echo();
        let program = network.program.to_str().unwrap();
        let ending = network.run(&[program, "exit", "10.1.0.1", &port], false);
        assert_eq!(ending.unwrap(), Ending::Exit(7));
        // A program that is killed has its connections closed, and this process learns why it ended.
        let command = [
            "timeout", "-s", "KILL", "1", program, "wait", "10.1.0.1", &port,
        ];
        let ending = network.run(&command, false).unwrap();
        assert_eq!(ending, Ending::Signal(libc::SIGKILL));
        let missing = network.run(&["/no/such/program"], false);
        assert!(matches!(missing, Err(ExecError::Program { .. })));
    });
}
