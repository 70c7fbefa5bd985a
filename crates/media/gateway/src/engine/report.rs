//! How all engines are doing: one of them asks the others, and puts together what they say.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Serialize;

use crate::engine::handle::{Counts, Message, Reply};
use crate::engine::http::request::{Refused, Request};
use crate::engine::http::status::{ClientStatus, SourceStatus, Status};
use crate::engine::source::pools::PoolStatus;
use crate::engine::wait::{Ready, Token};
use crate::engine::{ANSWERS, Engine, Shared};

/// Clients that are listed.
const LISTED: usize = 1000;
/// How often those are told that follow.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait for other engines.
const PATIENCE: Duration = Duration::from_secs(1);
/// The page of browsers.
const PAGE: &str = include_str!("http/status.html");

/// What an engine says of itself.
#[derive(Clone, Debug)]
pub struct Part {
    engine: EngineStatus,
    status: Status,
}

/// An engine.
#[derive(Clone, Debug, Serialize)]
pub struct EngineStatus {
    /// Its number, from 0.
    pub number: usize,
    /// Share of the time of its thread on a processor.
    pub busy: f64,
    /// Share of the time in which its thread waited for a processor.
    pub waited: f64,
    /// What it did so far.
    #[serde(flatten)]
    pub counts: Counts,
}

/// All of a gateway.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Seconds since it began.
    pub uptime_s: f64,
    /// Engines by their numbers.
    pub engines: Vec<EngineStatus>,
    /// Servers of RTSP that have the same streams.
    pub pools: Vec<PoolStatus>,
    /// Where streams come from.
    pub sources: Vec<SourceStatus>,
    /// Those that get one, a thousand at most; those first for whom something was left out.
    pub clients: Vec<ClientStatus>,
}

impl Report {
    /// Of what all engines say.
    pub(crate) fn of(shared: &Shared, parts: Vec<Part>) -> Report {
        let mut report = Report {
            uptime_s: shared.began.elapsed().as_secs_f64(),
            engines: Vec::new(),
            pools: shared.pools.status(Instant::now()),
            sources: Vec::new(),
            clients: Vec::new(),
        };
        for part in parts {
            report.engines.push(part.engine);
            report.sources.extend(part.status.sources);
            report.clients.extend(part.status.clients);
        }
        report.engines.sort_by_key(|engine| engine.number);
        report.sources.sort_by(|a, b| a.name.cmp(&b.name));
        (report.clients).sort_by(|a, b| (b.left_out, &a.peer).cmp(&(a.left_out, &b.peer)));
        report.clients.truncate(LISTED);
        report
    }
}

/// Asks engines, from a thread that may wait. Those that do not answer in time are left out.
pub fn ask(shared: &Shared) -> Report {
    let (send, parts) = std::sync::mpsc::channel();
    let engines = shared.directory.engines();
    for engine in &engines {
        let send = send.clone();
        let reply = Reply(Box::new(move |part| drop(send.send(part))));
        engine.send(Message::Report(reply));
    }
    drop(send);
    let end = Instant::now() + PATIENCE;
    let left = || end.saturating_duration_since(Instant::now());
    let parts = std::iter::from_fn(|| parts.recv_timeout(left()).ok());
    Report::of(shared, parts.take(engines.len()).collect())
}

/// Clients that are told how all engines are doing, and what has come of it.
#[derive(Debug)]
pub struct Reports {
    /// Those that wait for one answer.
    waiting: Vec<u32>,
    /// Those that are told each second.
    followers: Vec<u32>,
    /// When they are told next.
    due: Instant,
    /// Since when other engines are asked, and what they have said.
    asking: Option<(Instant, Vec<Part>)>,
    /// Tells answers to the last question from those that come too late.
    question: u64,
    /// Engines that have not answered.
    missing: usize,
}

impl Reports {
    /// Without any.
    pub fn new(now: Instant) -> Reports {
        Reports {
            waiting: Vec::new(),
            followers: Vec::new(),
            due: now,
            asking: None,
            question: 0,
            missing: 0,
        }
    }

    /// Whether others are to be asked now, or have been asked for too long.
    fn is_due(&self, now: Instant) -> bool {
        match &self.asking {
            Some((since, _)) => now.saturating_duration_since(*since) > PATIENCE,
            None => !self.followers.is_empty() && now >= self.due,
        }
    }
}

