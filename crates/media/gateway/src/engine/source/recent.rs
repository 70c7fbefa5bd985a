//! The chunks of a source that clients may still want.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::media::Chunk;

/// How long chunks are kept when clients are too late for them, so that these see what they leave out.
const SEEN: Duration = Duration::from_secs(1);
/// A client that is not the first waits for a key picture at most so long.
const SOON: Duration = Duration::from_secs(2);
/// Bytes that are kept at most, whatever their age.
const MOST: usize = 64 << 20;

/// A chunk and when it came.
#[derive(Debug)]
pub struct Entry {
    /// For clients.
    pub chunk: Chunk,
    /// When it came.
    pub came: Instant,
}

/// Chunks by number. Numbers begin with 0 and have no gaps.
#[derive(Debug)]
pub struct Recent {
    entries: VecDeque<Entry>,
    /// The number of the first entry.
    first: u64,
    bytes: usize,
    /// How long chunks are kept.
    span: Duration,
    /// When the first chunk came.
    began: Option<Instant>,
    /// The number of the last chunk that a client may begin with.
    start: Option<u64>,
    /// The one before, and when `start` came: clients that began there may still want what follows.
    before: Option<(u64, Instant)>,
    /// When the last came that a client may begin with, and how long after the one before.
    started: Option<Instant>,
    distance: Option<Duration>,
    has_keys: bool,
}

impl Recent {
    /// Keeps what came in the last `span`, and everything since the key picture that a new client begins with.
    pub fn new(span: Duration) -> Recent {
        Recent {
            entries: VecDeque::new(),
            first: 0,
            bytes: 0,
            span,
            began: None,
            start: None,
            before: None,
            started: None,
            distance: None,
            has_keys: false,
        }
    }

    /// Adds the next chunk.
    pub fn push(&mut self, chunk: Chunk, now: Instant) {
        self.began.get_or_insert(now);
        if chunk.starts() {
            self.before = self.start.map(|start| (start, now));
            self.start = Some(self.next());
            let last = self.started.replace(now);
            self.distance = last.map(|last| now.saturating_duration_since(last));
            self.has_keys = true;
        }
        self.bytes += chunk.bytes.len();
        self.entries.push_back(Entry { chunk, came: now });
        while let Some(entry) = self.entries.front() {
            let old = now.saturating_duration_since(entry.came) > self.span + SEEN;
            let wanted = |&(before, ended): &(u64, Instant)| {
                self.first >= before && now.saturating_duration_since(ended) <= SEEN
            };
            let needed = self.start == Some(self.first) || self.before.as_ref().is_some_and(wanted);
            if self.bytes <= MOST && (!old || needed) {
                break;
            }
            self.bytes -= entry.chunk.bytes.len();
            self.entries.pop_front();
            self.first += 1;
        }
        self.start = self.start.filter(|&start| start >= self.first);
    }

    /// All clients have what is before `number`. Of that, all since the last key picture is kept for others, unless there is
    /// one client only and the next key picture comes soon.
    pub fn taken(&mut self, number: u64, clients: usize) {
        let soon = clients == 1 && self.distance.is_some_and(|distance| distance <= SOON);
        let end = match self.start {
            Some(start) if !soon => number.min(start),
            _ => number,
        };
        while self.first < end
            && let Some(entry) = self.entries.pop_front()
        {
            self.bytes -= entry.chunk.bytes.len();
            self.first += 1;
        }
        self.start = self.start.filter(|&start| start >= self.first);
    }

    /// The number of the chunk that comes next.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The number of the oldest chunk.
    pub fn oldest(&self) -> u64 {
        self.first
    }

    /// When the first chunk came.
    pub fn began(&self) -> Option<Instant> {
        self.began
    }

    /// Where a client begins: with the last key picture, or with what comes next.
    pub fn start(&self) -> u64 {
        self.start.unwrap_or(self.next())
    }

    /// Whether a client may begin with what came after that chunk.
    pub fn starts_after(&self, number: u64) -> bool {
        self.start.is_some_and(|start| start > number)
    }

    /// Whether a key picture came.
    pub fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// The chunk of that number, if it is there.
    pub fn get(&self, number: u64) -> Option<&Entry> {
        let at = number.checked_sub(self.first)?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::media::{Class, Part};

    fn chunk(class: Class, len: usize) -> Chunk {
        Chunk {
            bytes: Bytes::from(vec![0; len]),
            parts: vec![Part {
                len: len as u32,
                class,
                begins: true,
            }],
        }
    }

    #[test]
    fn old_chunks_go_but_not_the_key_picture_that_clients_begin_with() {
        let begun = Instant::now();
        let mut recent = Recent::new(Duration::from_secs(2));
        assert_eq!(recent.start(), 0);
        recent.push(chunk(Class::Sound, 10), begun);
        recent.push(chunk(Class::Key, 20), begun);
        for second in 1..10 {
            recent.push(
                chunk(Class::Reference, 30),
                begun + Duration::from_secs(second),
            );
        }
        assert_eq!((recent.oldest(), recent.start(), recent.next()), (1, 1, 11));
        recent.push(chunk(Class::Key, 20), begun + Duration::from_secs(10));
        assert_eq!((recent.start(), recent.next()), (11, 12));
        // Clients that began with the one before may be there yet.
        recent.push(chunk(Class::Sound, 10), begun + Duration::from_secs(10));
        assert_eq!(recent.oldest(), 1);
        recent.push(
            chunk(Class::Sound, 10),
            begun + Duration::from_millis(11_500),
        );
        assert_eq!((recent.oldest(), recent.start()), (10, 11));
        assert!(recent.get(recent.oldest() - 1).is_none());
        assert!(recent.get(recent.next()).is_none());
        let all: usize = (recent.oldest()..recent.next())
            .map(|number| recent.get(number).unwrap().chunk.bytes.len())
            .sum();
        assert_eq!(recent.bytes(), all);
    }

    #[test]
    fn what_all_clients_have_goes_unless_another_would_begin_with_it() {
        let begun = Instant::now();
        for (distance, clients, oldest) in [(1, 2, 4), (1, 1, 7), (3, 1, 4), (3, 2, 4)] {
            let mut recent = Recent::new(Duration::from_secs(2));
            let classes = [Class::Key, Class::Reference, Class::Reference, Class::Sound];
            for (number, class) in classes.into_iter().cycle().take(8).enumerate() {
                let now = begun + Duration::from_secs(distance) * (number / 4) as u32;
                recent.push(chunk(class, 10), now);
            }
            recent.taken(3, clients);
            assert_eq!(recent.oldest(), 3);
            recent.taken(7, clients);
            assert_eq!((recent.oldest(), recent.next()), (oldest, 8));
            assert_eq!(recent.bytes(), 10 * (8 - oldest as usize));
            // Without the key picture, a client begins with what comes next.
            assert_eq!(recent.start(), if oldest > 4 { 8 } else { 4 });
        }
    }

    #[test]
    fn bytes_are_bounded() {
        let mut recent = Recent::new(Duration::from_secs(2));
        let now = Instant::now();
        for _ in 0..100 {
            recent.push(chunk(Class::Key, 1 << 20), now);
        }
        assert!(recent.bytes() <= MOST);
        assert_eq!(recent.next(), 100);
    }
}
