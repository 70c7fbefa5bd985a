//! BBR as its draft has it (draft-cardwell-iccrg-bbr-congestion-control-00), on a path of 20 Mbit/s and 40 ms.

use std::time::Duration;

use evener_net::engine::{Info, SocketOptions};
use evener_net::tcp::congestion::Algorithm;
use evener_net::time::Time;

use crate::network::{Network, Path, Setup};

/// Bytes a second of the path, headers and all; bytes of a round trip of it.
const RATE: f64 = 2_500_000.0;
const PRODUCT: f64 = RATE * 0.04;

/// What was seen each millisecond of a connection that always has something to send.
fn seen(seconds: u64) -> Vec<(Duration, Info)> {
    let setup = Setup {
        ring: 1 << 21,
        ..Setup::default()
    };
    let path = Path {
        delay: Duration::from_millis(20),
        rate: (RATE * 8.0) as u64,
        queue: 1 << 20,
        ..Path::default()
    };
    let mut network = Network::new(setup, path, 1);
    let (client, server) = network.connected(SocketOptions {
        congestion: Algorithm::Bbr,
        ..SocketOptions::default()
    });
    let writer = network.hosts[0].pair(client).writer;
    let reader = network.hosts[1].pair(server).reader;
    let (begun, mut seen) = (network.now, Vec::new());
    let mut buffer = vec![0; 1 << 20];
    for millis in 1..seconds * 1000 {
        while writer.borrow_mut().write(&buffer[..1 << 16]) > 0 {}
        assert!(network.hosts[0].engine.notify(client));
        while reader.borrow_mut().read(&mut buffer) > 0 {}
        assert!(network.hosts[1].engine.notify(server));
        while network.step(Time(begun.0 + millis * 1_000_000)) {}
        let info = network.hosts[0].engine.info(client).unwrap();
        seen.push((network.now.since(begun), info));
    }
    seen
}

#[test]
fn its_modes() {
    let seen = seen(12);
    let at = |millis: usize| &seen[millis].1;
    let pacing = |millis: usize| at(millis).pacing_rate.unwrap() as f64;
    // 4.3.2: the rate nearly doubles each round trip, up to 2/ln 2 of what the path does.
    let early: Vec<f64> = (0..8).map(|round| pacing(20 + round * 40) / RATE).collect();
    assert!(early[4] > 4.0 * early[1], "{early:?}");
    let most = (0..1000).map(pacing).fold(0.0, f64::max);
    assert!((2.5..3.1).contains(&(most / RATE)), "{}", most / RATE);
    // 4.3.3: the queue that this made is drained.
    let least = (100..1500).map(pacing).fold(f64::MAX, f64::min);
    assert!(least < 0.5 * RATE, "{least}");
    let waits = (1000..9000).map(|millis| at(millis).in_flight as f64 / PRODUCT);
    let (low, high) = waits.fold((f64::MAX, 0.0f64), |(low, high), now| {
        (low.min(now), high.max(now))
    });
    assert!(low > 0.6 && high < 1.5, "{low} to {high} of the product");
    // 4.3.4: eight phases, one faster and one slower.
    let share = |from: f64, to: f64| {
        let within = (2000..9000).filter(|&millis| (from..to).contains(&(pacing(millis) / RATE)));
        within.count() as f64 / 7000.0
    };
    let (fast, slow, steady) = (share(1.1, 1.35), share(0.6, 0.85), share(0.85, 1.1));
    assert!(
        fast > 0.08 && slow > 0.08 && steady > 0.6,
        "{fast} {slow} {steady}"
    );
    // 4.2.3.2: twice the product may be on its way.
    let window = at(5000).window as f64 / PRODUCT;
    assert!((1.7..2.6).contains(&window), "{window}");
    // 4.3.5: ten seconds after the handshake, which was one before all this, only four segments are on their way, for 200 ms.
    let small = |millis: &usize| at(*millis).window == 4 * u64::from(at(*millis).mss);
    let probing: Vec<usize> = (0..seen.len()).filter(small).collect();
    let (first, last) = (probing[0], probing[probing.len() - 1]);
    let after = seen[first].0;
    assert!(
        after > Duration::from_secs(9) && after < Duration::from_millis(9_200),
        "{after:?}"
    );
    assert!((200..300).contains(&(last - first)), "{}", last - first);
    assert!(pacing(last + 300) > 0.7 * RATE, "the rate is not forgotten");
    // 4.3.2.2: little is lost, for the queue is long enough.
    assert_eq!(at(11_900).timeouts, 0);
}
