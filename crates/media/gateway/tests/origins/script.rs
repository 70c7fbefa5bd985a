//! A server that says what a test has it say.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A description of a transport stream.
pub const DESCRIPTION: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 0 RTP/AVP 33\r\na=control:track\r\n";

/// Transport packets in an RTP packet: of this sender and number, for a PID.
pub fn packet(ssrc: u32, sequence: u16, pid: u16) -> Vec<u8> {
    let mut packet = vec![0x80, 33];
    packet.extend(sequence.to_be_bytes());
    packet.extend((u32::from(sequence) * 900).to_be_bytes());
    packet.extend(ssrc.to_be_bytes());
    let mut transport = [0xff; 188];
    let [high, low] = pid.to_be_bytes();
    transport[..4].copy_from_slice(&[0x47, 0x40 | high, low, 0x10 | sequence as u8 & 0xf]);
    packet.extend(transport);
    packet
}

/// A packet on the connection.
pub fn frame(channel: u8, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![b'$', channel];
    frame.extend((packet.len() as u16).to_be_bytes());
    frame.extend(packet);
    frame
}

/// A server that has one connection at a time.
pub struct Origin {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    /// Each request is answered with what `answer` says to its method and number; and `idle`, called all the time with
    /// how often it was called, says what is sent beside.
    pub fn start(
        answer: impl Fn(&str, &str) -> Vec<u8> + Send + 'static,
        idle: impl Fn(u16) -> Vec<u8> + Send + 'static,
    ) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let over: Arc<AtomicBool> = Arc::default();
        let (log, ends) = (requests.clone(), over.clone());
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => talk(stream, &log, &ends, &answer, &idle),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Origin {
            address,
            requests,
            over,
            thread: Some(thread),
        }
    }

    /// One that plays a transport stream on the connection.
    pub fn playing(idle: impl Fn(u16) -> Vec<u8> + Send + 'static) -> Origin {
        Origin::start(plays, idle)
    }

    /// The requests so far, and frames of the client as `$` and what is in them.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits for a request that begins so.
    pub fn wait_for(&self, begin: &str) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if self
                .requests()
                .iter()
                .any(|request| request.starts_with(begin))
            {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("no {begin} in {:?}", self.requests());
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// An answer with headers, each with its end of line, and a body.
pub fn answer(status: &str, number: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "RTSP/1.0 {status}\r\nCSeq: {number}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .into()
}

/// What a server answers that has a transport stream for the connection.
pub fn plays(method: &str, number: &str) -> Vec<u8> {
    let (headers, body) = match method {
        "OPTIONS" => ("Public: OPTIONS, GET_PARAMETER\r\n", ""),
        "DESCRIBE" => ("", DESCRIPTION),
        "SETUP" => (
            "Session: abc;timeout=2\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n",
            "",
        ),
        _ => ("", ""),
    };
    answer("200 OK", number, headers, body)
}

fn talk(
    mut stream: TcpStream,
    log: &Mutex<Vec<String>>,
    ends: &AtomicBool,
    answer: &dyn Fn(&str, &str) -> Vec<u8>,
    idle: &dyn Fn(u16) -> Vec<u8>,
) {
    stream.set_nonblocking(false).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(10)))
        .unwrap();
    let (mut came, mut piece, mut times) = (Vec::new(), [0; 4096], 0);
    while !ends.load(Ordering::Relaxed) {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(len) => came.extend_from_slice(&piece[..len]),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(_) => return,
        }
        loop {
            if let [b'$', _, high, low, ..] = came[..] {
                let length = 4 + usize::from(u16::from_be_bytes([high, low]));
                if came.len() < length {
                    break;
                }
                let frame: Vec<u8> = came.drain(..length).skip(4).collect();
                let text = frame.iter().map(|byte| format!("{byte:02x}"));
                log.lock()
                    .unwrap()
                    .push(format!("${}", text.collect::<String>()));
                continue;
            }
            let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") else {
                break;
            };
            let head: Vec<u8> = came.drain(..end + 4).collect();
            let head = String::from_utf8(head).unwrap();
            let number = head.lines().find_map(|line| line.strip_prefix("CSeq: "));
            let method = head.split(' ').next().unwrap();
            let answer = answer(method, number.unwrap());
            log.lock().unwrap().push(head.clone());
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
        let plays = log
            .lock()
            .unwrap()
            .iter()
            .any(|request| request.starts_with("PLAY"));
        if plays {
            if stream.write_all(&idle(times)).is_err() {
                return;
            }
            times = times.wrapping_add(1);
        }
    }
}
