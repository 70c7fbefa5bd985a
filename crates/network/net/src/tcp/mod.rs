//! One connection of TCP (RFC 9293), without input or output: segments come in by `Connection::receive`, go out by
//! `Connection::next` and `Connection::sent`, and time passes by `Connection::advance`.
//!
//! Positions take the place of sequence numbers: 64 bits that never wrap, with the SYN at `ORIGIN` and the first byte of
//! data after it. They become 32 bits in headers alone.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `open.rs` | connecting; what is agreed on |
//! | `request.rs`, `cookies.rs` | connections that listeners were asked for and that are not there yet |
//! | `receive.rs` | a segment arrives |
//! | `acknowledge.rs` | what it acknowledges |
//! | `reassembly.rs` | data that came out of order |
//! | `window.rs` | what the peer may send, and when it is told |
//! | `transmit.rs` | the next segment |
//! | `scoreboard.rs` | what is on its way |
//! | `rack.rs`, `recovery.rs` | what of that is lost; how much goes out meanwhile |
//! | `timers.rs` | what happens when nothing does |
//! | `messages.rs` | what routers tell (ICMP) |
//! | `rtt.rs` | round trips |
//! | `settings.rs` | options, in little memory |
//! | `congestion/` | how much may be on its way |

mod acknowledge;
mod close;
pub mod congestion;
mod cookies;
mod info;
mod messages;
mod open;
mod rack;
mod reassembly;
mod receive;
mod recovery;
mod request;
mod rtt;
mod scoreboard;
mod settings;
mod timers;
mod transmit;
mod window;

use std::time::Duration;

use crate::memory::{Corrupt, ReceiveBuffer, SendBuffer};
use crate::time::Time;
use congestion::{Algorithm, Control, Delivery};
use rack::Rack;
use reassembly::Reassembly;
use recovery::Phase;
use rtt::Rtt;
use scoreboard::Scoreboard;
use settings::Settings;
use timers::Retransmit;

pub(crate) use cookies::{Cookies, LIFE as COOKIE_LIFE};
pub use info::{Info, Recovery};
pub(crate) use open::Origin;
pub(crate) use receive::{Arrival, Verdict};
pub(crate) use request::{Ends, Request, Requests};

/// The position of the SYN. Older sequence numbers have positions too.
pub(crate) const ORIGIN: u64 = 1 << 32;
/// The position of the first byte of data.
const FIRST: u64 = ORIGIN + 1;
/// No position.
const NOWHERE: u64 = u64::MAX;

/// The states of RFC 9293, 3.3.2, without those of listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The peer refused it.
    Refused,
    /// The peer reset it.
    Reset,
    /// Nothing came back for too long.
    TimedOut,
    /// There is no way to the peer.
    Unreachable,
    /// The application's memory was at fault.
    Corrupt,
    /// The application ended it.
    Aborted,
}

/// How a connection is to behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How it controls congestion.
    pub congestion: Algorithm,
    /// Small segments go out though others are not acknowledged (RFC 9293, 3.7.4).
    pub no_delay: bool,
    /// Only whole segments go out.
    pub cork: bool,
    /// Probes when nothing has come for a while.
    pub keep_alive: Option<KeepAlive>,
    /// How long data may stay unacknowledged (RFC 5482); none for fifteen retransmissions.
    pub user_timeout: Option<Duration>,
    /// How many times a SYN is sent again.
    pub syn_retries: u8,
    /// The largest segment that the peer may send; none for what the device allows.
    pub mss: Option<u16>,
    /// Timestamps (RFC 7323) are offered and taken.
    pub timestamps: bool,
    /// Selective acknowledgements (RFC 2018) are offered and taken.
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168): offered; it is taken in any case.
    pub ecn: bool,
}

/// Probes of a connection on which nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Until the first.
    pub idle: Duration,
    /// Between them.
    pub interval: Duration,
    /// So many without an answer end the connection.
    pub probes: u8,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            congestion: Algorithm::default(),
            no_delay: false,
            cork: false,
            keep_alive: None,
            user_timeout: None,
            syn_retries: 6,
            mss: None,
            timestamps: true,
            sack: true,
            ecn: false,
        }
    }
}

