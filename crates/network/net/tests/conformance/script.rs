//! A small language for what goes over the wire and when. One engine is tested; the script is its peer, its application and
//! its clock.
//!
//! | line | what happens |
//! | --- | --- |
//! | `listen [BACKLOG]`, `connect` | the application asks for it |
//! | `open [OPTIONS]` | a connection is opened to a peer with a round trip of 10 ms |
//! | `write N`, `read N`, `shutdown`, `close`, `abort` | the application does that; reads are checked |
//! | `set WORD [N…]` | an option: `nodelay`, `cork`, `uncork`, `keepalive IDLE INTERVAL PROBES`, `timeout` |
//! | `< FLAGS SEQ[:END] [ack N] [win N] [ce] [<OPTIONS>]` | a segment comes |
//! | `> FLAGS [SEQ[:END]] [ack N] [win N] [ect] [<OPTIONS>]` | a segment goes out; what is not named may be anything |
//! | `+MS …` | so much later; nothing goes out before |
//! | `none MS` | nothing goes out for so long |
//! | `drop [N]` | the next segments are not looked at; without a number all that are there, or went out meanwhile |
//! | `event WORD` | the application was told; `reason WORD` why it ended, or `none` |
//! | `state NAME`, `cwnd N`, `ssthresh N`, `flight N`, `rto MS`, `recovery WORD` | what the engine says of it; windows in segments |
//! | `rings N` | so many connections have their rings |
//! | `icmp big MTU SEQ`, `icmp KIND SEQ` | a router's message about the segment |
//! | `port N` | the peer has another port from here on; `again`: the next connection has sequence numbers of its own |
//!
//! Sequence numbers are relative to the SYN of the side that they are of, as are timestamps of the engine to its first.
//! FLAGS are letters of `SFRPAEW`; PSH is looked at only if it is named. Times are in milliseconds and right to one. All that
//! went out is looked at before the next segment comes, before time passes, and at the end.

use std::collections::VecDeque;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use evener_net::engine::{Owner, SocketId, SocketOptions};
use evener_net::packet::{Checksum, Offload};
use evener_net::tcp::{Happened, KeepAlive, Reason};
use evener_net::time::Time;
use evener_net::wire::checksum::Sum;
use evener_net::wire::icmp::{self, Message, Unreachable};
use evener_net::wire::ip::{self, Ecn, protocol};
use evener_net::wire::tcp::{self, Header, SackBlocks, flags};

use crate::network::{Host, Pair, Setup as HostSetup};

/// Near the end, so that it wraps.
const PEER_ISS: u32 = 0xFFFF_F000;
const LETTERS: [(char, u8); 7] = [
    ('S', flags::SYN),
    ('F', flags::FIN),
    ('R', flags::RST),
    ('P', flags::PSH),
    ('A', flags::ACK),
    ('E', flags::ECE),
    ('W', flags::CWR),
];
const EVENTS: [(&str, Happened); 5] = [
    ("connected", Happened::CONNECTED),
    ("readable", Happened::READABLE),
    ("writable", Happened::WRITABLE),
    ("finished", Happened::FINISHED),
    ("closed", Happened::CLOSED),
];

/// What a script runs with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub options: SocketOptions,
    pub host: HostSetup,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            options: SocketOptions::default(),
            host: HostSetup {
                ring: 1 << 16,
                ..HostSetup::default()
            },
        }
    }
}

/// Runs a script with what is usual.
pub fn run(script: &str) {
    Setup::default().run(script);
}

impl Setup {
    pub fn run(&self, script: &str) {
        let mut run = Run::new(*self);
        for (number, line) in script.lines().enumerate() {
            let line = line.split("//").next().unwrap().trim();
            if !line.is_empty() {
                run.line = format!("line {}: {line}", number + 1);
                run.command(line);
            }
        }
        run.line = "at the end".into();
        run.nothing_left();
    }
}

struct Packet {
    at: Time,
    header: Header,
    payload: Vec<u8>,
    ecn: Ecn,
}

struct Run {
    setup: Setup,
    line: String,
    now: Time,
    host: Host,
    local: SocketAddr,
    remote: SocketAddr,
    socket: Option<SocketId>,
    rings: Option<Pair>,
    iss: Option<u32>,
    timestamps_from: Option<u32>,
    written: u64,
    read: u64,
    packets: VecDeque<Packet>,
    happened: Happened,
    reason: Option<Reason>,
}

/// The byte at an offset of a stream.
fn byte(offset: u64) -> u8 {
    (offset * 7 + (offset >> 8)) as u8
}

