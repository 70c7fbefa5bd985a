//! Rows over a long way: a session beside other flows where the rate is too low for all, and streams at a loss.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use evener_net::link::Conditions;

use super::contestants::{self, Gateway, Kind};
use super::link::{FAR, Link};
use super::part::{Part, Running};
use super::place::{End, Place, THERE};
use super::receivers::{self, Got};
use super::sender::{self, Sent};
use super::{Answer, Drawn, Figure, Line, Options, plain, take_turns};
use crate::error::Error;
use crate::stats::median_of;

/// Where plain servers listen, and where a stream comes to.
const PLAIN: u16 = 9000;
const STREAM: u16 = 10_000;
/// The congestion control of a flow beside, and of clients unless something else is said.
const CUBIC: &str = "cubic";
const BBR: &str = "bbr";

/// Bits a second of a stream whose share is measured, which is more than its share.
const SHARED: f64 = 16e6;
/// The way that it shares: a queue of a round-trip time.
const NARROW: Conditions = Conditions {
    delay: Duration::from_millis(20),
    jitter: Duration::ZERO,
    loss: 0.0,
    duplicate: 0.0,
    reorder: 0.0,
    held: Duration::ZERO,
    rate: Some(20_000_000),
    queue: 100_000,
    mark: None,
    seed: 1,
};
/// How long flows are measured at least: CUBIC takes seconds from one loss to the next.
const SHARING: Duration = Duration::from_secs(12);
/// What a rate is the mean of, of which the variation is told.
const SAMPLE: Duration = Duration::from_millis(500);
/// What happens before.
const WARM: Duration = Duration::from_secs(4);

/// Bits a second of a stream over a way that loses.
const LOSSY: f64 = 8e6;
const LOSS: f64 = 0.01;
/// Milliseconds there and back.
const ROUND_TRIPS: [u64; 6] = [0, 10, 25, 50, 100, 200];
/// How long a stream is measured at least, as TCP takes many round trips to find its rate.
const LOSING: Duration = Duration::from_secs(4);

/// What is at one end of a flow.
#[derive(Clone)]
enum Flow {
    /// A session of a gateway.
    Session(Kind),
    /// A plain server, whose connections have this congestion control, at this rate.
    Plain(&'static str, Option<f64>),
}

/// What was seen of two flows, the one that is measured first.
struct Shares {
    bytes: [f64; 2],
    /// The standard deviation of the rate by its mean.
    variation: [f64; 2],
}

pub fn share(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    // The congestion control of the gateway's connections, and who it is.
    let mut turns = Vec::new();
    for congestion in [CUBIC, BBR] {
        for kind in contestants::all(options, &[], &[]) {
            let name = format!("{}, {congestion}", kind.name());
            turns.push((name, congestion, Flow::Session(kind)));
        }
        let name = format!("plain server, {congestion}");
        turns.push((name, congestion, Flow::Plain(congestion, Some(SHARED))));
    }
    let alike = Flow::Session(Kind::Evener);
    let mut runs: Vec<Box<dyn FnMut() -> Result<Shares, Error> + '_>> = Vec::new();
    for (_, congestion, flow) in &turns {
        let (place, beside) = (&place, Flow::Plain(CUBIC, None));
        runs.push(Box::new(move || {
            beside_each_other(place, options, congestion, [flow, &beside])
        }));
    }
    runs.push(Box::new(|| {
        beside_each_other(&place, options, CUBIC, [&alike, &alike])
    }));
    let mut rounds = take_turns(options.rounds, &mut runs)?;
    let equals = rounds.pop().expect("two sessions were measured");
    let share = |shares: &Shares| shares.bytes[0] / shares.bytes[1];
    let mut figures = [
        Figure::new("rate beside a flow of CUBIC", "of that flow's"),
        Figure::new("variation of the rate in half seconds", "of the rate"),
        Figure::new("variation of the flow beside", "of the rate"),
    ];
    for ((name, ..), rounds) in turns.iter().zip(&rounds) {
        let values: [Vec<f64>; 3] = [
            rounds.iter().map(share).collect(),
            rounds.iter().map(|shares| shares.variation[0]).collect(),
            rounds.iter().map(|shares| shares.variation[1]).collect(),
        ];
        for (figure, values) in figures.iter_mut().zip(values) {
            *figure = figure.clone().with(name, values);
        }
    }
    let less = equals.iter().map(share).map(|share| share.min(1.0 / share));
    let mut figures = Vec::from(figures);
    figures.push(
        Figure::new("rate beside another session", "of that one's")
            .with(format!("{}, {CUBIC}", Kind::Evener.name()), less.collect()),
    );
    Ok(Answer {
        figures,
        drawn: Vec::new(),
    })
}

/// Two flows on the narrow way.
fn beside_each_other(
    place: &Place,
    options: &Options,
    congestion: &str,
    flows: [&Flow; 2],
) -> Result<Shares, Error> {
    let link = Link::new(place, NARROW).map_err(Error::Gateway)?;
    link.set_congestion(place, congestion)
        .map_err(Error::Gateway)?;
    let group = SocketAddr::from((Ipv4Addr::new(239, 4, 0, 0), STREAM));
    let mut gateways = Vec::new();
    let mut servers = Vec::new();
    let mut clients = Vec::new();
    for flow in flows {
        let (to, path) = match flow {
            Flow::Session(kind) => {
                // Two sessions are of one gateway.
                if gateways.is_empty() {
                    gateways.push(Gateway::start(place, options, kind, FAR)?);
                }
                (gateways[0].address(), format!("/rtp/{group}"))
            }
            Flow::Plain(congestion, bits) => {
                let (server, to) = plain(place, options, congestion, *bits, servers.len())?;
                servers.push(server);
                (to, "/".into())
            }
        };
        clients.push(client(place, options, to, path)?);
    }
    let _sender = match gateways.is_empty() {
        true => None,
        false => Some(sender(place, options, group, SHARED)?),
    };
    thread::sleep(WARM);
    let time = options.time.max(SHARING);
    let count = (time.as_secs_f64() / SAMPLE.as_secs_f64()) as u32;
    let begun = Instant::now();
    let mut got = [got(&mut clients[0])?, got(&mut clients[1])?];
    let mut rates = [Vec::new(), Vec::new()];
    for number in 1..=count {
        thread::sleep((SAMPLE * number).saturating_sub(begun.elapsed()));
        for (which, client) in clients.iter_mut().enumerate() {
            let before = std::mem::replace(&mut got[which], self::got(client)?);
            rates[which].push(got[which] - before);
        }
    }
    Ok(Shares {
        bytes: [rates[0].iter().sum(), rates[1].iter().sum()],
        variation: [variation(&rates[0]), variation(&rates[1])],
    })
}

/// The standard deviation by the mean.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / values.len() as f64).sqrt() / mean
}

