//! An application that polls makes no system call while data flow.
//!
//! The application is this program, started again with a variable set. A filter of the kernel's (seccomp) ends it at any
//! system call but those that end it, and the one that reads the clock where that takes one.

use std::env;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

use evener_net::{Completions, Stack};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::common::{echo, hosts_that_spin};

const SOCKET: &str = "EVENER_NET_TEST_POLLING_SOCKET";
const PEER: &str = "EVENER_NET_TEST_POLLING_PEER";
const CALLS: &str = "EVENER_NET_TEST_POLLING_CALLS";
/// Bytes that go there and back at a time: a quarter of the rings, and so many times.
const STEP: usize = 1 << 14;
const STEPS: usize = 1 << 7;

/// Sends a step in place, receives it in place, and posts the next ones.
fn exchange(completions: &mut Completions, connection: u64, steps: usize) {
    let mut finished = Vec::with_capacity(8);
    let (mut sent, mut received) = (0, 0);
    completions.send(connection, 0, STEP).unwrap();
    completions.read(connection, 1, STEP).unwrap();
    while received < steps {
        completions.poll(&mut finished).unwrap();
        for completion in finished.drain(..) {
            let mut left = completion.result.unwrap();
            if completion.number == 0 {
                while left > 0 {
                    let space = completions.space(connection);
                    let some = space.len();
                    space.fill(sent as u8);
                    completions.commit(connection, some);
                    left -= some;
                }
                sent += 1;
                continue;
            }
            assert_eq!(left, STEP);
            while left > 0 {
                let data = completions.data(connection);
                let some = data.len();
                assert!(data.iter().all(|&byte| byte == received as u8));
                completions.consume(connection, some);
                left -= some;
            }
            received += 1;
            if received < steps {
                completions.send(connection, 0, STEP).unwrap();
                completions.read(connection, 1, STEP).unwrap();
            }
        }
    }
}

/// Every other call ends the process.
fn forbid_calls() {
    let allowed = [
        libc::SYS_clock_gettime,
        // By these the standard library ends a process. Without a call that maps memory there is little to unmap.
        libc::SYS_sigaltstack,
        libc::SYS_munmap,
        libc::SYS_exit_group,
    ];
    let filter: BpfProgram = SeccompFilter::new(
        allowed.into_iter().map(|call| (call, vec![])).collect(),
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap()
    .try_into()
    .unwrap();
    apply_filter(&filter).unwrap();
}

#[test]
fn application() {
    let Ok(socket) = env::var(SOCKET) else {
        return;
    };
    let calls = env::var(CALLS).unwrap() == "yes";
    let stack = Stack::attach(socket).unwrap();
    let peer = env::var(PEER).unwrap().parse().unwrap();
    let mut completions = stack.completions().unwrap();
    let connection = completions.add(stack.connect(peer).unwrap());
    // What is allocated once, is.
    exchange(&mut completions, connection, 4);
    forbid_calls();
    exchange(&mut completions, connection, STEPS);
    if calls {
        thread::yield_now();
    }
    std::process::exit(0);
}

/// How the application ends that sends and receives two MiB without a call, or with one.
fn ends(calls: bool) -> std::process::ExitStatus {
    let hosts = hosts_that_spin();
    let server = hosts[1].attach();
    let listener = server.listen(hosts[1].at(0), 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let sockets = UnixListener::bind(&path).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["calls::application", "--exact", "--nocapture"])
        .env(SOCKET, &path)
        .env(PEER, listener.local_addr().unwrap().to_string())
        .env(CALLS, if calls { "yes" } else { "no" })
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (socket, _) = sockets.accept().unwrap();
    hosts[0].serve(socket);
    let connection = listener.accept().unwrap();
    let peer = thread::spawn(move || echo(connection));
    let status = child.wait().unwrap();
    let _ = peer.join().unwrap();
    status
}

#[test]
fn data_flow_without_a_system_call() {
    let status = ends(false);
    assert!(status.success(), "{status}");
    // That the filter works: a call ends it.
    assert_eq!(ends(true).signal(), Some(libc::SIGSYS));
}
