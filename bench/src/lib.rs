//! Benchmarks of evener.

pub mod dispatch;
pub mod filters;
pub mod memory_io;
pub mod report;
pub mod table3;
