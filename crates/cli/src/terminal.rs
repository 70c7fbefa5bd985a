//! Questions on the terminal whose answers are not echoed.
//!
//! Only the echo is turned off: Ctrl-C, Ctrl-\ and Ctrl-Z still send signals. The end of the process calls [`restore`]. While
//! the process is stopped the terminal is as it was before, since the shell uses it then.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use evener_crypt::keys::secret_line;
use evener_files::lock;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use zeroize::Zeroizing;

use crate::ignored::is_ignored;

/// Most bytes of a line of a terminal.
const LINE: usize = 4096;

/// The terminal of this process without echo. The echo is restored when this is dropped.
pub struct Terminal(File);

/// A terminal without echo.
struct Hidden {
    terminal: File,
    before: Termios,
    question: String,
}

static HIDDEN: Mutex<Option<Hidden>> = Mutex::new(None);

fn hidden_terminal() -> MutexGuard<'static, Option<Hidden>> {
    lock(&HIDDEN)
}

impl Terminal {
    /// Opens the terminal and turns its echo off.
    ///
    /// # Errors
    /// The process has no terminal, or the terminal does not support it.
    pub fn open() -> io::Result<Terminal> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let own = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let new = Hidden {
            terminal,
            before,
            question: String::new(),
        };
        static WATCHED: Mutex<bool> = Mutex::new(false);
        let mut watched = lock(&WATCHED);
        if !*watched {
            watch()?;
            *watched = true;
        }
        new.hide()?;
        *hidden_terminal() = Some(new);
        Ok(Terminal(own))
    }

    /// Asks for a line.
    ///
    /// # Errors
    /// The terminal is gone, or an end of file was typed.
    pub fn ask(&self, question: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        if let Some(hidden) = &mut *hidden_terminal() {
            question.clone_into(&mut hidden.question);
        }
        (&self.0).write_all(question.as_bytes())?;
        let (line, ended) = secret_line(&self.0, LINE)?;
        match ended {
            true => Ok(line),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Handles the signals that stop and continue the process, to its end.
fn watch() -> io::Result<()> {
    let stops = (!is_ignored(SIGTSTP)).then_some(SIGTSTP);
    let mut signals = Signals::new(stops.into_iter().chain([SIGCONT]))?;
    thread::Builder::new()
        .name("evener-terminal".into())
        .spawn(move || signals.forever().for_each(on_signal))?;
    Ok(())
}

impl Terminal {
    /// Shows a line with a secret. No copy of it stays in a buffer.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn tell(&self, what: &str, secret: &[u8]) -> io::Result<()> {
        let mut terminal = &self.0;
        [what.as_bytes(), secret, b"\n"]
            .into_iter()
            .try_for_each(|part| terminal.write_all(part))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(hidden) = hidden_terminal().take() {
            hidden.show();
        }
    }
}

impl Hidden {
    fn hide(&self) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.local_modes -= LocalModes::ECHO;
        // Line editing and signals, in case a program before has turned them off; and the end of a line is echoed.
        modes.local_modes |= LocalModes::ICANON | LocalModes::ISIG | LocalModes::ECHONL;
        Ok(tcsetattr(&self.terminal, OptionalActions::Now, &modes)?)
    }

    fn show(&self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Restores the echo and starts a new line, for a process that ends without dropping the terminal.
pub fn restore() {
    if let Some(hidden) = hidden_terminal().take() {
        hidden.show();
        let _ = (&hidden.terminal).write_all(b"\n");
    }
}

fn on_signal(signal: i32) {
    match signal {
        SIGTSTP => {
            if let Some(hidden) = &*hidden_terminal() {
                hidden.show();
                let _ = (&hidden.terminal).write_all(b"\n");
            }
            // Returns when the process continues.
            let _ = emulate_default_handler(SIGTSTP);
        }
        _ => {
            if let Some(hidden) = &*hidden_terminal() {
                let _ = hidden.hide();
                let _ = (&hidden.terminal).write_all(hidden.question.as_bytes());
            }
        }
    }
}
