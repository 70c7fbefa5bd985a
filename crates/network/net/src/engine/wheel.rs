//! Deadlines of many flows: a hierarchical timing wheel (Varghese and Lauck, 1987). To set one and to find those that are
//! due takes the same time however many there are.

use crate::time::Time;

/// Nanoseconds of a tick, as a power of two: 8 microseconds.
const TICK: u32 = 13;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Enough for all ticks that there are.
const LEVELS: usize = 9;

#[derive(Debug)]
pub(super) struct Wheel<T> {
    /// The present tick. All that was due until then has been handed out.
    tick: u64,
    slots: Vec<Vec<(u64, T)>>,
    occupied: [u64; LEVELS],
    /// Entries, and how many there are when those that are of no more use are swept out.
    len: usize,
    sweep_at: usize,
}

/// Fewer entries are not worth a look at each.
const FEW: usize = 1024;

impl<T: Copy> Wheel<T> {
    pub fn new() -> Wheel<T> {
        Wheel {
            tick: 0,
            slots: (0..LEVELS * SLOTS).map(|_| Vec::new()).collect(),
            occupied: [0; LEVELS],
            len: 0,
            sweep_at: FEW,
        }
    }

    /// `token` is due at `deadline`, or up to a tick later.
    pub fn insert(&mut self, deadline: Time, token: T) {
        let tick = (deadline.0 >> TICK) + 1;
        self.len += 1;
        self.place(tick.max(self.tick + 1), token);
    }

    /// `token` is due at `deadline`, and `timer` says for when it is in the wheel already. An entry for later stays, and is
    /// found to be stale when it comes due.
    pub fn arm(&mut self, timer: &mut Time, deadline: Time, token: T) {
        if deadline < *timer {
            *timer = deadline;
            self.insert(deadline, token);
        }
    }

    /// Sweeps out entries whose tokens are not to be kept, if there are twice as many as the last time: a deadline in two hours
    /// would stay for so long after its connection.
    pub fn sweep(&mut self, keep: impl Fn(T) -> bool) {
        if self.len < self.sweep_at {
            return;
        }
        self.len = 0;
        for (place, entries) in self.slots.iter_mut().enumerate() {
            entries.retain(|&(_, token)| keep(token));
            if entries.is_empty() {
                entries.shrink_to(SLOTS);
                self.occupied[place / SLOTS] &= !(1 << (place % SLOTS));
            }
            self.len += entries.len();
        }
        self.sweep_at = FEW + 2 * self.len;
    }

    /// Whether an entry that came due is the one that `timer` is for, which is then for none. Another comes if not.
    pub fn is_current(timer: &mut Time, now: Time) -> bool {
        let is_current = *timer <= now;
        if is_current {
            *timer = Time::NEVER;
        }
        is_current
    }

    fn place(&mut self, tick: u64, token: T) {
        let differs = (self.tick ^ tick) | (SLOTS as u64 - 1);
        let level = ((63 - differs.leading_zeros()) / SLOT_BITS) as usize;
        let slot = (tick >> (SLOT_BITS * level as u32)) as usize % SLOTS;
        self.slots[level * SLOTS + slot].push((tick, token));
        self.occupied[level] |= 1 << slot;
    }

