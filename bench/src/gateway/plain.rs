//! A server of HTTP that sends to each who asks what a connection of the kernel takes, or as much as it is told.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_congestion;
use serde::{Deserialize, Serialize};

use super::part::Told;

/// Bytes of a call.
const PIECE: usize = 4096;
/// How long a call may wait, so that the end is seen.
const PATIENCE: Duration = Duration::from_millis(100);
const HEAD: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";

/// What it sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Where clients come to.
    pub listen: SocketAddr,
    /// The congestion control of its connections.
    pub congestion: String,
    /// Bits a second at most.
    pub bits: Option<f64>,
}

/// Serves until it is told to end.
pub fn run(task: &Task) -> io::Result<()> {
    let told = Told::default();
    let listener = TcpListener::bind(task.listen)?;
    listener.set_nonblocking(true)?;
    told.answer(
        || (),
        || {
            thread::scope(|scope| {
                while !told.ends() {
                    match listener.accept() {
                        Ok((client, _)) => {
                            let told = &told;
                            // A client that goes ends its own.
                            scope.spawn(move || serve(client, task, told));
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            thread::sleep(Duration::from_millis(1));
                        }
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            })
        },
    )
}

fn serve(mut client: TcpStream, task: &Task, told: &Told) -> io::Result<()> {
    client.set_nonblocking(false)?;
    set_tcp_congestion(&client, &task.congestion)?;
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let _ = client.read(&mut [0; PIECE])?;
    client.write_all(HEAD)?;
    let (begun, mut sent) = (Instant::now(), 0usize);
    while !told.ends() {
        if let Some(bits) = task.bits {
            let due = Duration::from_secs_f64(sent as f64 * 8.0 / bits);
            thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        match client.write(&[0x55; PIECE]) {
            Ok(len) => sent += len,
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
