//! The headers `Transport`, `Session`, `Public` and `RTP-Info` (RFC 2326, sections 12.39, 12.37, 12.28 and 12.33).

use std::net::IpAddr;
use std::time::Duration;

/// How long a session lasts without a request, if the server does not say.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What a server can ask for; less would be a flood of requests, and more is not needed.
const TIMEOUTS: std::ops::RangeInclusive<u64> = 2..=3600;
/// Bytes of a session's name at most.
const MAX_NAME: usize = 512;

/// How the packets of a track come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// In datagrams.
    Udp {
        /// Our ports of RTP and RTCP.
        client: (u16, u16),
        /// The server's, if it says so.
        server: Option<(u16, u16)>,
        /// Where packets come from, if the server says so and it is not the host of the connection. Nothing should be
        /// sent there without a check: a server can name any address.
        source: Option<IpAddr>,
    },
    /// On the connection, in the channels of RTP and RTCP.
    Interleaved {
        /// Channel of RTP.
        rtp: u8,
        /// Channel of RTCP.
        rtcp: u8,
    },
}

/// What a server answers to SETUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub transport: Transport,
    /// The synchronisation source of the packets.
    pub ssrc: Option<u32>,
}

impl Transport {
    /// What SETUP asks for.
    pub(super) fn asked(&self) -> String {
        match self {
            Transport::Udp { client, .. } => {
                format!("RTP/AVP;unicast;client_port={}-{}", client.0, client.1)
            }
            Transport::Interleaved { rtp, rtcp } => {
                format!("RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}")
            }
        }
    }

    /// What the server answers to it, unless that is something else.
    pub(super) fn agreed(&self, answer: &str) -> Option<Agreed> {
        // One transport is asked for, so one comes back.
        let mut parts = answer.split(',').next()?.split(';').map(str::trim);
        let protocol = parts.next()?;
        let mut agreed = Agreed {
            transport: *self,
            ssrc: None,
        };
        let mut channels = None;
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "multicast" => return None,
                "ssrc" => agreed.ssrc = u32::from_str_radix(value.trim(), 16).ok(),
                "interleaved" => channels = Some(pair::<u8>(value)?),
                "server_port" => {
                    if let Transport::Udp { server, .. } = &mut agreed.transport {
                        *server = pair(value);
                    }
                }
                "source" => {
                    if let Transport::Udp { source, .. } = &mut agreed.transport {
                        *source = value.parse().ok();
                    }
                }
                _ => {}
            }
        }
        let is_tcp = protocol.to_ascii_uppercase().ends_with("/TCP");
        match (self, channels) {
            (Transport::Udp { .. }, None) if !is_tcp => {}
            // Servers that only have the connection say so here as well.
            (_, Some((rtp, rtcp))) => agreed.transport = Transport::Interleaved { rtp, rtcp },
            (Transport::Interleaved { .. }, None) if is_tcp => {}
            _ => return None,
        }
        Some(agreed)
    }
}

/// `4-5`, or `4`, which stands for the next as well.
fn pair<T: std::str::FromStr + Copy + TryFrom<u32> + Into<u32>>(text: &str) -> Option<(T, T)> {
    let (first, second) = match text.split_once('-') {
        Some((first, second)) => (first, Some(second)),
        None => (text, None),
    };
    let first: T = first.trim().parse().ok()?;
    let second = match second {
        Some(second) => second.trim().parse().ok()?,
        None => T::try_from(first.into() + 1).ok()?,
    };
    Some((first, second))
}

/// A session's name, and how long it lasts without a request.
pub(super) fn session(value: &str) -> Option<(String, Duration)> {
    let mut parts = value.split(';').map(str::trim);
    let name = parts
        .next()
        .filter(|name| !name.is_empty() && name.len() <= MAX_NAME)?;
    let seconds = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let is_timeout = name.trim().eq_ignore_ascii_case("timeout");
        is_timeout.then(|| value.trim().parse::<u64>().ok())?
    });
    let timeout = seconds.map_or(TIMEOUT, |seconds| {
        Duration::from_secs(seconds.clamp(*TIMEOUTS.start(), *TIMEOUTS.end()))
    });
    Some((name.to_string(), timeout))
}

/// Whether a server says that it has a method.
pub(super) fn is_public(value: &str, method: &str) -> bool {
    let mut methods = value.split(',').map(str::trim);
    methods.any(|of| of.eq_ignore_ascii_case(method))
}

