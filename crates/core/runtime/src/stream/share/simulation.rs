//! The split between cores and a device in virtual time, compared with the best static split in hindsight.
//!
//! Units leave in order, and the number of units in progress or waiting is limited by the stream's buffers. A static
//! split assigns each unit to cores or device in advance, with a fixed share of every run of units for the device.
//! The best share is found by trying all.

use std::time::Duration;

use super::{Element, batch, takes};
use crate::stream::lane::next_batch;

/// Units of a stream, and the most in work or waiting.
const UNITS: usize = 4000;
const WINDOW: usize = 48;
const CORES: usize = 2;
const LANES: usize = 3;
/// Milliseconds that a device takes to answer.
const LATENCY: f64 = 0.05;
const MOST: usize = 16;

/// Milliseconds that a unit takes on a core and on the device, by when it begins.
struct Load {
    name: &'static str,
    core: fn(f64) -> f64,
    device: fn(f64) -> f64,
}

const LOADS: [Load; 5] = [
    Load {
        name: "a device as fast as a core",
        core: |_| 2.0,
        device: |_| 2.0,
    },
    Load {
        name: "a device of ten cores",
        core: |_| 2.0,
        device: |_| 0.2,
    },
    Load {
        name: "another process takes the device",
        core: |_| 2.0,
        device: |at| if at < 400.0 { 0.4 } else { 2.0 },
    },
    Load {
        name: "other processes take cores by turns",
        core: |at| if at % 600.0 < 300.0 { 1.0 } else { 5.0 },
        device: |_| 1.0,
    },
    Load {
        name: "scenes that cores find hard",
        core: |at| if at % 400.0 < 200.0 { 1.0 } else { 4.0 },
        device: |at| if at % 400.0 < 200.0 { 2.0 } else { 0.8 },
    },
];

/// What runs when, in milliseconds.
struct World<'a> {
    load: &'a Load,
    /// When each element is free: cores, then lanes.
    free: Vec<f64>,
    /// When the device's kernels are done.
    device: f64,
    /// When each unit was done, in order of their numbers; and when all up to it were.
    done: Vec<f64>,
    left: Vec<f64>,
}

impl World<'_> {
    fn new(load: &Load) -> World<'_> {
        World {
            load,
            free: vec![0.0; CORES + LANES],
            device: 0.0,
            done: Vec::new(),
            left: Vec::new(),
        }
    }

    /// When a unit may begin at the earliest, because there is a buffer for it.
    fn room(&self, unit: usize) -> f64 {
        unit.checked_sub(WINDOW).map_or(0.0, |unit| self.left[unit])
    }

    /// Runs units on an element from `at` on; when they are done.
    fn run(&mut self, element: usize, at: f64, units: usize) -> f64 {
        let end = match element < CORES {
            true => at + (self.load.core)(at),
            false => {
                let begin = self.device.max(at);
                self.device = begin + units as f64 * (self.load.device)(begin);
                self.device + LATENCY
            }
        };
        self.free[element] = end;
        for _ in 0..units {
            self.done.push(end);
            let before = self.left.last().copied().unwrap_or(0.0);
            self.left.push(end.max(before));
        }
        end
    }

    fn took(&self) -> f64 {
        self.left.last().copied().unwrap_or(0.0)
    }

    /// The element of a range that is free first.
    fn first(&self, range: std::ops::Range<usize>) -> usize {
        let free = |index: &usize| self.free[*index];
        let first = range.min_by(|a, b| free(a).total_cmp(&free(b)));
        first.unwrap_or_default()
    }
}

/// Milliseconds where the first element that is free takes the next units, as a stream does.
fn by_speed(load: &Load) -> f64 {
    let mut world = World::new(load);
    let elements: Vec<Element> = (0..CORES + LANES).map(|_| Element::default()).collect();
    let mut wanted = [1; CORES + LANES];
    let mut resting = [false; CORES + LANES];
    while world.done.len() < UNITS {
        let taken = world.done.len();
        let left = (UNITS - taken) as u64;
        let own = (0..CORES + LANES)
            .filter(|&index| !resting[index])
            .min_by(|&a, &b| world.free[a].total_cmp(&world.free[b]))
            .unwrap();
        if !takes(&elements, own, left) {
            resting[own] = true;
            continue;
        }
        let units = match own < CORES {
            true => 1,
            // The window may end a batch early, as buffers do.
            false => wanted[own]
                .min(batch(&elements, own, left))
                .min(left as usize)
                .min(8),
        };
        let at = world.free[own].max(world.room(taken));
        let end = world.run(own, at, units);
        let took = Duration::from_secs_f64((end - at) * 1e-3);
        elements[own].begin(Duration::ZERO, units as u32);
        elements[own].end(Some(took));
        if own >= CORES {
            wanted[own] = next_batch(wanted[own], units, took, MOST);
        }
    }
    world.took()
}

/// Milliseconds where the device has a fixed share.
fn fixed(load: &Load, share: f64) -> f64 {
    let mut world = World::new(load);
    let mut given = 0.0;
    for unit in 0..UNITS {
        let to_device = (unit + 1) as f64 * share - given >= 0.5;
        given += f64::from(to_device);
        let own = match to_device {
            true => world.first(CORES..CORES + LANES),
            false => world.first(0..CORES),
        };
        let at = world.free[own].max(world.room(unit));
        world.run(own, at, 1);
    }
    world.took()
}

/// How much faster the split by speed is than the best fixed one.
fn gain(load: &Load) -> f64 {
    let shares = (0..=100).map(|percent| f64::from(percent) / 100.0);
    let best = shares
        .map(|share| fixed(load, share))
        .fold(f64::INFINITY, f64::min);
    let own = by_speed(load);
    println!(
        "{}: {:.3} of the best fixed split's speed",
        load.name,
        best / own
    );
    best / own
}

#[test]
fn the_split_follows_a_load_that_changes() {
    for load in &LOADS[2..] {
        assert!(gain(load) >= 1.1, "{}", load.name);
    }
}

#[test]
fn the_split_is_nearly_the_best_where_nothing_changes() {
    for load in &LOADS[..2] {
        assert!(gain(load) >= 0.97, "{}", load.name);
    }
}
