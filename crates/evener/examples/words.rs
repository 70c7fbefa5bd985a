//! The most frequent words of a file: `words FILE`.

use std::collections::HashMap;

use evener::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("say which file")?;
    let text = std::fs::read_to_string(path)?;
    let counts = text
        .par_lines()
        .flat_map(str::split_whitespace)
        .fold(HashMap::<&str, usize>::new, |mut counts, word| {
            *counts.entry(word).or_default() += 1;
            counts
        })
        .reduce(|mut left, right| {
            for (word, count) in right {
                *left.entry(word).or_default() += count;
            }
            left
        })
        .unwrap_or_default();
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.par_sort_unstable_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    for (word, count) in counts.iter().take(20) {
        println!("{count:8} {word}");
    }
    Ok(())
}
