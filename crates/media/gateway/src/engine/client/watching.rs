//! What a client gets of a stream: all of it, or what its connection has room for.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use evener_sockets::TcpInfo;

use crate::engine::client::allowance::Allowance;
use crate::engine::client::choice::{Choice, Keys, Pressure, SOUND};
use crate::engine::client::outgoing::Outgoing;
use crate::engine::http::answer::Asked;
use crate::engine::source::output::Format;
use crate::engine::source::recent::{Entry, Recent};
use crate::ts::{Instead, Resume};

/// Bytes that wait for the socket before more of the stream is taken: what a call takes, and more.
pub const WAITING: usize = 64 << 10;
/// So many while the client is late, as what waits grows old.
const WAITING_LATE: usize = 16 << 10;
/// Bytes that wait for a client that takes nothing before it gets no rest of a picture of which it has the beginning.
const REST: usize = 4 << 20;

/// A client's place in a stream.
#[derive(Debug)]
pub struct Watching {
    /// The number of its source.
    pub source: u32,
    /// Which of its formats.
    pub format: Format,
    /// The rate that it may have.
    pub allowance: Allowance,
    /// Which pictures it gets.
    pub choice: Choice,
    /// Bytes that it did not get.
    pub left_out: u64,
    /// The number of the next chunk.
    next: u64,
    /// The chunk that it began with, until it has all that came: what is old then is not late.
    began: Option<u64>,
    /// Its response is sent in chunks of HTTP/1.1.
    chunked: bool,
    /// For a transport stream.
    resume: Option<Resume>,
}

impl Watching {
    /// Begins with the chunk of number `place`, after `beginning`.
    pub fn new(
        asked: Asked,
        recent: &Recent,
        place: u64,
        beginning: &[u8],
        allowance: Allowance,
    ) -> Watching {
        Watching {
            source: asked.source,
            format: asked.format,
            allowance,
            choice: Choice::new(recent.has_keys()),
            left_out: 0,
            next: place,
            began: Some(place),
            chunked: asked.is_11,
            resume: (asked.format == Format::Ts).then(|| Resume::after(beginning)),
        }
    }

    /// Its response is sent in chunks of HTTP/1.1.
    pub fn chunked(&self) -> bool {
        self.chunked
    }

    /// The number of the chunk that it takes next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How late what comes next is.
    pub fn late(&self, recent: &Recent, now: Instant) -> Duration {
        let entry = recent.get(self.next);
        entry.map_or(Duration::ZERO, |entry| {
            now.saturating_duration_since(entry.came)
        })
    }

    /// Asks the kernel for what it knows of the connection, if that is due.
    pub fn look(&mut self, stream: &TcpStream, now: Instant) {
        if now >= self.allowance.due()
            && let Ok(info) = TcpInfo::of(stream)
        {
            self.allowance.sample(info, now);
        }
    }

    /// Leaves out what the client is too late for, while it takes nothing.
    pub fn fall_back(
        &mut self,
        recent: &Recent,
        now: Instant,
        lag: Duration,
        outgoing: &mut Outgoing,
    ) {
        self.add(outgoing, |watching, outgoing| {
            watching.find(recent);
            while watching.began.is_none()
                && let Some(entry) = recent.get(watching.next)
                && now.saturating_duration_since(entry.came) > lag.mul_f64(SOUND)
            {
                watching.choose(entry, recent, Pressure::Full, now, outgoing);
            }
        });
    }

    /// Adds chunks to what waits, up to [`WAITING`] bytes and a chunk.
    pub fn take(&mut self, recent: &Recent, now: Instant, lag: Duration, outgoing: &mut Outgoing) {
        self.take_up_to([WAITING, WAITING_LATE], recent, now, lag, outgoing);
    }

    /// Adds all chunks that there are.
    pub fn take_all(
        &mut self,
        recent: &Recent,
        now: Instant,
        lag: Duration,
        outgoing: &mut Outgoing,
    ) {
        self.take_up_to([usize::MAX; 2], recent, now, lag, outgoing);
    }

    /// Up to so many bytes that wait, and so many while the client is late.
    fn take_up_to(
        &mut self,
        [most, most_late]: [usize; 2],
        recent: &Recent,
        now: Instant,
        lag: Duration,
        outgoing: &mut Outgoing,
    ) {
        self.add(outgoing, |watching, outgoing| {
            watching.find(recent);
            while outgoing.len() < most {
                let Some(entry) = recent.get(watching.next) else {
                    watching.began = None;
                    break;
                };
                let late = match watching.began {
                    Some(_) => 0.0,
                    None => {
                        let late = now.saturating_duration_since(entry.came);
                        late.as_secs_f64() / lag.as_secs_f64()
                    }
                };
                let pressure = Pressure::new(watching.allowance.level(now), late);
                if late > 0.5 && outgoing.len() >= most_late {
                    break;
                }
                watching.choose(entry, recent, pressure, now, outgoing);
            }
        });
    }

    fn add(&mut self, outgoing: &mut Outgoing, add: impl FnOnce(&mut Watching, &mut Outgoing)) {
        match self.chunked {
            true => outgoing.push_chunk(|outgoing| add(self, outgoing)),
            false => add(self, outgoing),
        }
    }

    /// Where it goes on if something came that it can begin again with, or chunks are gone.
    fn find(&mut self, recent: &Recent) {
        if self.began.is_some_and(|began| recent.starts_after(began)) {
            self.began = None;
        }
        if self.next < recent.oldest() {
            self.next = recent.oldest();
            self.began = None;
            self.lose(recent);
        }
    }

    /// Nothing needs to be said of what was left out.
    fn is_whole(&self) -> bool {
        self.resume.as_ref().is_none_or(Resume::is_whole)
    }

    /// Chunks are left out that were not looked at.
    fn lose(&mut self, recent: &Recent) {
        if let Some(resume) = &mut self.resume {
            resume.lose();
        }
        self.choice.lose(recent.has_keys());
    }

    /// Takes the next chunk, or what the client gets of it.
    fn choose(
        &mut self,
        entry: &Entry,
        recent: &Recent,
        pressure: Pressure,
        now: Instant,
        outgoing: &mut Outgoing,
    ) {
        let keys = match recent.has_keys() {
            false => Keys::None,
            true if recent.starts_after(self.next) => Keys::Later,
            true => Keys::Now,
        };
        self.next += 1;
        let mut bytes = entry.chunk.bytes.clone();
        if pressure == Pressure::None && self.choice.gets_all() && self.is_whole() {
            self.allowance.take(bytes.len(), now);
            return outgoing.push(bytes);
        }
        let (before, all) = (outgoing.len(), bytes.len());
        if pressure == Pressure::Full && before >= REST {
            self.left_out += all as u64;
            return self.lose(recent);
        }
        for &part in &entry.chunk.parts {
            let bytes = bytes.split_to(part.len as usize);
            let gets = self.choice.gets(part, pressure, keys);
            match &mut self.resume {
                None if gets => outgoing.push(bytes),
                None => {}
                Some(resume) if gets => resume.send(bytes, |bytes| outgoing.push(bytes)),
                Some(resume) => resume.leave_out(bytes, |instead| match instead {
                    Instead::Rest(bytes) => outgoing.push(bytes),
                    // A client that takes nothing does not get to know the time.
                    Instead::Clock(bytes) if outgoing.len() < WAITING => outgoing.push(bytes),
                    Instead::Clock(_) => {}
                }),
            }
        }
        let added = outgoing.len() - before;
        self.left_out += all.saturating_sub(added) as u64;
        self.allowance.take(added, now);
    }
}

#[cfg(test)]
mod tests;
