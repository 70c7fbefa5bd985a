//! Which way to wait briefly.

use std::time::Duration;

use super::awake::Side;

/// What a thread does that waits for something that comes soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It looks again and again.
    Look,
    /// It sleeps on this side, while the other is kept [awake](super::awake::Awake).
    Sit(Side),
}

/// Rounds that are judged together, by their median. A round is a wait and the work before it.
const ROW: usize = 32;
/// The first ones of a row, some of which began the way before.
const TURN: usize = 8;
/// Who asks again before the reply so often in a row needs both processors.
const MIXED: usize = ROW / 8;
/// What sitting has to bring, as it takes more of the processors.
const WORTH: f64 = 0.85;
/// Sitting saves waking the client, which is little of longer rounds, and those are better shared by both processors.
const LONGEST: Duration = Duration::from_micros(200);
/// Rows that what looking takes is the average of, about.
const LATEST: u32 = 4;
/// It is given up after so many more slow rows than others: the system takes some tens of milliseconds to bring the
/// client to the processor that its server sits on, and now and again it takes it away.
const SLOW: u32 = 32;
/// Rows of looking before sitting is tried for the first time, and again after it was of use.
const LOOKS: u32 = 32;
/// It was of use if so many rows were not slow.
const USE: u32 = 4 * SLOW;
/// Most rows of looking between two trials: each that fails doubles them.
const MOST_LOOKS: u32 = 4096;
/// After so many rows of sitting it is measured again what looking takes.
const SITS: u32 = 4096;

/// Finds which way more is done in the same time.
///
/// Sitting is of use where the client comes to the same side, which nothing tells but that rounds are short.
#[derive(Debug)]
pub(super) struct Ways {
    way: Way,
    side: Side,
    row: [Duration; ROW],
    rounds: usize,
    /// Since the row began, how many times what was waited for was there already.
    at_once: usize,
    /// What a round takes, looking.
    look: Duration,
    /// Rows since it is done this way.
    rows: u32,
    /// Slow ones more than others.
    slow: u32,
    /// Those that were not.
    fast: u32,
    /// Rows of looking before sitting is tried.
    looks: u32,
}

impl Ways {
    pub(super) fn new() -> Ways {
        Ways {
            way: Way::Look,
            side: Side::First,
            row: [Duration::ZERO; ROW],
            rounds: 0,
            at_once: 0,
            look: Duration::ZERO,
            rows: 0,
            slow: 0,
            fast: 0,
            looks: LOOKS,
        }
    }

    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// A round ended that took so long.
    pub(super) fn ended(&mut self, took: Duration) {
        self.row[self.rounds] = took;
        self.rounds += 1;
        if self.rounds < ROW {
            return;
        }
        self.rounds = 0;
        let mixed = std::mem::take(&mut self.at_once) > MIXED;
        self.rows += 1;
        let counted = &mut self.row[TURN..];
        let middle = counted.len() / 2;
        let median = *counted.select_nth_unstable(middle).1;
        match self.way {
            Way::Look if mixed => self.rows = 0,
            Way::Look => self.looked(median),
            Way::Sit(_) if mixed => self.change(Way::Look),
            Way::Sit(_) => self.sat(median),
        }
    }

    /// What would have been waited for was there already: who asks does so more than once at a time.
    pub(super) fn at_once(&mut self) {
        self.at_once += 1;
    }

    fn looked(&mut self, median: Duration) {
        self.look = match self.look {
            Duration::ZERO => median,
            look => (look * (LATEST - 1) + median) / LATEST,
        };
        if self.look > LONGEST {
            self.rows = 0;
        } else if self.rows == self.looks {
            self.change(Way::Sit(self.side));
            self.slow = 0;
            self.fast = 0;
        }
    }

    fn sat(&mut self, median: Duration) {
        if median < self.look.mul_f64(WORTH) {
            self.slow = self.slow.saturating_sub(1);
            self.fast += 1;
        } else {
            self.slow += 1;
        }
        if self.slow == SLOW {
            self.give_up();
        } else if self.rows == SITS {
            self.looks = LOOKS;
            self.change(Way::Look);
        }
    }

    /// Looks for a while, and then sits on the other side.
    pub(super) fn give_up(&mut self) {
        self.side = self.side.other();
        self.looks = match self.fast > USE {
            true => LOOKS,
            false => MOST_LOOKS.min(self.looks * 2),
        };
        self.change(Way::Look);
    }

