//! What is known of sources and clients, as JSON.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::engine::Engine;
use crate::rtp;

/// All of an engine.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Where streams come from.
    pub sources: Vec<SourceStatus>,
    /// Those that get one.
    pub clients: Vec<ClientStatus>,
}

/// A source.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceStatus {
    /// What clients ask for.
    pub name: String,
    /// The origin of a pool that it comes from now.
    pub origin: Option<String>,
    /// How many get it.
    pub clients: usize,
    /// How many wait for it to begin.
    pub waiting: usize,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes that are kept for clients.
    pub kept_bytes: usize,
    /// Packets of RTP that did not come in time.
    pub lost: u64,
    /// Loss events a packet on the way from the origin (RFC 5348); of the track that has most.
    pub loss_event_rate: f64,
    /// Those of them that came later.
    pub late: u64,
    /// Places where packets of the transport stream are missing.
    pub gaps: u64,
    /// Packets of the transport stream that are none, or say that they are damaged.
    pub damaged: u64,
    /// Packets that came twice.
    pub duplicated: u64,
    /// Packets that were put in order.
    pub reordered: u64,
    /// Datagrams that are not of the stream.
    pub foreign: u64,
    /// Sessions at origins that failed.
    pub failovers: u64,
}

impl SourceStatus {
    /// Adds what came in RTP.
    pub(in crate::engine) fn add(&mut self, order: &rtp::Order) {
        let counts = order.counts();
        self.loss_event_rate = self.loss_event_rate.max(order.loss_event_rate());
        self.lost += counts.lost;
        self.late += counts.late;
        self.duplicated += counts.duplicated;
        self.reordered += counts.reordered;
        self.foreign += counts.foreign;
    }
}

/// A client.
#[derive(Clone, Debug, Serialize)]
pub struct ClientStatus {
    /// Where it comes from.
    pub peer: String,
    /// What it gets.
    pub source: String,
    /// Bytes that it took.
    pub bytes: u64,
    /// Bytes that wait for it.
    pub waiting: usize,
    /// How late what it gets next is, in milliseconds.
    pub late_ms: u64,
    /// Pictures that it did not get.
    pub left_out: u64,
    /// Bytes that it did not get.
    pub left_out_bytes: u64,
    /// The round-trip time of its connection, in microseconds.
    pub rtt_us: u64,
    /// Loss events a segment of its connection (RFC 5348).
    pub loss_event_rate: f64,
    /// Bits a second that it may have beside other connections; none before the first loss.
    pub allowed_bits_per_second: Option<u64>,
}

impl Engine {
    /// As it is now.
    pub(in crate::engine) fn status(&self, now: Instant) -> Status {
        let clients = self.clients.iter().filter_map(|(_, client)| {
            let watching = client.watching.as_ref()?;
            let source = self.sources.get(watching.source as usize)?;
            let allowance = &watching.allowance;
            let late = (source.outputs.get(watching.format))
                .map_or(Duration::ZERO, |output| watching.late(&output.recent, now));
            Some(ClientStatus {
                peer: client.peer.to_string(),
                source: source.name.clone(),
                bytes: client.taken,
                waiting: client.outgoing.len(),
                late_ms: late.as_millis() as u64,
                left_out: watching.choice.left_out(),
                left_out_bytes: watching.left_out,
                rtt_us: allowance.rtt().as_micros() as u64,
                loss_event_rate: allowance.loss(),
                allowed_bits_per_second: allowance.rate().map(|rate| (rate * 8.0) as u64),
            })
        });
        Status {
            clients: clients.collect(),
            sources: self
                .sources
                .iter()
                .map(|(_, source)| source.status())
                .collect(),
        }
    }
}
