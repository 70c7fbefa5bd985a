//! How pictures are coded: which are key pictures, and with which quantisation parameter.
//!
//! The size of a picture is used only from [`RATE_DELAY`] pictures later on, even if it is known before. So the stream
//! does not depend on how many pictures are in work. Numbers are exact or follow IEEE 754 alone (see `maths.rs`), so it does
//! not depend on the machine either.

mod average;
mod buffer;
mod complexity;
mod maths;
mod quality;
mod scene;
mod sizes;
mod summary;

pub use complexity::Complexity;
pub(crate) use maths::log2;
pub use summary::Summary;

use std::collections::VecDeque;

use crate::config::{Config, Rate, Tools, Vbv};
use crate::decide::Budget;
use crate::encoder::RATE_DELAY;
use crate::energy::STEP;
use crate::picture::Coding;
use crate::syntax::{
    BufferingPeriod, Deblocking, Parameters, PictureTiming, SliceHeader, SliceKind,
};

use average::Average;
use buffer::Buffer;
use complexity::Recent;
use sizes::Model;

/// By how much the parameter of a key picture is lower than that of others, where they have a constant one.
const KEY_QP: f64 = 3.0;
/// By how much it is lower elsewhere: a step of quantisation that is smaller by 1.4.
const KEY_FINER: f64 = 2.9;
/// By how much the parameter may change from a P picture to the next, unless a buffer demands more.
const MOST_CHANGE: f64 = 4.0;
/// What remains of the weight of an older parameter in the mean of those before a key picture.
const FADING: f64 = 0.95;
/// The cost of the P pictures to come, as a part of the intra cost of the first picture.
const P_COST: f64 = 0.35;
/// The coarsest parameter.
const COARSEST: f64 = 51.0;
/// Pictures per second where the stream does not say.
const USUAL_RATE: f64 = 25.0;

/// Decides it, picture by picture.
#[derive(Clone, Debug)]
pub struct Rates {
    rate: Rate,
    keyint: u64,
    /// Pictures that are key pictures whatever they show.
    keys: Vec<u64>,
    /// Seconds from a picture to the next.
    duration: f64,
    recent: Recent,
    /// The sum of parameters of P pictures, and their weight.
    usual: (f64, f64),
    /// The parameter of the last P picture.
    last: Option<f64>,
    average: Option<Average>,
    buffer: Option<Buffer>,
    models: [Model; 2],
    planned: VecDeque<Planned>,
    summary: Summary,
}

/// A picture whose size is not used yet.
#[derive(Clone, Copy, Debug)]
struct Planned {
    number: u64,
    key: bool,
    cost: f64,
    qp: f64,
    compensation: f64,
    expected: f64,
    bits: Option<u64>,
}

impl Rates {
    /// As a configuration says, for the pictures of a stream.
    pub fn new(config: &Config, parameters: &Parameters) -> Rates {
        let timing = parameters.sequence.vui.timing;
        let duration = timing.map_or(1.0 / USUAL_RATE, |timing| {
            2.0 * f64::from(timing.units) / f64::from(timing.scale)
        });
        // What the stream says of its buffer is rounded.
        let said = parameters.sequence.vui.hrd.map(|hrd| Vbv {
            maxrate: hrd.bit_rate,
            bufsize: hrd.buffer,
        });
        let vbv = said.or(config.vbv);
        Rates {
            rate: config.rate,
            keyint: u64::from(config.keyint),
            keys: config.keys.clone(),
            duration,
            recent: Recent::default(),
            usual: (0.0, 0.0),
            last: None,
            average: match config.rate {
                Rate::Bitrate(bitrate) => Some(Average::new(bitrate)),
                Rate::Qp(_) | Rate::Crf(_) => None,
            },
            buffer: vbv.map(|vbv| Buffer::new(vbv, duration)),
            models: [Model::P, Model::KEY],
            planned: VecDeque::new(),
            summary: Summary::new(config, duration),
        }
    }

    /// Whether [`Rates::plan`] looks at costs.
    pub fn uses_costs(&self, tools: &Tools) -> bool {
        tools.scene_cut || !matches!(self.rate, Rate::Qp(_))
    }

    /// How picture `number` is coded, after the one `before` it.
    pub fn plan(
        &mut self,
        number: u64,
        before: Option<&Coding>,
        costs: &Complexity,
        tools: &Tools,
    ) -> Coding {
        while let Some(first) = self.planned.front()
            && first.number + RATE_DELAY <= number
        {
            let bits = first.bits.expect("a picture is written by then");
            let first = *first;
            self.planned.pop_front();
            self.learn(&first, bits);
        }
        let since_key = match before {
            Some(before) if before.since_key + 1 < self.keyint => before.since_key + 1,
            _ => 0,
        };
        let cut = before.is_none()
            || self.keys.binary_search(&number).is_ok()
            || tools.scene_cut && since_key > 0 && scene::begins(costs, since_key, self.keyint);
        let since_key = if cut { 0 } else { since_key };
        if cut {
            self.recent = Recent::default();
        } else {
            let macroblocks = costs.macroblocks.max(1) as f64;
            self.recent.add(costs.inter as f64 / macroblocks);
        }
        let (qp, budget) = self.qp(number, since_key == 0, costs);
        let header = match since_key {
            0 => SliceHeader {
                kind: SliceKind::I,
                // Key pictures that follow one another must differ in it.
                idr: Some(before.map_or(0, |b| b.keys.wrapping_add(1) as u16)),
                ..SliceHeader::default()
            },
            _ => SliceHeader {
                kind: SliceKind::P,
                idr: None,
                frame_num: since_key as u32,
                references: u64::from(tools.references).min(since_key) as u8,
                ..SliceHeader::default()
            },
        };
        Coding {
            header: SliceHeader {
                qp: qp.round() as u8,
                deblocking: match tools.deblocking {
                    true => Deblocking::default(),
                    false => Deblocking::Off,
                },
                ..header
            },
            budget,
            fine: (qp * f64::from(STEP)).round() as i32,
            since_key,
            since_other: before.map_or(0, |b| b.since_key + 1),
            keys: before.map_or(0, |b| b.keys + u64::from(since_key == 0)),
        }
    }

