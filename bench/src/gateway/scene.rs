//! A gateway with sources and clients around it, for a time.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use super::Options;
use super::content::PAYLOAD;
use super::contestants::{Gateway, Kind};
use super::part::{Part, Running};
use super::place::{End, Place, THERE};
use super::receivers::{self, Got};
use super::sender::{self, Sent};
use crate::error::Error;

/// The first port of sources.
const PORT: u16 = 10_000;
/// How long all clients have to connect.
const CONNECTING: Duration = Duration::from_secs(30);
/// How long clients have until their responses begin; some gateways begin them with the first datagram.
const BEGINNING: Duration = Duration::from_millis(500);
/// What happens before a measurement.
const WARM: Duration = Duration::from_millis(2500);
/// How long what was sent may be on its way.
const REST: Duration = Duration::from_millis(300);

/// What is around the gateway.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Streams, each of its own address.
    pub sources: usize,
    /// Their addresses are multicast groups.
    pub groups: bool,
    /// Bits of each a second.
    pub bits: f64,
    /// Clients of each.
    pub clients: usize,
    /// So many of the last clients take nothing.
    pub stuck: usize,
    /// When datagrams come is compared with when they were sent.
    pub timed: bool,
}

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Seconds of processors that the gateway took.
    pub processor: f64,
    /// How long that took.
    pub seconds: f64,
    /// Bytes that clients got meanwhile.
    pub bytes: f64,
    /// Bytes that were sent to each address meanwhile.
    pub sent: f64,
    /// Of what a client should have got from the beginning, what the one got that got least.
    pub least: f64,
    /// Bytes of memory of the gateway without clients, and at the end.
    pub memory: [f64; 2],
    /// Microseconds from sending to receiving, half and 99 % of datagrams.
    pub delay: [f64; 2],
    /// How far the sender was behind at most, in microseconds.
    pub behind: f64,
}

impl Seen {
    /// Of what was sent, what came, in percent.
    pub fn arrived(&self, scene: &Scene) -> f64 {
        let sessions = (scene.sources * scene.clients - scene.stuck) as f64;
        100.0 * self.bytes / (self.sent * sessions)
    }

    /// Of what was to be sent, what was, in percent.
    pub fn offered(&self, scene: &Scene) -> f64 {
        100.0 * self.sent * 8.0 / (scene.bits * self.seconds)
    }
}

impl Scene {
    fn addresses(&self) -> Vec<SocketAddr> {
        let address = |number: usize| {
            let [high, low] = (number as u16).to_be_bytes();
            let to = if self.groups {
                Ipv4Addr::new(239, 4, high, low)
            } else {
                THERE
            };
            SocketAddr::from((to, PORT + number as u16))
        };
        (0..self.sources).map(address).collect()
    }

    /// Has it happen with a gateway.
    ///
    /// # Errors
    /// A process cannot be started or ends early.
    pub fn play(&self, place: &Place, options: &Options, kind: &Kind) -> Result<Seen, Error> {
        let gateway = Gateway::start(place, options, kind, THERE)?;
        let before = gateway.memory()?;
        let addresses = self.addresses();
        let posted = kind.posted();
        let path = |address| match &posted {
            Some((_, path)) => path.clone(),
            None => format!("/rtp/{address}"),
        };
        let paths: Vec<String> = (addresses.iter())
            .flat_map(|address| std::iter::repeat_n(path(address), self.clients))
            .collect();
        let clients = paths.len();
        let task = receivers::Task {
            gateway: gateway.address(),
            paths,
            stuck: self.stuck,
            timed: self.timed,
            direct: None,
        };
        let part = Part::Receivers(task);
        // A gateway that gets its stream in a request has to know it before clients ask.
        let mut early = match posted {
            Some((path, _)) => {
                let post = Some((gateway.address(), path));
                let sender = self.sender(place, options, Vec::new(), post)?;
                thread::sleep(WARM);
                Some(sender)
            }
            None => None,
        };
        let mut receivers = Running::start(place, End::Here, &options.program, &part)?;
        wait_for(&mut receivers, clients)?;
        let mut sender = match early.take() {
            Some(sender) => sender,
            None => self.sender(place, options, addresses, None)?,
        };
        thread::sleep(WARM);
        let first: Sent = sender.ask("")?;
        let (got, processor, begun): (Got, _, _) = (
            receivers.ask("")?,
            gateway.processor_time()?,
            Instant::now(),
        );
        thread::sleep(options.time);
        let (after, seconds) = (gateway.processor_time()?, begun.elapsed());
        let now: Got = receivers.ask("")?;
        let last: Sent = sender.ask("")?;
        let memory = [before, gateway.memory()?];
        let behind = sender.ask::<Sent>("end")?.behind.max(last.behind);
        thread::sleep(REST);
        let sent: Sent = sender.ask("")?;
        let at_end: Got = receivers.ask("")?;
        Ok(Seen {
            processor: after - processor,
            seconds: seconds.as_secs_f64(),
            bytes: (now.bytes - got.bytes) as f64,
            sent: ((last.datagrams - first.datagrams) * PAYLOAD as u64) as f64,
            least: at_end.least as f64 / (sent.datagrams * PAYLOAD as u64) as f64,
            memory,
            delay: now.delay,
            behind: behind as f64,
        })
    }

    /// The same datagrams without a gateway: microseconds from sending to receiving, half and 99 %.
    ///
    /// # Errors
    /// A process cannot be started or ends early.
    pub fn direct(&self, place: &Place, options: &Options) -> Result<[f64; 2], Error> {
        let addresses = self.addresses();
        let task = receivers::Task {
            gateway: addresses[0],
            paths: Vec::new(),
            stuck: 0,
            timed: true,
            direct: Some(addresses[0]),
        };
        let part = Part::Receivers(task);
        let mut receiver = Running::start(place, End::There, &options.program, &part)?;
        let _: Got = receiver.ask("")?;
        let mut sender = self.sender(place, options, addresses, None)?;
        thread::sleep(WARM);
        let _: Got = receiver.ask("")?;
        thread::sleep(options.time);
        let got: Got = receiver.ask("")?;
        let _: Sent = sender.ask("end")?;
        Ok(got.delay)
    }

    fn sender(
        &self,
        place: &Place,
        options: &Options,
        to: Vec<SocketAddr>,
        post: Option<(SocketAddr, String)>,
    ) -> Result<Running, Error> {
        let part = Part::Sender(sender::Task {
            to,
            bits: self.bits,
            post,
        });
        let mut sender = Running::start(place, End::Here, &options.program, &part)?;
        let _: Sent = sender.ask("begin")?;
        Ok(sender)
    }
}

/// Waits until all clients have connected, and some time for their responses to begin.
fn wait_for(receivers: &mut Running, clients: usize) -> Result<(), Error> {
    let mut since = Instant::now();
    let mut patience = CONNECTING;
    loop {
        let got: Got = receivers.ask("")?;
        if got.begun as usize == clients || since.elapsed() > patience {
            return Ok(());
        }
        if got.connected as usize == clients && patience == CONNECTING {
            (since, patience) = (Instant::now(), BEGINNING);
        }
        thread::sleep(Duration::from_millis(10));
    }
}
