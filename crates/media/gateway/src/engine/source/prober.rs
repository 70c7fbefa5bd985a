//! Probes of origins: an OPTIONS request on a connection of its own, answered within a second. One thread sends all.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::engine::source::pools::Pools;
use crate::engine::source::resolve::{Addresses, Resolver};
use crate::pool::{OriginId, PROBE_DEADLINE};
use crate::rtsp::Url;
use crate::rtsp::message::{Decoder, Message, write_request};

/// From here on, a status says that the server cannot do its work.
const SERVER_ERROR: u16 = 500;

/// Sends probes.
#[derive(Debug)]
pub struct Prober {
    pools: Arc<Pools>,
    /// Where names become addresses.
    resolver: Resolver,
    running: Vec<Probe>,
    /// The number of the last probe.
    last: u64,
    resolved: (Sender<Found>, Receiver<Found>),
}

/// The number of a probe, and the addresses of its origin.
type Found = (u64, Addresses);

#[derive(Debug)]
struct Probe {
    number: u64,
    pool: String,
    origin: OriginId,
    url: Url,
    /// Once the address is known.
    talk: Option<Talk>,
    deadline: Instant,
}

/// A connection to an origin.
#[derive(Debug)]
struct Talk {
    stream: TcpStream,
    /// The request, until it is sent.
    request: Option<BytesMut>,
    decoder: Decoder,
}

impl Prober {
    /// Of the origins of these pools. Their names are asked of `resolver`.
    pub fn new(pools: Arc<Pools>, resolver: Resolver) -> Prober {
        Prober {
            pools,
            resolver,
            running: Vec::new(),
            last: 0,
            resolved: channel(),
        }
    }

    /// Sends probes until [`Pools::stop`].
    ///
    /// # Errors
    /// The operating system cannot wait for sockets.
    pub fn run(mut self) -> io::Result<()> {
        while !self.pools.has_stopped() {
            self.pools.quiet();
            let now = Instant::now();
            for (pool, origin, url) in self.pools.probes(now) {
                self.begin(pool, origin, url, now);
            }
            while let Ok((number, addresses)) = self.resolved.1.try_recv() {
                self.connect(number, addresses, now);
            }
            let deadlines = self.running.iter().map(|probe| probe.deadline);
            self.wait(deadlines.chain(self.pools.next_probe()).min())?;
            self.look(Instant::now());
        }
        Ok(())
    }

    /// Begins a probe, which connects when its address is known.
    fn begin(&mut self, pool: String, origin: OriginId, url: Url, now: Instant) {
        self.last += 1;
        let number = self.last;
        let host = url.host().to_owned();
        self.running.push(Probe {
            number,
            pool,
            origin,
            url,
            talk: None,
            deadline: now + PROBE_DEADLINE,
        });
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.connect(number, Ok(vec![address]), now);
        }
        let (to, pools) = (self.resolved.0.clone(), self.pools.clone());
        // What is not asked for has no answer in time.
        self.resolver.ask(host, move |addresses| {
            let _ = to.send((number, addresses));
            pools.ring();
        });
    }

    /// Connects for the probe of that number, unless it is over.
    fn connect(&mut self, number: u64, addresses: Addresses, now: Instant) {
        let mut running = self.running.iter();
        let Some(at) = running.position(|probe| probe.number == number) else {
            return;
        };
        let probe = &mut self.running[at];
        match Talk::begin(&probe.url, addresses) {
            Ok(talk) => probe.talk = Some(talk),
            Err(error) => {
                let reason = format!("cannot connect: {error}");
                let probe = self.running.swap_remove(at);
                let failed = Err(reason.as_str());
                self.pools.probed(&probe.pool, probe.origin, failed, now);
            }
        }
    }

    fn wait(&self, until: Option<Instant>) -> io::Result<()> {
        let mut fds = vec![PollFd::new(&*self.pools, PollFlags::IN)];
        for talk in self.running.iter().filter_map(|probe| probe.talk.as_ref()) {
            let flags = match talk.request {
                Some(_) => PollFlags::OUT,
                None => PollFlags::IN,
            };
            fds.push(PollFd::new(&talk.stream, flags));
        }
        let left = until.map(|until| {
            // A little later, so that what is waited for is over.
            let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec::try_from(left).unwrap_or_default()
        });
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Goes on with all probes.
    fn look(&mut self, now: Instant) {
        let pools = &self.pools;
        self.running.retain_mut(|probe| {
            let result = match probe.talk.as_mut().and_then(Talk::go_on) {
                None if probe.deadline <= now && probe.talk.is_none() => Err(format!(
                    "the name is not resolved within {} s",
                    PROBE_DEADLINE.as_secs()
                )),
                None if probe.deadline <= now => {
                    Err(format!("no answer within {} s", PROBE_DEADLINE.as_secs()))
                }
                None => return true,
                Some(result) => result,
            };
            let result = result.as_ref().copied().map_err(String::as_str);
            pools.probed(&probe.pool, probe.origin, result, now);
            false
        });
    }
}

impl Talk {
    fn begin(url: &Url, addresses: Addresses) -> io::Result<Talk> {
        let address = addresses?.into_iter().next();
        let address = address.ok_or(io::ErrorKind::NotFound)?;
        let mut request = BytesMut::new();
        let headers = [("CSeq", "1"), ("User-Agent", "evener")];
        write_request(&mut request, "OPTIONS", &url.target(), &headers);
        Ok(Talk {
            stream: connect(SocketAddr::new(address, url.port()))?,
            request: Some(request),
            decoder: Decoder::default(),
        })
    }

    /// `None` while there is no answer.
    fn go_on(&mut self) -> Option<Result<(), String>> {
        match self.talk() {
            Ok(answered) => answered,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(error) => Some(Err(format!("cannot connect: {error}"))),
        }
    }

    fn talk(&mut self) -> io::Result<Option<Result<(), String>>> {
        if let Some(request) = &self.request {
            match self.stream.take_error()? {
                Some(error) => return Err(error),
                None if self.stream.peer_addr().is_err() => return Ok(None),
                None => {}
            }
            // It fits into the empty buffer of a socket.
            (&self.stream).write_all(request)?;
            self.request = None;
        }
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes)? {
            0 => return Ok(Some(Err("the server closed the connection".into()))),
            len => self.decoder.push(&bytes[..len]),
        }
        Ok(match self.decoder.next_message() {
            // Any other status is an answer as well: it says that the server is there.
            Ok(Some(Message::Response(response))) if response.status < SERVER_ERROR => Some(Ok(())),
            Ok(Some(Message::Response(response))) => Some(Err(format!(
                "OPTIONS was answered with {}",
                response.status
            ))),
            Ok(_) => None,
            Err(error) => Some(Err(error.to_string())),
        })
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}
