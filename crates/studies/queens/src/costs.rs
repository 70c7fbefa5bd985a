//! What a search costs, measured on one core.

use std::time::Instant;

use evener_runtime::Simd;
use evener_runtime::replay::StepCost;

use crate::error::Error;
use crate::starts::{Searcher, Starts};

/// The steps of a search, of which there is one.
pub fn step_names() -> Vec<String> {
    vec!["search".to_owned()]
}

/// Seconds of the whole search of a board of `n` x `n`, measured once.
///
/// # Errors
/// [`Error::TooLarge`]
pub fn step_costs(n: u32, simd: Simd) -> Result<Vec<StepCost>, Error> {
    let starts = Starts::new(n)?;
    let mut searcher = Searcher::new(simd);
    let begin = Instant::now();
    let found = searcher.search(&starts, 0..starts.len());
    std::hint::black_box(found);
    Ok(vec![StepCost::same(begin.elapsed().as_secs_f64())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_one_step() {
        let costs = step_costs(8, Simd::Scalar).unwrap();
        assert_eq!(costs.len(), step_names().len());
        assert!(costs[0].first > 0.0);
        assert!(step_costs(99, Simd::Scalar).is_err());
    }
}
