//! Loops of 1 to 10⁷ elements of 1 ns to 100 µs beside the plain loop and rayon with the best of several `with_min_len`.
use std::hint::black_box;
use std::time::{Duration, Instant};

use evener::prelude::*;
use rayon::prelude::*;

use crate::timing::{median, times};
use crate::work::{steps, work};

pub fn table() {
    println!(
        "| loop | elements | ns each | plain, µs | evener, speed | rayon as it comes | rayon, best | evener against the better |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for ns in [1.0, 30.0, 1e3, 1e5] {
        let steps = steps(ns);
        for exponent in 0..8 {
            let len = 10_usize.pow(exponent);
            if len as f64 * ns > 3e7 {
                break;
            }
            row("for_each", len, ns, steps);
            row("collect", len, ns, steps);
            row("sum", len, ns, steps);
        }
    }
}

/// Loops of 10,000 elements that begin after a pause, in which the threads fall asleep.
pub fn pauses() {
    println!("| loop, µs | pause, ms | evener, speed | rayon, speed |");
    println!("| --- | --- | --- | --- |");
    let data: Vec<u64> = (0..10_000).collect();
    for ns in [30.0, 100.0, 400.0] {
        let steps = black_box(steps(ns));
        for pause in [0, 1, 5, 20] {
            let sum = |x: &u64| work(*x, steps) >> 32;
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..100 {
                for (way, times) in times.iter_mut().enumerate() {
                    std::thread::sleep(Duration::from_millis(pause));
                    let start = Instant::now();
                    black_box(match way {
                        0 => data.iter().map(sum).sum::<u64>(),
                        1 => data.par().map(sum).sum(),
                        _ => data.par_iter().map(sum).sum(),
                    });
                    times.push(start.elapsed().as_nanos() as f64);
                }
            }
            let [plain, evener, rayon] = times.map(median);
            println!(
                "| {:.0} | {pause} | {:.2} | {:.2} |",
                plain / 1e3,
                plain / evener,
                plain / rayon
            );
        }
    }
}

fn row(name: &str, len: usize, ns: f64, steps: u32) {
    let steps = black_box(steps);
    let mut data: Vec<u64> = (0..len as u64).collect();
    let data = std::cell::RefCell::new(&mut data);
    let f = |x: u64| work(x, steps);
    let mut works: Vec<Box<dyn FnMut()>> = Vec::new();
    match name {
        "for_each" => {
            works.push(Box::new(|| {
                data.borrow_mut().iter_mut().for_each(|x| *x = f(*x))
            }));
            works.push(Box::new(|| {
                data.borrow_mut().par_mut().for_each(|x| *x = f(*x))
            }));
            for min in [1, 32, 1024, len.div_ceil(2), len] {
                let data = &data;
                works.push(Box::new(move || {
                    data.borrow_mut()
                        .par_iter_mut()
                        .with_min_len(min)
                        .for_each(|x| *x = f(*x));
                }));
            }
        }
        "collect" => {
            works.push(Box::new(|| {
                drop(black_box(
                    data.borrow().iter().map(|x| f(*x)).collect::<Vec<_>>(),
                ))
            }));
            works.push(Box::new(|| {
                drop(black_box(
                    data.borrow().par().map(|x| f(*x)).collect::<Vec<_>>(),
                ))
            }));
            for min in [1, 32, 1024, len.div_ceil(2), len] {
                let data = &data;
                works.push(Box::new(move || {
                    let data = data.borrow();
                    drop(black_box(
                        data.par_iter()
                            .with_min_len(min)
                            .map(|x| f(*x))
                            .collect::<Vec<_>>(),
                    ));
                }));
            }
        }
        _ => {
            let sum = |x: &u64| f(*x) >> 32;
            works.push(Box::new(move || {
                _ = black_box(data.borrow().iter().map(sum).sum::<u64>())
            }));
            let mut data: Vec<u64> = (0..len as u64).collect();
            let data: &'static mut Vec<u64> = Box::leak(Box::new(std::mem::take(&mut data)));
            let data = &*data;
            works.pop();
            works.push(Box::new(move || {
                _ = black_box(data.iter().map(sum).sum::<u64>())
            }));
            works.push(Box::new(move || {
                _ = black_box(data.par().map(sum).sum::<u64>())
            }));
            for min in [1, 32, 1024, len.div_ceil(2), len] {
                works.push(Box::new(move || {
                    _ = black_box(data.par_iter().with_min_len(min).map(sum).sum::<u64>());
                }));
            }
        }
    }
    let mut works: Vec<&mut dyn FnMut()> = works
        .iter_mut()
        .map(|w| &mut **w as &mut dyn FnMut())
        .collect();
    let t = times(1e6, 9, &mut works);
    let best = t[2..].iter().copied().fold(f64::MAX, f64::min);
    println!(
        "| {name} | {len} | {ns} | {:.3} | {:.2} | {:.2} | {:.2} | {:.2}{} |",
        t[0] / 1e3,
        t[0] / t[1],
        t[0] / t[2],
        t[0] / best,
        best.min(t[0]) / t[1],
        if len as f64 * ns < 1e3 {
            format!(" ({:+.0} ns)", t[1] - best.min(t[0]))
        } else {
            String::new()
        }
    );
}
