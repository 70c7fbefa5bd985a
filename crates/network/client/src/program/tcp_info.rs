//! Measures of a connection as `tcp_info` of `linux/tcp.h` has them.

use crate::client::Link;

/// Its length up to `tcpi_total_retrans`.
pub const LEN: usize = 104;

/// What the engine tells of a connection, and zero for all else; a closed one if there is none.
pub fn encode(link: Option<&Link>) -> [u8; LEN] {
    const ESTABLISHED: u8 = 1;
    const CLOSED: u8 = 7;
    let mut bytes = [0; LEN];
    let Some(described) = link.and_then(|link| link.describe().ok()) else {
        bytes[0] = CLOSED;
        return bytes;
    };
    bytes[0] = ESTABLISHED;
    let segment = described.segment.max(1);
    // The places of tcpi_snd_mss, rcv_mss, unacked, rtt, rttvar, snd_cwnd, advmss, total_retrans.
    let fields = [
        (16, segment),
        (20, segment),
        (24, described.in_flight / segment),
        (68, described.rtt_micros),
        (72, described.rtt_variation_micros),
        (80, described.congestion_window / segment),
        (84, segment),
        (100, described.retransmitted.div_ceil(segment)),
    ];
    for (at, value) in fields {
        bytes[at..at + 4].copy_from_slice(&u32::to_ne_bytes(value));
    }
    bytes
}
