//! What the kernel knows of a connection's path.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// The front of `struct tcp_info` of Linux (`uapi/linux/tcp.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Raw {
    bytes: [u8; 8],
    /// rto, ato.
    timeouts: [u32; 2],
    snd_mss: u32,
    /// rcv_mss, unacked, sacked, lost, retrans, fackets, four times since something came or went, pmtu, rcv_ssthresh.
    skipped: [u32; 12],
    rtt: u32,
    /// rttvar, snd_ssthresh, snd_cwnd, advmss, reordering, rcv_rtt, rcv_space.
    skipped_again: [u32; 7],
    total_retrans: u32,
    /// pacing_rate, max_pacing_rate.
    pacing: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
    /// segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in.
    segments: [u32; 5],
    data_segs_out: u32,
    delivery_rate: u64,
}

/// Of a connection of TCP. What an older kernel does not count is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The smoothed round-trip time; 0 before the first sample.
    pub rtt: Duration,
    /// Bytes of data in a segment at most.
    pub segment: u32,
    /// Segments that were sent again, in all.
    pub retransmitted: u32,
    /// Segments with data that were sent, in all, with those that were sent again.
    pub segments: u32,
    /// Bytes that the peer has acknowledged, in all.
    pub acknowledged: u64,
    /// Bytes a second that arrived lately.
    pub delivery_rate: u64,
}

impl TcpInfo {
    /// Of this socket, now.
    ///
    /// # Errors
    /// It is no socket of TCP.
    pub fn of(socket: impl AsFd) -> io::Result<TcpInfo> {
        let mut raw = Raw::default();
        let mut length = size_of::<Raw>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, which `raw` has, and any bytes are a `Raw`.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut raw).cast(),
                &mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(TcpInfo {
            rtt: Duration::from_micros(raw.rtt.into()),
            segment: raw.snd_mss,
            retransmitted: raw.total_retrans,
            segments: raw.data_segs_out,
            acknowledged: raw.bytes_acked,
            delivery_rate: raw.delivery_rate,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn what_was_sent_and_acknowledged_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut to, _) = listener.accept().unwrap();
        for _ in 0..100 {
            from.write_all(&[7; 1000]).unwrap();
            to.read_exact(&mut [0; 1000]).unwrap();
        }
        to.write_all(&[1]).unwrap();
        from.read_exact(&mut [0]).unwrap();
        let info = TcpInfo::of(&from).unwrap();
        // The kernel counts the SYN as a byte.
        assert!((100_000..=100_001).contains(&info.acknowledged), "{info:?}");
        assert!((50..=101).contains(&info.segments), "{info:?}");
        assert!(
            info.rtt > Duration::ZERO && info.rtt < Duration::from_secs(1),
            "{info:?}"
        );
        assert!(info.segment >= 500 && info.delivery_rate > 0, "{info:?}");
        assert_eq!(info.retransmitted, 0);
        let other = TcpInfo::of(&to).unwrap();
        assert!((1..=2).contains(&other.acknowledged), "{other:?}");
        assert!(TcpInfo::of(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
