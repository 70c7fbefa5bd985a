//! Medians of interleaved calls.
use std::time::Instant;

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Medians of nanoseconds a call, interleaved. A sample is as many calls as take `least_ns`.
pub fn times(least_ns: f64, rounds: usize, works: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut all = vec![Vec::new(); works.len()];
    let calls = works
        .iter_mut()
        .map(|work| {
            (0..20).for_each(|_| work());
            let start = Instant::now();
            work();
            (least_ns / start.elapsed().as_nanos().max(1) as f64).ceil() as u32
        })
        .collect::<Vec<_>>();
    for _ in 0..rounds {
        for ((work, times), calls) in works.iter_mut().zip(&mut all).zip(&calls) {
            let start = Instant::now();
            (0..*calls).for_each(|_| work());
            times.push(start.elapsed().as_nanos() as f64 / f64::from(*calls));
        }
    }
    all.into_iter().map(median).collect()
}
