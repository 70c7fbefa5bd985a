//! Benchmarks of evener.

pub mod dispatch;
