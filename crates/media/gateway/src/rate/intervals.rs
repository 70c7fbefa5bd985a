//! The mean of the last intervals between losses (RFC 5348, sections 5.3 to 5.5).

/// By age, the youngest first.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The least that a long time without loss leaves of older intervals' weights.
const LEAST_DISCOUNT: f64 = 0.25;

/// Packets between the beginnings of loss events.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Since the last loss event began.
    open: f64,
    /// Those that have ended, the last first, with what is left of their weights.
    closed: [Interval; WEIGHTS.len()],
    count: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    packets: f64,
    discount: f64,
}

impl Intervals {
    /// Nothing was lost so far.
    pub fn new() -> Intervals {
        Intervals::default()
    }

    /// So many packets were sent, of which the first of a loss event is none.
    pub fn sent(&mut self, packets: u64) {
        self.open += packets as f64;
    }

    /// A loss event begins with the next packet. The first has no interval before it that says anything of the path:
    /// `first` is taken in its place, a number of packets.
    pub fn lost(&mut self, first: impl FnOnce() -> f64) {
        let packets = match self.count {
            0 => first(),
            _ => self.open,
        };
        let discount = self.discount();
        for interval in &mut self.closed {
            interval.discount *= discount;
        }
        self.closed.rotate_right(1);
        self.closed[0] = Interval {
            packets: packets.max(1.0),
            discount: 1.0,
        };
        self.count = (self.count + 1).min(WEIGHTS.len());
        // The packet that is lost is the first of the next interval.
        self.open = 1.0;
    }

    /// Loss events a packet, between 0 and 1: 0 before the first.
    pub fn loss_event_rate(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let discount = self.discount();
        let (mut packets, mut weight) = (self.open * WEIGHTS[0], WEIGHTS[0]);
        // The oldest makes room for the open one.
        for (interval, by_age) in self.closed[..self.count].iter().zip(&WEIGHTS[1..]) {
            packets += interval.packets * by_age * interval.discount * discount;
            weight += by_age * interval.discount * discount;
        }
        // The open interval counts only where it makes the mean longer.
        (weight / packets).min(1.0 / self.mean()).min(1.0)
    }

    /// Of the intervals that have ended.
    fn mean(&self) -> f64 {
        let (mut packets, mut weight) = (0.0, 0.0);
        for (interval, by_age) in self.closed[..self.count].iter().zip(WEIGHTS) {
            packets += interval.packets * by_age * interval.discount;
            weight += by_age * interval.discount;
        }
        packets / weight
    }

    /// What the open interval leaves of the weights of the others: less than 1 if it is longer than two of their mean.
    fn discount(&self) -> f64 {
        match self.count {
            0 => 1.0,
            _ => (2.0 * self.mean() / self.open).clamp(LEAST_DISCOUNT, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of intervals of these lengths, the last ones last, and an open one.
    fn of(lengths: &[u64], open: u64) -> Intervals {
        let mut intervals = Intervals::new();
        intervals.lost(|| lengths[0] as f64);
        for length in &lengths[1..] {
            intervals.sent(length - 1);
            intervals.lost(|| unreachable!());
        }
        intervals.sent(open - 1);
        intervals
    }

    #[test]
    fn nothing_lost_is_no_loss() {
        let mut intervals = Intervals::new();
        intervals.sent(1_000_000);
        assert_eq!(intervals.loss_event_rate(), 0.0);
    }

    #[test]
    fn even_intervals_are_their_length() {
        for count in 1..20 {
            let rate = of(&vec![100; count], 1).loss_event_rate();
            assert!((rate - 0.01).abs() < 1e-12, "{count}: {rate}");
        }
        // An open interval counts as soon as it is longer.
        assert!((of(&[100; 8], 100).loss_event_rate() - 0.01).abs() < 1e-12);
        assert!((of(&[100; 8], 160).loss_event_rate() - 6.0 / 660.0).abs() < 1e-12);
    }

    #[test]
    fn weights_are_those_of_the_rfc() {
        let lengths = [90, 80, 70, 60, 50, 40, 30, 20, 10];
        // I_tot1 = 10 + 20 + 30 + 40 + 0.8 * 50 + 0.6 * 60 + 0.4 * 70 + 0.2 * 80, W_tot = 6. The ninth has no weight.
        let rate = of(&lengths, 1).loss_event_rate();
        assert!((rate - 6.0 / 220.0).abs() < 1e-12, "{rate}");
        // I_tot0 = 70 + 10 + 20 + 30 + 0.8 * 40 + 0.6 * 50 + 0.4 * 60 + 0.2 * 70.
        let rate = of(&lengths, 70).loss_event_rate();
        assert!((rate - 6.0 / 230.0).abs() < 1e-12, "{rate}");
    }

    #[test]
    fn a_long_time_without_loss_discounts_what_was_before() {
        // DF = 2 * 100 / 400: I_tot0 = 400 + 0.5 * 500, W_tot0 = 1 + 0.5 * 5.
        let rate = of(&[100; 8], 400).loss_event_rate();
        assert!((rate - 3.5 / 650.0).abs() < 1e-12, "{rate}");
        // Not below a quarter.
        let rate = of(&[100; 8], 10_000).loss_event_rate();
        assert!((rate - 2.25 / 10_125.0).abs() < 1e-12, "{rate}");
        // What was discounted stays so after the next loss.
        let rate = of(&[100, 100, 100, 100, 100, 100, 100, 100, 400], 1).loss_event_rate();
        let older = 0.5 * (1.0 + 1.0 + 1.0 + 0.8 + 0.6 + 0.4 + 0.2);
        let expected = (1.0 + older) / (400.0 + 100.0 * older);
        assert!((rate - expected).abs() < 1e-12, "{rate}");
    }
}
