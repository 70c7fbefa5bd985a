//! A connection to a client, in clear text until TLS begins.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use evener_files::lock;
use evener_sockets::Stream;
use rustix::net::{SendFlags, send};
use rustls::{ServerConfig, ServerConnection};

/// Bytes that are received at once: two of the longest records.
const RECEIVED: usize = 34 << 10;
/// Sealed bytes that are sent at once.
const SEALED: usize = 256 << 10;

/// A connection. It can be read and written at the same time, by a thread each.
#[derive(Debug)]
pub struct Channel {
    stream: Stream,
    tls: OnceLock<Tls>,
}

/// What TLS needs. A thread that waits for the client, in either direction, does not hold `session`. Who needs several
/// of the locks takes them in the order in which they stand here.
#[derive(Debug)]
struct Tls {
    /// What was received and not opened yet.
    received: Mutex<Received>,
    /// Records that are being sent. Their order is that in which they were sealed.
    sending: Mutex<Vec<u8>>,
    session: Mutex<ServerConnection>,
    /// Something was received that no reader has.
    is_ready: AtomicBool,
}

#[derive(Debug)]
struct Received {
    bytes: Vec<u8>,
    rest: Range<usize>,
}

impl Channel {
    /// A connection that was accepted.
    pub fn new(stream: Stream) -> Channel {
        Channel {
            stream,
            tls: OnceLock::new(),
        }
    }

    /// Waits for the client to begin TLS.
    ///
    /// # Errors
    /// It does something else, or has no certificate that is accepted.
    pub fn start_tls(&self, config: Arc<ServerConfig>) -> io::Result<()> {
        let mut session = ServerConnection::new(config).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut &self.stream)?;
        }
        let tls = Tls {
            received: Mutex::new(Received {
                bytes: vec![0; RECEIVED],
                rest: 0..0,
            }),
            sending: Mutex::default(),
            is_ready: AtomicBool::new(true),
            session: Mutex::new(session),
        };
        self.tls
            .set(tls)
            .map_err(|_| io::ErrorKind::AlreadyExists.into())
    }

    /// Where the client is, for a message, if that is known.
    pub fn place(&self) -> String {
        match &self.stream {
            Stream::Tcp(tcp) => tcp
                .peer_addr()
                .map_or_else(|_| String::new(), |address| format!(" at {}", address.ip())),
            Stream::Unix(_) => String::new(),
        }
    }

    /// Whether TLS has begun.
    pub fn has_tls(&self) -> bool {
        self.tls.get().is_some()
    }

    /// Whether something can be read, or the client is gone.
    pub fn is_ready(&self) -> bool {
        let opened = self
            .tls
            .get()
            .is_some_and(|tls| tls.is_ready.load(Ordering::Relaxed));
        opened || self.stream.is_ready()
    }

    /// Ends one direction or both, for all threads that use it.
    pub fn shutdown(&self, how: Shutdown) {
        if let (Some(tls), Shutdown::Write | Shutdown::Both) = (self.tls.get(), how) {
            tls.say_goodbye(&self.stream);
        }
        self.stream.shutdown(how);
    }

    /// How long a read may wait for the client.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(time)
    }

    /// Reads what there is, and waits for something if there is nothing; 0 if the client has ended the connection.
    ///
    /// # Errors
    /// The connection broke.
    pub fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        match self.tls.get() {
            Some(tls) => tls.read(&self.stream, room),
            None => (&self.stream).read(room),
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The client is gone.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        self.write_slices(&mut [IoSlice::new(bytes)])
    }

    /// Writes all of `slices`.
    ///
    /// # Errors
    /// The client is gone.
    pub fn write_slices(&self, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        match self.tls.get() {
            Some(tls) => tls.write(&self.stream, slices),
            None => self.stream.write_slices(slices),
        }
    }
}

impl Tls {
    fn read(&self, stream: &Stream, room: &mut [u8]) -> io::Result<usize> {
        let mut received = lock(&self.received);
        let Received { bytes, rest } = &mut *received;
        loop {
            let mut session = lock(&self.session);
            match session.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    let state = session.process_new_packets().map_err(io::Error::other)?;
                    let more = rest.start < rest.end || state.plaintext_bytes_to_read() > 0;
                    self.is_ready.store(more, Ordering::Relaxed);
                    return read;
                }
            }
            let has_rest = rest.start < rest.end;
            self.is_ready.store(has_rest, Ordering::Relaxed);
            if !has_rest {
                drop(session);
                match (&*stream).read(bytes)? {
                    0 => return Ok(0),
                    len => *rest = 0..len,
                }
                continue;
            }
            rest.start += session.read_tls(&mut &bytes[rest.clone()])?;
            let opened = session.process_new_packets();
            // An alert, or the answer to new keys.
            if session.wants_write() {
                drop(session);
                self.write(stream, &[])?;
            }
            opened.map_err(io::Error::other)?;
        }
    }

    fn write(&self, stream: &Stream, slices: &[IoSlice<'_>]) -> io::Result<()> {
        let mut sealed = lock(&self.sending);
        sealed.clear();
        let mut out = stream;
        for slice in slices {
            let mut rest = &slice[..];
            while !rest.is_empty() {
                let taken = self.seal(rest, &mut sealed)?;
                rest = &rest[taken..];
                if sealed.len() >= SEALED {
                    out.write_all(&sealed)?;
                    sealed.clear();
                }
            }
        }
        self.seal(&[], &mut sealed)?;
        out.write_all(&sealed)
    }

    /// Seals some of `bytes` and what the session has to say, and returns how many of them.
    fn seal(&self, bytes: &[u8], sealed: &mut Vec<u8>) -> io::Result<usize> {
        let mut session = lock(&self.session);
        let taken = session.writer().write(bytes)?;
        while session.wants_write() {
            session.write_tls(sealed)?;
        }
        Ok(taken)
    }

    /// Tells the client that nothing follows, if that can be sent at once.
    fn say_goodbye(&self, stream: &Stream) {
        let Ok(mut sealed) = self.sending.try_lock() else {
            return;
        };
        sealed.clear();
        lock(&self.session).send_close_notify();
        if self.seal(&[], &mut sealed).is_ok() {
            let _ = send(stream, &sealed, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}
