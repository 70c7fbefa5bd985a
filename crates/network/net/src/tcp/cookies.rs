//! Numbers that cannot be guessed: initial sequence numbers (RFC 6528), offsets of timestamps (RFC 7323, 5.4), and SYN
//! cookies (RFC 4987, 3.6), which hold what is known of a connection that nothing is kept of.

use std::hash::Hasher;
use std::net::SocketAddr;
use std::time::Duration;

use siphasher::sip::SipHasher13;

use super::open::{MAX_SCALE, Origin, agreed_mss, options_len, scale_for};
use super::request::{Ends, Request};
use super::{Agreed, Options, timestamp_of};
use crate::time::Time;
use crate::wire::tcp::Header;

/// A cookie is good for this period and the one before it.
const PERIOD: u64 = 64_000_000_000;
/// And no longer than this.
pub(crate) const LIFE: Duration = Duration::from_nanos(2 * PERIOD);
/// The sizes of segments that a cookie can say.
const SIZES: [u16; 8] = [48, 536, 1024, 1220, 1440, 1460, 4312, 8960];
/// In the low bits of a timestamp: the scale of windows, whether there is one, SACK, ECN.
const TIMESTAMP_BITS: u32 = 7;

/// Secrets of one engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookies {
    key: (u64, u64),
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Use {
    Sequence,
    Timestamp,
    Cookie,
    Flow,
    Port,
}

impl Cookies {
    /// From 16 random bytes.
    pub fn new(seed: [u8; 16]) -> Cookies {
        let [first, second] =
            [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|index| seed[at + index])));
        Cookies {
            key: (first, second),
        }
    }

    fn hash(&self, usage: Use, (local, remote): &Ends, more: u64) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        hasher.write_u8(usage as u8);
        for end in [local, remote] {
            match end {
                SocketAddr::V4(end) => hasher.write(&end.ip().octets()),
                SocketAddr::V6(end) => hasher.write(&end.ip().octets()),
            }
            hasher.write_u16(end.port());
        }
        hasher.write_u64(more);
        hasher.finish()
    }

    /// The hash of a flow, for tables.
    pub fn flow(&self, ends: &Ends) -> u64 {
        self.hash(Use::Flow, ends, 0)
    }

    /// Where to begin to look for a free port: another place for each `time` of looking.
    pub fn port(&self, ends: &Ends, time: u64) -> u16 {
        self.hash(Use::Port, ends, time) as u16
    }

    /// RFC 6528: a clock of 4 microseconds and a hash.
    pub fn sequence(&self, ends: &Ends, now: Time) -> u32 {
        (self.hash(Use::Sequence, ends, 0) as u32).wrapping_add((now.micros() / 4) as u32)
    }

    pub fn timestamp_offset(&self, ends: &Ends) -> u32 {
        self.hash(Use::Timestamp, ends, 0) as u32
    }

    fn cookie_hash(&self, ends: &Ends, irs: u32, period: u64) -> u32 {
        self.hash(
            Use::Cookie,
            ends,
            u64::from(irs) << 32 | period & 0xFFFF_FFFF,
        ) as u32
            >> 4
    }

    /// Puts what `request` says into its sequence number and the offset of its timestamp.
    pub fn bake(&self, ends: &Ends, now: Time, request: &mut Request) {
        let period = now.0 / PERIOD;
        let options = options_len(request.agreed.timestamps);
        let peer = request.agreed.mss + options;
        let size = SIZES.iter().rposition(|&size| size <= peer).unwrap_or(0);
        let low = (size as u32) << 1 | (period & 1) as u32;
        request.iss = self.cookie_hash(ends, request.irs, period) << 4 | low;
        request.agreed.mss = SIZES[size] - options;
        if !request.agreed.timestamps {
            // There is no room for the rest.
            request.scales = false;
            request.agreed.sack = false;
            request.agreed.ecn = false;
            request.agreed.send_scale = 0;
            request.agreed.receive_scale = 0;
            return;
        }
        let bits = u32::from(request.agreed.send_scale)
            | u32::from(request.scales) << 4
            | u32::from(request.agreed.sack) << 5
            | u32::from(request.agreed.ecn) << 6;
        let plain = timestamp_of(now, request.timestamp_offset);
        let mask = (1 << TIMESTAMP_BITS) - 1;
        let mut value = plain & !mask | bits;
        if value > plain {
            value = value.wrapping_sub(1 << TIMESTAMP_BITS);
        }
        request.timestamp_offset = value.wrapping_sub(timestamp_of(now, 0));
    }

    /// The request that was put in, from the peer's acknowledgement, if that brings one back.
    pub fn open(
        &self,
        ends: &Ends,
        now: Time,
        header: &Header,
        options: &Options,
        origin: &Origin,
        ring: u64,
    ) -> Option<Request> {
        let iss = header.acknowledgment.wrapping_sub(1);
        let irs = header.sequence.wrapping_sub(1);
        let period = now.0 / PERIOD;
        (period.saturating_sub(1)..=period).find(|&period| {
            iss & 1 == (period & 1) as u32 && iss >> 4 == self.cookie_hash(ends, irs, period)
        })?;
        let size = SIZES[(iss >> 1 & 7) as usize];
        let echo = header.options.timestamps.map(|(_, echo)| echo);
        let bits = echo.unwrap_or(0);
        let scales = bits >> 4 & 1 != 0;
        let agreed = Agreed {
            mss: agreed_mss(origin, Some(size), echo.is_some()),
            send_scale: if scales {
                (bits as u8 & 15).min(MAX_SCALE)
            } else {
                0
            },
            receive_scale: if scales { scale_for(ring) } else { 0 },
            sack: bits >> 5 & 1 != 0,
            timestamps: echo.is_some(),
            ecn: bits >> 6 & 1 != 0,
        };
        Some(Request {
            irs,
            iss,
            // As it was, for all that is known: it goes on from what came back.
            timestamp_offset: echo.map_or(origin.timestamp_offset, |echo| {
                echo.wrapping_sub(timestamp_of(now, 0))
            }),
            agreed,
            scales,
            window: ring.min(0xFFFF) as u16,
            recent: header.options.timestamps.map_or(0, |(value, _)| value),
            sent_at: now,
            // When it was sent is not known: no round trip is taken from it.
            retries: 0,
            repeated: true,
            own_mss: options.mss.unwrap_or(origin.mss).min(origin.mss),
        })
    }
}
