//! What is left of a fast path that loses one packet of a hundred.

use std::time::Duration;

use evener_net::engine::SocketOptions;
use evener_net::tcp::congestion::Algorithm;

use crate::network::{Network, Path, Setup, bytes};

/// Megabits a second over a path of 10 ms and 2 Gbit/s. With 1 % of loss, Linux does 12 to 16 with CUBIC, and more than half
/// of the path with BBR.
fn megabits(congestion: Algorithm, loss: u32, megabytes: usize) -> f64 {
    let setup = Setup {
        ring: 1 << 23,
        ..Setup::default()
    };
    let path = Path {
        rate: 2_000_000_000,
        queue: 4 << 20,
        ..Path::default()
    };
    let mut network = Network::new(setup, path, 7);
    let options = SocketOptions {
        congestion,
        ..SocketOptions::default()
    };
    let (client, server) = network.connected(options);
    network.paths[0].loss = loss;
    let data = bytes(megabytes * 1_000_000, 3);
    let limit = Duration::from_secs(600);
    let took = network.transfer(0, [client, server], &data, 1 << 20, limit);
    let info = network.hosts[0].engine.info(client).unwrap();
    let rate = data.len() as f64 * 8.0 / took.as_secs_f64() / 1e6;
    println!(
        "{} at {loss} in a million: {rate:.1} Mbit/s, {} bytes sent again, {} timeouts, {} undone",
        congestion.name(),
        info.retransmitted,
        info.timeouts,
        info.undone
    );
    rate
}

#[test]
fn cubic_and_bbr_as_they_should() {
    let cubic = megabits(Algorithm::Cubic, 10_000, 10);
    assert!((9.0..25.0).contains(&cubic), "{cubic}");
    let bbr = megabits(Algorithm::Bbr, 10_000, 60);
    assert!(bbr > 1000.0, "{bbr}");
}

#[test]
fn a_path_without_loss_is_used() {
    for (name, congestion) in Algorithm::TABLE {
        let clean = megabits(congestion, 0, 50);
        assert!(clean > 900.0, "{name}: {clean}");
    }
}
