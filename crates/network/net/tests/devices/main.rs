//! Devices against the live kernel, each test in a user and network namespace of its own.

mod down;
mod ethernet;
mod peer;
mod recording;
mod sealed;
mod tun;
mod xdp;
