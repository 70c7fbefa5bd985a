//! TCP between two engines, and beside smoltcp, in virtual time.

mod bbr;
mod bulk;
mod cookies;
mod hostile;
mod loss;
#[allow(dead_code)]
mod network;
mod random;
mod smoltcp;
mod turns;
