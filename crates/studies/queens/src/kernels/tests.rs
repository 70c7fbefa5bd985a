//! Every variant against the reference, in the manner of checkasm.

use super::*;
use crate::border::{Border, Class};
use crate::inner::{Row, State};

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Fewest rows that the tests leave to be searched, so that a debug build does so in moments.
const LEFT: usize = 8;

/// Compares all variants on `roots` random roots of a random border of each of `tries` jobs.
fn compare(n: u32, tries: usize, seed: u64) {
    let mut numbers = Numbers(seed);
    let classes = Border::classes(n);
    let mut memory = Memory::default();
    for _ in 0..tries {
        let Class { border, inner, .. } = &classes[numbers.below(classes.len())];
        // Rows of a random walk, so that states of any depth occur, far inside the tree too.
        let deep = inner.rows.len().saturating_sub(LEFT);
        let depth = (deep + numbers.below(LEFT)).min(inner.rows.len());
        let wanted = [1, 7, 8, 9, 100, 300, 1000][numbers.below(7)];
        let mut roots = Vec::new();
        for _ in 0..wanted * 20 {
            if roots.len() < wanted {
                roots.extend(walk(&inner.rows, depth, &mut numbers));
            }
        }
        let job = Job {
            rows: &inner.rows,
            depth,
            roots: &roots,
        };
        let expected = scalar(&job, &mut memory);
        for variant in VARIANTS.iter().filter(|v| v.columns >= job.columns()) {
            if (variant.exists)(Simd::detect()) {
                let found = (variant.run)(&job, &mut memory);
                let context = format!(
                    "{}, n {n}, {border:?}, depth {depth}, {} roots",
                    variant.name,
                    roots.len()
                );
                assert_eq!(found.solutions, expected.solutions, "{context}: {roots:x?}");
                assert!(
                    found.nodes <= expected.nodes,
                    "{context}: {} nodes of {}",
                    found.nodes,
                    expected.nodes
                );
            }
        }
    }
}

/// A state that meets row `depth` with a free square, or none where the walk ends before.
fn walk(rows: &[Row], depth: usize, numbers: &mut Numbers) -> Option<State> {
    let mut state = State::default();
    for (at, &row) in rows.iter().enumerate() {
        let free = state.free(row);
        let columns: Vec<u32> = (0..32)
            .map(|at| 1 << at)
            .filter(|bit| free & bit != 0)
            .collect();
        if columns.is_empty() {
            return None;
        }
        if at == depth {
            break;
        }
        let shift = rows.get(at + 1).map_or(0, |next| next.shift);
        state = state.placed(columns[numbers.below(columns.len())], shift);
    }
    Some(state)
}

#[test]
fn narrow_boards_have_the_same_solutions_by_every_variant() {
    for n in 6..=18 {
        compare(n, 12, n.into());
    }
}

#[test]
fn wide_boards_have_the_same_solutions_by_every_variant() {
    for n in [19, 20, 23, 26, 30] {
        compare(n, 4, n.into());
    }
}

#[test]
fn solutions_and_nodes_of_whole_borders_do_not_depend_on_the_variant() {
    let mut memory = Memory::default();
    for Class { border, inner, .. } in Border::classes(11) {
        let job = Job {
            rows: &inner.rows,
            depth: 0,
            roots: &[State::default()],
        };
        let expected = scalar(&job, &mut memory);
        let mut nodes = None;
        for variant in VARIANTS
            .iter()
            .filter(|v| (v.exists)(Simd::detect()) && v.name != "scalar")
        {
            let found = (variant.run)(&job, &mut memory);
            assert_eq!(
                found.solutions, expected.solutions,
                "{}, {border:?}",
                variant.name
            );
            let before = *nodes.get_or_insert(found.nodes);
            assert_eq!(found.nodes, before, "{}, {border:?}", variant.name);
        }
    }
}
