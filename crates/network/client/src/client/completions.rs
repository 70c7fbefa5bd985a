//! Operations that are posted with a number of the application's own, and finish later.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let stack = evener_net_client::Stack::attach("/run/evener-net.sock")?;
//! let mut completions = stack.completions()?;
//! let connection = completions.add(stack.connect("10.1.0.2:7".parse()?)?);
//! completions.write(connection, 1, b"hello".to_vec())?;
//! completions.read(connection, 2, 5)?;
//! let mut finished = Vec::new();
//! loop {
//!     completions.wait(&mut finished, Some(Duration::from_secs(1)))?;
//!     for completion in finished.drain(..) {
//!         let bytes = completion.result?;
//!         if completion.number == 2 {
//!             println!("{:?}", completions.data(connection));
//!             completions.consume(connection, bytes);
//!             return Ok(());
//!         }
//!     }
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use super::Stack;
use super::connection::Connection;
use super::poller::{Interest, Poller};
use super::wait::deadline_after;

/// One that only polls looks so often whether the engine was killed, while nothing finishes.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// An operation that has finished.
#[derive(Debug)]
pub struct Completion {
    /// The number that it was posted with.
    pub number: u64,
    /// The connection that it was posted on, as [`Completions::add`] named it.
    pub connection: u64,
    /// Bytes: written, lent by [`Completions::data`], or of room that [`Completions::space`] lends. Or why it failed.
    pub result: io::Result<usize>,
    /// What was to be written, which is the application's again. Empty for the others.
    pub buffer: Vec<u8>,
}

/// Connections on which reads and writes are posted, and the queue of those that have finished.
///
/// Reads of a connection finish in the order in which they were posted, and so do writes. To post, to poll and to use what is
/// lent makes no system call while both sides are busy.
pub struct Completions {
    poller: Poller,
    connections: HashMap<u64, Posted>,
    next: u64,
    finished: VecDeque<Completion>,
    changed: Vec<u64>,
    /// When something last finished, or the engine was last looked for.
    looked_at: Instant,
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions")
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

/// What is posted on a connection.
struct Posted {
    connection: Connection,
    reads: VecDeque<(u64, usize)>,
    writes: VecDeque<Outgoing>,
    /// Received bytes that reads have finished with and that are not consumed.
    read: usize,
    /// Room that is lent and not committed. Later writes come after it.
    space: usize,
}

enum Outgoing {
    Bytes {
        number: u64,
        buffer: Vec<u8>,
        written: usize,
    },
    Space {
        number: u64,
        len: usize,
    },
}

impl Stack {
    /// A queue of completions, of no connection yet.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn completions(&self) -> io::Result<Completions> {
        Ok(Completions {
            poller: self.poller()?,
            connections: HashMap::new(),
            next: 0,
            finished: VecDeque::new(),
            changed: Vec::new(),
            looked_at: Instant::now(),
        })
    }
}

impl Completions {
    /// Adds a connection, which need not be established yet, and names it.
    ///
    /// # Panics
    /// If it is of another stack.
    pub fn add(&mut self, connection: Connection) -> u64 {
        let key = self.next;
        self.next += 1;
        self.poller.add(&connection, key, Interest::BOTH);
        let posted = Posted {
            connection,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            read: 0,
            space: 0,
        };
        self.connections.insert(key, posted);
        key
    }

    /// Gives a connection back. What is posted on it does not finish any more; bytes that were lent are not consumed.
    pub fn remove(&mut self, connection: u64) -> Option<Connection> {
        let posted = self.connections.remove(&connection)?;
        self.poller.remove(&posted.connection);
        Some(posted.connection)
    }

    /// The connection of a name.
    pub fn connection(&self, connection: u64) -> Option<&Connection> {
        Some(&self.connections.get(&connection)?.connection)
    }

