//! What filters give on small planes worked out by hand, what they read, and how graphs are bound.

mod bind;
mod bwdif;
mod chroma;
mod codes;
mod pasted;
mod peers;
mod regions;
mod values;
