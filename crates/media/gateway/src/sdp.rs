//! Session descriptions (SDP, RFC 8866): which tracks there are, how they are coded and where they are set up. The crate
//! `sdp-types` reads the lines that say so; lines about anything else are not looked at, because cameras get them wrong.

use std::net::IpAddr;

use sdp_types::{Connection, Session};

use crate::payload::Format;

/// Bytes of a description at most.
pub const MAX_BYTES: usize = 64 * 1024;
/// Media of a description at most.
pub const MAX_MEDIA: usize = 16;

/// Payload types that need no `rtpmap` (RFC 3551, section 6): the number, the encoding, its clock rate, its channels.
const FIXED: [(u8, &str, u32, u8); 10] = [
    (0, "PCMU", 8000, 1),
    (3, "GSM", 8000, 1),
    (8, "PCMA", 8000, 1),
    (9, "G722", 8000, 1),
    (10, "L16", 44_100, 2),
    (11, "L16", 44_100, 1),
    (14, "MPA", 90_000, 1),
    (26, "JPEG", 90_000, 1),
    (32, "MPV", 90_000, 1),
    (33, "MP2T", 90_000, 1),
];

/// Why a description cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SdpError {
    /// It is larger than [`MAX_BYTES`].
    #[error("the description has {0} bytes, and {MAX_BYTES} are allowed")]
    TooLarge(usize),
    /// It has more than [`MAX_MEDIA`].
    #[error("the description has {0} media, and {MAX_MEDIA} are allowed")]
    TooManyMedia(usize),
    /// It breaks the syntax.
    #[error("the description is malformed: {0}")]
    Malformed(String),
    /// It has no medium that can be carried; these are the formats that it has.
    #[error("the description has nothing that can be carried, but {0}")]
    NothingCarried(String),
}

/// What a description says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Where all tracks are played and stopped together: absolute, relative, or `*`.
    pub control: Option<String>,
    /// Media that can be carried, in the order of the description.
    pub media: Vec<Media>,
}

/// One medium, in one of the formats that are offered for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// `video`, `audio` or what else the description says.
    pub kind: String,
    /// The payload type of its packets.
    pub payload_type: u8,
    /// How it is coded.
    pub format: Format,
    /// Where it is set up: absolute or relative.
    pub control: Option<String>,
    /// The address that it is sent to, unless that is left open (RFC 2326, section C.1.7).
    pub connection: Option<IpAddr>,
    /// The port that it is sent to; 0 leaves it open.
    pub port: u16,
}

impl Description {
    /// Reads a description. Of each medium it takes the first format for which `carries` is true; media without one are
    /// left out, and so are media that do not come in plain RTP.
    ///
    /// # Errors
    /// The description is too large, is malformed, or has no medium that can be carried.
    pub fn parse(text: &[u8], carries: impl Fn(&Format) -> bool) -> Result<Self, SdpError> {
        if text.len() > MAX_BYTES {
            return Err(SdpError::TooLarge(text.len()));
        }
        let session = Session::parse(&needed(text))
            .map_err(|error| SdpError::Malformed(error.to_string()))?;
        if session.medias.len() > MAX_MEDIA {
            return Err(SdpError::TooManyMedia(session.medias.len()));
        }
        let mut media = Vec::new();
        let mut others = Vec::new();
        for medium in &session.medias {
            let offered = offered(medium);
            let position = match is_rtp(&medium.proto) {
                true => offered.iter().position(|(_, format)| carries(format)),
                false => None,
            };
            let Some(position) = position else {
                let names = offered.iter().map(|(_, format)| format.encoding.as_str());
                let names = names.filter(|name| !name.is_empty());
                others.push(names.fold(medium.proto.clone(), |all, name| all + " " + name));
                continue;
            };
            let (payload_type, format) = offered[position].clone();
            let connection = medium.connections.first().or(session.connection.as_ref());
            media.push(Media {
                kind: medium.media.clone(),
                payload_type,
                format,
                control: control(medium.get_first_attribute_value("control").flatten()),
                connection: connection.and_then(address),
                port: medium.port,
            });
        }
        if media.is_empty() {
            let others = match others.is_empty() {
                true => "no media".to_string(),
                false => others.join(", "),
            };
            return Err(SdpError::NothingCarried(others));
        }
        let control = control(session.get_first_attribute_value("control").flatten());
        Ok(Description { control, media })
    }
}

/// The lines that say what is read here, each with its end.
fn needed(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| matches!(byte, b'\r' | b'\n'));
    let wanted = lines.filter(|line| {
        let known = |name: &&[u8]| line.starts_with(name);
        let names: [&[u8]; 6] = [b"v=", b"c=", b"m=", b"a=control:", b"a=rtpmap:", b"a=fmtp:"];
        names.iter().any(known)
    });
    wanted.fold(Vec::with_capacity(text.len()), |mut all, line| {
        all.extend_from_slice(line.trim_ascii_end());
        all.extend_from_slice(b"\r\n");
        all
    })
}

/// RTP without encryption, over UDP or TCP.
fn is_rtp(proto: &str) -> bool {
    let mut parts = proto.split('/');
    parts.next() == Some("RTP") && matches!(parts.next(), Some("AVP" | "AVPF"))
}

/// Payload types with their formats, in the order of the description.
fn offered(medium: &sdp_types::Media) -> Vec<(u8, Format)> {
    let types = medium.fmt.split_ascii_whitespace();
    let types = types.filter_map(|number| number.parse().ok());
    let format = |number: u8| Some((number, format(medium, number)?));
    types
        .filter(|number| *number < 128)
        .take(MAX_MEDIA)
        .filter_map(format)
        .collect()
}