    /// Posts a read. It finishes when `least` bytes have come that no read before it has finished with, with all that have; or
    /// with fewer at the end, and with 0 after it. [`data`](Completions::data) lends them. As they take room until they are
    /// [consumed](Completions::consume), a later read may wait for that.
    ///
    /// # Errors
    /// `least` is 0, or more than a quarter of the ring, or there is no such connection.
    pub fn read(&mut self, connection: u64, number: u64, least: usize) -> io::Result<()> {
        let posted = self.posted(connection)?;
        let slots = *posted.connection.link().shared.mapping.slots();
        check(least, slots.receive)?;
        posted.reads.push_back((number, least));
        self.advance(connection);
        Ok(())
    }

    /// Posts a write, which finishes when there was room for all of it. The buffer comes back with that.
    ///
    /// # Errors
    /// There is no such connection.
    pub fn write(&mut self, connection: u64, number: u64, buffer: Vec<u8>) -> io::Result<()> {
        self.posted(connection)?.writes.push_back(Outgoing::Bytes {
            number,
            buffer,
            written: 0,
        });
        self.advance(connection);
        Ok(())
    }

    /// Posts a write in place, which finishes when there is room for `len` bytes. [`space`](Completions::space) lends it. What is
    /// posted after it waits until all of that is [committed](Completions::commit).
    ///
    /// # Errors
    /// `len` is 0, or more than a quarter of the ring, or there is no such connection.
    pub fn send(&mut self, connection: u64, number: u64, len: usize) -> io::Result<()> {
        let posted = self.posted(connection)?;
        let slots = *posted.connection.link().shared.mapping.slots();
        check(len, slots.send)?;
        posted.writes.push_back(Outgoing::Space { number, len });
        self.advance(connection);
        Ok(())
    }

    /// Bytes that reads have finished with, in place: some of them, as the memory has an end. Empty if there are none.
    pub fn data(&self, connection: u64) -> &[u8] {
        let posted = self.connections.get(&connection);
        let Some(posted) = posted.filter(|posted| posted.read > 0) else {
            return &[];
        };
        let data = posted.connection.data();
        &data[..posted.read.min(data.len())]
    }

    /// The first `len` bytes of [`data`](Completions::data) are no longer needed.
    ///
    /// # Panics
    /// If it had fewer.
    pub fn consume(&mut self, connection: u64, len: usize) {
        let mut left = len;
        while left > 0 {
            let there = self.data(connection).len();
            assert!(there > 0, "bytes that reads have finished with");
            let some = left.min(there);
            if let Some(posted) = self.connections.get_mut(&connection) {
                posted.connection.consume(some);
                posted.read -= some;
            }
            left -= some;
        }
        self.advance(connection);
    }

    /// Room to write into, in place: some of what [`send`](Completions::send) has finished with, as the memory has an end. Empty
    /// if there is none.
    pub fn space(&mut self, connection: u64) -> &mut [u8] {
        let posted = self.connections.get_mut(&connection);
        let Some(posted) = posted.filter(|posted| posted.space > 0) else {
            return &mut [];
        };
        let lent = posted.space;
        let space = posted.connection.free();
        let len = lent.min(space.len());
        &mut space[..len]
    }

    /// Sends the first `len` bytes of the [`space`](Completions::space).
    ///
    /// # Panics
    /// If it had fewer.
    pub fn commit(&mut self, connection: u64, len: usize) {
        if let Some(posted) = self.connections.get_mut(&connection) {
            assert!(len <= posted.space, "bytes of the space");
            posted.connection.commit(len);
            posted.space -= len;
        }
        self.advance(connection);
    }