pub fn lossy(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let names = ["HTTP all the way", "RTP on the long way, then HTTP"];
    let mut values: [Vec<Option<f64>>; 2] = Default::default();
    let mut at_the_end = Default::default();
    for round_trip in ROUND_TRIPS {
        let conditions = Conditions {
            delay: Duration::from_millis(round_trip) / 2,
            loss: LOSS,
            ..Conditions::default()
        };
        let mut turns: [Box<dyn FnMut() -> Result<f64, Error> + '_>; 2] = [
            Box::new(|| end_to_end(&place, options, conditions)),
            Box::new(|| translated(&place, options, conditions)),
        ];
        let rounds = take_turns(options.rounds, &mut turns)?;
        for (values, rounds) in values.iter_mut().zip(&rounds) {
            values.push(Some(median_of(rounds.iter().copied())));
        }
        at_the_end = rounds;
    }
    let last = ROUND_TRIPS[ROUND_TRIPS.len() - 1];
    let name = format!("throughput at 1 % loss and {last} ms");
    let pairs = names.into_iter().zip(at_the_end);
    let figure = pairs.fold(Figure::new(name, "Mbit/s"), |figure, (name, values)| {
        figure.with(name, values)
    });
    let lines = names.into_iter().zip(values).map(|(name, values)| Line {
        name: name.into(),
        values,
    });
    Ok(Answer {
        figures: vec![figure],
        drawn: vec![Drawn {
            title: "Throughput at 1 % loss (their figure 3.3)".into(),
            about: format!(
                "A stream of {} Mbit/s over a way that loses each hundredth packet in each direction: by HTTP from a server \
                 whose TCP is the kernel's CUBIC, and by RTP to a gateway that gives it to a client nearby.",
                LOSSY / 1e6
            ),
            unit: "Mbit/s",
            over: "the round-trip time in ms",
            at: ROUND_TRIPS.map(|ms| ms as f64).into(),
            lines: lines.collect(),
        }],
    })
}

/// Mbit/s of a stream that comes by HTTP from a server beyond the way.
fn end_to_end(place: &Place, options: &Options, conditions: Conditions) -> Result<f64, Error> {
    let _link = Link::new(place, conditions).map_err(Error::Gateway)?;
    let (_server, to) = plain(place, options, CUBIC, Some(LOSSY), 0)?;
    let client = client(place, options, to, "/".into())?;
    rate(options, client)
}

/// Mbit/s of a stream that comes by RTP over the way, and from there by HTTP.
fn translated(place: &Place, options: &Options, conditions: Conditions) -> Result<f64, Error> {
    let _link = Link::new(place, conditions).map_err(Error::Gateway)?;
    let gateway = Gateway::start(place, options, &Kind::Evener, THERE)?;
    let stream = SocketAddr::from((FAR, STREAM));
    let client = client(place, options, gateway.address(), format!("/rtp/{stream}"))?;
    let _sender = sender(place, options, stream, LOSSY)?;
    rate(options, client)
}

fn rate(options: &Options, mut client: Running) -> Result<f64, Error> {
    thread::sleep(WARM);
    let begun = Instant::now();
    let before = got(&mut client)?;
    thread::sleep(options.time.max(LOSING));
    let after = got(&mut client)?;
    Ok((after - before) * 8e-6 / begun.elapsed().as_secs_f64())
}

fn plain(
    place: &Place,
    options: &Options,
    congestion: &str,
    bits: Option<f64>,
    number: usize,
) -> Result<(Running, SocketAddr), Error> {
    let listen = SocketAddr::from((FAR, PLAIN + number as u16));
    let part = Part::Plain(plain::Task {
        listen,
        congestion: congestion.into(),
        bits,
    });
    let mut server = Running::start(place, End::There, &options.program, &part)?;
    server.ask::<()>("")?;
    Ok((server, listen))
}

fn client(
    place: &Place,
    options: &Options,
    gateway: SocketAddr,
    path: String,
) -> Result<Running, Error> {
    let part = Part::Receivers(receivers::Task {
        gateway,
        paths: vec![path],
        stuck: 0,
        timed: false,
        direct: None,
    });
    Running::start(place, End::Here, &options.program, &part)
}

fn sender(place: &Place, options: &Options, to: SocketAddr, bits: f64) -> Result<Running, Error> {
    let part = Part::Sender(sender::Task {
        to: vec![to],
        bits,
        post: None,
    });
    let mut sender = Running::start(place, End::Here, &options.program, &part)?;
    let _: Sent = sender.ask("begin")?;
    Ok(sender)
}

fn got(client: &mut Running) -> Result<f64, Error> {
    Ok(client.ask::<Got>("")?.bytes as f64)
}
