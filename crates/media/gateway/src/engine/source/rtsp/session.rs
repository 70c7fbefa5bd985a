//! What is said to an origin that is connected to.

use std::time::Instant;

use super::connection::{Came, Connection};
use crate::engine::source::Turn;
use crate::rtsp::client::Client;

/// A connection on which an origin is talked to.
pub struct Session {
    pub connection: Connection,
    pub client: Client,
    /// When it must play.
    pub until: Option<Instant>,
    /// There may be more to read.
    pub has_more: bool,
}

impl Session {
    /// Reads what the origin has sent.
    pub fn read(&mut self, turn: &mut Turn<'_>) {
        let Session {
            connection,
            client,
            has_more,
            ..
        } = self;
        let came = connection.read(turn.scratch, |bytes| client.receive(turn.now, bytes));
        *has_more = came == Came::More;
        if came == Came::End {
            client.closed();
        }
    }

    /// When it goes on by itself. `past` is a time that is over.
    pub fn deadline(&self, past: Instant) -> Option<Instant> {
        let more = self.has_more.then_some(past);
        let all = [more, self.until, self.client.next_deadline()];
        all.into_iter().flatten().min()
    }
}
