//! What routers and the peer's machine tell by ICMP (RFC 1122, 4.2.3.9). Anybody can send that: it is believed only about
//! what is on its way (RFC 5927, 4.1), and never ends a connection that is established.

use super::open::options_len;
use super::{Connection, Reason, State};

impl Connection {
    /// Whether a message that quotes this sequence number is about something on its way.
    fn is_on_its_way(&self, sequence: u32) -> bool {
        let position = self.position(sequence);
        position >= self.una && position < self.nxt
    }

    /// A packet was too big for the path: segments have at most `payload` bytes from now on, options included, and those
    /// that are on their way go out again in that size (RFC 1191, 6.5; RFC 8201, 5.4).
    ///
    /// Less than what a peer takes that names no size is not believed.
    pub fn path_mtu_changed(&mut self, sequence: u32, payload: u16) {
        let payload = payload.max(self.sending.default_mss);
        let mss = payload - options_len(self.agreed.timestamps);
        if !self.is_on_its_way(sequence) || mss >= self.agreed.mss {
            return;
        }
        self.sending.path_mss = payload;
        self.agreed.mss = mss;
        self.control.set_mss(u64::from(mss));
        // That is no sign of congestion: the window stays as it is.
        self.scoreboard.lose(|range| range.len() > u64::from(mss));
    }

    /// The peer cannot be reached; `hard` if its machine says so. A hard message ends a connection that is being opened; any
    /// other becomes the reason if the connection times out (RFC 5461).
    pub fn unreachable(&mut self, sequence: u32, hard: bool) {
        if !self.is_on_its_way(sequence) {
            return;
        }
        if self.state == State::SynSent && hard {
            self.fail(Reason::Refused);
        } else {
            self.sending.unreachable = true;
        }
    }
}
