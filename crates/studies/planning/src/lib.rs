//! Plans a machine: which kinds of elements should run which stages of a unit, by speed-up, area and power.
//!
//! An *element file* ([`Elements`]) lists the kinds of elements. A [`Workload`] names the steps of a unit and
//! measures their costs. [`plan()`] finds the Pareto front of mappings: no other mapping is at least as good in
//! speed-up, area and power. [`text`] and [`html`] show the result. The crate knows no domain.
#![forbid(unsafe_code)]

mod advice;
mod elements;
mod error;
mod front;
mod labels;
mod machine;
mod mapping;
mod page;
mod plan;
mod raw;
mod reduce;
mod search;
mod tables;

pub use advice::{Idle, Prune, Strengthen};
pub use elements::{Costs, Elements, Kind, Speed};
pub use error::Error;
pub use mapping::{Mapping, Segment};
pub use page::html;
pub use plan::{Evaluated, Options, Place, Plan, Workload, plan};
pub use tables::text;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
