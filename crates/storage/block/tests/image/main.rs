//! Images of every format, good and bad.

mod backing;
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
mod outputs;
mod qcow2;
mod ranges;
mod round;
mod serving;
mod tars;
mod upstream;
mod xz;
