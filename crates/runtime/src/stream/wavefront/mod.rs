//! Units in lines of steps on different workers.

mod board;
mod layout;
mod lines;
mod progress;
mod single;
mod work;

pub(super) use layout::Layout;
pub(super) use single::run;
