//! What the tracks of a session bring becomes chunks.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::engine::http::request::Refused;
use crate::engine::http::status::SourceStatus;
use crate::engine::source::input::Transport;
use crate::engine::source::output::{Format, Outputs};
use crate::payload::{Codec, Track, synchronise};
use crate::rtp::{Block, Bounds, Order, Ordered, Packet, rtcp};
use crate::rtsp::client::Playing;
use crate::ts::Mux;

/// How far the first timestamp may be from what the server says of it. Some say anything.
const NEAR: Duration = Duration::from_secs(10);

/// The tracks of a session.
pub struct Content {
    kind: Kind,
    /// By track: the sender has said that nothing more comes.
    ended: Vec<bool>,
}

enum Kind {
    /// One of the tracks is a transport stream; others are left out.
    Transport(usize, Box<Transport>),
    Units(Units),
}

/// Tracks of pictures and sound.
struct Units {
    orders: Vec<Order>,
    tracks: Vec<Track>,
    /// By track: units of its clock a second, and the timestamp that is `base`, until the first packet has come.
    starts: Vec<Option<(u32, u32)>>,
    /// The time of `starts`, in units of 90 kHz.
    base: i64,
}

impl Content {
    /// Of tracks that play from `now` on. `epoch` is time 0 of what clients get.
    ///
    /// # Errors
    /// There is no reader for one of them.
    pub fn new(playing: &[Playing], epoch: Instant, now: Instant) -> Result<Content, Refused> {
        let ended = vec![false; playing.len()];
        if let Some(track) = playing
            .iter()
            .position(|track| track.media.format.is_mp2t())
        {
            let kind = Kind::Transport(track, Box::new(Transport::new()));
            return Ok(Content { kind, ended });
        }
        let open = |(number, track): (usize, &Playing)| {
            Track::new(number, &track.media.format, epoch)
                .map_err(|error| Refused::bad_gateway(error.to_string()))
        };
        let tracks: Vec<Track> = playing
            .iter()
            .enumerate()
            .map(open)
            .collect::<Result<_, _>>()?;
        let rate = |track: &Playing| track.media.format.clock_rate;
        let order = |track| Order::new(Bounds::default(), rate(track));
        // Where a track is left out, the others would be apart from it.
        let all = playing.iter().all(|track| track.timestamp.is_some());
        let start = |track: &Playing| Some((rate(track), track.timestamp.filter(|_| all)?));
        Ok(Content {
            kind: Kind::Units(Units {
                orders: playing.iter().map(order).collect(),
                tracks,
                starts: playing.iter().map(start).collect(),
                base: (now.saturating_duration_since(epoch).as_micros() * 9 / 100) as i64,
            }),
            ended,
        })
    }

