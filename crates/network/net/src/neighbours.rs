//! Addresses of Ethernet for addresses of IP: asked for by ARP (RFC 826) and neighbour discovery (RFC 4861), and told.
//!
//! It has no input or output: its caller hands it what came, sends what it makes, and says what time it is.
//!
//! Anyone on the network can send frames of both, so what comes makes no entry: there are only neighbours that packets were
//! to go to. Those that do not answer make room for each other alone, and of others the one that was used longest ago goes
//! first. A gateway never goes.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::time::Time;
use crate::wire::ethernet::{self, Address, BROADCAST, ethertype};
use crate::wire::{arp, icmp, ip, ndp};

/// How long an address is used before it is asked for again.
const FRESH: Duration = Duration::from_secs(30);
/// How long one is used that does not answer any more.
const STALE: Duration = Duration::from_secs(60);
/// Time between two questions (RFC 4861 section 10).
const RETRY: Duration = Duration::from_secs(1);
/// Questions before a neighbour is taken to be gone.
const QUESTIONS: u32 = 3;

/// Packets that wait for the address of a neighbour, and their bytes: what comes from one that was not asked for is
/// answered, so the answers to several packets may wait.
const WAITING: usize = 32;
const WAITING_BYTES: usize = 64 << 10;

/// Bytes of the largest frame that is made here.
pub const MAX_FRAME: usize = ethernet::LEN + ip::V6_LEN + ndp::MAX_LEN;

#[derive(Debug)]
struct Neighbour {
    link: Option<Address>,
    /// When `link` was last told, and when it was last asked for here.
    told: Time,
    used: Time,
    /// When to ask next, and how often there was no answer.
    ask: Time,
    asked: u32,
    /// Packets that go out when the address is known, and their bytes.
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Neighbour {
    fn hold(&mut self, packet: Vec<u8>) {
        self.bytes += packet.len();
        self.waiting.push_back(packet);
        while self.waiting.len() > WAITING || self.bytes > WAITING_BYTES {
            let Some(first) = self.waiting.pop_front() else {
                return;
            };
            self.bytes -= first.len();
        }
    }

    /// It is asked at `at`, or not.
    fn ask_at(&mut self, asks: &mut BTreeSet<(Time, IpAddr)>, address: IpAddr, at: Time) {
        asks.remove(&(self.ask, address));
        self.ask = at;
        if at != Time::NEVER {
            asks.insert((at, address));
        }
    }
}

/// What is known of the neighbours on one network.
#[derive(Debug)]
pub struct Neighbours {
    link: Address,
    addresses: Vec<IpAddr>,
    gateways: Vec<IpAddr>,
    neighbours: HashMap<IpAddr, Neighbour>,
    /// Those that are to be asked, by the time of that.
    asks: BTreeSet<(Time, IpAddr)>,
    /// Those without an address, the oldest first; and others, which were such.
    unknown: VecDeque<IpAddr>,
    /// How many have none.
    unknowns: usize,
    limit: usize,
    /// Packets that waited for addresses that are known by now.
    released: VecDeque<(Address, Vec<u8>)>,
}

/// What a frame led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing.
    Nothing,
    /// A question for an address of ours: bytes of the frame that answers it.
    Answer(usize),
}

/// What is to be done about a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// A question goes out: bytes of its frame.
    Question(usize),
    /// It does not answer: the packets that waited for it are lost.
    Unreachable(VecDeque<Vec<u8>>),
}

impl Neighbours {
    /// Of a device with these addresses, which remembers at most `limit` neighbours beside the gateways.
    pub fn new(
        link: Address,
        addresses: Vec<IpAddr>,
        gateways: Vec<IpAddr>,
        limit: usize,
    ) -> Neighbours {
        Neighbours {
            link,
            addresses,
            gateways,
            neighbours: HashMap::new(),
            asks: BTreeSet::new(),
            unknown: VecDeque::new(),
            unknowns: 0,
            limit,
            released: VecDeque::new(),
        }
    }

