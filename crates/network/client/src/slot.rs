//! The head of a slot: what the engine tells of a connection without being asked. Only the engine writes it, and it does
//! not read it again, but for one word of the application's.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::entry::{ADDRESS, decode_address, encode_address};
use crate::SocketId;
use crate::memory::Span;

/// The connection is established.
pub const CONNECTED: u32 = 1;
/// The peer sends no more.
pub const FINISHED: u32 = 2;
/// The connection is over; [`Head::error`] says why.
pub const CLOSED: u32 = 4;
/// The connection is another application's now.
pub const MOVED: u32 = 8;

const GENERATION: usize = 0;
const LISTENER: usize = 4;
const STATE: usize = 8;
const ERROR: usize = 12;
const LOCAL: usize = 16;
const REMOTE: usize = LOCAL + ADDRESS;
const INDEX: usize = REMOTE + ADDRESS;
const TAKEN: usize = INDEX + 8;

/// The head of a slot.
#[derive(Clone, Debug)]
pub struct Head(Span);

impl Head {
    /// On its span.
    pub fn new(span: Span) -> Head {
        Head(span)
    }

    /// Which connection of the slot it is; 0 before the first.
    pub fn generation(&self) -> u32 {
        self.0.half_word(GENERATION).load(Ordering::Acquire)
    }

    /// The number of the listener that accepted it.
    pub fn listener(&self) -> Option<u32> {
        let number = self.0.half_word(LISTENER).load(Ordering::Relaxed);
        number.checked_sub(1)
    }

    /// The socket's number in the engine.
    pub fn id(&self) -> SocketId {
        let word = |at| self.0.half_word(at).load(Ordering::Relaxed);
        SocketId {
            index: word(INDEX),
            generation: word(INDEX + 4),
        }
    }

    /// The application has taken the connection that a listener accepted.
    pub fn take(&self, generation: u32) {
        self.0.half_word(TAKEN).store(generation, Ordering::Release);
    }

    /// Whether the application says that it has taken this connection of the slot.
    pub fn is_taken(&self, generation: u32) -> bool {
        self.0.half_word(TAKEN).load(Ordering::Acquire) == generation
    }

    /// [`CONNECTED`], [`FINISHED`] and [`CLOSED`]. What was received before is visible after it.
    pub fn state(&self) -> u32 {
        self.0.half_word(STATE).load(Ordering::Acquire)
    }

    /// Why it is closed; 0 if that was in order.
    pub fn error(&self) -> i32 {
        self.0.half_word(ERROR).load(Ordering::Relaxed) as i32
    }

    /// The addresses of both ends.
    pub fn addresses(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let read = |at| {
            let mut bytes = [0; ADDRESS];
            self.0.read(at, &mut bytes);
            decode_address(&bytes)
        };
        (read(LOCAL), read(REMOTE))
    }

    /// Begins a connection of the slot.
    pub fn begin(
        &self,
        generation: u32,
        id: SocketId,
        listener: Option<u32>,
        state: u32,
        addresses: [Option<SocketAddr>; 2],
    ) {
        let listener = listener.map_or(0, |number| number + 1);
        self.set_addresses(addresses);
        let store = |at, value| self.0.half_word(at).store(value, Ordering::Relaxed);
        store(INDEX, id.index);
        store(INDEX + 4, id.generation);
        store(LISTENER, listener);
        store(ERROR, 0);
        store(STATE, state);
        self.0
            .half_word(GENERATION)
            .store(generation, Ordering::Release);
    }

    /// Tells other addresses, while the application waits for that.
    pub fn set_addresses(&self, addresses: [Option<SocketAddr>; 2]) {
        self.0.write(LOCAL, &encode_address(addresses[0]));
        self.0.write(REMOTE, &encode_address(addresses[1]));
    }

    /// Tells a new state.
    pub fn tell(&self, state: u32, error: i32) {
        self.0
            .half_word(ERROR)
            .store(error as u32, Ordering::Relaxed);
        self.0.half_word(STATE).store(state, Ordering::Release);
    }
}
