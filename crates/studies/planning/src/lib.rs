//! Planning a machine: which kinds of elements should run which stages of a unit, by gain, area and power.
//!
//! An *element file* ([`Elements`]) says which kinds there are. A [`Workload`] says which steps a unit has and measures
//! what they cost. [`plan`] finds the *front*: the mappings to which no other is preferable, since none is as fast with
//! no more area and no more power. Nothing here knows a domain.
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