    fn change(&mut self, way: Way) {
        if way == Way::Look {
            self.look = Duration::ZERO;
        }
        self.way = way;
        self.rows = 0;
        self.rounds = 0;
        self.at_once = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client, and how many microseconds its rounds take by how its server waits.
    struct Client {
        side: Side,
        rounds_apart: u32,
        /// Rounds apart after which it comes.
        stays: u32,
        look: u64,
        together: u64,
    }

    impl Client {
        fn new(look: u64, together: u64) -> Client {
            Client {
                side: Side::Second,
                rounds_apart: 0,
                stays: 300,
                look,
                together,
            }
        }

        /// As seen on a virtual machine: whoever is apart from its server stays there for some hundred rounds.
        fn round(&mut self, way: Way) -> u64 {
            match way {
                Way::Look => self.look,
                Way::Sit(side) if side == self.side => self.together,
                Way::Sit(_) => {
                    self.rounds_apart += 1;
                    if self.rounds_apart.is_multiple_of(self.stays) {
                        self.side = self.side.other();
                    }
                    self.look + 40
                }
            }
        }

        /// Time of so many rounds, as a part of that of looking.
        fn run(&mut self, ways: &mut Ways, rounds: u32) -> f64 {
            let mut sum = 0;
            for _ in 0..rounds {
                let took = self.round(ways.way());
                ways.ended(Duration::from_micros(took));
                sum += took;
            }
            sum as f64 / (f64::from(rounds) * self.look as f64)
        }
    }

    #[test]
    fn a_server_sits_until_its_client_comes_and_then_stays() {
        let (mut ways, mut client) = (Ways::new(), Client::new(80, 40));
        assert!(client.run(&mut ways, 5000) < 1.0);
        assert!(client.run(&mut ways, 100_000) < 0.51);
        // A neighbour takes the client away at times.
        let mut apart = || {
            client.side = client.side.other();
            client.run(&mut ways, 2000)
        };
        let time: f64 = (0..100).map(|_| apart()).sum();
        assert!(time < 70.0, "{time}");
    }

    #[test]
    fn a_client_that_moves_now_and_then_is_followed() {
        let (mut ways, mut client) = (Ways::new(), Client::new(80, 40));
        client.run(&mut ways, 5000);
        client.stays = u32::MAX;
        for _ in 0..12 {
            client.side = client.side.other();
            let time = client.run(&mut ways, 20_000);
            assert!(time < 0.65, "{time}");
        }
    }

    #[test]
    fn where_it_brings_nothing_it_is_tried_less_and_less() {
        let (mut ways, mut client) = (Ways::new(), Client::new(80, 75));
        assert!(client.run(&mut ways, 20_000) < 1.05);
        assert!(client.run(&mut ways, 600_000) < 1.005);
    }

    #[test]
    fn nobody_sits_for_a_client_that_does_not_wait_for_replies() {
        let (mut ways, mut client) = (Ways::new(), Client::new(80, 40));
        let mut asks_twice = |ways: &mut Ways| {
            ways.at_once();
            client.run(ways, 2);
            ways.way() == Way::Look
        };
        assert!((0..10_000).all(|_| asks_twice(&mut ways)));
        Client::new(80, 40).run(&mut ways, 5000);
        assert_ne!(ways.way(), Way::Look);
        assert!((0..ROW).any(|_| asks_twice(&mut ways)));
    }

    #[test]
    fn nobody_sits_for_long_rounds() {
        let (mut ways, mut client) = (Ways::new(), Client::new(300, 200));
        assert!((0..100_000).all(|_| client.run(&mut ways, 1) == 1.0));
        (client.look, client.together) = (100, 50);
        client.run(&mut ways, 5000);
        assert_ne!(ways.way(), Way::Look);
    }

    #[test]
    fn what_changes_is_measured_again() {
        let (mut ways, mut client) = (Ways::new(), Client::new(80, 40));
        client.run(&mut ways, 10_000);
        // Other requests take longer: that sitting brings something still, only looking can say.
        (client.look, client.together) = (160, 110);
        client.run(&mut ways, 10_000);
        assert!(client.run(&mut ways, 10_000) < 0.75);
        // Looking becomes as good.
        (client.look, client.together) = (100, 110);
        client.run(&mut ways, 2 * SITS * ROW as u32);
        assert!(client.run(&mut ways, 20_000) < 1.02);
    }

    #[test]
    fn a_row_in_which_little_was_slow_is_not_slow() {
        let (mut ways, mut client) = (Ways::new(), Client::new(80, 40));
        client.run(&mut ways, 5000);
        let way = ways.way();
        for round in 0..10 * ROW {
            let took = if round % 4 == 0 {
                5000
            } else {
                client.round(way)
            };
            ways.ended(Duration::from_micros(took));
            assert_eq!(ways.way(), way);
        }
    }
}