    /// The next slot that has something: level, slot, and the tick at which it begins.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        (0..LEVELS).find_map(|level| {
            let shift = SLOT_BITS * level as u32;
            let slot =
                (self.occupied[level] != 0).then(|| self.occupied[level].trailing_zeros())?;
            let above = self.tick >> shift >> SLOT_BITS << SLOT_BITS;
            Some((level, slot as usize, (above | u64::from(slot)) << shift))
        })
    }

    /// Not later than the first deadline; [`Time::NEVER`] if there is none.
    pub fn next(&self) -> Time {
        self.next_slot()
            .map_or(Time::NEVER, |(_, _, tick)| Time(tick << TICK))
    }

    /// Hands out what is due at `now`.
    pub fn advance(&mut self, now: Time, mut due: impl FnMut(T)) {
        let until = now.0 >> TICK;
        while let Some((level, slot, tick)) = self.next_slot() {
            if tick > until {
                break;
            }
            self.tick = self.tick.max(tick);
            self.occupied[level] &= !(1 << slot);
            let place = level * SLOTS + slot;
            let mut entries = std::mem::take(&mut self.slots[place]);
            for (tick, token) in entries.drain(..) {
                if tick <= self.tick {
                    self.len -= 1;
                    due(token);
                } else {
                    self.place(tick, token);
                }
            }
            if self.slots[place].is_empty() {
                // Its memory is used again.
                self.slots[place] = entries;
            }
        }
        self.tick = self.tick.max(until);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A timeout that moves away with each of many nearer deadlines: entries that it leaves behind come due and go.
    #[test]
    fn entries_of_deadlines_that_moved_do_not_pile_up() {
        let mut wheel = Wheel::new();
        let (mut timer, mut now) = (Time::NEVER, Time::ZERO);
        let mut fired = 0;
        for cycle in 0..20_000 {
            let deadlines = [now.0 + 200_000_000, now.0 + 1_000_000];
            for deadline in deadlines {
                wheel.arm(&mut timer, Time(deadline), cycle);
            }
            now = Time(now.0 + 1_000_000 + (1 << TICK));
            wheel.advance(now, |_| {
                fired += u32::from(Wheel::<i32>::is_current(&mut timer, now))
            });
            let entries: usize = wheel.slots.iter().map(Vec::len).sum();
            assert!(entries <= 210, "{entries}");
        }
        assert_eq!(fired, 20_000);
    }

    /// Connections with probes after two hours, of which each ends at once.
    #[test]
    fn entries_of_what_is_gone_are_swept_out() {
        let mut wheel = Wheel::new();
        wheel.insert(Time(1 << 42), 7);
        for token in 100..100_000 {
            wheel.insert(Time(1 << 43 | token), token);
            wheel.sweep(|other| other == 7 || other == token);
            let entries: usize = wheel.slots.iter().map(Vec::len).sum();
            assert!(entries == wheel.len && entries <= FEW + 4);
        }
        let mut due = Vec::new();
        wheel.advance(Time((1 << 42) + (1 << TICK)), |token| due.push(token));
        assert_eq!(due, [7]);
        wheel.sweep(|_| false);
        wheel.advance(Time(1 << 44), |token| due.push(token));
        assert!(due.len() <= FEW + 4 && wheel.len == 0);
        assert_eq!(wheel.next(), Time::NEVER);
    }

    proptest! {
        #[test]
        fn each_is_due_once_and_in_time(
            deadlines in prop::collection::vec((0u64..50, 0u32..48), 1..60),
            steps in prop::collection::vec((0u64..50, 0u32..44), 1..60),
        ) {
            let mut wheel = Wheel::new();
            let mut now = Time::ZERO;
            let mut open: Vec<(Time, usize)> = Vec::new();
            let mut deadlines = deadlines.into_iter().enumerate();
            for (step, shift) in steps {
                if let Some((token, (value, shift))) = deadlines.next() {
                    let deadline = Time(now.0 + (value << shift));
                    wheel.insert(deadline, token);
                    open.push((deadline, token));
                }
                let first = open.iter().map(|(at, _)| at.0).min().unwrap_or(u64::MAX);
                prop_assert!(wheel.next() == Time::NEVER || wheel.next().0 <= first + (1 << TICK));
                now = Time(now.0 + (step << shift));
                let mut due = Vec::new();
                wheel.advance(now, |token| due.push(token));
                for token in due {
                    let at = open.iter().position(|(_, other)| *other == token);
                    prop_assert!(at.is_some(), "due twice");
                    let (deadline, _) = open.swap_remove(at.unwrap());
                    prop_assert!(deadline <= now);
                }
                for (deadline, _) in &open {
                    prop_assert!(deadline.0 + (2 << TICK) > now.0, "{deadline:?} at {now:?}");
                }
            }
        }
    }
}
