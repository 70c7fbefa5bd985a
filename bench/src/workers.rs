//! Numbers of workers to measure with, and runtimes for them.

use evener_runtime::{Runtime, Topology};

use crate::error::Error;
use crate::stats::distinct;

/// The numbers asked for, or the number of cpus, and 1: each once, the smallest first.
pub(crate) fn with_one(asked: &[u32]) -> Vec<u32> {
    match asked {
        [] => distinct([1, all()]),
        some => distinct(some.iter().copied().chain([1])),
    }
}

/// Workers of this machine: one for each cpu.
pub(crate) fn all() -> u32 {
    Topology::detect().workers() as u32
}

/// A runtime with workers for the largest of `counts`, without remembered plans.
pub(crate) fn runtime(counts: &[u32]) -> Result<Runtime, Error> {
    let most = counts.iter().copied().max().unwrap_or(1);
    let built = Runtime::builder().workers(most as usize).memory(false);
    built.build().map_err(|e| Error::Runtime(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_always_there_and_each_number_is_there_once() {
        assert_eq!(with_one(&[4, 2, 4]), [1, 2, 4]);
        assert_eq!(with_one(&[1]), [1]);
        assert_eq!(with_one(&[]), distinct([1, all()]));
    }

    #[test]
    fn there_may_be_more_workers_than_cpus() {
        let counts = with_one(&[all() + 3, 2]);
        assert_eq!(runtime(&counts).unwrap().workers(), all() as usize + 3);
    }
}
