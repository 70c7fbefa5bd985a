//! Much data over paths of all kinds.

use std::time::Duration;

use evener_net::engine::SocketOptions;
use evener_net::tcp::congestion::Algorithm;

use crate::network::{Network, Path, Setup, bytes};

const SECONDS: Duration = Duration::from_secs(600);

#[test]
fn a_clean_path() {
    for offload in [false, true] {
        for v6 in [false, true] {
            let setup = Setup {
                offload,
                v6,
                ..Setup::default()
            };
            let mut network = Network::new(setup, Path::default(), 1);
            let (client, server) = network.connected(SocketOptions::default());
            let data = bytes(3_000_000, 2);
            let took = network.transfer(0, [client, server], &data, 65536, SECONDS);
            // A window of 256 KiB a round trip of 10 ms.
            assert!(took < Duration::from_millis(250), "{took:?}");
            network.transfer(1, [client, server], &data, 65536, SECONDS);
            let info = network.hosts[0].engine.info(client).unwrap();
            assert_eq!((info.retransmitted, info.timeouts), (0, 0));
        }
    }
}

#[test]
fn paths_that_lose_reorder_and_duplicate() {
    for (_, congestion) in Algorithm::TABLE {
        for (sack, timestamps) in [(true, true), (true, false), (false, true), (false, false)] {
            for seed in 0..12 {
                let path = Path {
                    loss: 20_000,
                    reordered: 20_000 * (seed as u32 % 3),
                    duplicated: 10_000 * (seed as u32 % 2),
                    rate: 100_000_000,
                    ..Path::default()
                };
                let setup = Setup {
                    offload: seed % 2 == 0,
                    ..Setup::default()
                };
                let options = SocketOptions {
                    congestion,
                    sack,
                    timestamps,
                    ..SocketOptions::default()
                };
                let mut network = Network::new(setup, path, seed);
                let (client, server) = network.connected(options);
                let data = bytes(400_000, seed);
                network.transfer(0, [client, server], &data, 10_000, SECONDS);
                network.transfer(1, [client, server], &data, 10_000, SECONDS);
            }
        }
    }
}
