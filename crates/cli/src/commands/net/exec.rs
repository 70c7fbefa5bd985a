//! `evener net exec`

use std::ffi::OsString;
use std::path::PathBuf;

use evener_net::device::Prefix;
use evener_net::session::{DEFAULT_SOCKET, ExecError, Program};
use evener_net::supervise::Ending;

use super::prefix;
use crate::failure::{Ended, Failure, Status};

/// The library of the crate `evener-shim`; the build script says where cargo has put it.
const LIBRARY: &[u8] = include_bytes!(env!("EVENER_SHIM_LIBRARY"));

/// Run an unmodified program over the stack
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener net exec -- curl -o file http://10.1.0.1/file
  evener net exec -- iperf3 -s -B 10.1.0.2
  evener net exec --listen -- python3 -m http.server 8000
  evener net exec --supervise -- sh -c 'static-program | tee log'

Addresses decide. Connections to the stack's networks, and sockets bound to its
addresses, go to the stack. With --listen, sockets bound to 0.0.0.0 or :: listen
there too. Everything else stays with the kernel.

A dynamically linked program replaces this process, with a library preloaded
before the C library. A statically linked program is supervised instead, which
costs more and leaves UDP with the kernel. --supervise does so for any program
and everything it runs. evener then exits after all of them, with the program's
exit status.")]
pub struct Args {
    /// Unix socket of the stack
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,

    /// Also send connections to this network through the stack, which needs a route to it (repeatable)
    #[arg(long, value_name = "ADDRESS/PREFIX", value_parser = prefix)]
    to: Vec<Prefix>,

    /// Sockets bound to 0.0.0.0 or :: also listen on the stack's addresses
    #[arg(long)]
    listen: bool,

    /// Also supervise dynamically linked programs (needed if they make raw system calls)
    #[arg(long)]
    supervise: bool,

    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub fn run(args: Args) -> Ended {
    let program = Program {
        command: args.program,
        socket: args.socket,
        to: args.to,
        listen: args.listen,
        supervise: args.supervise,
        library: LIBRARY,
    };
    let failed = |error: ExecError| {
        let status = Status::Exit(error.exit_code());
        Failure::running(error).with_status(status)
    };
    match program.run().map_err(failed)? {
        Ending::Exit(code) => Ok(Status::Exit(code)),
        Ending::Signal(signal) => Ok(Status::Signal(signal)),
    }
}
