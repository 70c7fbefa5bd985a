//! Sends back what comes, for all clients in one thread.
//!
//! ```text
//! evener net run --device tun:evener0,addr=10.1.0.1/24 --address 10.1.0.2/24 &
//! cargo run --release -p evener-net --example echo -- /run/evener-net.sock 10.1.0.2:7
//! nc 10.1.0.2 7
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Write};

use evener_net::client::Interest;
use evener_net::{Connection, Stack};

/// The listener; connections have the numbers after it.
const LISTENER: u64 = 0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(socket), Some(address)) = (args.next(), args.next()) else {
        return Err("usage: echo SOCKET ADDRESS:PORT".into());
    };
    let stack = Stack::attach(&socket)?;
    let listener = stack.listen(address.parse()?, 1024)?;
    listener.set_nonblocking(true);
    let poller = stack.poller()?;
    poller.add(&listener, LISTENER, Interest::READABLE);
    let mut connections: HashMap<u64, Connection> = HashMap::new();
    let (mut next, mut events) = (LISTENER, Vec::new());
    loop {
        poller.wait(&mut events, None)?;
        for event in &events {
            if event.token == LISTENER {
                while let Ok(connection) = listener.accept() {
                    connection.set_nonblocking(true);
                    next += 1;
                    poller.add(&connection, next, Interest::READABLE);
                    connections.insert(next, connection);
                }
            } else if let Some(connection) = connections.get_mut(&event.token) {
                match echo(connection) {
                    Ok(true) => {}
                    // What waits for room waits for the peer to read.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        let interest = match connection.available() {
                            0 => Interest::READABLE,
                            _ => Interest::WRITABLE,
                        };
                        poller.add(connection, event.token, interest);
                    }
                    Ok(false) | Err(_) => drop(connections.remove(&event.token)),
                }
            }
        }
    }
}

/// Sends back what is there. False at the end.
fn echo(connection: &mut Connection) -> io::Result<bool> {
    let (receive, send) = connection.halves();
    loop {
        let data = receive.fill_buf()?;
        if data.is_empty() {
            return Ok(false);
        }
        let n = send.write(data)?;
        receive.consume(n);
    }
}
