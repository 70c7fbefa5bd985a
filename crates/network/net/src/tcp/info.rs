//! What may be known of a connection.

use std::time::Duration;

use super::congestion::Algorithm;
use super::recovery::Phase;
use super::{Connection, FIRST, State};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub sent_segments: u64,
    pub received_segments: u64,
    pub retransmitted: u64,
    pub lost: u64,
    pub recoveries: u32,
    pub timeouts: u32,
    pub undone: u32,
    pub duplicates: u32,
}

/// What is known and done about loss, as Linux's `tcpi_ca_state` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// All that is known to have arrived did so in order.
    Open,
    /// Something arrived before what was sent earlier, which is not taken for lost.
    Disorder,
    /// The peer told of congestion (ECN), or a probe repaired a loss: the window is being reduced.
    Reduced,
    /// Something is taken for lost, and the window is being reduced.
    Recovery,
    /// The timeout ran out.
    Loss,
}

/// The state of a connection, as Linux's `TCP_INFO` has it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Where it stands.
    pub state: State,
    /// How it controls congestion.
    pub congestion: Algorithm,
    /// Bytes of payload in a segment.
    pub mss: u16,
    /// Bytes that may be on their way, and that are.
    pub window: u64,
    /// Bytes that are on their way.
    pub in_flight: u64,
    /// Bytes of the window at which slow start ends.
    pub threshold: Option<u64>,
    /// Bytes that the peer has room for, from what it acknowledged on.
    pub peer_window: u64,
    /// Bytes a second that go out at most.
    pub pacing_rate: Option<u64>,
    /// The round trip, smoothed.
    pub rtt: Option<Duration>,
    /// How much it varies.
    pub rtt_variation: Duration,
    /// The shortest.
    pub minimum_rtt: Option<Duration>,
    /// What is known and done about loss.
    pub recovery: Recovery,
    /// Until what is not acknowledged is sent again.
    pub timeout: Duration,
    /// Bytes of data sent, each once.
    pub sent_bytes: u64,
    /// Bytes of data received in order.
    pub received_bytes: u64,
    /// Segments that went out, counted as they are on the medium.
    pub sent_segments: u64,
    /// Packets that came in.
    pub received_segments: u64,
    /// Bytes sent more than once.
    pub retransmitted: u64,
    /// Bytes taken for lost.
    pub lost: u64,
    /// Losses that were answered.
    pub recoveries: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Losses that were none.
    pub undone: u32,
    /// Selective acknowledgements were agreed on.
    pub sack: bool,
    /// Timestamps were.
    pub timestamps: bool,
    /// Notification of congestion was.
    pub ecn: bool,
}

impl Connection {
    pub fn info(&self) -> Info {
        Info {
            state: self.state,
            congestion: self.control.algorithm(),
            mss: self.agreed.mss,
            window: self.control.window(),
            in_flight: self.in_flight(),
            threshold: self.control.threshold(),
            peer_window: self.right.saturating_sub(self.una),
            pacing_rate: self.control.pacing_rate(),
            rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.variation(),
            minimum_rtt: self.rtt.minimum(),
            recovery: self.recovery(),
            timeout: self.rtt.timeout(),
            sent_bytes: self.nxt.min(self.end).saturating_sub(FIRST),
            received_bytes: self.data_expected().saturating_sub(FIRST),
            sent_segments: self.counts.sent_segments,
            received_segments: self.counts.received_segments,
            retransmitted: self.counts.retransmitted,
            lost: self.counts.lost,
            recoveries: self.counts.recoveries,
            timeouts: self.counts.timeouts,
            undone: self.counts.undone,
            sack: self.agreed.sack,
            timestamps: self.agreed.timestamps,
            ecn: self.agreed.ecn,
        }
    }

    fn recovery(&self) -> Recovery {
        match self.phase {
            Phase::Open if self.scoreboard.sacked() > 0 || self.sending.duplicates > 0 => {
                Recovery::Disorder
            }
            Phase::Open => Recovery::Open,
            Phase::Reduced { .. } => Recovery::Reduced,
            Phase::Recovery { .. } => Recovery::Recovery,
            Phase::Loss { .. } => Recovery::Loss,
        }
    }
}
