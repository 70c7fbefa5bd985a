//! The application ends a connection, in one direction or both.

use super::{Connection, Reason, State};
use crate::memory::Corrupt;
use crate::time::Time;

impl Connection {
    /// The application sends no more than it has written.
    ///
    /// # Errors
    /// [`Corrupt`] when its ring is.
    pub fn shutdown(&mut self) -> Result<(), Corrupt> {
        self.notify()?;
        self.finished = true;
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            State::SynSent => {
                self.reason = Some(Reason::Aborted);
                self.become_closed();
            }
            _ => {}
        }
        Ok(())
    }

    /// The application is done with it. What it has written still goes out; what comes is answered by a reset.
    ///
    /// # Errors
    /// [`Corrupt`] when its ring is.
    pub fn close(&mut self, now: Time) -> Result<(), Corrupt> {
        self.notify()?;
        let unread = match &mut self.rings {
            Some(rings) => super::FIRST + rings.receive.consumed()? < self.data_expected(),
            None => false,
        };
        if unread && !matches!(self.state, State::SynSent | State::SynReceived) {
            // The peer should know that what it sent was not read (RFC 2525, 2.17).
            self.abort();
            return Ok(());
        }
        self.orphan = true;
        self.shutdown()?;
        if self.state == State::FinWait2 {
            self.begin_fin_wait(now);
        }
        Ok(())
    }

    /// It ends now, with a reset.
    pub fn abort(&mut self) {
        self.orphan = true;
        match self.state {
            State::Closed => {}
            State::TimeWait | State::SynSent | State::Closing | State::LastAck => {
                self.reason = Some(Reason::Aborted);
                self.become_closed();
            }
            _ => {
                self.reason = Some(Reason::Aborted);
                self.sending.reset = true;
            }
        }
    }

    /// What came of the peer's data, without its FIN.
    pub(super) fn data_expected(&self) -> u64 {
        self.expected.min(self.peer_end)
    }
}
