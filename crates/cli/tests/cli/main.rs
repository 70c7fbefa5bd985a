//! The real binary, as its users and their scripts run it.

#[cfg(feature = "bench")]
mod bench;
mod codes;
mod crypt;
mod defaults;
mod encode;
mod ends;
mod errors;
mod ffmpeg;
mod files;
mod filter_files;
mod filter_outputs;
mod gateway;
mod graphs;
mod help;
mod image;
mod lists;
mod messages;
mod net;
mod pipes;
mod plan;
mod plans;
mod product;
mod queens;
mod report;
mod requests;
mod run;
mod signals;
mod terminal;
mod video;