    /// The parameter of a picture, and the bits that it may have.
    fn qp(&mut self, number: u64, key: bool, costs: &Complexity) -> (f64, Option<Budget>) {
        let whole = match key {
            true => costs.intra,
            false => costs.inter,
        };
        let cost = (whole as f64).max(1.0);
        let compensation = quality::compensation(&self.recent);
        let mut qp = match self.rate {
            Rate::Qp(qp) if key => f64::from(qp) - KEY_QP,
            Rate::Qp(qp) => f64::from(qp),
            Rate::Crf(crf) if key => self.key_qp().unwrap_or(f64::from(crf) - KEY_FINER),
            Rate::Crf(crf) => self.near_last(f64::from(crf) + compensation),
            Rate::Bitrate(_) => self.average_qp(number, key, cost, compensation),
        };
        let model = self.models[usize::from(key)];
        let mut budget = None;
        if let Some(mut buffer) = self.buffer {
            for planned in &self.planned {
                buffer.expect(planned.expected);
            }
            qp = qp.max(model.qp(cost, buffer.most(key)));
            budget = Some(Budget {
                bits: buffer.limit() as u64,
                cost: whole,
            });
        }
        let qp = qp.clamp(0.0, COARSEST);
        if !key {
            let (sum, weight) = self.usual;
            self.usual = (FADING * sum + qp, FADING * weight + 1.0);
            self.last = Some(qp);
        }
        self.planned.push_back(Planned {
            number,
            key,
            cost,
            qp,
            compensation,
            expected: model.bits(cost, qp),
            bits: None,
        });
        (qp, budget)
    }

    /// The parameter of a key picture after P pictures.
    fn key_qp(&self) -> Option<f64> {
        let (sum, weight) = self.usual;
        (weight > 0.0).then(|| sum / weight - KEY_FINER)
    }

    fn near_last(&self, qp: f64) -> f64 {
        let last = self.last.unwrap_or(qp);
        qp.clamp(last - MOST_CHANGE, last + MOST_CHANGE)
    }

    /// The parameter of a picture where the stream has a bit rate on average.
    fn average_qp(&self, number: u64, key: bool, cost: f64, compensation: f64) -> f64 {
        let average = self.average.expect("there is a bit rate");
        let expected: f64 = self.planned.iter().map(|planned| planned.expected).sum();
        let bits = self.summary.bits as f64 + expected;
        let target = average.target(bits, number as f64 * self.duration, self.duration);
        let [p, _] = &self.models;
        match (key, average.factor(p, target)) {
            (true, _) => {
                let first = || p.qp(P_COST * cost, target) - KEY_FINER;
                self.key_qp().unwrap_or_else(first)
            }
            (false, Some(factor)) => self.near_last(factor + compensation),
            (false, None) => p.qp(cost, target),
        }
    }

    /// Picture `number` has come out at so many bits.
    pub fn written(&mut self, number: u64, bits: u64) {
        let mut planned = self.planned.iter_mut();
        if let Some(planned) = planned.find(|planned| planned.number == number) {
            planned.bits = Some(bits);
        }
    }

    /// When picture `number` leaves the decoder's buffer, if there is one, after all before it are written.
    pub fn timing(
        &self,
        number: u64,
        coding: &Coding,
    ) -> Option<(Option<BufferingPeriod>, PictureTiming)> {
        let mut buffer = self.buffer?;
        for planned in &self.planned {
            if planned.number < number {
                let bits = planned.bits.expect("those before are written");
                buffer.take(bits as f64);
            }
        }
        let (delay, offset) = buffer.delays();
        let period = (coding.since_key == 0).then_some(BufferingPeriod { delay, offset });
        let since = match coding.since_key {
            0 => coding.since_other,
            since => since,
        };
        // A picture lasts two ticks.
        let timing = PictureTiming {
            removal: (2 * since) as u32,
            output: 0,
        };
        Some((period, timing))
    }

    fn learn(&mut self, picture: &Planned, bits: u64) {
        let in_time = match &mut self.buffer {
            Some(buffer) => buffer.take(bits as f64),
            None => true,
        };
        self.summary.add(bits, in_time, picture.qp >= COARSEST);
        let (cost, bits) = (picture.cost, bits as f64);
        self.models[usize::from(picture.key)].learn(cost, picture.qp, bits);
        if let Some(average) = &mut self.average
            && !picture.key
        {
            average.learn(&self.models[0], bits, picture.qp, picture.compensation);
        }
    }

    /// What has come out, after all pictures are written.
    pub fn summary(&self) -> Summary {
        let mut rest = self.clone();
        while let Some(picture) = rest.planned.pop_front() {
            if let Some(bits) = picture.bits {
                rest.learn(&picture, bits);
            }
        }
        rest.summary
    }
}
