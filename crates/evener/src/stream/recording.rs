//! What the groups of a stream took, and how long they would take on another number of threads.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::flow::{Costs, most_groups};
use super::{Ended, Stages, Stream};

/// What the parts of a stream took on one thread; see [`Stream::record`]. It foretells the time on a machine with more CPUs.
#[derive(Clone, Debug, Default)]
pub struct Recording(Vec<Part>);

/// Seconds of a group of items.
#[derive(Clone, Copy, Debug)]
struct Part {
    source: f64,
    stages: f64,
    end: f64,
    /// The caller computes it, since the source is so slow.
    here: bool,
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Recording {
        Recording::default()
    }

    /// Seconds of the recorded stream on so many threads, in order, by the rules of a stream. The threads are equal and do not
    /// slow each other down, and a hand-over takes no time.
    pub fn seconds(&self, threads: usize) -> f64 {
        Replay {
            now: 0.0,
            free: vec![0.0; threads.max(1) - 1],
            waiting: VecDeque::new(),
            done: VecDeque::new(),
        }
        .run(&self.0)
    }
}

impl<I, S> Stream<I, S>
where
    I: Iterator,
    I::Item: Send,
    S: Stages<I::Item>,
{
    /// Runs the stream as [`for_each`](Stream::for_each) does, but on this thread alone, and adds to `recording` what its parts
    /// took. A panic in a stage goes on here at once.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut recording = evener::Recording::new();
    /// let primes = (2..2_000_u32).even().map(|n| (n, (2..n).all(|d| n % d > 0)));
    /// let mut count = 0;
    /// primes.record(&mut recording, |(_, prime)| count += u32::from(prime));
    /// assert_eq!(count, 303);
    ///
    /// let speed_up = recording.seconds(1) / recording.seconds(16);
    /// println!("16 CPUs would compute this {speed_up:.1} times as fast as one");
    /// # assert!((1.0..=16.1).contains(&speed_up));
    /// ```
    pub fn record<R: Ended>(
        mut self,
        recording: &mut Recording,
        mut end: impl FnMut(S::Out) -> R,
    ) -> R {
        let mut costs = Costs::UNKNOWN;
        loop {
            let begun = Instant::now();
            let items = costs.read(&mut self.source, begun);
            if items.is_empty() {
                return R::goes_on();
            }
            let (read, len) = (Instant::now(), items.len());
            let results: Vec<S::Out> = items.into_iter().map(|i| self.stages.run(i)).collect();
            let ran = Instant::now();
            let ended = (results.into_iter().map(&mut end)).find(R::ends);
            let each = |took: Duration| took.as_nanos() as f64 / len as f64;
            costs = Costs {
                source: each(read - begun),
                stages: each(ran - read),
            };
            recording.0.push(Part {
                source: (read - begun).as_secs_f64(),
                stages: (ran - read).as_secs_f64(),
                end: ran.elapsed().as_secs_f64(),
                here: costs.source_is_slow(),
            });
            if let Some(result) = ended {
                return result;
            }
        }
    }
}

/// A stream in virtual time: its caller, who reads, delivers, and computes when there is nothing else to do, and other threads.
struct Replay {
    /// The caller's time.
    now: f64,
    /// When each other thread is free.
    free: Vec<f64>,
    /// Groups that no thread has taken: when they were read, and what they take.
    waiting: VecDeque<(f64, f64)>,
    /// When those before them were computed or will be, in order.
    done: VecDeque<f64>,
}

impl Replay {
    fn run(mut self, parts: &[Part]) -> f64 {
        let mut unread = parts.iter().peekable();
        let mut delivered = 0;
        while delivered < parts.len() {
            if let Some(part) = unread.next_if(|part| self.may_read(part)) {
                self.now += part.source;
                if part.here {
                    self.now += part.stages;
                    self.done.push_back(self.now);
                } else {
                    self.waiting.push_back((self.now, part.stages));
                }
            }
            self.take();
            match self.done.front().copied() {
                Some(done) if done <= self.now => {
                    self.done.pop_front();
                    self.now += parts[delivered].end;
                    delivered += 1;
                }
                _ if unread.peek().is_some_and(|part| self.may_read(part)) => {}
                done => match self.waiting.pop_front() {
                    Some((_, stages)) => {
                        self.now += stages;
                        self.done.push_back(self.now);
                    }
                    None => self.now = done.unwrap_or(self.now),
                },
            }
        }
        self.now
    }

    fn may_read(&self, part: &Part) -> bool {
        let groups = self.done.len() + self.waiting.len();
        groups < most_groups(self.free.len() + 1) && (groups == 0 || !part.here)
    }

    /// Threads that are free by now take what waits.
    fn take(&mut self) {
        while let Some((read, stages)) = self.waiting.front().copied() {
            let first = self.free.iter_mut().min_by(|a, b| a.total_cmp(b));
            let Some(free) = first.filter(|free| **free <= self.now) else {
                return;
            };
            *free = free.max(read) + stages;
            self.done.push_back(*free);
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(groups: usize, (source, stages, end): (f64, f64, f64)) -> Recording {
        let here = source > 4.0 * stages;
        Recording(vec![
            Part {
                source,
                stages,
                end,
                here
            };
            groups
        ])
    }

    #[test]
    fn one_thread_takes_the_sum() {
        assert_eq!(stream(10, (1.0, 4.0, 2.0)).seconds(1), 70.0);
        assert_eq!(stream(10, (1.0, 0.125, 2.0)).seconds(1), 31.25);
        assert_eq!(Recording::new().seconds(4), 0.0);
    }

    #[test]
    fn threads_share_the_stages() {
        let all = stream(120, (0.0, 1.0, 0.0));
        assert_eq!(all.seconds(2), 60.0);
        assert_eq!(all.seconds(4), 30.0);
        assert_eq!(all.seconds(120), 1.0);
    }

    #[test]
    fn the_ends_run_on_one_thread() {
        // Reading takes all of the caller's time, and the last group is computed and delivered after it.
        assert_eq!(stream(100, (2.0, 4.0, 0.0)).seconds(16), 204.0);
        let delivering = stream(100, (0.0, 1.0, 2.0)).seconds(16);
        assert!((200.0..=203.0).contains(&delivering), "{delivering}");
        // A slow source is not waited for with results kept back.
        assert_eq!(stream(10, (8.0, 1.0, 0.0)).seconds(16), 90.0);
    }

    #[test]
    fn a_slow_group_holds_back_those_behind_it() {
        let mut uneven = stream(40, (0.0, 1.0, 0.0));
        uneven.0[0].stages = 100.0;
        // Two threads have six groups on their way at most: the caller computes five, then waits, and the rest is shared.
        assert_eq!(uneven.seconds(2), 100.0 + 17.0);
    }
}
