//! Applications of two engines that are joined by a pair of queues.

mod calls;
mod common;
mod completions;
mod connections;
mod datagrams;
mod ends;
mod heirs;
mod hostile;
mod killed;
mod many;
mod polling;