    /// Where a packet for `address` goes. If that is not known, it is asked for from then on: see [`hold`](Self::hold).
    pub fn resolve(&mut self, now: Time, address: IpAddr) -> Option<Address> {
        match address {
            IpAddr::V4(v4) if v4.is_broadcast() => return Some(BROADCAST),
            IpAddr::V4(v4) if v4.is_multicast() => {
                let [_, b, c, d] = v4.octets();
                // RFC 1112 section 6.4.
                return Some([0x01, 0x00, 0x5e, b & 0x7f, c, d]);
            }
            IpAddr::V6(v6) if v6.is_multicast() => return Some(ndp::multicast_link(v6)),
            _ => {}
        }
        if let Some(neighbour) = self.neighbours.get_mut(&address) {
            // One that is used is asked again in time; one that is not is forgotten.
            neighbour.used = now;
            if neighbour.link.is_some() && neighbour.ask == Time::NEVER {
                let at = neighbour.told + FRESH;
                neighbour.ask_at(&mut self.asks, address, at);
            }
            return neighbour.link;
        }
        if self.unknowns >= self.most_unknown() {
            self.forget_unknown();
        }
        let mut neighbour = Neighbour {
            link: None,
            told: now,
            used: now,
            ask: Time::NEVER,
            asked: 0,
            waiting: VecDeque::new(),
            bytes: 0,
        };
        neighbour.ask_at(&mut self.asks, address, now);
        self.neighbours.insert(address, neighbour);
        self.unknown.push_back(address);
        self.unknowns += 1;
        None
    }

    /// Neighbours without an address at most: an eighth.
    fn most_unknown(&self) -> usize {
        (self.limit / 8).max(1)
    }

    fn remove(&mut self, address: &IpAddr) -> Option<Neighbour> {
        let neighbour = self.neighbours.remove(address)?;
        self.asks.remove(&(neighbour.ask, *address));
        if neighbour.link.is_none() {
            self.unknowns -= 1;
        }
        Some(neighbour)
    }

    /// Makes room for another without an address: the oldest of those goes.
    fn forget_unknown(&mut self) {
        for _ in 0..self.unknown.len() {
            let Some(address) = self.unknown.pop_front() else {
                return;
            };
            let found = self.neighbours.get(&address);
            if found.is_none_or(|neighbour| neighbour.link.is_some()) {
                continue;
            }
            if self.gateways.contains(&address) {
                self.unknown.push_back(address);
                continue;
            }
            self.remove(&address);
            return;
        }
    }

    /// Makes room for others with an address: an eighth of those goes that were used longest ago. As there are so many at a
    /// time, to look at all of them costs little for each.
    fn forget_unused(&mut self, but: IpAddr) {
        let mut known: Vec<(Time, IpAddr)> = (self.neighbours.iter())
            .filter(|(address, neighbour)| {
                neighbour.link.is_some() && **address != but && !self.gateways.contains(address)
            })
            .map(|(address, neighbour)| (neighbour.used, *address))
            .collect();
        let count = (self.limit / 8).max(1).min(known.len());
        if count == 0 {
            return;
        }
        known.select_nth_unstable(count - 1);
        for (_, address) in &known[..count] {
            self.remove(address);
        }
    }

    /// Keeps a packet of IP until the address of its neighbour is known. If there are many, the earliest are dropped
    /// (RFC 4861 section 7.2.2).
    pub fn hold(&mut self, address: IpAddr, packet: Vec<u8>) {
        let Some(neighbour) = self.neighbours.get_mut(&address) else {
            return;
        };
        match neighbour.link {
            Some(link) => self.released.push_back((link, packet)),
            None => neighbour.hold(packet),
        }
    }

    /// The next packet that waited for an address that is known by now, and that address.
    pub fn released(&mut self) -> Option<(Address, Vec<u8>)> {
        self.released.pop_front()
    }

