//! A gateway at half load for a long time, with clients that stay and clients that come and go.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Instant;

use super::contestants::{Gateway, Kind};
use super::part::{Part, Running};
use super::place::{End, Place, THERE};
use super::receivers::{self, Got};
use super::sender::{self, Sent};
use super::{Answer, Drawn, Figure, Line, Options};
use crate::error::Error;

/// Streams of 40 Mbit/s: what half of a processor can do.
const SOURCES: u16 = 24;
const BITS: f64 = 40e6;
const PORT: u16 = 10_000;
/// How often its memory and its descriptors are looked at.
const LOOKS: u32 = 40;

/// Looks at memory and descriptors over the time of a round. There is one round.
pub fn soak(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let gateway = Gateway::start(&place, options, &Kind::Evener, THERE)?;
    let addresses: Vec<SocketAddr> = (0..SOURCES)
        .map(|number| {
            let [high, low] = number.to_be_bytes();
            (Ipv4Addr::new(239, 4, high, low), PORT + number).into()
        })
        .collect();
    let sender = Part::Sender(sender::Task {
        to: addresses.clone(),
        bits: BITS,
        post: None,
    });
    let mut sender = Running::start(&place, End::Here, &options.program, &sender)?;
    let clients = || {
        let part = Part::Receivers(receivers::Task {
            gateway: gateway.address(),
            paths: addresses.iter().map(|to| format!("/rtp/{to}")).collect(),
            stuck: 0,
            timed: false,
            direct: None,
        });
        Running::start(&place, End::Here, &options.program, &part)
    };
    let mut stay = clients()?;
    let _: Sent = sender.ask("begin")?;
    let begun = Instant::now();
    let (mut at, mut memory, mut descriptors) = (Vec::new(), Vec::new(), Vec::new());
    for look in 1..=LOOKS {
        // As many as stay come for half of the time to the next look.
        let come = clients()?;
        thread::sleep(
            (options.time * (2 * look - 1) / (2 * LOOKS)).saturating_sub(begun.elapsed()),
        );
        drop(come);
        thread::sleep((options.time * look / LOOKS).saturating_sub(begun.elapsed()));
        at.push(begun.elapsed().as_secs_f64().round());
        memory.push(Some(gateway.memory()? / f64::from(1 << 20)));
        descriptors.push(Some(gateway.descriptors()?));
    }
    let got: Got = stay.ask("")?;
    let drawn = |title: &str, unit, values| Drawn {
        title: title.into(),
        about: format!("With {SOURCES} streams of {} Mbit/s.", BITS / 1e6),
        unit,
        over: "the seconds",
        at: at.clone(),
        lines: vec![Line {
            name: Kind::Evener.name(),
            values,
        }],
    };
    Ok(Answer {
        figures: vec![
            Figure::new("responses that ended early", "")
                .with(Kind::Evener.name(), vec![got.ended as f64]),
        ],
        drawn: vec![
            drawn("Memory", "MiB", memory),
            drawn("Descriptors", "open", descriptors),
        ],
    })
}
