//! Any bytes as requests of HTTP on a connection, cut anywhere: no panic, answers are of HTTP, and the next client is
//! answered.

#![no_main]
#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use evener_gateway::access::Access;
use evener_gateway::engine::{Engine, Handle, Message, Pools, Resolver, Shared};
use evener_gateway::session::config::Config;
use libfuzzer_sys::fuzz_target;

/// How long an answer is waited for that may have no end.
const PATIENCE: Duration = Duration::from_millis(100);

fuzz_target!(|input: (u8, &[u8])| {
    let (step, bytes) = input;
    let mut client = connect();
    for part in bytes.chunks(usize::from(step).max(1)) {
        // The gateway may have closed the connection.
        if client.write_all(part).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Write);
    let answer = read(&mut client);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."));
    let mut next = connect();
    next.write_all(b"HEAD /status HTTP/1.0\r\n\r\n")
        .expect("a connection");
    next.set_read_timeout(None).expect("a socket");
    assert!(read(&mut next).starts_with(b"HTTP/1."));
});

/// A client of an engine that opens nothing for it.
fn connect() -> TcpStream {
    static ENGINE: OnceLock<(Arc<Handle>, TcpListener)> = OnceLock::new();
    let (engine, listener) = ENGINE.get_or_init(|| {
        let access = Arc::new(Access::new(false, Vec::new()));
        let pools = Arc::new(Pools::new(Vec::new()).expect("a descriptor"));
        let shared = Arc::new(Shared::new(Config::default(), access, pools));
        let (resolver, _) = Resolver::new();
        let engine = Engine::new(&shared, resolver).expect("an engine");
        let handle = engine.handle();
        thread::spawn(move || engine.run().expect("no error"));
        (handle, TcpListener::bind("127.0.0.1:0").expect("a port"))
    });
    let address = listener.local_addr().expect("an address");
    let client = TcpStream::connect(address).expect("a connection");
    let (stream, peer) = listener.accept().expect("a connection");
    engine.send(Message::Connected(stream, peer));
    client.set_read_timeout(Some(PATIENCE)).expect("a socket");
    client
}

fn read(client: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    answer
}
