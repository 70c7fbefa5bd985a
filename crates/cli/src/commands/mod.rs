//! The subcommands, a file each.

#[cfg(feature = "bench")]
mod bench;
mod crypt;
mod encode;
mod filter;
mod filters;
mod image;
mod plan;
mod plans;
mod queens;
mod topology;

use clap::Subcommand;

use crate::failure::Ended;

/// What `evener` can do.
#[derive(Subcommand)]
pub enum Command {
    Filter(filter::Args),
    Filters(filters::Args),
    Encode(encode::Args),
    Keygen(crypt::keygen::Args),
    Encrypt(crypt::encrypt::Args),
    Decrypt(crypt::decrypt::Args),
    Ctr(crypt::ctr::Args),
    Product(crypt::product::Args),
    Image(image::Args),
    Queens(queens::Args),
    Plan(plan::Args),
    Plans(plans::Args),
    Topology(topology::Args),
    #[cfg(feature = "bench")]
    Bench(bench::Args),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Ended {
        match self {
            Command::Filter(args) => filter::run(args),
            Command::Filters(args) => filters::run(&args),
            Command::Encode(args) => encode::run(args),
            Command::Keygen(args) => crypt::keygen::run(&args),
            Command::Encrypt(args) => crypt::encrypt::run(&args),
            Command::Decrypt(args) => crypt::decrypt::run(&args),
            Command::Ctr(args) => crypt::ctr::run(&args),
            Command::Product(args) => crypt::product::run(&args),
            Command::Image(args) => image::run(&args),
            Command::Queens(args) => queens::run(&args),
            Command::Plan(args) => plan::run(&args),
            Command::Plans(_) => plans::run(),
            Command::Topology(args) => topology::run(&args),
            #[cfg(feature = "bench")]
            Command::Bench(args) => bench::run(args),
        }
    }
}