impl Default for KeepAlive {
    /// As Linux: two hours, then nine probes of 75 seconds.
    fn default() -> KeepAlive {
        KeepAlive {
            idle: Duration::from_secs(7200),
            interval: Duration::from_secs(75),
            probes: 9,
        }
    }
}

/// What has happened that the application should know, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened(pub u8);

impl Happened {
    /// The connection is established.
    pub const CONNECTED: Happened = Happened(1);
    /// There is more to read.
    pub const READABLE: Happened = Happened(2);
    /// There is room to write, after there was little.
    pub const WRITABLE: Happened = Happened(4);
    /// The peer sends no more.
    pub const FINISHED: Happened = Happened(8);
    /// The connection is over.
    pub const CLOSED: Happened = Happened(16);

    /// Whether it has all of `other`.
    pub fn has(self, other: Happened) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn add(&mut self, other: Happened) {
        self.0 |= other.0;
    }
}

/// What both ends agreed on when the connection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Bytes of payload in a segment that goes out, options included.
    pub mss: u16,
    /// The peer's windows are multiples of this power of two; ours of the other.
    pub send_scale: u8,
    pub receive_scale: u8,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
}

/// The two rings.
#[derive(Debug)]
pub(crate) struct Rings {
    pub send: SendBuffer,
    pub receive: ReceiveBuffer,
}

/// Timestamps count milliseconds.
fn timestamp_of(at: Time, offset: u32) -> u32 {
    ((at.0 / 1_000_000) as u32).wrapping_add(offset)
}

/// The order of fields is that of the memory: two cache lines have what every segment needs, and nothing else.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Connection {
    state: State,
    happened: Happened,
    acknowledge: window::Acknowledge,
    retransmit: Retransmit,
    /// The application sends no more; it reads no more.
    finished: bool,
    orphan: bool,
    agreed: Agreed,
    /// Sequence numbers of the two origins.
    iss: u32,
    irs: u32,
    /// The last timestamp of the peer, and when it came.
    recent: u32,
    timestamp_offset: u32,
    recent_at: Time,
    /// The first position that is not acknowledged; the next that goes out; the end of what the application has written.
    una: u64,
    nxt: u64,
    end: u64,
    /// The end of the peer's window.
    right: u64,
    /// The next position that is expected; the end of the window that the peer was told.
    expected: u64,
    told: u64,
    deadlines: timers::Deadlines,

    scoreboard: Scoreboard,
    rings: Option<Rings>,
    control: Box<dyn Control>,
    rtt: Rtt,
    phase: Phase,
    rack: Rack,
    delivery: Delivery,
    receiving: window::Receiving,
    sending: transmit::Sending,
    reassembly: Reassembly,
    /// The segments of the window update that was last taken (RFC 9293, SND.WL1 and SND.WL2).
    window_from: (u64, u64),
    largest_window: u64,
    /// The position of the peer's FIN; [`NOWHERE`] until it is known.
    peer_end: u64,
    counts: info::Counts,
    settings: Settings,
    reason: Option<Reason>,
}

const _: () = assert!(std::mem::offset_of!(Connection, scoreboard) == 128);

impl Connection {
    /// What happened since it was last asked.
    pub fn take_happened(&mut self) -> Happened {
        std::mem::take(&mut self.happened)
    }

    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// Where the next data, as an offset in its ring.
    fn offset(position: u64) -> u64 {
        position - FIRST
    }

    fn sequence(&self, position: u64) -> u32 {
        self.iss.wrapping_add(position.wrapping_sub(ORIGIN) as u32)
    }

    fn peer_sequence(&self, position: u64) -> u32 {
        self.irs.wrapping_add(position.wrapping_sub(ORIGIN) as u32)
    }

    /// The position of a sequence number of the peer's that is near what is expected.
    fn peer_position(&self, sequence: u32) -> u64 {
        let ahead = sequence.wrapping_sub(self.peer_sequence(self.expected)) as i32;
        self.expected.wrapping_add_signed(i64::from(ahead))
    }

    /// The position of an acknowledgement that is near what is not acknowledged.
    fn position(&self, acknowledgment: u32) -> u64 {
        let ahead = acknowledgment.wrapping_sub(self.sequence(self.una)) as i32;
        self.una.wrapping_add_signed(i64::from(ahead))
    }

