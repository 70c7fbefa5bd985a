//! Bulk encryption against published vectors, against crates, and against who would change what it wrote.

mod chacha20poly1305;
mod chunked;
mod ctr;
mod ends;
mod gcm;
mod keys;
mod memory;
mod service;
mod tamper;
mod vectors;
