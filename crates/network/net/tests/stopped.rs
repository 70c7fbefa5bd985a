//! Engines and links that are stopped while they wait for the peer of a wire.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use evener_net::device::{Context, Specification};
use evener_net::layout::Sizes;
use evener_net::link;
use evener_net::session::{DEFAULT_SPIN, RunOptions, SessionError, run};
use evener_net::tcp::congestion::Algorithm;
use evener_runtime::stream::CancelToken;

/// Calls `open` on a thread, cancels it after a moment, and returns what it returned soon after.
fn stopped<T: Send + 'static>(open: impl FnOnce(CancelToken) -> T + Send + 'static) -> T {
    let cancel = CancelToken::new();
    let (tell, told) = mpsc::channel();
    let token = cancel.clone();
    thread::spawn(move || tell.send(open(token)));
    let early = told.recv_timeout(Duration::from_millis(300));
    assert!(early.is_err(), "it does not wait");
    cancel.cancel();
    let ended = told.recv_timeout(Duration::from_secs(60));
    ended.expect("it waits on")
}

fn wire(folder: &Path) -> Specification {
    let text = format!("wire:{}", folder.join("wire").display());
    text.parse().unwrap()
}

fn options(folder: &Path) -> RunOptions {
    RunOptions {
        device: Arc::new(wire(folder)),
        addresses: vec!["10.3.0.1/24".parse().unwrap()],
        gateways: Vec::new(),
        core: None,
        socket: folder.join("socket"),
        congestion: Algorithm::Cubic,
        metrics: None,
        hosts: Vec::new(),
        spin: DEFAULT_SPIN,
        pcap: None,
        filter: None,
        sizes: Sizes::default(),
    }
}

#[test]
fn an_engine_without_a_peer_ends_and_leaves_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    let asked = options(folder.path());
    let error = stopped(move |cancel| run(asked, cancel).err());
    assert!(matches!(error, Some(SessionError::Stopped)), "{error:?}");
    let left = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn an_engine_ends_whose_peer_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("wire")).unwrap();
    thread::spawn(move || {
        let (mut silent, _) = listener.accept().unwrap();
        let _ = silent.read(&mut [0]);
    });
    let asked = options(folder.path());
    let error = stopped(move |cancel| run(asked, cancel).err());
    assert!(matches!(error, Some(SessionError::Stopped)), "{error:?}");
}

#[test]
fn a_link_without_a_peer_ends() {
    let folder = tempfile::tempdir().unwrap();
    let first = wire(folder.path());
    let error = stopped(move |cancel| {
        let context = Context::from(cancel);
        link::Session::open(&first, &first, None, &context).err()
    });
    assert!(matches!(error, Some(link::Error::Stopped)), "{error:?}");
    let left = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(left.count(), 0);
}
