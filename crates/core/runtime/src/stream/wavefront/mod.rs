//! Units in lines of steps on different workers; the folder's `README.md` explains it.

mod board;
mod lane;
mod layout;
mod lines;
#[cfg(all(test, loom))]
mod loom_tests;
mod progress;
mod run;
mod simulation;
mod single;
mod starved;
#[cfg(all(test, not(loom)))]
mod tests;
mod work;

pub(super) use layout::Layout;
pub(super) use run::{Wave, epochs};
pub(crate) use simulation::seconds;
pub(super) use single::run;
