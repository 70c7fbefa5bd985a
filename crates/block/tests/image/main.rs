//! Images of every format, good and bad.

mod bombs;
mod changes;
mod cloop;
mod common;
mod damage;
mod fixtures;
mod foreign;
mod geometry;
mod interop;
mod kinds;
mod looks;
mod qcow2;
mod ranges;
mod round;
mod serving;
mod upstream;
mod xz;
