//! The functions of C that this library stands in for, with the names and meanings that POSIX and Linux give them.

mod data;
mod descriptors;
mod program;
mod ready;
mod setup;
