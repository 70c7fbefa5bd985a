use super::*;

const SEGMENT: f64 = 1460.0;
const RTT: Duration = Duration::from_millis(100);

fn report(received: f64, loss: f64, data_limited: bool) -> Feedback {
    Feedback {
        rtt: RTT,
        received,
        loss,
        data_limited,
    }
}

/// One that had a first feedback, and the time.
fn begun() -> (Sender, Instant) {
    let now = Instant::now();
    let mut sender = Sender::new(SEGMENT, now);
    assert_eq!(sender.allowed(), SEGMENT);
    sender.feedback(now, report(SEGMENT, 0.0, false));
    (sender, now)
}

#[test]
fn the_initial_window_is_that_of_the_rfc() {
    // min(4 s, max(2 s, 4380)) bytes a round-trip time.
    for (segment, window) in [(1460.0, 4380.0), (500.0, 2000.0), (4000.0, 8000.0)] {
        let now = Instant::now();
        let mut sender = Sender::new(segment, now);
        sender.feedback(now, report(segment, 0.0, false));
        assert_eq!(sender.allowed(), window / 0.1);
    }
}

#[test]
fn slow_start_doubles_each_round_trip_up_to_twice_what_arrives() {
    let (mut sender, mut now) = begun();
    let initial = 43_800.0;
    for power in 1..=5 {
        now += RTT;
        let received = sender.allowed();
        sender.feedback(now, report(received, 0.0, false));
        assert_eq!(sender.allowed(), initial * f64::from(1 << power));
        // Within a round-trip time once.
        sender.feedback(now + RTT / 2, report(received, 0.0, false));
        assert_eq!(sender.allowed(), initial * f64::from(1 << power));
    }
    for _ in 0..9 {
        now += RTT;
        sender.feedback(now, report(200_000.0, 0.0, false));
    }
    assert_eq!(sender.allowed(), 400_000.0);
}

#[test]
fn with_loss_the_rate_is_the_equation_but_twice_what_arrives_at_most() {
    let (mut sender, now) = begun();
    let by_equation = throughput(SEGMENT, RTT, 0.01);
    sender.feedback(now + RTT, report(100_000.0, 0.01, false));
    assert_eq!(sender.allowed(), by_equation);
    sender.feedback(now + 10 * RTT, report(50_000.0, 0.01, false));
    assert_eq!(sender.allowed(), 100_000.0);
    // The least is a segment in 64 s.
    sender.feedback(now + 20 * RTT, report(0.0, 1.0, false));
    assert_eq!(sender.allowed(), SEGMENT / 64.0);
}

#[test]
fn what_arrives_of_a_sender_with_little_to_send_does_not_lower_its_rate() {
    let (mut sender, mut now) = begun();
    now += RTT;
    sender.feedback(now, report(100_000.0, 0.01, false));
    let before = sender.allowed();
    for _ in 0..50 {
        now += RTT;
        sender.feedback(now, report(1000.0, 0.01, true));
        assert_eq!(sender.allowed(), before);
    }
    // A new loss then halves what had arrived.
    now += RTT;
    sender.feedback(now, report(1000.0, 0.011, true));
    assert_eq!(sender.allowed(), 50_000.0);
}

#[test]
fn without_feedback_the_rate_is_halved() {
    let (mut sender, now) = begun();
    assert_eq!(sender.expires(), now + 4 * RTT);
    let at = now + 20 * RTT;
    sender.feedback(at, report(300_000.0, 0.01, false));
    let by_equation = throughput(SEGMENT, RTT, 0.01);
    sender.expire(sender.expires(), false);
    assert!((sender.allowed() / (by_equation / 2.0) - 1.0).abs() < 1e-12);
    // Then half of what arrived is the limit.
    let before = sender.allowed();
    sender.expire(sender.expires(), false);
    assert!((sender.allowed() / (before / 2.0) - 1.0).abs() < 1e-12);
    for _ in 0..100 {
        sender.expire(sender.expires(), false);
    }
    assert_eq!(sender.allowed(), SEGMENT / 64.0);
}

#[test]
fn a_sender_that_was_idle_keeps_what_it_may_begin_with() {
    let (mut sender, now) = begun();
    sender.feedback(now + RTT, report(20_000.0, 0.0, false));
    let before = sender.allowed();
    sender.expire(sender.expires(), true);
    assert_eq!(sender.allowed(), before);
    sender.expire(sender.expires(), false);
    assert_eq!(sender.allowed(), before / 2.0);
    // Without any feedback it is halved only if something was sent.
    let mut sender = Sender::new(SEGMENT, now);
    sender.expire(sender.expires(), true);
    assert_eq!(sender.allowed(), SEGMENT);
    sender.expire(sender.expires(), false);
    assert_eq!(sender.allowed(), SEGMENT / 2.0);
}

#[test]
fn the_round_trip_time_is_a_mean_with_a_tenth_of_each_sample() {
    let (mut sender, now) = begun();
    let mut feedback = report(1e6, 0.01, false);
    feedback.rtt = 2 * RTT;
    sender.feedback(now + RTT, feedback);
    assert_eq!(sender.rtt(), Some(Duration::from_millis(110)));
}

/// A path of fixed capacity with a short queue, in virtual time: what TFRC sends on it is steady and near to what it takes.
#[test]
fn on_a_path_of_its_own_the_rate_settles_near_the_capacity() {
    let (mut sender, mut now) = begun();
    let mut losses = crate::rate::Losses::new();
    let (capacity, queue) = (500_000.0, 50_000.0);
    let (mut waiting, mut credit) = (0.0f64, 0.0f64);
    let mut rates = Vec::new();
    for step in 0..600 {
        let sent = sender.allowed() * 0.1;
        now += RTT;
        let taken = (waiting + sent).min(capacity * 0.1);
        waiting = waiting + sent - taken;
        let lost = (waiting - queue).max(0.0);
        waiting -= lost;
        credit += sent / SEGMENT;
        let packets = credit.floor();
        credit -= packets;
        let received = taken / 0.1;
        losses.count(
            now,
            packets as u64,
            (lost / SEGMENT).ceil() as u64,
            RTT,
            received,
            SEGMENT,
        );
        sender.feedback(now, report(received, losses.loss_event_rate(), false));
        if step >= 300 {
            rates.push(sender.allowed());
        }
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let (low, high) = rates.iter().fold((f64::MAX, 0f64), |(low, high), &rate| {
        (low.min(rate), high.max(rate))
    });
    assert!((0.85..1.1).contains(&(mean / capacity)), "{mean}");
    assert!(low > 0.6 * mean && high < 1.4 * mean, "{low} {mean} {high}");
}