    /// Whether it can be had in a format.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self, format: Format) -> Result<(), Refused> {
        match (&self.kind, format) {
            (Kind::Transport(..), Format::Ts) => Ok(()),
            (Kind::Transport(..), Format::Mp4) => Err(Refused::only_transport()),
            (Kind::Units(units), Format::Ts) => {
                let mux = Mux::new(&units.codecs());
                match (0..units.tracks.len()).any(|track| mux.has(track)) {
                    true => Ok(()),
                    false => Err(Refused::no_transport()),
                }
            }
            (Kind::Units(_), Format::Mp4) => Ok(()),
        }
    }

    /// Takes a packet of RTP.
    pub fn rtp(&mut self, track: usize, packet: Bytes, now: Instant, outputs: &mut Outputs) {
        match &mut self.kind {
            Kind::Transport(of, transport) if *of == track => {
                transport.datagram(now, packet, |chunk| outputs.transport(chunk, now));
            }
            Kind::Transport(..) => {}
            Kind::Units(units) => units.packet(track, packet, now, outputs),
        }
    }

    /// Takes a packet of RTCP.
    pub fn rtcp(&mut self, track: usize, packet: &[u8], now: Instant) {
        let Ok(said) = rtcp::parse(packet) else {
            return;
        };
        for said in said {
            let Some(order) = self.order(track) else {
                return;
            };
            let sender = order.ssrc();
            match said {
                rtcp::Said::Report { ssrc, ntp, rtp } if sender == Some(ssrc) => {
                    order.reception().sender_reported(ntp, now);
                    if let Kind::Units(units) = &mut self.kind
                        && let Some(track) = units.tracks.get_mut(track)
                    {
                        track.reported(ntp, rtp);
                        synchronise(&mut units.tracks);
                    }
                }
                rtcp::Said::Bye { ssrc } if sender == Some(ssrc) => self.ended[track] = true,
                _ => {}
            }
        }
    }

    /// Whether the senders of all tracks have said that nothing more comes.
    pub fn has_ended(&self) -> bool {
        match &self.kind {
            Kind::Transport(track, _) => self.ended[*track],
            Kind::Units(_) => self.ended.iter().all(|ended| *ended),
        }
    }

    /// What to report of a track; `None` if nothing has come.
    pub fn report(&mut self, track: usize, now: Instant) -> Option<Block> {
        let order = self.order(track)?;
        order.ssrc()?;
        Some(order.reception().report(now))
    }

    /// Goes on without packets that are waited for too long.
    pub fn expire(&mut self, now: Instant, outputs: &mut Outputs) {
        match &mut self.kind {
            Kind::Transport(_, transport) => {
                transport.expire(now, |chunk| outputs.transport(chunk, now));
            }
            Kind::Units(units) => units.each(now, outputs, |order, out| order.expire(now, out)),
        }
    }

    /// Goes on without all packets that are waited for.
    pub fn finish(&mut self, now: Instant, outputs: &mut Outputs) {
        match &mut self.kind {
            Kind::Transport(_, transport) => {
                transport.finish(|chunk| outputs.transport(chunk, now));
            }
            Kind::Units(units) => units.each(now, outputs, |order, out| order.finish(out)),
        }
    }

    /// When [`expire`](Content::expire) is due.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.kind {
            Kind::Transport(_, transport) => transport.order.deadline(),
            Kind::Units(units) => units.orders.iter().filter_map(Order::deadline).min(),
        }
    }

    /// Whether key pictures are to be expected.
    pub fn may_have_keys(&self) -> bool {
        match &self.kind {
            Kind::Transport(_, transport) => transport.classify.may_have_keys(),
            Kind::Units(units) => units.codecs().iter().any(Codec::is_video),
        }
    }

    /// What a client needs of a transport stream before it begins.
    pub fn tables(&self) -> Bytes {
        match &self.kind {
            Kind::Transport(_, transport) => transport.classify.tables(),
            // They are before each key picture.
            Kind::Units(_) => Bytes::new(),
        }
    }

    /// Adds what came, and what did not.
    pub fn status(&self, status: &mut SourceStatus) {
        match &self.kind {
            Kind::Transport(_, transport) => transport.status(status),
            Kind::Units(units) => units.orders.iter().for_each(|order| status.add(order)),
        }
    }

    fn order(&mut self, track: usize) -> Option<&mut Order> {
        match &mut self.kind {
            Kind::Transport(of, transport) => (*of == track).then_some(&mut transport.order),
            Kind::Units(units) => units.orders.get_mut(track),
        }
    }
}

impl Units {
    fn codecs(&self) -> Vec<Codec> {
        self.tracks.iter().map(Track::codec).collect()
    }

    fn packet(&mut self, track: usize, packet: Bytes, now: Instant, outputs: &mut Outputs) {
        let Ok(packet) = Packet::parse(packet) else {
            return;
        };
        if let Some(Some((rate, start))) = self.starts.get_mut(track).map(Option::take) {
            let ahead = i64::from(packet.timestamp.wrapping_sub(start) as i32);
            if ahead.unsigned_abs() <= NEAR.as_secs() * u64::from(rate) {
                self.tracks[track].begins(start, self.base, now);
            }
        }
        self.of(track, now, outputs, |order, out| {
            order.push(packet, now, out)
        });
    }

    fn each(
        &mut self,
        now: Instant,
        outputs: &mut Outputs,
        act: impl Fn(&mut Order, &mut dyn FnMut(Ordered)),
    ) {
        for track in 0..self.orders.len() {
            self.of(track, now, outputs, &act);
        }
    }

    /// Lets `act` take packets out of the order of a track.
    fn of(
        &mut self,
        track: usize,
        now: Instant,
        outputs: &mut Outputs,
        act: impl FnOnce(&mut Order, &mut dyn FnMut(Ordered)),
    ) {
        let Units { orders, tracks, .. } = self;
        let mut units = Vec::new();
        if let (Some(order), Some(track)) = (orders.get_mut(track), tracks.get_mut(track)) {
            act(order, &mut |ordered| {
                track.push(ordered, now, |unit| units.push(unit))
            });
        }
        for unit in units {
            outputs.unit(unit, || self.codecs(), now);
        }
    }
}