    /// Writes the frame of the next question that is due to `frame`, which has [`MAX_FRAME`] bytes, or says which packet
    /// found no neighbour. None if nothing is due.
    pub fn due(&mut self, now: Time, frame: &mut [u8]) -> Option<(IpAddr, Due)> {
        loop {
            let &(at, address) = self.asks.first()?;
            if at > now {
                return None;
            }
            let neighbour = self.neighbours.get_mut(&address)?;
            let is_stale = neighbour.link.is_some() && now < neighbour.told + FRESH + STALE;
            if neighbour.asked >= QUESTIONS && !is_stale {
                let waiting = self.remove(&address).map(|gone| gone.waiting);
                return Some((address, Due::Unreachable(waiting.unwrap_or_default())));
            }
            neighbour.asked += 1;
            neighbour.ask_at(&mut self.asks, address, now + RETRY);
            if let Some(len) = self.question(address, frame) {
                return Some((address, Due::Question(len)));
            }
        }
    }

    /// Nothing is due before this.
    pub fn next_deadline(&self) -> Time {
        self.asks.first().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Takes the payload of a frame of ARP. An answer is written to `frame`, which has [`MAX_FRAME`] bytes.
    pub fn hear_arp(&mut self, now: Time, bytes: &[u8], frame: &mut [u8]) -> Heard {
        let Ok(packet) = arp::parse(bytes) else {
            return Heard::Nothing;
        };
        let (link, sender) = packet.sender;
        let is_for_us = self.addresses.contains(&packet.target.1.into());
        // RFC 826: what is known is brought up to date.
        if link[0] & 1 == 0 && !sender.is_unspecified() {
            self.told(now, sender.into(), link, true);
        }
        if !is_for_us || packet.operation != arp::Operation::Request {
            return Heard::Nothing;
        }
        let answer = arp::Packet {
            operation: arp::Operation::Reply,
            sender: (self.link, packet.target.1),
            target: packet.sender,
        };
        let at = self.frame(link, ethertype::ARP, frame);
        Heard::Answer(at + arp::write(&answer, &mut frame[at..]))
    }

    /// Takes a message of ICMPv6 that may be one of neighbour discovery, with the header that it came with.
    pub fn hear_message(
        &mut self,
        now: Time,
        header: &ip::Header,
        message: &icmp::Message<'_>,
        frame: &mut [u8],
    ) -> Heard {
        let icmp::Message::Other { kind, code, body } = *message else {
            return Heard::Nothing;
        };
        let (IpAddr::V6(source), IpAddr::V6(destination)) = (header.source, header.destination)
        else {
            return Heard::Nothing;
        };
        let Ok(Some(message)) = ndp::parse(kind, code, body) else {
            return Heard::Nothing;
        };
        if header.hop_limit != ndp::HOP_LIMIT {
            return Heard::Nothing;
        }
        let (target, link) = match message {
            ndp::Message::Advertisement {
                solicited,
                replace,
                target,
                link,
                ..
            } => {
                // RFC 4861 section 7.1.2.
                if let Some(link) = link
                    && !(solicited && destination.is_multicast())
                {
                    self.told(now, target.into(), link, replace);
                }
                return Heard::Nothing;
            }
            ndp::Message::Solicitation { target, link } => (target, link),
        };
        if !self.addresses.contains(&target.into()) {
            return Heard::Nothing;
        }
        // A neighbour without an address looks whether ours is free (RFC 4862): all hear that it is not.
        let (to, to_link) = match link {
            Some(link) if !source.is_unspecified() => {
                self.told(now, source.into(), link, true);
                (source, link)
            }
            None if !source.is_unspecified() => {
                match self
                    .neighbours
                    .get(&source.into())
                    .and_then(|known| known.link)
                {
                    Some(link) => (source, link),
                    None => return Heard::Nothing,
                }
            }
            _ => {
                let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
                (all, ndp::multicast_link(all))
            }
        };
        let answer = ndp::Message::Advertisement {
            router: false,
            solicited: !source.is_unspecified(),
            replace: true,
            target,
            link: Some(self.link),
        };
        Heard::Answer(self.discovery(&answer, target, to, to_link, frame))
    }

    /// Takes note of a neighbour's address, if it was asked for. A known address is replaced only if `replaces`.
    fn told(&mut self, now: Time, address: IpAddr, link: Address, replaces: bool) {
        let Some(neighbour) = self.neighbours.get_mut(&address) else {
            return;
        };
        if neighbour.link.is_some_and(|known| known != link) && !replaces {
            return;
        }
        let waiting = std::mem::take(&mut neighbour.waiting).into_iter();
        self.released.extend(waiting.map(|packet| (link, packet)));
        let was_unknown = neighbour.link.replace(link).is_none();
        neighbour.told = now;
        neighbour.asked = 0;
        neighbour.ask_at(&mut self.asks, address, Time::NEVER);
        if was_unknown {
            self.unknowns -= 1;
            let known = self.neighbours.len() - self.unknowns;
            let most = self.limit.saturating_sub(self.most_unknown()).max(1);
            if known > most + self.gateways.len() {
                self.forget_unused(address);
            }
            if self.unknown.len() > 2 * self.unknowns + self.limit {
                let neighbours = &self.neighbours;
                let is_unknown = |address: &IpAddr| {
                    (neighbours.get(address)).is_some_and(|neighbour| neighbour.link.is_none())
                };
                self.unknown.retain(is_unknown);
            }
        }
    }

    fn frame(&self, destination: Address, ethertype: u16, frame: &mut [u8]) -> usize {
        let header = ethernet::Header {
            destination,
            source: self.link,
            ethertype,
        };
        ethernet::write(&header, frame)
    }

    /// Writes the question for `address`. None if the device has no address of that version to ask with.
    fn question(&self, address: IpAddr, frame: &mut [u8]) -> Option<usize> {
        let known = self.neighbours.get(&address).and_then(|known| known.link);
        match address {
            IpAddr::V4(target) => {
                let own = self.addresses.iter().find_map(|own| match own {
                    IpAddr::V4(own) => Some(*own),
                    IpAddr::V6(_) => None,
                })?;
                let question = arp::Packet {
                    operation: arp::Operation::Request,
                    sender: (self.link, own),
                    target: ([0; 6], target),
                };
                // One that was known is asked alone (RFC 1122 section 2.3.2.1).
                let at = self.frame(known.unwrap_or(BROADCAST), ethertype::ARP, frame);
                Some(at + arp::write(&question, &mut frame[at..]))
            }
            IpAddr::V6(target) => {
                let own = self.addresses.iter().find_map(|own| match own {
                    IpAddr::V6(own) => Some(*own),
                    IpAddr::V4(_) => None,
                })?;
                let question = ndp::Message::Solicitation {
                    target,
                    link: Some(self.link),
                };
                let group = ndp::solicited_node(target);
                let (to, link) = match known {
                    Some(link) => (target, link),
                    None => (group, ndp::multicast_link(group)),
                };
                Some(self.discovery(&question, own, to, link, frame))
            }
        }
    }

    fn discovery(
        &self,
        message: &ndp::Message,
        source: Ipv6Addr,
        to: Ipv6Addr,
        link: Address,
        frame: &mut [u8],
    ) -> usize {
        let mut body = [0; ndp::MAX_LEN];
        let len = ndp::write(message, source, to, &mut body);
        let header = ip::Header {
            hop_limit: ndp::HOP_LIMIT,
            ..ip::Header::new(source.into(), to.into(), ip::protocol::ICMPV6)
        };
        let mut at = self.frame(link, ethertype::IPV6, frame);
        at += ip::write(&header, len, &mut frame[at..]);
        frame[at..at + len].copy_from_slice(&body[..len]);
        at + len
    }
}

#[cfg(test)]
mod tests;