fn stream(from: u64, len: usize) -> Vec<u8> {
    (from..from + len as u64).map(byte).collect()
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word}: a number"))
}

/// Flags, SEQ and END, then words with a number.
struct Wanted<'a> {
    flags: u8,
    push: bool,
    start: Option<u32>,
    end: Option<u32>,
    words: Vec<&'a str>,
    options: Vec<Vec<&'a str>>,
}

impl<'a> Wanted<'a> {
    fn parse(text: &'a str) -> Wanted<'a> {
        let (head, options) = text.split_once('<').unwrap_or((text, ""));
        let words: Vec<&str> = head.split_whitespace().collect();
        let mut bits = 0;
        for letter in words[0].chars() {
            let entry = LETTERS.iter().find(|(other, _)| *other == letter);
            bits |= entry.unwrap_or_else(|| panic!("flag {letter}")).1;
        }
        let range = (words.get(1)).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let (start, end) = match range.map(|range| range.split_once(':')) {
            None => (None, None),
            Some(None) => (Some(number(words[1])), Some(number(words[1]))),
            Some(Some((start, end))) => (Some(number(start)), Some(number(end))),
        };
        let options = options.trim_end_matches('>').split(',');
        Wanted {
            flags: bits,
            push: bits & flags::PSH != 0,
            start,
            end,
            words: words[1..].to_vec(),
            options: (options.map(|option| option.split_whitespace().collect::<Vec<_>>()))
                .filter(|words| !words.is_empty())
                .collect(),
        }
    }

    fn value(&self, word: &str) -> Option<u32> {
        let at = self.words.iter().position(|other| *other == word)?;
        Some(number(self.words[at + 1]))
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

impl Run {
    fn new(setup: Setup) -> Run {
        let host = Host::new(1, &setup.host);
        let peer = if setup.host.v6 { "fd00::2" } else { "10.0.0.2" };
        Run {
            line: String::new(),
            now: Time::from_millis(1000),
            local: SocketAddr::new(host.address, 80),
            remote: SocketAddr::new(peer.parse().unwrap(), 4000),
            host,
            setup,
            socket: None,
            rings: None,
            iss: None,
            timestamps_from: None,
            written: 0,
            read: 0,
            packets: VecDeque::new(),
            happened: Happened::default(),
            reason: None,
        }
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        let mut left = String::new();
        for packet in &self.packets {
            write!(left, "\n  {}", self.describe(packet)).unwrap();
        }
        panic!("{}\n{what}\nnot looked at:{left}", self.line);
    }

    fn describe(&self, packet: &Packet) -> String {
        let header = &packet.header;
        let letters: String = (LETTERS.iter().filter(|(_, bit)| header.flags & bit != 0))
            .map(|(letter, _)| letter)
            .collect();
        let start = header.sequence.wrapping_sub(self.iss.unwrap_or(0));
        let ack = header.acknowledgment.wrapping_sub(PEER_ISS);
        let len = packet.payload.len() as u32;
        let at = packet.at.since(Time::from_millis(1000));
        format!(
            "{at:?}: {letters} {start}:{} ack {ack} win {} {:?}",
            start.wrapping_add(len),
            header.window,
            header.options
        )
    }

    /// What goes out now.
    fn poll(&mut self) {
        for (bytes, offload) in self.host.poll(self.now) {
            let (ip, ip_len, len) = ip::parse(&bytes).unwrap();
            if ip.protocol != protocol::TCP {
                continue;
            }
            let bytes = &bytes[ip_len..len];
            assert_eq!(offload.checksum, Checksum::Complete);
            let sum = Sum::pseudo(ip.source, ip.destination, protocol::TCP, bytes.len() as u32);
            assert_eq!(sum.add(bytes).folded(), 0, "the checksum");
            let (header, header_len) = tcp::parse(bytes).unwrap();
            self.local.set_port(header.source_port);
            if header.flags & flags::SYN != 0 {
                self.iss.get_or_insert(header.sequence);
            }
            if let Some((value, _)) = header.options.timestamps {
                let millis = (self.now.0 / 1_000_000) as u32;
                (self.timestamps_from).get_or_insert(value.wrapping_sub(millis));
            }
            self.packets.push_back(Packet {
                at: self.now,
                header,
                payload: bytes[header_len..].to_vec(),
                ecn: ip.ecn(),
            });
        }
        for event in std::mem::take(&mut self.host.events) {
            if event.listener.is_some() && event.happened.has(Happened::CONNECTED) {
                self.socket = Some(event.socket);
                self.rings = Some(self.host.pair(event.socket));
            }
            self.happened.0 |= event.happened.0;
            self.reason = self.reason.or(event.reason);
        }
    }

    /// Lets time pass, until something goes out.
    fn wait(&mut self, until: Time) {
        self.poll();
        while self.packets.is_empty() && self.now < until {
            let next = self.host.engine.next_deadline().max(Time(self.now.0 + 1));
            self.now = next.min(until);
            self.poll();
        }
    }

    fn nothing_left(&mut self) {
        self.poll();
        if !self.packets.is_empty() {
            self.fail("more went out than is expected");
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        self.wait(until);
        self.nothing_left();
    }

    fn socket(&self) -> SocketId {
        self.socket.expect("a connection")
    }

    fn command(&mut self, line: &str) {
        let (delay, line) = match line.strip_prefix('+') {
            None => (Duration::ZERO, line),
            Some(rest) => {
                let (delay, rest) = rest.split_once(' ').expect("a command");
                (
                    Duration::from_secs_f64(number::<f64>(delay) / 1000.0),
                    rest.trim(),
                )
            }
        };
        if let Some(rest) = line.strip_prefix('>') {
            return self.expect(delay, &Wanted::parse(rest));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "drop" {
            let until = self.now + delay;
            while self.now < until {
                self.packets.clear();
                self.wait(until);
            }
        } else if !delay.is_zero() {
            self.pass(delay);
        }
        if let Some(rest) = line.strip_prefix('<') {
            self.nothing_left();
            return self.come(&Wanted::parse(rest));
        }
        let amount = |at: usize| words.get(at).map(|word| number::<u64>(word));
        let (now, options) = (self.now, self.setup.options);
        match words[0] {
            "listen" => {
                let backlog = amount(1).unwrap_or(16) as u32;
                let engine = &mut self.host.engine;
                (engine.listen(Owner(0), self.local, backlog, options, false)).unwrap();
            }
            "connect" => {
                let engine = &mut self.host.engine;
                let socket = (engine.connect(now, Owner(0), None, self.remote, options)).unwrap();
                self.socket = Some(socket);
                self.rings = Some(self.host.pair(socket));
            }
            "open" => {
                let options = line.strip_prefix("open").unwrap();
                for line in [
                    "connect",
                    "> S 0",
                    &format!("+10 < SA 0 ack 1{options}"),
                    "> A 1 ack 1",
                ] {
                    self.command(line);
                }
            }
            "write" => {
                let bytes = stream(self.written, amount(1).unwrap() as usize);
                let rings = self.rings.as_ref().expect("a connection");
                assert_eq!(rings.writer.borrow_mut().write(&bytes), bytes.len(), "room");
                self.written += bytes.len() as u64;
                assert!(self.host.engine.notify(self.socket()));
            }
            "read" => {
                let mut bytes = vec![0; amount(1).unwrap() as usize];
                let rings = self.rings.as_ref().expect("a connection");
                let len = rings.reader.borrow_mut().read(&mut bytes);
                if len < bytes.len() {
                    self.fail(&format!("{len} bytes are there"));
                }
                assert!(bytes == stream(self.read, len), "the bytes read differ");
                self.read += len as u64;
                assert!(self.host.engine.notify(self.socket()));
            }
            "shutdown" => assert!(self.host.engine.shutdown(self.socket())),
            "close" => assert!(self.host.engine.close(now, self.socket())),
            "abort" => self.host.engine.abort(self.socket()),
            "set" => self.set(&words[1..]),
            "none" => {
                let time = Duration::from_millis(amount(1).unwrap());
                self.pass(time);
            }
            "drop" => {
                self.poll();
                let many = amount(1).map_or(self.packets.len(), |many| many as usize);
                self.packets.drain(..many);
            }
            "event" => {
                let event = EVENTS.iter().find(|(name, _)| *name == words[1]).unwrap().1;
                if !self.happened.has(event) {
                    self.pass(Duration::from_millis(1));
                }
                if !self.happened.has(event) {
                    self.fail(&format!("{:?} happened", self.happened));
                }
                self.happened.0 &= !event.0;
            }
            "reason" => {
                let reason = self
                    .reason
                    .map_or("none".into(), |reason| format!("{reason:?}"));
                assert_eq!(reason.to_lowercase(), words[1], "{}", self.line);
            }
            "port" => self.remote.set_port(amount(1).unwrap() as u16),
            "again" => {
                self.iss = None;
                self.timestamps_from = None;
                (self.written, self.read) = (0, 0);
            }
            "rings" => {
                let rings = self.host.engine.memory().in_use();
                assert_eq!(Some(rings as u64), amount(1), "{}", self.line);
            }
            "icmp" => self.message(&words[1..]),
            "gone" => assert!(
                self.host.engine.info(self.socket()).is_none(),
                "{}",
                self.line
            ),
            _ => self.check(&words),
        }
        self.poll();
    }

    fn check(&mut self, words: &[&str]) {
        let info = (self.host.engine.info(self.socket())).expect("the connection is there");
        let segments = |bytes: u64| (bytes as f64 / f64::from(info.mss)).round().to_string();
        let found = match words[0] {
            "state" => format!("{:?}", info.state),
            "cwnd" => segments(info.window),
            "flight" => segments(info.in_flight),
            "mss" => info.mss.to_string(),
            "ssthresh" => info.threshold.map_or("none".into(), segments),
            "rto" => info.timeout.as_millis().to_string(),
            "recovery" => format!("{:?}", info.recovery).to_lowercase(),
            "undone" => info.undone.to_string(),
            word => panic!("{word}: no command"),
        };
        if found != words[1] {
            self.fail(&format!("it is {found}; {info:?}"));
        }
    }

    fn set(&mut self, words: &[&str]) {
        let millis = |at: usize| Duration::from_millis(number(words[at]));
        let change = |options: &mut SocketOptions| match words[0] {
            "nodelay" => options.no_delay = true,
            "cork" => options.cork = true,
            "uncork" => options.cork = false,
            "timeout" => options.user_timeout = Some(millis(1)),
            "keepalive" => {
                options.keep_alive = Some(KeepAlive {
                    idle: millis(1),
                    interval: millis(2),
                    probes: number(words[3]),
                });
            }
            word => panic!("{word}: no option"),
        };
        match self.socket {
            Some(socket) => self.host.engine.set_options(self.now, socket, change),
            None => change(&mut self.setup.options),
        }
    }

    fn expect(&mut self, delay: Duration, wanted: &Wanted<'_>) {
        let due = self.now + delay;
        self.wait(due + Duration::from_millis(1));
        let Some(packet) = self.packets.pop_front() else {
            self.fail("nothing went out");
        };
        let found = self.describe(&packet);
        let header = &packet.header;
        let check = |what: &str, is: bool| {
            if !is {
                self.fail(&format!("{what} differs: {found}"));
            }
        };
        check("time", packet.at + Duration::from_millis(1) >= due);
        let ignored = if wanted.push { 0 } else { flags::PSH };
        check("flags", header.flags & !ignored == wanted.flags);
        let start = header.sequence.wrapping_sub(self.iss.unwrap_or(0));
        if let (Some(from), Some(to)) = (wanted.start, wanted.end) {
            check("sequence", start == from);
            check(
                "length",
                packet.payload.len() as u32 == to.wrapping_sub(from),
            );
        }
        if let Some(ack) = wanted.value("ack") {
            check(
                "acknowledgment",
                header.acknowledgment.wrapping_sub(PEER_ISS) == ack,
            );
        }
        if let Some(window) = wanted.value("win") {
            check("window", u32::from(header.window) == window);
        }
        if header.flags & (flags::SYN | flags::RST) == 0 && !packet.payload.is_empty() {
            let offset = u64::from(start.wrapping_sub(1));
            check(
                "payload",
                packet.payload == stream(offset, packet.payload.len()),
            );
        }
        if wanted.has("ect") || wanted.has("not-ect") {
            check("ECN", (packet.ecn == Ecn::Capable0) == wanted.has("ect"));
        }
        let options = &header.options;
        for words in &wanted.options {
            let is = match words[0] {
                "mss" => options.mss == Some(number(words[1])),
                "sackok" => options.sack_permitted,
                "ws" => options.window_scale == Some(number(words[1])),
                "ts" => options.timestamps.is_some_and(|(value, echo)| {
                    let from = self.timestamps_from.unwrap_or(0);
                    let fits = |word: &str, found: u32| word == "*" || number::<u32>(word) == found;
                    fits(words[1], value.wrapping_sub(from)) && fits(words[2], echo)
                }),
                "sack" => {
                    let blocks = words[1..].iter().map(|block| range(block));
                    let found = options.sack.iter();
                    blocks
                        .eq(found
                            .map(|(a, b)| (a.wrapping_sub(PEER_ISS), b.wrapping_sub(PEER_ISS))))
                }
                "nots" => options.timestamps.is_none(),
                "nosack" => options.sack.is_empty() && !options.sack_permitted,
                "nows" => options.window_scale.is_none(),
                word => panic!("{word}: no option"),
            };
            check(words[0], is);
        }
        self.now = self.now.max(packet.at);
    }

    fn come(&mut self, wanted: &Wanted<'_>) {
        let iss = self.iss.unwrap_or(0);
        let (start, end) = (wanted.start.expect("SEQ"), wanted.end.unwrap());
        let mut header = Header {
            source_port: self.remote.port(),
            destination_port: self.local.port(),
            sequence: PEER_ISS.wrapping_add(start),
            acknowledgment: wanted.value("ack").map_or(0, |ack| iss.wrapping_add(ack)),
            flags: wanted.flags,
            window: wanted.value("win").unwrap_or(65535) as u16,
            ..Header::default()
        };
        for words in &wanted.options {
            let options = &mut header.options;
            match words[0] {
                "mss" => options.mss = Some(number(words[1])),
                "sackok" => options.sack_permitted = true,
                "ws" => options.window_scale = Some(number(words[1])),
                "ts" => {
                    let echo: u32 = number(words[2]);
                    let from = self.timestamps_from.unwrap_or(0);
                    let echo = if echo == 0 {
                        0
                    } else {
                        from.wrapping_add(echo)
                    };
                    options.timestamps = Some((number(words[1]), echo));
                }
                "sack" => {
                    let mut blocks = SackBlocks::new();
                    for (left, right) in words[1..].iter().map(|block| range(block)) {
                        blocks.push(iss.wrapping_add(left), iss.wrapping_add(right));
                    }
                    options.sack = blocks;
                }
                word => panic!("{word}: no option"),
            }
        }
        let len = end.wrapping_sub(start) as usize;
        let payload = stream(u64::from(start).saturating_sub(1), len);
        let mut bytes = vec![0; ip::MAX_LEN + tcp::MAX_LEN];
        let mut ip = ip::Header::new(self.remote.ip(), self.local.ip(), protocol::TCP);
        if wanted.has("ce") {
            ip = ip.with_ecn(Ecn::Congestion);
        }
        let at = ip::write(&ip, header.len() + len, &mut bytes);
        let header_len = tcp::write(&header, &mut bytes[at..]);
        bytes.truncate(at + header_len);
        bytes.extend(payload);
        let segment = &mut bytes[at..];
        let total = segment.len() as u32;
        let sum = Sum::pseudo(ip.source, ip.destination, protocol::TCP, total).add(segment);
        tcp::set_checksum(segment, sum.folded());
        self.host
            .engine
            .receive(self.now, &bytes, Offload::default());
        self.poll();
    }

    fn message(&mut self, words: &[&str]) {
        let sequence = (self.iss.unwrap_or(0)).wrapping_add(number(words[words.len() - 1]));
        let mut quoted = vec![0; ip::MAX_LEN + tcp::MAX_LEN];
        let header = Header {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            sequence,
            ..Header::default()
        };
        let (local, remote) = (self.local.ip(), self.remote.ip());
        let at = ip::write(
            &ip::Header::new(local, remote, protocol::TCP),
            1400,
            &mut quoted,
        );
        tcp::write(&header, &mut quoted[at..]);
        // Eight bytes of the segment are all that comes back at least.
        let quoted = &quoted[..at + 8];
        let why = |why| Message::Unreachable { why, quoted };
        let message = match words[0] {
            "big" => Message::TooBig {
                mtu: number(words[1]),
                quoted,
            },
            "port" => why(Unreachable::Port),
            "host" => why(Unreachable::Host),
            word => panic!("{word}: no message"),
        };
        let mut body = vec![0; 1280];
        let len = icmp::write(&message, remote, local, &mut body);
        let kind = if local.is_ipv4() {
            protocol::ICMP
        } else {
            protocol::ICMPV6
        };
        let mut bytes = vec![0; ip::MAX_LEN];
        let at = ip::write(&ip::Header::new(remote, local, kind), len, &mut bytes);
        bytes.truncate(at);
        bytes.extend(&body[..len]);
        self.host
            .engine
            .receive(self.now, &bytes, Offload::default());
    }
}

fn range(block: &str) -> (u32, u32) {
    let (left, right) = block.split_once('-').expect("LEFT-RIGHT");
    (number(left), number(right))
}
