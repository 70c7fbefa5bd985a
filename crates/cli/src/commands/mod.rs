//! The subcommands, a file each.

#[cfg(feature = "bench")]
mod bench;
mod completions;
mod config;
mod crypt;
mod encode;
mod filter;
mod filters;
mod gateway;
mod image;
mod man;
mod net;
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
    Inspect(crypt::inspect::Args),
    Rewrap(crypt::rewrap::Args),
    Ctr(crypt::ctr::Args),
    Product(crypt::product::Args),
    Image(image::Args),
    Net(net::Args),
    Gateway(gateway::Args),
    Queens(queens::Args),
    Plan(plan::Args),
    Plans(plans::Args),
    Topology(topology::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
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
            Command::Inspect(args) => crypt::inspect::run(&args),
            Command::Rewrap(args) => crypt::rewrap::run(&args),
            Command::Ctr(args) => crypt::ctr::run(&args),
            Command::Product(args) => crypt::product::run(&args),
            Command::Image(args) => image::run(&args),
            Command::Net(args) => net::run(args),
            Command::Gateway(args) => gateway::run(&args),
            Command::Queens(args) => queens::run(&args),
            Command::Plan(args) => plan::run(&args),
            Command::Plans(_) => plans::run(),
            Command::Topology(args) => topology::run(&args),
            Command::Config(_) => config::run(),
            Command::Completions(args) => completions::run(&args),
            Command::Man(args) => man::run(&args),
            #[cfg(feature = "bench")]
            Command::Bench(args) => bench::run(args),
        }
    }
}
