//! A program that knows nothing of the stack, as `evener net exec` runs it.

use std::env;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use evener_net::session;
use tempfile::TempDir;

use super::place::End;
use super::process::Process;
use super::{kernel, until};

/// The subcommand that is the program.
const ECHO: [&str; 2] = ["bench", "net-echo"];
/// How long the stack and the program may take to be there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends back what comes over the first connection to an address, by sockets of the operating system as any program has
/// them. Prints a line when it listens.
///
/// # Errors
/// What the operating system says.
pub fn echo(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("{address}");
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    kernel::echo(&mut stream)
}

/// The stack and the program.
pub struct Running {
    _program: Process,
    _stack: Process,
    _folder: TempDir,
}

impl Running {
    /// A stack with a device, and a program that [echoes](echo) at an address of it. The program has the processor of
    /// [`End::Peer`], as it and the peer take turns while the stack always polls.
    ///
    /// # Errors
    /// They cannot be started, or there is no library for the program.
    pub fn start(device: &str, address: SocketAddr) -> io::Result<Running> {
        let evener = &env::current_exe()?;
        let folder = tempfile::tempdir()?;
        let socket = &folder.path().join("stack");
        let mut run = Command::new(evener);
        run.args(["net", "run", "--device", device, "--socket"])
            .arg(socket);
        let stack = End::Stack.run(|| Process::start(&mut run))?;
        let patience = until(PATIENCE);
        while session::addresses(socket).is_err() {
            if Instant::now() > patience {
                return Err(io::Error::other(stack.end()));
            }
            thread::sleep(Duration::from_millis(1));
        }
        let mut exec = Command::new(evener);
        exec.args(["net", "exec", "--socket"])
            .arg(socket)
            .arg("--")
            .arg(evener)
            .args(ECHO)
            .arg(address.to_string());
        let program = End::Peer.run(|| Process::start(&mut exec))?;
        Ok(Running {
            _program: program.line()?,
            _stack: stack,
            _folder: folder,
        })
    }
}