fn format(medium: &sdp_types::Media, number: u8) -> Option<Format> {
    let of = |name| {
        let mut values = medium.get_attribute_values(name);
        values.find_map(|value| {
            let (of, rest) = value?.trim().split_once([' ', '\t'])?;
            (of.parse() == Ok(number)).then(|| rest.trim())
        })
    };
    let parameters = of("fmtp").unwrap_or_default().to_string();
    let Some(map) = of("rtpmap") else {
        let (_, encoding, clock_rate, channels) = FIXED.iter().find(|fixed| fixed.0 == number)?;
        return Some(Format {
            encoding: (*encoding).to_string(),
            clock_rate: *clock_rate,
            channels: *channels,
            parameters,
        });
    };
    let mut parts = map.split('/').map(str::trim);
    let encoding = parts.next()?.to_string();
    let clock_rate = parts.next()?.parse().ok()?;
    let channels = match parts.next() {
        Some(channels) => channels.parse().ok()?,
        None => 1,
    };
    Some(Format {
        encoding,
        clock_rate,
        channels,
        parameters,
    })
}

fn control(value: Option<&str>) -> Option<String> {
    let value = value?.trim();
    (!value.is_empty()).then(|| value.to_string())
}

/// The address of a `c=` line without its TTL, unless it leaves the address open.
fn address(connection: &Connection) -> Option<IpAddr> {
    let address = connection.connection_address.split('/').next()?;
    let address: IpAddr = address.parse().ok()?;
    (!address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAMERA: &[u8] = b"v=0\r\no=- 1 2 3 IN IP4 a camera\r\ns=\xff\xfe\r\nc=IN IP4 0.0.0.0\r\nb=nonsense\r\n\
        t=0 0\r\na=control:*\r\n\
        m=video 0 RTP/AVP 98 96\r\na=rtpmap:98 VP9/90000\r\na=rtpmap:96 H264/90000\r\n\
        a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0I=,aM4=\r\na=control:trackID=1\r\n\
        m=audio 0 RTP/AVP 0\r\na=control:rtsp://camera/stream/trackID=2\r\n\
        m=application 0 RTP/AVP 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\na=control:trackID=3\r\n";

    fn known(format: &Format) -> bool {
        ["H264", "PCMU", "MP2T", "OPUS"].contains(&format.encoding.to_uppercase().as_str())
    }

    #[test]
    fn a_camera_is_read_where_it_matters() {
        let description = Description::parse(CAMERA, known).unwrap();
        assert_eq!(description.control.as_deref(), Some("*"));
        let [video, audio] = description.media.as_slice() else {
            panic!("{description:?}")
        };
        assert_eq!((video.kind.as_str(), video.payload_type), ("video", 96));
        assert_eq!(video.format.encoding, "H264");
        assert_eq!(video.format.clock_rate, 90_000);
        let sets = video.format.parameter("sprop-parameter-sets");
        assert_eq!(sets, Some("Z0I=,aM4="));
        assert_eq!(video.control.as_deref(), Some("trackID=1"));
        assert_eq!(video.connection, None);
        assert_eq!((audio.payload_type, audio.format.channels), (0, 1));
        assert_eq!(audio.format.encoding, "PCMU");
        let absolute = Some("rtsp://camera/stream/trackID=2");
        assert_eq!(audio.control.as_deref(), absolute);
    }

    #[test]
    fn multicast_and_lone_line_feeds_are_read() {
        let text = b"v=0\nc=IN IP4 239.1.2.3/16\nm=video 5000 RTP/AVP 33\n";
        let description = Description::parse(text, known).unwrap();
        let media = &description.media[0];
        assert_eq!(media.connection, Some([239, 1, 2, 3].into()));
        assert_eq!(media.port, 5000);
        assert!(media.format.is_mp2t());
    }

    #[test]
    fn channels_are_read() {
        let text = b"v=0\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 opus/48000/2\r\n";
        let description = Description::parse(text, known).unwrap();
        assert_eq!(description.media[0].format.channels, 2);
    }

    #[test]
    fn what_cannot_be_carried_is_named() {
        let text =
            b"v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 VP9/90000\r\nm=audio 0 RTP/SAVP 0\r\n";
        let error = Description::parse(text, known).unwrap_err();
        assert_eq!(
            error,
            SdpError::NothingCarried("RTP/AVP VP9, RTP/SAVP PCMU".to_string())
        );
    }

    #[test]
    fn bounds_hold() {
        let large = vec![b'a'; MAX_BYTES + 1];
        assert_eq!(
            Description::parse(&large, known),
            Err(SdpError::TooLarge(MAX_BYTES + 1))
        );
        let many = "v=0\r\n".to_string() + &"m=audio 0 RTP/AVP 0\r\n".repeat(MAX_MEDIA + 1);
        assert_eq!(
            Description::parse(many.as_bytes(), known),
            Err(SdpError::TooManyMedia(MAX_MEDIA + 1))
        );
        assert!(matches!(
            Description::parse(b"m=video\r\n", known),
            Err(SdpError::Malformed(_))
        ));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Description::parse(&bytes, |_| true);
        }

        #[test]
        fn no_changed_description_panics(at in 0..CAMERA.len(), byte: u8, cut in 0..CAMERA.len()) {
            let mut text = CAMERA.to_vec();
            text[at] = byte;
            text.truncate(cut);
            let _ = Description::parse(&text, |_| true);
        }
    }
}
