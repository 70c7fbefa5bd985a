//! Loops whose elements do not cost the same, and loops that are new.
use std::hint::black_box;
use std::time::Instant;

use evener::prelude::*;
use rayon::prelude::*;

use crate::timing::median;
use crate::work::{steps, work};

const LEN: usize = 10_000;
const ROUNDS: usize = 11;
/// Calls of a round.
const CALLS: usize = 20;

/// A way to run one loop: over so many elements, of which the i-th takes so many steps.
type Way<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) -> u32 + Sync));

fn with_rayon(min: usize, len: usize, cost: &(dyn Fn(usize) -> u32 + Sync)) {
    black_box(
        (0..len)
            .into_par_iter()
            .with_min_len(min)
            .map(|i| work(i as u64, cost(i)) >> 32)
            .sum::<u64>(),
    );
}

fn plainly(len: usize, cost: &(dyn Fn(usize) -> u32 + Sync)) {
    black_box((0..len).map(|i| work(i as u64, cost(i)) >> 32).sum::<u64>());
}

/// A place of its own for each `N`, of which nothing is known before its first call.
fn with_evener<const N: usize>(len: usize, cost: &(dyn Fn(usize) -> u32 + Sync)) {
    black_box(
        (0..len)
            .par()
            .map(|i| work((i ^ N) as u64, cost(i)) >> 32)
            .sum::<u64>(),
    );
}

pub fn table() {
    let (cheap, dear) = (black_box(steps(30.0)), black_box(steps(3000.0)));
    println!("| 10,000 elements | plain, ms | evener, speed | rayon as it comes | rayon, best |");
    println!("| --- | --- | --- | --- | --- |");
    row(
        "all of 30 ns, from the 11th of 20 calls on of 3 µs",
        |call| move |_| if call < CALLS / 2 { cheap } else { dear },
    );
    row("1 % of 3 µs, anywhere", |_| {
        move |i| if i * 7919 % 100 == 0 { dear } else { cheap }
    });
    row("the first 1 % of 3 µs", |_| {
        move |i| if i < LEN / 100 { dear } else { cheap }
    });
    row("the last 1 % of 3 µs", |_| {
        move |i| if i >= LEN - LEN / 100 { dear } else { cheap }
    });
    println!("\n| the first 20 calls, elements of | 30 ns | 1 µs |");
    println!("| --- | --- | --- |");
    first::<10>();
    first::<100>();
    first::<1000>();
    first::<10_000>();
}

fn row<C: Fn(usize) -> u32 + Sync>(name: &str, cost: impl Fn(usize) -> C) {
    let rayon: Vec<_> = [1, 32, 1024, LEN / 2, LEN]
        .map(|min| move |len, cost: &(dyn Fn(usize) -> u32 + Sync)| with_rayon(min, len, cost))
        .into();
    let mut ways: Vec<Way> = vec![&plainly, &with_evener::<0>];
    ways.extend(rayon.iter().map(|way| way as Way));
    let times = rounds(&ways, |way| {
        (0..CALLS).for_each(|call| way(LEN, &cost(call)));
    });
    let best = times[2..].iter().copied().fold(f64::MAX, f64::min);
    println!(
        "| {name} | {:.1} | {:.2} | {:.2} | {:.2} |",
        times[0] / 1e6 / CALLS as f64,
        times[0] / times[1],
        times[0] / times[2],
        times[0] / best
    );
}

fn rounds(ways: &[Way], run: impl Fn(Way)) -> Vec<f64> {
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            run(*way);
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    times.into_iter().map(median).collect()
}

/// The speed of the first calls of a place, as a part of the better of the plain loop and rayon with the best `with_min_len`.
fn first<const LEN: usize>() {
    print!("| {LEN} elements |");
    for ns in [30.0, 1000.0] {
        let steps = black_box(steps(ns));
        let cost = move |_| steps;
        let mut ways: Vec<Way> = vec![&plainly];
        let rayon = [1, 32, LEN.div_ceil(2)]
            .map(|min| move |len, cost: &(dyn Fn(usize) -> u32 + Sync)| with_rayon(min, len, cost));
        ways.extend(rayon.iter().map(|way| way as Way));
        let calls = |way: Way| (0..CALLS).for_each(|_| way(LEN, &cost));
        let best = rounds(&ways, calls).into_iter().fold(f64::MAX, f64::min);
        // Places that are new. Each is new only once.
        let new: [Way; 5] = match ns {
            30.0 => [
                &with_evener::<1>,
                &with_evener::<2>,
                &with_evener::<3>,
                &with_evener::<4>,
                &with_evener::<5>,
            ],
            _ => [
                &with_evener::<6>,
                &with_evener::<7>,
                &with_evener::<8>,
                &with_evener::<9>,
                &with_evener::<10>,
            ],
        };
        let times = new.map(|way| {
            let start = Instant::now();
            calls(way);
            start.elapsed().as_nanos() as f64
        });
        print!(" {:.2} |", best / median(times.to_vec()));
    }
    println!();
}
