//! A stack in a network namespace of its own, with the kernel at the other end of a TUN.

use std::env;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use evener_net::layout::Sizes;
use evener_net::session::{DEFAULT_SPIN, RunOptions, run};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;
use evener_testing::{Folder, namespace};

/// The address of the stack. The kernel's is 10.1.0.1.
const ADDRESS: &str = "10.1.0.2/24";

/// What a test has.
pub struct Network {
    folder: Folder,
    socket: PathBuf,
    library: PathBuf,
    cancel: CancelToken,
}

/// Whether there is a program; says aloud that it is skipped if not.
pub fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        evener_testing::skip(format_args!("there is no {program}"));
    }
    found
}

/// Runs the test of this name again, in a process with new namespaces where a stack runs. Says aloud that it is skipped
/// where there are none.
pub fn with_stack(name: &str, body: impl FnOnce(&Network)) {
    namespace::run(name, || inside(body));
}

fn inside(body: impl FnOnce(&Network)) {
    let folder = Folder::new();
    let socket = folder.path("socket");
    let own = env::current_exe().expect("the path of this program");
    let library = own.with_file_name("libevener_shim.so");
    assert!(library.is_file(), "no library at {}", library.display());
    let options = RunOptions {
        device: Arc::new("tun:t0,addr=10.1.0.1/24".parse().expect("a device")),
        addresses: vec![ADDRESS.parse().expect("an address")],
        gateways: Vec::new(),
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
    let cancel = CancelToken::new();
    let session = run(options, cancel.clone()).expect("a stack");
    let engine = thread::spawn(move || {
        let runtime = Runtime::builder().workers(1).build().expect("a runtime");
        session.run(&runtime).expect("a stack that runs");
    });
    // The kernel has its address a moment later.
    wait_until(|| TcpListener::bind("10.1.0.1:0").is_ok());
    body(&Network {
        folder,
        socket,
        library,
        cancel: cancel.clone(),
    });
    cancel.cancel();
    engine.join().expect("the stack ended");
}

/// Waits until something is so.
pub fn wait_until(mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !ready() {
        assert!(Instant::now() < end, "waited for too long");
        thread::sleep(Duration::from_millis(10));
    }
}

impl Network {
    /// The folder of the test.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Ends the stack.
    pub fn end_stack(&self) {
        self.cancel.cancel();
    }

    /// A program in the kernel's network, in the folder.
    pub fn plain(&self, program: &str, arguments: &[&str]) -> Command {
        // A program that hangs fails the test.
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "60", program]).args(arguments);
        command.current_dir(self.folder.root());
        command
    }

    /// A program whose sockets go to the stack.
    pub fn shimmed(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.plain(program, arguments);
        command
            .env("LD_PRELOAD", &self.library)
            .env("EVENER_SHIM_SOCKET", &self.socket)
            .env("EVENER_SHIM_ADDRESSES", ADDRESS);
        command
    }
}
