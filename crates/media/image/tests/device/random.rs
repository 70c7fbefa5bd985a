//! Random graphs on random frames.

use evener_image::graph::bind::Planes;
use evener_image::graph::parse::Graph;
use proptest::prelude::*;

use super::common::{FILTERS, formats};
use super::{compare, random};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_give_the_defined_bytes(
        chain in prop::collection::vec(prop::sample::select(FILTERS), 1..7),
        format in formats(56, 48),
        planes in prop::sample::select(vec![Planes::Auto, Planes::Each, Planes::Luma]),
        frames in 1u32..5,
        seed in any::<u32>(),
    ) {
        let text = chain.join(",");
        let Ok(bound) = Graph::parse(&text).unwrap().bind(&format, planes) else {
            return Ok(());
        };
        let inputs: Vec<_> = (0..frames).map(|i| random(&format, seed.wrapping_add(i))).collect();
        compare(&bound, &text, &inputs).map_err(TestCaseError::fail)?;
    }
}
