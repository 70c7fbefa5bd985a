//! Units in lines of steps on different workers; the folder's `README.md` says how.

mod board;
mod layout;
mod lines;
mod progress;
mod run;
mod single;
mod starved;
mod work;

pub(super) use layout::Layout;
pub(super) use run::{Wave, epochs};
pub(super) use single::run;
