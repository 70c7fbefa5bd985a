//! A gateway, and a client of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use evener_gateway::session::config::Config;
use evener_gateway::session::{Served, listen};
use evener_runtime::Runtime;
use evener_runtime::stream::CancelToken;

/// Runs a gateway that allows these targets while `clients` does its work, which gets its address.
pub fn gateway(allow: &[&str], clients: impl FnOnce(SocketAddr)) -> Served {
    let allow = allow.iter().map(|target| target.parse().unwrap()).collect();
    let config = Config {
        allow,
        ..Config::default()
    };
    serve(config, clients)
}

/// Runs a gateway that is set up like this while `clients` does its work.
pub fn serve(config: Config, clients: impl FnOnce(SocketAddr)) -> Served {
    serve_until(config, |address, _| clients(address))
}

/// The same; `clients` gets what ends the gateway too.
pub fn serve_until(mut config: Config, clients: impl FnOnce(SocketAddr, &CancelToken)) -> Served {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    config.listen = Some("tcp:127.0.0.1:0".parse().unwrap());
    let session = listen(config).unwrap();
    let address = session.address().to_string();
    let address = address.trim_start_matches("tcp:").parse().unwrap();
    let cancel = CancelToken::new();
    thread::scope(|scope| {
        let token = cancel.clone();
        let served = scope.spawn(move || session.run(&runtime, &token, None).unwrap());
        let ended = catch_unwind(AssertUnwindSafe(|| clients(address, &cancel)));
        cancel.cancel();
        let served = served.join().unwrap();
        ended.unwrap_or_else(|panic| resume_unwind(panic));
        served
    })
}

/// A response that has begun.
pub struct Response {
    pub status: u16,
    pub head: String,
    body: BufReader<TcpStream>,
}

/// Asks for a target. The response has no chunks and ends with the connection.
pub fn ask(gateway: SocketAddr, target: &str) -> Response {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(stream, "GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut body = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(body.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, head, body }
}

impl Response {
    /// The response, which must be one of success.
    pub fn ok(self) -> Response {
        if self.status != 200 {
            panic!("{}{}", self.head.clone(), self.text());
        }
        self
    }

    /// All of the body, which must end.
    pub fn rest(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// All of the body as text.
    pub fn text(self) -> String {
        String::from_utf8(self.rest()).unwrap()
    }

    /// What comes next; nothing at the end.
    pub fn some(&mut self) -> Vec<u8> {
        let mut piece = vec![0; 65_536];
        let len = self.body.read(&mut piece).unwrap();
        piece.truncate(len);
        piece
    }

    /// What comes within a time.
    pub fn for_some(mut self, time: Duration) -> Vec<u8> {
        let begun = std::time::Instant::now();
        let mut bytes = Vec::new();
        while begun.elapsed() < time {
            let some = self.some();
            if some.is_empty() {
                break;
            }
            bytes.extend(some);
        }
        bytes
    }
}
