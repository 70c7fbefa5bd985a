//! Callers of a global pool of 3. A program of its own, as a program has one such pool.

mod callers;

const WORKERS: usize = 3;
