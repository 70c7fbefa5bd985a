//! A real server: gst-rtsp-server.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use evener_gateway::payload::Format;
use evener_gateway::rtsp::client::{Client, Event, Options, Playing};
use evener_gateway::rtsp::{Transport, Url};

use super::gst::Server;

fn start() -> Option<Server> {
    Server::start(&["mulawenc", "rtppcmupay"], &[])
}

/// What a session gave.
#[derive(Debug, Default)]
struct Had {
    tracks: Vec<Playing>,
    /// Packets of RTP of each track.
    packets: [Vec<Vec<u8>>; 2],
    how_often_played: usize,
    failure: Option<String>,
}

/// A session until each track had 20 packets, and its end. Datagrams go to `deaf` ports if nothing is to come.
fn session(origin: &Server, path: &str, datagrams: bool, deaf: bool) -> Had {
    let (user, port) = match path {
        "/digest" => ("me:secret@", origin.digest),
        _ => ("", origin.port),
    };
    let url = format!("rtsp://{user}127.0.0.1:{port}{path}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(5)))
        .unwrap();
    let options = Options {
        credentials: None,
        datagrams,
        carries: |format: &Format| ["PCMU", "PCMA"].contains(&format.encoding.as_str()),
        start: None,
        seed: 1,
    };
    let mut client = Client::new(Url::parse(&url).unwrap(), options, Instant::now());
    let mut had = Had::default();
    let mut sockets: Vec<UdpSocket> = Vec::new();
    let mut buffer = vec![0; 65_536];
    let (began, mut ending) = (Instant::now(), false);
    loop {
        assert!(began.elapsed() < Duration::from_secs(20), "{had:?}");
        stream.write_all(&client.take_output()).unwrap();
        let now = Instant::now();
        match stream.read(&mut buffer) {
            Ok(0) => client.closed(),
            Ok(length) => client.receive(Instant::now(), &buffer[..length]),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(error) => panic!("{error}"),
        }
        for (number, socket) in sockets.iter().enumerate().step_by(2) {
            while let Ok(length) = socket.recv(&mut buffer) {
                if !deaf {
                    client.datagram_came(now);
                    had.packets[number / 2].push(buffer[..length].to_vec());
                }
            }
        }
        client.advance(Instant::now());
        while let Some(event) = client.next_event() {
            match event {
                Event::NeedPorts { .. } => {
                    let bind = || {
                        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                        socket.set_nonblocking(true).unwrap();
                        (socket.local_addr().unwrap().port(), socket)
                    };
                    let ((rtp, first), (rtcp, second)) = (bind(), bind());
                    sockets.extend([first, second]);
                    client.ports(Instant::now(), rtp, rtcp);
                }
                Event::Playing { tracks } => {
                    had.tracks = tracks;
                    had.how_often_played += 1;
                }
                Event::Packet {
                    track,
                    is_rtcp: false,
                    payload,
                } => had.packets[track].push(payload.to_vec()),
                Event::Packet { .. } => {}
                Event::Redirect { url } => panic!("{url}"),
                Event::Failed(failure) => {
                    had.failure = Some(failure.to_string());
                    return had;
                }
                Event::Ended => return had,
            }
        }
        if !ending && had.packets.iter().all(|packets| packets.len() >= 20) {
            ending = true;
            client.teardown(Instant::now());
        }
    }
}

/// Packets are those that the server announced, one after the other.
fn check(had: &Had) {
    assert_eq!(had.failure, None);
    for (track, packets) in had.tracks.iter().zip(&had.packets) {
        let parsed: Vec<_> = packets
            .iter()
            .map(|packet| rtp_types::RtpPacket::parse(packet).unwrap())
            .collect();
        assert!(
            parsed
                .iter()
                .all(|packet| packet.payload_type() == track.media.payload_type)
        );
        let follows = |pair: &[rtp_types::RtpPacket]| {
            pair[0].sequence_number().wrapping_add(1) == pair[1].sequence_number()
        };
        assert!(parsed.windows(2).all(follows));
        if let Some(ssrc) = track.ssrc {
            assert_eq!(parsed[0].ssrc(), ssrc);
        }
        let sequence = track.sequence.expect("RTP-Info");
        assert!(parsed[0].sequence_number().wrapping_sub(sequence) < 20);
    }
    let encodings = had
        .tracks
        .iter()
        .map(|track| track.media.format.encoding.as_str());
    assert!(encodings.eq(["PCMU", "PCMA"]));
}

#[test]
fn a_real_server_plays() {
    let Some(origin) = start() else {
        return;
    };
    let is_udp = |track: &Playing| {
        matches!(
            track.transport,
            Transport::Udp {
                server: Some(_),
                ..
            }
        )
    };
    let had = session(&origin, "/live", true, false);
    check(&had);
    assert!(had.tracks.iter().all(is_udp), "{:?}", had.tracks);

    for (path, datagrams) in [("/live", false), ("/tcp", true), ("/digest", false)] {
        println!("{path}");
        let had = session(&origin, path, datagrams, false);
        check(&had);
        assert!(!had.tracks.iter().any(is_udp), "{path}: {:?}", had.tracks);
        assert_eq!(had.how_often_played, 1);
    }
}

#[test]
fn a_real_server_goes_from_datagrams_to_the_connection() {
    let Some(origin) = start() else {
        return;
    };
    let had = session(&origin, "/live", true, true);
    assert_eq!(had.how_often_played, 2);
    check(&had);
    let interleaved = |track: &Playing| matches!(track.transport, Transport::Interleaved { .. });
    assert!(had.tracks.iter().all(interleaved));
}

#[test]
fn a_real_server_says_what_it_does_not_have() {
    let Some(origin) = start() else {
        return;
    };
    let had = session(&origin, "/nothing", true, false);
    let failure = had.failure.unwrap();
    assert_eq!(failure, "DESCRIBE was answered with 404 Not Found");
}