    /// Puts what has finished into `to`, behind what is there.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn poll(&mut self, to: &mut Vec<Completion>) -> io::Result<()> {
        if self.finished.is_empty() {
            self.look(Some(Duration::ZERO))?;
        }
        if !self.finished.is_empty() {
            self.looked_at = Instant::now();
        } else if self.looked_at.elapsed() > LOOK_EVERY {
            self.looked_at = Instant::now();
            self.poller.look();
        } else {
            self.poller.look_for_end();
        }
        to.extend(self.finished.drain(..));
        Ok(())
    }

    /// As [`poll`](Completions::poll), and waits until something finishes, for no longer than `timeout`.
    ///
    /// # Errors
    /// The engine is gone, and nothing is left that could tell of it; or what the operating system says.
    pub fn wait(&mut self, to: &mut Vec<Completion>, timeout: Option<Duration>) -> io::Result<()> {
        let deadline = timeout.and_then(deadline_after);
        while self.finished.is_empty() {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            self.look(left)?;
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
        }
        to.extend(self.finished.drain(..));
        Ok(())
    }

    /// Advances what is new, and waits for something if nothing is.
    fn look(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let mut changed = std::mem::take(&mut self.changed);
        let waited = self.poller.changed(&mut changed, timeout);
        for &connection in &changed {
            self.advance(connection);
        }
        self.changed = changed;
        waited
    }

    fn posted(&mut self, connection: u64) -> io::Result<&mut Posted> {
        let posted = self.connections.get_mut(&connection);
        posted.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn advance(&mut self, connection: u64) {
        if let Some(posted) = self.connections.get_mut(&connection) {
            let mut finish = |number, result, buffer| {
                self.finished.push_back(Completion {
                    number,
                    connection,
                    result,
                    buffer,
                });
            };
            posted.advance_reads(&mut finish);
            posted.advance_writes(&mut finish);
        }
    }
}

/// Whether so many bytes may be waited for: more might never be there at a time, as what is free is told in steps.
fn check(len: usize, ring: usize) -> io::Result<()> {
    match len > 0 && len <= ring / 4 {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "an operation is of a quarter of the ring at most",
        )),
    }
}

/// Takes the number, the result and the buffer of an operation.
type Finish<'a> = &'a mut dyn FnMut(u64, io::Result<usize>, Vec<u8>);

impl Posted {
    fn advance_reads(&mut self, finish: Finish<'_>) {
        while let Some(&(number, least)) = self.reads.front() {
            let link = self.connection.link();
            let progress = link.progress();
            let new = progress.available - self.read;
            let is_over = progress.finished || progress.closed || link.ended()[0];
            let result = match new {
                _ if new >= least => Ok(new),
                _ if !is_over => return,
                0 if progress.error != 0 => Err(io::Error::from_raw_os_error(progress.error)),
                _ => Ok(new),
            };
            self.read += result.as_ref().map_or(0, |&new| new);
            self.reads.pop_front();
            finish(number, result, Vec::new());
        }
    }

    fn advance_writes(&mut self, finish: Finish<'_>) {
        while self.space == 0
            && let Some(first) = self.writes.front_mut()
        {
            let link = self.connection.link();
            let progress = link.progress();
            let is_over = progress.closed || link.ended()[1];
            let result = match first {
                _ if is_over => Err(match progress.error {
                    0 => io::ErrorKind::BrokenPipe.into(),
                    error => io::Error::from_raw_os_error(error),
                }),
                _ if !progress.connected => return,
                Outgoing::Space { len, .. } => match progress.room >= *len {
                    true => {
                        self.space = *len;
                        Ok(*len)
                    }
                    false => return,
                },
                Outgoing::Bytes {
                    buffer, written, ..
                } => {
                    let left = buffer.len() - *written;
                    let room = progress.room;
                    match left.min(room) {
                        0 if left > 0 => return,
                        0 => Ok(*written),
                        _ => match self.connection.write(&buffer[*written..]) {
                            Ok(n) => {
                                *written += n;
                                if *written < buffer.len() {
                                    continue;
                                }
                                Ok(*written)
                            }
                            Err(error) => Err(error),
                        },
                    }
                }
            };
            match self.writes.pop_front() {
                Some(Outgoing::Bytes { number, buffer, .. }) => finish(number, result, buffer),
                Some(Outgoing::Space { number, .. }) => finish(number, result, Vec::new()),
                None => return,
            }
        }
    }
}
