//! From the name of an origin to a session that plays, and to where the origin leads.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::connection::Connection;
use super::content::Content;
use super::errors::{failed, late};
use super::ports::Ports;
use super::session::Session;
use super::{Rtsp, Step};
use crate::engine::handle::Message;
use crate::engine::http::request::Refused;
use crate::engine::source::resolve::Resolved;
use crate::engine::source::{Over, Turn, random};
use crate::engine::wait::Token;
use crate::payload;
use crate::rtsp::client::{Client, Options, Playing};
use crate::rtsp::{Transport, Url};

/// How long an origin may take until it is connected to.
pub(super) const CONNECTING: Duration = Duration::from_secs(10);
/// How long it may take from there until it plays.
pub(super) const SETTING_UP: Duration = Duration::from_secs(20);
/// Redirects that are followed.
const REDIRECTS: u8 = 5;

impl Rtsp {
    /// The connection may be there.
    pub(super) fn connecting(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        let Step::Connecting {
            connection, others, ..
        } = &mut self.step
        else {
            return Ok(());
        };
        match connection.is_connected() {
            Ok(false) => return Ok(()),
            Ok(true) => self.begin(turn),
            Err(error) if others.is_empty() => {
                return Err(failed(&self.url, format!("cannot connect: {error}")).into());
            }
            Err(_) => self.step = connect(&self.url, std::mem::take(others), turn)?,
        }
        self.talk(turn)
    }

    /// Begins to talk, now that there is a connection.
    pub(super) fn begin(&mut self, turn: &mut Turn<'_>) {
        let options = Options {
            credentials: self.credentials.clone(),
            datagrams: true,
            carries: payload::Format::is_known,
            start: self.start,
            seed: random(),
        };
        let client = Client::new(self.url.clone(), options, turn.now);
        let over = Step::Resolving {
            ticket: 0,
            until: turn.now,
        };
        let Step::Connecting { connection, .. } = std::mem::replace(&mut self.step, over) else {
            return;
        };
        let mut session = Box::new(Session {
            connection,
            client,
            until: Some(turn.now + SETTING_UP),
            has_more: false,
        });
        // What came together with the connection is not told of again.
        session.read(turn);
        self.step = Step::Session(session);
    }

    pub(super) fn open_ports(&mut self, track: usize, turn: &mut Turn<'_>) {
        let Step::Session(session) = &mut self.step else {
            return;
        };
        self.ports
            .resize_with(self.ports.len().max(track + 1), || None);
        let first = 1 + 2 * track as u8;
        let opened = match session.connection.local() {
            Some(local) => Ports::open(local, turn.number, first, turn.waiter),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        match opened.and_then(|ports| Ok((ports.numbers()?, ports))) {
            Ok(((rtp, rtcp), ports)) => {
                self.ports[track] = Some(ports);
                session.client.ports(turn.now, rtp, rtcp);
            }
            Err(_) => session.client.no_ports(turn.now),
        }
    }

    pub(super) fn plays(&mut self, tracks: Vec<Playing>, turn: &mut Turn<'_>) -> Result<(), Over> {
        let content = Content::new(&tracks, self.epoch, turn.now)?;
        self.content = Some(content);
        turn.outputs.join(turn.now);
        self.ports.resize_with(tracks.len(), || None);
        for (track, ports) in tracks.iter().zip(&mut self.ports) {
            if !matches!(track.transport, Transport::Udp { .. }) {
                *ports = None;
            }
        }
        self.tracks = tracks;
        if let Step::Session(session) = &mut self.step {
            session.until = None;
        }
        // The first is empty, and opens the way through the translators of addresses between.
        self.report(turn);
        for (track, is_rtcp, payload) in std::mem::take(&mut self.early) {
            self.packet(track, is_rtcp, payload, turn);
        }
        Ok(())
    }

    pub(super) fn redirect(&mut self, url: Url, turn: &mut Turn<'_>) -> Result<(), Over> {
        self.redirects += 1;
        if self.redirects > REDIRECTS {
            let text = format!("more than {REDIRECTS} redirects");
            return Err(failed(&self.url, text).into());
        }
        self.say_goodbye(turn.now);
        let same_host = (url.host(), url.port()) == (self.url.host(), self.url.port());
        self.credentials = match url.credentials() {
            Some(credentials) => Some(credentials.clone()),
            None => self.credentials.take().filter(|_| same_host),
        };
        // Where an origin leads to is not what the operator has named, unless it is another origin.
        self.trusted &= same_host || turn.services.pools.has_origin(&url);
        if !self.trusted {
            (turn.services.access.ask(url.host()))
                .map_err(|denied| Refused::redirected(&self.url, &denied))?;
        }
        self.step = look_for(&url, turn)?;
        self.url = url;
        self.ports.clear();
        self.early.clear();
        self.report_at = None;
        Ok(())
    }
}

/// Connects to a host that is an address, and asks for the addresses of any other.
pub(super) fn look_for(url: &Url, turn: &mut Turn<'_>) -> Result<Step, Refused> {
    if let Ok(address) = url.host().parse() {
        return connect(url, vec![address], turn);
    }
    let ticket = turn.services.next_ticket();
    let (source, to) = (turn.number, turn.services.handle.clone());
    let answer = move |addresses| {
        to.send(Message::Resolved(Resolved {
            source,
            ticket,
            addresses,
        }));
    };
    match (turn.services.resolver).ask(url.host().to_owned(), answer) {
        true => Ok(Step::Resolving {
            ticket,
            until: turn.now + CONNECTING,
        }),
        false => {
            let text = "too many names wait for their addresses";
            Err(Refused::busy(text))
        }
    }
}

/// Begins to connect to the first of a host's addresses that can be tried.
pub(super) fn connect(url: &Url, addresses: Vec<IpAddr>, turn: &Turn<'_>) -> Result<Step, Refused> {
    let mut addresses = addresses.into_iter();
    let mut failure = late(
        url,
        format!("not connected within {} s", CONNECTING.as_secs()),
    );
    while let Some(address) = addresses.next() {
        let address = SocketAddr::new(address, url.port());
        match Connection::begin(address, Token::Source(turn.number, 0), turn.waiter) {
            Ok(connection) => {
                let share = CONNECTING / (addresses.len() as u32 + 1);
                return Ok(Step::Connecting {
                    connection,
                    others: addresses.collect(),
                    until: turn.now + share,
                });
            }
            Err(error) => failure = failed(url, format!("cannot connect: {error}")),
        }
    }
    Err(failure)
}
