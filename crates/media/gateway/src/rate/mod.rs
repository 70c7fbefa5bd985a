//! TCP-friendly rate control (TFRC, RFC 5348): how much a flow may send beside others, from its loss and round-trip time.
//!
//! It does no input or output: what a receiver would report is handed in, with the time.

mod bucket;
mod equation;
mod intervals;
mod losses;
mod sender;

pub use bucket::Bucket;
pub use equation::{loss_rate, throughput};
pub use intervals::Intervals;
pub use losses::Losses;
pub use sender::{Feedback, Sender};
