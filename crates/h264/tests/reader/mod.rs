//! A reader of byte streams, written from the parsing process of the standard (clauses 7.3, 9.1, 9.2 and annexes B and E).
//! It panics where a stream is not one that the writer may write.
#![allow(dead_code)]

pub mod bits;
pub mod cavlc;
pub mod macroblock;
pub mod parameters;
pub mod slice;
pub mod tables;
