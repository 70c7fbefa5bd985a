//! The benchmarks behind `evener bench`. The README lists the modules.

#![forbid(unsafe_code)]

pub mod block;
pub mod crypt;
pub mod dispatch;
pub mod encode;
pub mod error;
pub mod filters;
mod fixed_schedule;
pub mod gateway;
pub mod memory_io;
pub mod net;
pub mod picture;
mod plan;
pub mod product;
pub mod queens;
pub mod report;
mod stats;
mod subject;
pub mod table3;
pub mod tuner;
mod workers;
