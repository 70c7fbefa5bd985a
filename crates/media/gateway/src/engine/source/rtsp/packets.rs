//! Packets of tracks, and receiver reports about them.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::content::Content;
use super::{EARLY, Rtsp, Step};
use crate::engine::source::Turn;
use crate::rtp::rtcp;
use crate::rtsp::Transport;

/// How often the origin is told what came (RFC 3550, section 6.2).
const REPORTS: Duration = Duration::from_secs(5);
/// What was on its way when the origin said that it sends no more has come after this.
const REST: Duration = Duration::from_millis(200);
/// The name in reports.
const NAME: &str = "evener";

impl Rtsp {
    pub(super) fn packet(
        &mut self,
        track: usize,
        is_rtcp: bool,
        payload: Bytes,
        turn: &mut Turn<'_>,
    ) {
        let Some(content) = &mut self.content else {
            return;
        };
        if !is_rtcp {
            return content.rtp(track, payload, turn.now, turn.outputs);
        }
        content.rtcp(track, &payload, turn.now);
        self.look_for_end(turn.now);
    }

    /// Takes the datagrams of a track.
    pub(super) fn datagrams(&mut self, track: usize, is_rtcp: bool, turn: &mut Turn<'_>) {
        let Rtsp {
            step: Step::Session(session),
            ports,
            tracks,
            content,
            early,
            ..
        } = self
        else {
            return;
        };
        let Some(Some(ports)) = ports.get(track) else {
            return;
        };
        let socket = if is_rtcp { &ports.rtcp } else { &ports.rtp };
        let peer = session.connection.peer().ip();
        let from = tracks.get(track).and_then(|track| source(&track.transport));
        let Turn {
            now,
            batch,
            outputs,
            received,
            ..
        } = turn;
        let before = received.packets;
        // An error of the socket is that of an earlier report.
        let _ = socket.receive(batch, |sender, datagram| {
            let sender = sender.ip().to_canonical();
            if sender != peer && Some(sender) != from {
                return;
            }
            received.packets += 1;
            received.bytes += datagram.len() as u64;
            match content {
                Some(content) if is_rtcp => content.rtcp(track, &datagram, *now),
                Some(content) => content.rtp(track, datagram, *now, outputs),
                None if early.len() < EARLY => early.push((track, is_rtcp, datagram)),
                None => {}
            }
        });
        if received.packets > before {
            session.client.datagram_came(*now);
        }
        if is_rtcp {
            self.look_for_end(turn.now);
        }
    }

    /// What the senders have said may have been the end.
    pub(super) fn look_for_end(&mut self, now: Instant) {
        if self.content.as_ref().is_some_and(Content::has_ended) {
            self.ends_at.get_or_insert(now + REST);
        }
    }

    /// Tells the origin what came of each track.
    pub(super) fn report(&mut self, turn: &mut Turn<'_>) {
        self.report_at = Some(turn.now + REPORTS);
        let (Step::Session(session), Some(content)) = (&mut self.step, &mut self.content) else {
            return;
        };
        for (number, track) in self.tracks.iter().enumerate() {
            let block = content.report(number, turn.now);
            let Ok(report) = rtcp::report(self.ssrc, NAME, block.as_slice()) else {
                continue;
            };
            match (&track.transport, self.ports.get(number)) {
                (
                    Transport::Udp {
                        server: Some((_, rtcp)),
                        ..
                    },
                    Some(Some(ports)),
                ) => {
                    let from = source(&track.transport).filter(|from| {
                        let permitted = turn.services.access.connect(self.url.host(), [*from]);
                        permitted.is_ok()
                    });
                    let to = from.unwrap_or(session.connection.peer().ip());
                    ports.rtcp.send(SocketAddr::new(to, *rtcp), &report);
                }
                (Transport::Udp { .. }, _) => {}
                // If too much waits to be sent, the next report says the same.
                (Transport::Interleaved { .. }, _) => {
                    let _ = session.client.send_rtcp(number, &report);
                }
            }
        }
    }
}

/// Where a server says that its packets come from.
fn source(transport: &Transport) -> Option<IpAddr> {
    match transport {
        Transport::Udp { source, .. } => *source,
        Transport::Interleaved { .. } => None,
    }
}
