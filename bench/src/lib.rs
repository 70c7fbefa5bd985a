//! Benchmarks of evener.

#![forbid(unsafe_code)]

pub mod block;
pub mod crypt;
pub mod dispatch;
pub mod error;
pub mod filters;
pub mod memory_io;
mod named;
pub mod picture;
pub mod product;
pub mod queens;
pub mod report;
mod stats;
mod steady;
mod subject;
pub mod table;
pub mod table3;
pub mod tuner;
mod workers;
