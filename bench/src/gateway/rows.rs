//! What is measured.

use super::contestants::{self, Kind};
use super::distance;
use super::place::Place;
use super::scene::{Scene, Seen};
use super::soak;
use super::{Answer, Figure, Options, PeerKind, Row, take_turns};
use crate::error::Error;

/// Microseconds that bare loops wait, in which datagrams gather.
const PAUSES: [u64; 2] = [0, 4000];
const ALL_PEERS: [PeerKind; 2] = [PeerKind::Rtp2httpd, PeerKind::Go2rtc];

/// All rows, in the order they are measured.
pub const ROWS: &[Row] = &[
    Row {
        name: "sessions",
        bound: "at least 2 x rtp2httpd",
        named: false,
        measure: sessions,
    },
    Row {
        name: "shared",
        bound: "at least 2 x rtp2httpd and go2rtc",
        named: false,
        measure: shared,
    },
    Row {
        name: "delay",
        bound: "at most 100 µs, 99 % 1 ms",
        named: false,
        measure: delay,
    },
    Row {
        name: "many",
        bound: "5000 sessions, none loses; at most 16 KiB each",
        named: false,
        measure: many,
    },
    Row {
        name: "stuck",
        bound: "others lose nothing, memory is bounded",
        named: false,
        measure: stuck,
    },
    Row {
        name: "engines",
        bound: "two carry at least 1.8 x",
        named: false,
        measure: engines,
    },
    Row {
        name: "tfrc",
        bound: "0.5 to 2 of the flow's, and smoother",
        named: false,
        measure: distance::share,
    },
    Row {
        name: "lossy",
        bound: "hardly less at 200 ms",
        named: false,
        measure: distance::lossy,
    },
    Row {
        name: "soak",
        bound: "none; memory and descriptors do not grow",
        named: true,
        measure: soak::soak,
    },
];

/// Streams of 40 Mbit/s, each with a client.
const UNIQUE: Scene = Scene {
    sources: 48,
    groups: true,
    bits: 40e6,
    clients: 1,
    stuck: 0,
    timed: false,
};

/// Sources of an engine when there may be several: enough that datagrams gather.
const OF_AN_ENGINE: usize = 36;

fn sessions(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let kinds = contestants::all(options, &PAUSES, &[PeerKind::Rtp2httpd]);
    efficiency(
        &place,
        options,
        &UNIQUE,
        &kinds,
        "unique sessions of 40 Mbit/s",
    )
}

/// A stream of 8 Mbit/s with many clients.
fn shared(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let kinds = contestants::all(options, &PAUSES, &ALL_PEERS);
    let scene = Scene {
        sources: 1,
        bits: 8e6,
        clients: 240,
        ..UNIQUE
    };
    efficiency(
        &place,
        options,
        &scene,
        &kinds,
        "clients of one stream of 8 Mbit/s",
    )
}

/// Sessions a second of a processor, and what of it arrived.
fn efficiency(
    place: &Place,
    options: &Options,
    scene: &Scene,
    kinds: &[Kind],
    name: &str,
) -> Result<Answer, Error> {
    let rounds = play(place, options, scene, kinds)?;
    let of = |value: &dyn Fn(&Seen) -> f64| -> Vec<Vec<f64>> {
        rounds
            .iter()
            .map(|seen| seen.iter().map(value).collect())
            .collect()
    };
    let mut figures = vec![
        figure(
            kinds,
            name,
            "a CPU",
            of(&|seen| seen.bytes * 8.0 / scene.bits / seen.processor),
        ),
        figure(
            kinds,
            "of a CPU",
            "%",
            of(&|seen| 100.0 * seen.processor / seen.seconds),
        ),
    ];
    let arrived = |seen: &Seen| seen.arrived(scene);
    figures.push(figure(kinds, "arrived", "%", of(&arrived)));
    figures.push(figure(
        kinds,
        "offered",
        "%",
        of(&|seen| seen.offered(scene)),
    ));
    Ok(Answer {
        figures,
        drawn: Vec::new(),
    })
}

/// A contestant's turn: the delays that it adds, in the middle and at 99 %.
type Turn<'a> = Box<dyn FnMut() -> Result<[f64; 2], Error> + 'a>;

fn delay(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let kinds = contestants::all(options, &PAUSES, &[PeerKind::Rtp2httpd]);
    let scene = Scene {
        sources: UNIQUE.sources / 2,
        timed: true,
        ..UNIQUE
    };
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for kind in &kinds {
        let (place, scene) = (&place, &scene);
        turns.push(Box::new(move || {
            Ok(scene.play(place, options, kind)?.delay)
        }));
    }
    turns.push(Box::new(|| scene.direct(&place, options)));
    let rounds = take_turns(options.rounds, &mut turns)?;
    let (direct, through) = rounds.split_last().expect("there are contestants");
    let mut figures = Vec::new();
    for (which, name) in ["added delay, median", "added delay, 99 %"]
        .into_iter()
        .enumerate()
    {
        let added = through.iter().map(|delays| {
            let pairs = delays.iter().zip(direct);
            pairs
                .map(|(through, direct)| through[which] - direct[which])
                .collect()
        });
        figures.push(figure(&kinds, name, "µs", added.collect()));
    }
    for (which, name) in ["without a gateway, median", "without a gateway, 99 %"]
        .into_iter()
        .enumerate()
    {
        let values = direct.iter().map(|direct| direct[which]).collect();
        figures.push(Figure::new(name, "µs").with("direct", values));
    }
    Ok(Answer {
        figures,
        drawn: Vec::new(),
    })
}

