//! Graphs from public scripts and notes: how many of them are understood, and that they run.
//!
//! `pasted.tsv` has each graph with where it stands. A third of the sources, by a hash of their names, is held out: their
//! graphs were not looked at while filters were written.

use std::path::Path;

use evener_image::graph::Graph;

use super::{clips, frames, run};

const GRAPHS: &str = include_str!("pasted.tsv");

/// Graphs that are computed here: how many frames they have at least is not known, so they need only run.
#[test]
fn most_graphs_of_scripts_are_understood() {
    for (list, least) in [("seen", 0.85), ("held-out", 0.85)] {
        let rows: Vec<Vec<&str>> = GRAPHS
            .lines()
            .map(|line| line.split('\t').collect())
            .collect();
        let of_list = rows.iter().filter(|row| row[0] == list);
        let judged: Vec<(&str, bool)> = of_list
            .map(|row| {
                let check = Graph::check(row[4]);
                // Pictures that are not there cannot be read.
                let file = |error: &str| error.contains("cannot open");
                let missing = check.problem.as_ref().is_some_and(|p| file(&p.to_string()));
                (row[4], check.runs() || missing)
            })
            .collect();
        let understood = judged.iter().filter(|(_, runs)| *runs).count();
        let share = understood as f64 / judged.len() as f64;
        let others = judged
            .iter()
            .filter(|(_, runs)| !runs)
            .map(|(text, _)| *text);
        let others: Vec<&str> = others.collect();
        assert!(
            share >= least,
            "{list}: {understood} of {}; not: {others:#?}",
            judged.len()
        );
    }
}

#[test]
fn graphs_of_scripts_run() {
    let Some(folder) = clips() else { return };
    let [a, b] = ["a.y4m", "b.y4m"].map(|name| folder.path(name));
    let output = folder.path("out.y4m");
    let mut ran = 0;
    for row in GRAPHS.lines().skip(1) {
        let row: Vec<&str> = row.split('\t').collect();
        let text = row[4];
        let check = Graph::check(text);
        let here = check
            .filters
            .iter()
            .all(|(_, verdict)| !matches!(verdict, evener_image::graph::Verdict::Ffmpeg));
        if !check.runs() || !here || text.contains("movie") {
            continue;
        }
        let inputs: [&Path; 2] = [&a, &b];
        match run(text, &inputs, &output) {
            // A graph may select none of so few frames.
            Ok(()) => ran += usize::from(!frames(&output).is_empty()),
            // Small or short clips do not have what some graphs ask for.
            Err(error) => assert!(
                [
                    "no frames",
                    "outside",
                    "chroma samples",
                    "one stream is",
                    "samples a plane",
                    "no memory"
                ]
                .iter()
                .any(|known| error.contains(known)),
                "{text}: {error}"
            ),
        }
    }
    assert!(ran > 120, "only {ran} ran");
}
