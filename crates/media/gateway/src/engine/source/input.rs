//! Transport streams that come in datagrams.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Instant;

use bytes::Bytes;
use rustix::io::Errno;

use crate::engine::http::request::Refused;
use crate::engine::http::status::SourceStatus;
use crate::engine::source::output::{Format, Outputs};
use crate::engine::source::udp::Udp;
use crate::engine::source::{Input, Over, Turn};
use crate::engine::wait::{Ready, Token};
use crate::media::Chunk;
use crate::payload::mp2t;
use crate::rtp::{Bounds, Order, Ordered, Packet};
use crate::ts::Classify;

/// The clock of transport streams in RTP (RFC 2250, section 2).
const CLOCK: u32 = 90_000;
/// Batches that are taken in a turn; the rest is told of again.
const BATCHES: usize = 16;

/// Datagrams that come to an address, which may be a multicast group.
pub struct Datagrams {
    socket: Udp,
    transport: Transport,
}

impl Datagrams {
    /// Opens the address.
    ///
    /// # Errors
    /// It may not be opened, or cannot.
    pub fn open(address: SocketAddr, turn: &mut Turn<'_>) -> Result<Datagrams, Refused> {
        turn.services.access.open(address.ip())?;
        let socket = Udp::bind(address).and_then(|socket| {
            let token = Token::Source(turn.number, 0);
            turn.waiter.add(token, socket.as_fd()).map(|()| socket)
        });
        Ok(Datagrams {
            socket: socket.map_err(|error| Refused::bad_gateway(cannot_open(address, &error)))?,
            transport: Transport::new(),
        })
    }
}

/// A line for clients.
fn cannot_open(address: SocketAddr, error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::ADDRNOTAVAIL) => format!(
            "{address}: not an address of this machine, nor a group; a stream has to come to one of these"
        ),
        Some(Errno::NODEV) => format!(
            "{address}: this machine has no route to the group; add one, as in ip route add 224.0.0.0/4 dev eth0"
        ),
        _ => format!("{address}: {error}"),
    }
}

impl Input for Datagrams {
    fn ready(&mut self, _: u8, _: Ready, turn: &mut Turn<'_>) -> Result<(), Over> {
        let Turn {
            now,
            outputs,
            received,
            batch,
            ..
        } = turn;
        for _ in 0..BATCHES {
            let more = self.socket.receive(batch, |_, datagram| {
                received.packets += 1;
                received.bytes += datagram.len() as u64;
                self.transport
                    .datagram(*now, datagram, |chunk| outputs.transport(chunk, *now));
            });
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(Over::Failed(Refused::bad_gateway(error.to_string()))),
            }
        }
        Ok(())
    }

    fn advance(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        let Turn { now, outputs, .. } = turn;
        self.transport
            .expire(*now, |chunk| outputs.transport(chunk, *now));
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        self.transport.order.deadline()
    }

    fn begins(&self, format: Format, _: &Outputs) -> Result<bool, Refused> {
        match format {
            Format::Ts => Ok(true),
            Format::Mp4 => Err(Refused::only_transport()),
        }
    }

    fn may_have_keys(&self) -> bool {
        self.transport.classify.may_have_keys()
    }

    fn tables(&self) -> Bytes {
        self.transport.classify.tables()
    }

    fn status(&self, status: &mut SourceStatus) {
        self.transport.status(status);
    }
}

/// A transport stream, in RTP or in datagrams by itself.
#[derive(Debug)]
pub struct Transport {
    pub order: Order,
    pub classify: Classify,
    /// Datagrams that were neither RTP nor a transport stream.
    foreign: u64,
}

impl Transport {
    /// Nothing has come yet.
    pub fn new() -> Transport {
        Transport {
            order: Order::new(Bounds::default(), CLOCK),
            classify: Classify::new(),
            foreign: 0,
        }
    }

    /// Takes a datagram, and gives `out` what clients get.
    pub fn datagram(&mut self, now: Instant, bytes: Bytes, mut out: impl FnMut(Chunk)) {
        let Transport {
            order,
            classify,
            foreign,
        } = self;
        if mp2t::is_bare(&bytes) {
            return classify.push(bytes, &mut out);
        }
        match Packet::parse(bytes) {
            Ok(packet) => order.push(packet, now, payload(classify, foreign, out)),
            Err(_) => *foreign += 1,
        }
    }

    /// Gives `out` what was held for packets that did not come.
    pub fn expire(&mut self, now: Instant, out: impl FnMut(Chunk)) {
        let Transport {
            order,
            classify,
            foreign,
        } = self;
        order.expire(now, payload(classify, foreign, out));
    }

    /// Nothing comes any more: gives `out` all that was held.
    pub fn finish(&mut self, out: impl FnMut(Chunk)) {
        let Transport {
            order,
            classify,
            foreign,
        } = self;
        order.finish(payload(classify, foreign, out));
    }

    /// Adds what came, and what did not.
    pub fn status(&self, status: &mut SourceStatus) {
        status.add(&self.order);
        status.foreign += self.foreign;
        status.gaps += self.classify.gaps();
        status.damaged += self.classify.damaged();
    }
}

/// Makes chunks of packets in order.
fn payload(
    classify: &mut Classify,
    foreign: &mut u64,
    mut out: impl FnMut(Chunk),
) -> impl FnMut(Ordered) {
    move |ordered| match mp2t::packets(ordered.packet.payload) {
        Ok((packets, _)) => classify.push(packets, &mut out),
        Err(_) => *foreign += 1,
    }
}