/// What `RTP-Info` says of a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// Of which track.
    pub url: String,
    /// The number of the first packet.
    pub sequence: Option<u16>,
    /// The timestamp of the time that PLAY asked for.
    pub timestamp: Option<u32>,
}

/// Reads `RTP-Info`, tracks in their order. URLs can have commas and semicolons, so `url=` begins a track.
pub(super) fn starts(value: &str) -> Vec<Start> {
    let mut starts: Vec<Start> = Vec::new();
    for part in value.split([';', ',']).map(str::trim) {
        if let Some(url) = part.strip_prefix("url=") {
            let url = url.trim_matches('"').to_string();
            starts.push(Start {
                url,
                ..Start::default()
            });
        } else if let Some(start) = starts.last_mut() {
            if let Some(sequence) = part.strip_prefix("seq=") {
                start.sequence = sequence.parse().ok();
            } else if let Some(timestamp) = part.strip_prefix("rtptime=") {
                start.timestamp = timestamp.parse().ok();
            }
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: Transport = Transport::Udp {
        client: (5000, 5001),
        server: None,
        source: None,
    };
    const TCP: Transport = Transport::Interleaved { rtp: 2, rtcp: 3 };

    #[test]
    fn answers_to_datagrams_are_read() {
        let answer = "RTP/AVP;unicast;client_port=5000-5001;source=10.0.0.1;server_port=6256-6257;ssrc=0A1B2C3D;mode=\"PLAY\"";
        let agreed = UDP.agreed(answer).unwrap();
        let transport = Transport::Udp {
            client: (5000, 5001),
            server: Some((6256, 6257)),
            source: Some([10, 0, 0, 1].into()),
        };
        assert_eq!(agreed.transport, transport);
        assert_eq!(agreed.ssrc, Some(0x0a1b_2c3d));
        let agreed = UDP.agreed("RTP/AVP;unicast;server_port=7000").unwrap();
        assert!(matches!(
            agreed.transport,
            Transport::Udp {
                server: Some((7000, 7001)),
                ..
            }
        ));
        assert_eq!(
            UDP.agreed("RTP/AVP;multicast;destination=239.0.0.1;port=5000-5001"),
            None
        );
        assert_eq!(UDP.agreed("RTP/AVP/TCP;unicast"), None);
    }

    #[test]
    fn answers_to_channels_are_read() {
        let agreed = TCP
            .agreed("RTP/AVP/TCP;unicast;interleaved=4-5;ssrc=xyz")
            .unwrap();
        assert_eq!(agreed.transport, Transport::Interleaved { rtp: 4, rtcp: 5 });
        assert_eq!(agreed.ssrc, None);
        let agreed = TCP.agreed("RTP/AVP/TCP;unicast").unwrap();
        assert_eq!(agreed.transport, TCP);
        let agreed = UDP.agreed("RTP/AVP/TCP;interleaved=0-1").unwrap();
        assert_eq!(agreed.transport, Transport::Interleaved { rtp: 0, rtcp: 1 });
        assert_eq!(TCP.agreed("RTP/AVP/TCP;interleaved=255"), None);
        assert_eq!(TCP.agreed("RTP/AVP;unicast;server_port=1-2"), None);
    }

    #[test]
    fn sessions_are_read() {
        let named = |seconds| Some(("ab".to_string(), Duration::from_secs(seconds)));
        assert_eq!(session("ab"), named(60));
        assert_eq!(session("ab;timeout=30"), named(30));
        assert_eq!(session("ab ; Timeout = 0"), named(2));
        assert_eq!(session("ab;timeout=99999999999"), named(3600));
        assert_eq!(session(";timeout=30"), None);
    }

    #[test]
    fn starts_are_read() {
        let starts = starts(
            "url=rtsp://h/a;seq=65535;rtptime=4294967295, url=\"rtsp://h/b?c,d\";rtptime=-1;seq=3",
        );
        assert_eq!(starts[0].url, "rtsp://h/a");
        assert_eq!(
            (starts[0].sequence, starts[0].timestamp),
            (Some(65_535), Some(u32::MAX))
        );
        assert_eq!((starts[1].sequence, starts[1].timestamp), (Some(3), None));
    }

    #[test]
    fn methods_are_read() {
        assert!(is_public(
            "OPTIONS, DESCRIBE,GET_PARAMETER",
            "GET_PARAMETER"
        ));
        assert!(!is_public("OPTIONS, SET_PARAMETER", "GET_PARAMETER"));
    }
}