fn many(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let unique = Scene {
        sources: 5000,
        groups: false,
        bits: 200e3,
        ..UNIQUE
    };
    let mut figures = sizes(&place, options, &unique, "sources of 200 kbit/s")?;
    let shared = Scene {
        sources: 1,
        clients: 5000,
        ..unique
    };
    figures.extend(sizes(
        &place,
        options,
        &shared,
        "clients of one source of 200 kbit/s",
    )?);
    Ok(Answer {
        figures,
        drawn: Vec::new(),
    })
}

/// What 5000 sessions need, and whether all of it arrives.
fn sizes(
    place: &Place,
    options: &Options,
    scene: &Scene,
    name: &str,
) -> Result<Vec<Figure>, Error> {
    let kinds = [Kind::Evener];
    let rounds = play(place, options, scene, &kinds)?;
    let sessions = (scene.sources * scene.clients) as f64;
    let of = |value: &dyn Fn(&Seen) -> f64| vec![rounds[0].iter().map(value).collect()];
    Ok(vec![
        figure(
            &kinds,
            &format!("{sessions:.0} {name}: of a CPU"),
            "%",
            of(&|seen| 100.0 * seen.processor / seen.seconds),
        ),
        figure(&kinds, "arrived", "%", of(&|seen| seen.arrived(scene))),
        figure(
            &kinds,
            "least that a client got",
            "% of what was sent",
            of(&|seen| 100.0 * seen.least),
        ),
        figure(
            &kinds,
            "memory",
            "KiB each",
            of(&|seen| (seen.memory[1] - seen.memory[0]) / 1024.0 / sessions),
        ),
        figure(
            &kinds,
            "sender behind, at most",
            "µs",
            of(&|seen| seen.behind),
        ),
    ])
}

fn stuck(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let kinds = [Kind::Evener];
    let scene = Scene {
        sources: 1,
        bits: 8e6,
        clients: 100,
        stuck: 1,
        ..UNIQUE
    };
    let rounds = play(&place, options, &scene, &kinds)?;
    let of = |value: &dyn Fn(&Seen) -> f64| vec![rounds[0].iter().map(value).collect()];
    Ok(Answer {
        figures: vec![
            figure(
                &kinds,
                "least that one of 99 others got",
                "% of what was sent",
                of(&|seen| 100.0 * seen.least),
            ),
            figure(
                &kinds,
                "memory",
                "MiB",
                of(&|seen| (seen.memory[1] - seen.memory[0]) / f64::from(1 << 20)),
            ),
        ],
        drawn: Vec::new(),
    })
}

/// Unique sessions with one engine and with two, each of which has as many.
fn engines(options: &Options) -> Result<Answer, Error> {
    let place = Place::new().map_err(Error::Gateway)?;
    let counts = [1, 2];
    let kinds = counts.map(Kind::Engines);
    let scenes = counts.map(|count| Scene {
        sources: count * OF_AN_ENGINE,
        ..UNIQUE
    });
    let mut turns: Vec<Box<dyn FnMut() -> Result<Seen, Error> + '_>> = Vec::new();
    for (kind, scene) in kinds.iter().zip(&scenes) {
        let place = &place;
        turns.push(Box::new(move || scene.play(place, options, kind)));
    }
    let rounds = take_turns(options.rounds, &mut turns)?;
    let of = |value: &dyn Fn(&Seen, &Scene, usize) -> f64| -> Vec<Vec<f64>> {
        let each = rounds.iter().zip(&scenes).zip(counts);
        each.map(|((seen, scene), count)| {
            seen.iter().map(|seen| value(seen, scene, count)).collect()
        })
        .collect()
    };
    let on_processor = |seen: &Seen, scene: &Scene| seen.bytes * 8.0 / scene.bits / seen.processor;
    let figures = vec![
        figure(
            &kinds,
            "unique sessions of 40 Mbit/s",
            "a CPU",
            of(&|seen, scene, _| on_processor(seen, scene)),
        ),
        figure(
            &kinds,
            "predicted for a CPU per engine",
            "sessions",
            of(&|seen, scene, count| count as f64 * on_processor(seen, scene)),
        ),
        figure(
            &kinds,
            "arrived",
            "%",
            of(&|seen, scene, _| seen.arrived(scene)),
        ),
        figure(
            &kinds,
            "offered",
            "%",
            of(&|seen, scene, _| seen.offered(scene)),
        ),
    ];
    Ok(Answer {
        figures,
        drawn: Vec::new(),
    })
}

/// Each contestant in each round.
fn play(
    place: &Place,
    options: &Options,
    scene: &Scene,
    kinds: &[Kind],
) -> Result<Vec<Vec<Seen>>, Error> {
    let mut turns: Vec<Box<dyn FnMut() -> Result<Seen, Error> + '_>> = Vec::new();
    for kind in kinds {
        turns.push(Box::new(move || scene.play(place, options, kind)));
    }
    take_turns(options.rounds, &mut turns)
}

fn figure(kinds: &[Kind], name: &str, unit: &'static str, values: Vec<Vec<f64>>) -> Figure {
    let pairs = kinds.iter().zip(values);
    pairs.fold(Figure::new(name, unit), |figure, (kind, values)| {
        figure.with(kind.name(), values)
    })
}
