//! A child with the filter before its system calls.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::net::RecvFlags;

use super::notify::{Notifier, child_filter};
use super::signals::Signals;
use crate::handshake::{receive_file, send_file};

/// Starts a program whose system calls are heard of, where signals come as they did before they were taken.
///
/// # Errors
/// The program cannot be run, or the filter cannot be had.
pub fn start(command: &mut Command, signals: &Signals) -> io::Result<(Child, Notifier)> {
    let (own, childs) = UnixStream::pair()?;
    let before = signals.before();
    let prepare = move || {
        Signals::restore(&before);
        let listener = File::from(child_filter()?);
        send_file(&childs, &listener)
    };
    // SAFETY: the closure makes system calls alone: it takes no lock and no memory of the heap.
    let child = unsafe { command.pre_exec(prepare) }.spawn()?;
    let listener = receive_file(&own, RecvFlags::DONTWAIT)?;
    let listener = listener.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((child, Notifier::new(listener)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, poll};

    use super::super::notify::{Reply, available};
    use super::*;

    #[test]
    fn calls_of_a_child_are_heard_of_and_answered() {
        if let Err(error) = available() {
            evener_testing::skip(format_args!("no notifications of seccomp: {error}"));
            return;
        }
        let signals = Signals::take().unwrap();
        let program = "import socket
s = socket.socket()
try:
    s.connect(('127.0.0.1', 9))
except OSError as error:
    assert error.errno == 101, error
s.bind(('127.0.0.1', 0))
s.listen()";
        let mut command = Command::new("python3");
        command.args(["-c", program]);
        let (mut child, notifier) = match start(&mut command, &signals) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                evener_testing::skip("there is no python3");
                return;
            }
            started => started.unwrap(),
        };
        let mut calls = Vec::new();
        loop {
            let fd = notifier.as_fd();
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            poll(&mut fds, None).unwrap();
            if fds[0].revents().contains(PollFlags::HUP) {
                break;
            }
            let Ok(call) = notifier.receive() else {
                continue;
            };
            assert!(notifier.waits(call.id));
            let task = format!("/proc/{}", call.thread);
            assert!(std::path::Path::new(&task).exists(), "{task}");
            notifier.reply(
                call.id,
                match call.call {
                    libc::SYS_connect => Reply::Error(libc::ENETUNREACH),
                    _ => Reply::Continue,
                },
            );
            assert!(!notifier.waits(call.id));
            calls.push(call.call);
        }
        assert!(child.wait().unwrap().success());
        let expected = [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];
        assert!(
            expected.iter().all(|call| calls.contains(call)),
            "{calls:?}"
        );
    }
}
