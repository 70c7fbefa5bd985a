//! A program that used rayon: its lines as they were, where they had to change, are in comments.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

// use rayon::prelude::*;
use evener::prelude::*;

const TEXT: &str = "the quick brown fox\njumps over the lazy dog\n\nthe end\n";

fn count_words(text: &str) -> HashMap<&str, usize> {
    text.par_lines()
        .flat_map(str::split_whitespace) // .flat_map_iter(str::split_whitespace)
        .fold(HashMap::new, |mut counts, word| {
            *counts.entry(word).or_default() += 1;
            counts
        })
        // .reduce(HashMap::new, |mut all, counts| {
        .reduce(|mut all: HashMap<_, _>, counts| {
            for (word, count) in counts {
                *all.entry(word).or_default() += count;
            }
            all
        })
        .unwrap_or_default()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    // let (sum, squares) = values.par_iter().map(|x| (*x, x * x)).reduce(|| (0.0, 0.0), …);
    let (sum, squares) = values
        .par()
        .map(|x| (*x, x * x))
        .reduce(|a, b| (a.0 + b.0, a.1 + b.1))
        .unwrap_or_default();
    let mean = sum / values.len() as f64;
    (mean, (squares / values.len() as f64 - mean * mean).sqrt())
}

fn smooth(image: &mut [u32], width: usize) {
    let source = image.to_vec();
    image
        .par_chunks_exact_mut(width)
        .zip(source.par_chunks_exact(width))
        .for_each_init(Vec::new, |sums, (row, from)| {
            sums.clear();
            sums.extend(from.windows(3).map(|w| w.iter().sum::<u32>() / 3));
            row[1..width - 1].copy_from_slice(sums);
        });
}

fn primes(below: u32) -> (Vec<u32>, Vec<u32>) {
    // (2..below).into_par_iter()
    (2..below)
        .into_par()
        .partition(|n| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

/// Moves each centre to the mean of the points that are nearest to it, some times.
fn clusters(points: &[f64], centres: &mut [f64], rounds: usize) {
    for _ in 0..rounds {
        // let nearest: Vec<usize> = points.par_iter().map(…).collect();
        let nearest: Vec<usize> = points
            .par()
            .map(|p| {
                let distance = |i: &usize| (centres[*i] - p).abs();
                let all = 0..centres.len();
                all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
                    .unwrap()
            })
            .collect();
        // centres.par_iter_mut().enumerate().for_each(…);
        centres.par_mut().enumerate().for_each(|(i, centre)| {
            let mine = points.iter().zip(&nearest).filter(|pair| *pair.1 == i);
            let (sum, count) = mine.fold((0.0, 0), |all, pair| (all.0 + pair.0, all.1 + 1));
            *centre = sum / f64::from(count.max(1));
        });
    }
}

#[test]
fn text() {
    let counts = count_words(TEXT);
    assert_eq!((counts["the"], counts.len()), (3, 9));
    // let longest = counts.par_iter().max_by_key(…)
    let longest = counts.par().max_by_key(|(word, _)| (word.len(), **word));
    assert_eq!(longest, Some((&"quick", &1)));
    let mut words: Vec<_> = counts.into_par().collect();
    words.par_sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    assert_eq!(words[..2], [("the", 3), ("brown", 1)]);
    let initials: String = words
        .par()
        .filter_map(|word| word.0.chars().next())
        .collect();
    assert_eq!(initials, "tbdefjloq");
    let upper: HashSet<String> = words.par().map(|word| word.0.to_uppercase()).collect();
    assert!(upper.contains("FOX"));
}

#[test]
fn numbers() {
    let values: Vec<f64> = (0..=1000).into_par().map(f64::from).collect();
    let (mean, deviation) = mean_and_deviation(&values);
    assert!((mean - 500.0).abs() < 1e-9 && (deviation - 288.963).abs() < 1e-3);
    let (primes, rest) = primes(1000);
    assert_eq!((primes.len(), rest.len()), (168, 830));
    // primes.par_windows(2)…
    let twins = primes.par_windows(2).filter(|pair| pair[1] - pair[0] == 2);
    assert_eq!(twins.count(), 35);
    assert_eq!(primes.par().position_any(|p| *p == 11), Some(4));
    assert_eq!(primes.par().find_first(|p| **p > 500), Some(&503));
    let from_the_end: Vec<u32> = primes.par().rev().step_by(50).copied().collect();
    assert_eq!(from_the_end, [997, 647, 337, 61]);
    // let sum = primes.par_iter().map(…).try_reduce(|| 0, |a, b| a.checked_add(b));
    let checked = primes
        .par()
        .map(|p| u16::try_from(*p).map_err(|_| "too large"));
    let sum = checked.try_reduce(|a, b| a.checked_add(b).ok_or("too large"));
    assert_eq!(sum, Err("too large"));
    let (halves, squares): (Vec<u32>, BTreeMap<u32, u64>) = primes
        .par()
        .map(|p| (p / 2, (*p, u64::from(*p).pow(2))))
        .unzip();
    assert_eq!((halves[1], squares[&997]), (1, 994_009));
    let mut points = [0.5, 9.0, 1.0, 11.0, 1.5, 10.0].to_vec();
    // points.par_extend([5.0_f64; 0]);
    points.extend(vec![5.0_f64; 0].into_par().collect::<Vec<_>>());
    let mut centres = [0.0, 5.0];
    clusters(&points, &mut centres, 3);
    assert_eq!(centres, [1.0, 10.0]);
}

#[test]
fn pixels_and_tasks() {
    let mut image: Vec<u32> = vec![0, 3, 6, 9, 9, 9, 9, 0];
    smooth(&mut image, 4);
    assert_eq!(image, [0, 3, 6, 9, 9, 9, 6, 0]);
    // let (a, b) = rayon::join(…);
    let (left, right) = image.split_at_mut(4);
    let (a, b) = evener::join(|| left.par().max(), || right.par().min());
    assert_eq!((a, b), (Some(&9), Some(&0)));
    let done = AtomicUsize::new(0);
    // rayon::scope(|s| …
    evener::scope(|s| {
        for row in image.chunks_mut(4) {
            let done = &done;
            s.spawn(move |_| {
                row.par_mut().chain(&mut [7]).for_each(|x| *x += 1);
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((done.into_inner(), image[7]), (2, 1));
    let seen = Mutex::new(Vec::new());
    // lines.par_bridge().for_each(|line| …);
    let lines = TEXT.lines().even().map(|line| {
        seen.lock().unwrap().push(line);
    });
    lines.unordered().for_each(|()| ());
    assert_eq!(seen.into_inner().unwrap().len(), 4);
}
