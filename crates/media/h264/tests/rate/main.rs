//! Rate control: scene cuts, adaptive quantisation, sizes of streams, buffers of decoders.

mod buffers;
mod clips;
mod encode;
mod quality;
mod scenes;
mod sizes;
