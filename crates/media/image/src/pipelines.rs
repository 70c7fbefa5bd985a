//! The seven pipelines of Espeland, Olsen, Halvorsen and Griwodz, "Low-level Scheduling Implications for
//! Data-intensive Cyclic Workloads on Modern Microarchitectures", Table III, as graphs.
#![forbid(unsafe_code)]

/// A graph with a name, for benchmarks and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// One letter, as in the publication.
    pub name: &'static str,
    /// What [`Graph::parse`](crate::graph::Graph::parse) takes.
    pub text: &'static str,
}

/// A to G.
pub const PIPELINES: [Pipeline; 7] = [
    Pipeline {
        name: "A",
        text: "blur,sobel,threshold",
    },
    Pipeline {
        name: "B",
        text: "undistort,rotate=6,crop=0.8",
    },
    Pipeline {
        name: "C",
        text: "undistort,rotate=60,crop=0.8",
    },
    Pipeline {
        name: "D",
        text: "posterize,threshold,binary",
    },
    Pipeline {
        name: "E",
        text: "threshold,binary,rotate=30",
    },
    Pipeline {
        name: "F",
        text: "threshold,rotate=30,binary",
    },
    Pipeline {
        name: "G",
        text: "rotate=30,threshold,binary",
    },
];

/// The pipeline of that name; capitals do not matter.
pub fn find(name: &str) -> Option<&'static Pipeline> {
    PIPELINES.iter().find(|p| p.name.eq_ignore_ascii_case(name))
}
