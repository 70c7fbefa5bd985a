//! All other formats, through the program `ffmpeg`: y4m over pipes, with a process for each input and output.

mod arguments;
mod child;
mod damage;
mod decode;
mod encode;
mod kind;
mod log;
mod log_line;
mod mux;
mod origin;
mod picture;
mod pixels;
mod probe;
mod process;
mod remux;
mod tools;

pub(crate) use arguments::check as check_arguments;
pub use child::kill_programs;
pub use decode::Decoder;
pub use encode::Encoder;
pub(crate) use encode::Further;
pub(crate) use encode::Partial;
pub(crate) use kind::Kind;
pub use origin::{Colour, Origin};
pub(crate) use picture::Picture;
pub use remux::Remux;
pub use tools::Tools;
pub(crate) use tools::is_address;