impl Engine {
    /// A client asks how the gateway is doing.
    pub(super) fn serve_status(
        &mut self,
        number: u32,
        request: &Request,
        now: Instant,
    ) -> Result<(), Refused> {
        let format = request.parameter("format");
        let follows = request.path.ends_with("/events");
        match format.as_deref() {
            None if request.wants_html && !follows => {
                self.whole(number, request, "text/html; charset=utf-8", PAGE);
                return Ok(());
            }
            None | Some("json") => {}
            Some(other) => {
                return Err(Refused::bad(format!(
                    "format={other}: there is format=json"
                )));
            }
        }
        let Some(client) = self.clients.get_mut(number as usize) else {
            return Ok(());
        };
        if follows {
            client
                .outgoing
                .push(self.responses.stream(request.is_11, "text/event-stream"));
            if !request.wants_body {
                client.ends = true;
                return Ok(());
            }
            client.follows = Some(request.is_11);
            self.reports.followers.push(number);
            self.reports.due = now;
        } else {
            client.asks = Some(request.clone());
            self.reports.waiting.push(number);
        }
        if self.reports.asking.is_none() {
            self.ask_others(now);
        }
        Ok(())
    }

    /// Does what is due.
    pub(super) fn advance_reports(&mut self, now: Instant) {
        if !self.reports.is_due(now) {
            return;
        }
        let answered = match self.reports.asking {
            Some(_) => self.complete(now),
            None => self.ask_others(now),
        };
        self.hear_again(answered, now);
    }

    /// How this engine is doing.
    pub(super) fn part(&self) -> Part {
        let load = self.handle.load();
        Part {
            engine: EngineStatus {
                number: self.number,
                busy: load.busy,
                waited: load.waited,
                counts: self.counts,
            },
            status: self.status(Instant::now()),
        }
    }

    /// Another engine has answered.
    pub(super) fn reported(&mut self, question: u64, part: Part, now: Instant) {
        let reports = &mut self.reports;
        if let Some((_, parts)) = &mut reports.asking
            && question == reports.question
        {
            parts.push(part);
            reports.missing -= 1;
            if reports.missing == 0 {
                let answered = self.complete(now);
                self.hear_again(answered, now);
            }
        }
    }

    /// Asks all other engines. Without any the answers are there at once; then it returns who got one.
    fn ask_others(&mut self, now: Instant) -> Vec<u32> {
        let mut engines = self.shared.directory.engines();
        engines.retain(|engine| !Arc::ptr_eq(engine, &self.handle));
        self.reports.question += 1;
        self.reports.missing = engines.len();
        self.reports.asking = Some((now, Vec::new()));
        for engine in &engines {
            let (me, question) = (self.handle.clone(), self.reports.question);
            let reply = move |part| me.send(Message::Reported(question, Box::new(part)));
            engine.send(Message::Report(Reply(Box::new(reply))));
        }
        match engines.is_empty() {
            true => self.complete(now),
            false => Vec::new(),
        }
    }

    /// Tells all that asked, and returns who can ask again.
    fn complete(&mut self, now: Instant) -> Vec<u32> {
        let Some((_, mut parts)) = self.reports.asking.take() else {
            return Vec::new();
        };
        parts.push(self.part());
        let report = Report::of(&self.shared, parts);
        let waiting = std::mem::take(&mut self.reports.waiting);
        if !waiting.is_empty() {
            let text = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
            for &number in &waiting {
                let client = self.clients.get_mut(number as usize);
                if let Some(request) = client.and_then(|client| client.asks.take()) {
                    self.whole(number, &request, "application/json", &text);
                }
            }
        }
        if !self.reports.followers.is_empty() && now >= self.reports.due {
            self.reports.due = now + INTERVAL;
            self.tell_followers(&report, now);
        }
        waiting
    }

    fn tell_followers(&mut self, report: &Report, now: Instant) {
        let text = serde_json::to_string(report).unwrap_or_default();
        let event = Bytes::from(format!("data: {text}\n\n"));
        let mut followers = std::mem::take(&mut self.reports.followers);
        followers.retain(|&number| {
            let client = self.clients.get_mut(number as usize);
            let Some(client) = client.filter(|client| client.follows.is_some()) else {
                return false;
            };
            // One that is slow misses some.
            if client.outgoing.len() < ANSWERS {
                match client.follows {
                    Some(true) => {
                        client
                            .outgoing
                            .push_chunk(|outgoing| outgoing.push(event.clone()));
                    }
                    _ => client.outgoing.push(event.clone()),
                }
            }
            true
        });
        for &number in &followers {
            self.send(number, now);
        }
        self.reports.followers = followers;
    }

    /// What follows to those that got their answer, and what they asked meanwhile.
    fn hear_again(&mut self, numbers: Vec<u32>, now: Instant) {
        for number in numbers {
            let ready = Ready {
                token: Token::Client(number),
                readable: true,
                writable: false,
            };
            self.hear(number, ready, now);
        }
    }

    /// Those that follow see the end.
    pub(super) fn end_reports(&mut self, now: Instant) {
        for number in std::mem::take(&mut self.reports.followers) {
            if let Some(client) = self.clients.get_mut(number as usize)
                && let Some(chunked) = client.follows.take()
            {
                if chunked {
                    client.outgoing.push_last_chunk();
                }
                client.ends = true;
                self.send(number, now);
            }
        }
    }
}
