//! A reader of byte streams, written from the parsing process of the standard (clauses 7.3, 9.1 to 9.3 and annexes B
//! and E).
//! It panics where a stream is not one that the writer may write.
#![allow(dead_code)]

pub mod arithmetic;
// The tables of CABAC are shared with what is tested; ffmpeg tests them.
#[path = "../../src/entropy/cabac/tables.rs"]
mod arithmetic_tables;
pub mod bits;
pub mod cabac;
pub mod cavlc;
#[path = "../../src/entropy/cabac/initial.rs"]
pub mod initial;
pub mod macroblock;
pub mod parameters;
pub mod slice;
pub mod tables;
