//! Ordered streams beside pariter, plmap, channels and threads, and rayon's `par_bridge`, which has no order.
use std::hint::black_box;
use std::time::Instant;

use evener::prelude::*;
use rayon::prelude::*;

use crate::timing::median;
use crate::work::{steps, work};

pub fn table() {
    println!(
        "| items | ns each | plain, ms | evener, speed | pariter | plmap | channels | rayon par_bridge | evener, foretold |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (len, ns) in [(200_000, 200.0), (10_000, 1e4), (200, 1e6)] {
        row(len, ns, 1.0);
    }
    println!();
    println!("Two stages, of which the second takes nine times as long:");
    println!();
    row(10_000, 1e4, 0.1);
}

/// The first stage takes this share of the time.
fn row(len: u64, ns: f64, first: f64) {
    let a = black_box(steps(ns * first));
    let b = black_box(if first < 1.0 {
        steps(ns * (1.0 - first))
    } else {
        0
    });
    let one = move |x: u64| work(x, a);
    let two = move |x: u64| work(x, b);
    let mut works: Vec<Box<dyn FnMut() -> u64>> = vec![
        Box::new(|| (0..len).map(one).map(two).fold(0, u64::wrapping_add)),
        Box::new(|| {
            let mut sum = 0_u64;
            (0..len)
                .even()
                .map(one)
                .map(two)
                .for_each(|x| sum = sum.wrapping_add(x));
            sum
        }),
        Box::new(|| {
            use pariter::IteratorExt;
            (0..len)
                .parallel_map(move |x| two(one(x)))
                .fold(0, u64::wrapping_add)
        }),
        Box::new(|| {
            use plmap::PipelineMap;
            (0..len)
                .plmap(threads(), move |x: u64| two(one(x)))
                .fold(0, u64::wrapping_add)
        }),
        Box::new(|| channels(len, move |x| two(one(x)))),
        Box::new(|| {
            (0..len)
                .par_bridge()
                .map(|x| two(one(x)))
                .reduce(|| 0, u64::wrapping_add)
        }),
    ];
    let mut all = vec![Vec::new(); works.len()];
    for _ in 0..5 {
        let mut sums = Vec::new();
        for (work, times) in works.iter_mut().zip(&mut all) {
            let start = Instant::now();
            sums.push(work());
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        assert!(sums.iter().all(|sum| *sum == sums[0]));
    }
    let t: Vec<f64> = all.into_iter().map(median).collect();
    let speeds: Vec<String> = t[1..].iter().map(|x| format!("{:.2}", t[0] / x)).collect();
    let foretold = median(
        (0..5)
            .map(|_| {
                let mut recording = evener::Recording::new();
                let stream = (0..len).even().map(one).map(two);
                stream.record(&mut recording, |x| _ = black_box(x));
                recording.seconds(1) / recording.seconds(threads())
            })
            .collect(),
    );
    println!(
        "| {len} | {ns} | {:.1} | {} | {foretold:.2} |",
        t[0],
        speeds.join(" | ")
    );
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A thread that reads, workers, and this thread, which puts results in order; two bounded channels between them.
fn channels(len: u64, f: impl Fn(u64) -> u64 + Sync) -> u64 {
    let (send, receive) = crossbeam_channel::bounded::<(u64, u64)>(64);
    let (results, ordered) = crossbeam_channel::bounded::<(u64, u64)>(64);
    std::thread::scope(|s| {
        s.spawn(move || (0..len).for_each(|x| send.send((x, x)).unwrap()));
        for _ in 0..threads() {
            let (receive, results, f) = (receive.clone(), results.clone(), &f);
            s.spawn(move || {
                receive
                    .iter()
                    .for_each(|(i, x)| results.send((i, f(x))).unwrap())
            });
        }
        drop(results);
        let (mut waiting, mut next, mut sum) = (std::collections::BTreeMap::new(), 0, 0_u64);
        for (i, x) in ordered {
            waiting.insert(i, x);
            while let Some(x) = waiting.remove(&next) {
                sum = sum.wrapping_add(x);
                next += 1;
            }
        }
        sum
    })
}
