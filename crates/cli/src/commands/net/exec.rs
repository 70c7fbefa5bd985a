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

/// Run a program that knows nothing of the stack, with its connections there
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener net exec -- curl -o file http://10.1.0.1/file
  evener net exec -- iperf3 -s -B 10.1.0.2
  evener net exec --listen -- python3 -m http.server 8000
  evener net exec --supervise -- sh -c 'static-program | tee log'

Addresses decide: connections to the networks of the stack's addresses go to the stack, and so do programs
that listen at its addresses. With --listen, those that name no address listen there too. All else stays
with the kernel. A program that is linked dynamically takes the place of this one, with a library before
the C library. One that is linked statically is supervised, which costs more, and leaves UDP with the
kernel; so are programs of any kind with --supervise, and all that they run. This one then ends when they
have ended, with the status of the program.")]
pub struct Args {
    /// The Unix socket of the stack
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,

    /// Connections to this network go to the stack, too, which needs a way to it; may be given several times
    #[arg(long, value_name = "ADDRESS/PREFIX", value_parser = prefix)]
    to: Vec<Prefix>,

    /// Programs that listen without an address do so at those of the stack, too
    #[arg(long)]
    listen: bool,

    /// Supervise a program that is linked dynamically, too, as one must be that makes system calls itself
    #[arg(long)]
    supervise: bool,

    /// The program and its arguments
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