    /// The timestamp of this time.
    fn timestamp(&self, now: Time) -> u32 {
        timestamp_of(now, self.timestamp_offset)
    }

    fn mss(&self) -> u64 {
        u64::from(self.agreed.mss)
    }

    /// Bytes on their way; what a peer without SACK said by repeating itself is not.
    fn in_flight(&self) -> u64 {
        let repeated = u64::from(self.sending.duplicates) * self.mss();
        self.scoreboard.in_flight().saturating_sub(repeated)
    }

    /// The application wrote or read.
    pub fn notify(&mut self) -> Result<(), Corrupt> {
        let Some(rings) = &mut self.rings else {
            return Ok(());
        };
        let written = rings.send.written()?;
        if !self.finished {
            self.end = FIRST + written;
        }
        self.update_window()
    }

    /// The rings are others from now on, with the same bytes and positions.
    ///
    /// # Errors
    /// [`Corrupt`] when those before are, or there are none.
    pub fn move_rings(&mut self, mut to: Rings) -> Result<(), Corrupt> {
        let from = self.rings.as_mut().ok_or(Corrupt)?;
        to.send.succeed(&mut from.send)?;
        let end = self.reassembly.end().saturating_sub(FIRST);
        to.receive.succeed(&mut from.receive, end)?;
        self.rings = Some(to);
        self.notify()
    }

    /// All that has happened so far, as far as it lasts.
    pub fn past(&self) -> Happened {
        let mut past = Happened::default();
        if !matches!(self.state, State::SynSent | State::SynReceived) {
            past.add(Happened::CONNECTED);
        }
        if self.expected > self.peer_end {
            past.add(Happened::FINISHED);
        }
        if self.state == State::Closed {
            past.add(Happened::CLOSED);
        }
        past
    }

    /// When [`advance`](Connection::advance) is to be called.
    pub fn deadline(&self) -> Time {
        self.deadlines.first()
    }

    /// Whether the application should hear of something.
    pub fn has_news(&self) -> bool {
        self.happened != Happened::default()
    }

    /// The application is done with it, and no data is sent or received any more.
    pub fn needs_no_rings(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
            || self.orphan && self.state == State::FinWait2
    }

    pub fn drop_rings(&mut self) {
        self.rings = None;
    }

    /// Nothing more comes of it.
    pub fn is_over(&self) -> bool {
        self.state == State::Closed
    }

    /// Its rings have indices that cannot be: the peer is told that it ends, and they are not looked at any more.
    pub fn fail_corrupt(&mut self) {
        self.reason = Some(Reason::Corrupt);
        match self.state {
            State::SynSent | State::TimeWait | State::Closed => self.become_closed(),
            _ => self.sending.reset = true,
        }
    }

    pub fn set_options(&mut self, now: Time, change: impl FnOnce(&mut Options)) {
        let before = self.settings.options();
        let mut options = before;
        change(&mut options);
        self.settings = Settings::new(&options);
        if options.keep_alive != before.keep_alive {
            self.keep_alive(now);
        }
        if options.congestion != before.congestion {
            self.control = options.congestion.control(self.mss());
        }
    }

    /// What holds between any two calls.
    fn check(&self) {
        if !cfg!(debug_assertions) || self.state == State::Closed {
            return;
        }
        assert!(self.una <= self.nxt && self.nxt <= self.end + 1);
        self.scoreboard.check(self.una, self.nxt);
        self.reassembly.check(self.expected, self.told);
        assert!(self.receiving.acknowledged <= self.expected);
        // A FIN is taken though there is no room.
        assert!(self.expected <= self.told + 1);
        let waits = self.scoreboard.is_empty() || self.sending.reset;
        assert!(
            waits || self.deadlines.retransmit != Time::NEVER,
            "{self:?}"
        );
        match self.state {
            State::FinWait2 | State::TimeWait => assert!(self.scoreboard.is_empty()),
            State::Established | State::CloseWait => assert!(!self.sending.end_sent),
            _ => {}
        }
    }

    fn fail(&mut self, reason: Reason) {
        self.reason = Some(reason);
        self.become_closed();
    }

    fn become_closed(&mut self) {
        self.state = State::Closed;
        self.deadlines = timers::Deadlines::default();
        self.happened.add(Happened::CLOSED);
    }
}
